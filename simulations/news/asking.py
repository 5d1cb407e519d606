"""Asking front pages again by the product's rule, as one master applies it that never dies."""

from __future__ import annotations

from p2pcrawl.core.bench.candidate import host_key
from p2pcrawl.core.revisits.likes import Likes
from p2pcrawl.core.revisits.periods import Came, Periods, seen_changes
from p2pcrawl.model.crawl.fingerprint import fingerprint
from p2pcrawl.model.page_past import PagePast
from p2pcrawl.spiders.page_types.url_shape import pattern_of


class Asking:
    """The histories of pages, and of their hosts. ``alone``: each page by its own history."""

    def __init__(self, periods: Periods, *, alone: bool = False) -> None:
        self._periods = periods
        self._likes = Likes()
        self._alone = alone
        self._pasts: dict[str, tuple[PagePast, int]] = {}

    def due(self, url: str, now: int, *, changed: bool) -> int:
        """Returns when a page is due again that was visited, in seconds since 1970."""
        past, visit = self._pasts.get(url, (PagePast(), 0))
        host, pattern, came = host_key(url), pattern_of(url), Came.CHANGED if changed or not visit else Came.UNCHANGED
        likely = self._periods.busiest if self._alone else self._likes.rate(host, pattern, self._periods.busiest)
        past, due = self._periods.after("index", past, came, visit, now, likely)
        self._pasts[url] = past, visit + 1
        self._likes.learn(host, pattern, fingerprint(url), seen_changes(past), past.seconds)
        return due
