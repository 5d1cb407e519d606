"""Checks that what was kept and given out of each page is what it said: items and records, value by value.

An item has all that a page says in it, by a digest, so one that is another page's, or of another answer, is not the one
that the web would have been given for. Records and copies are read from the disks; the web knows what it served.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from p2pcrawl.model.crawl.job import START_URL
from p2pcrawl.model.texts.imprint_url import is_imprint

from ...observe.contents import Content
from ...observe.folders import DONE, QUEUED, print_of
from ...play.evidence import Evidence, listed
from ...play.spiders import items_of, page_of
from ...world.web import Kind, Web

ADDED: Final = ("duplicate_of", "file_urls", "files")
"""What pipelines add to an item."""
NOT_MODIFIED: Final = 304
FOUND: Final = 200


def check(evidence: Evidence) -> Iterator[str]:
    if not evidence.ended:
        return
    truth = _Truth(evidence)
    yield from _items(truth, "the results", evidence.results)
    for where, sink in evidence.sinks.items():
        yield from _items(truth, where, map(json.loads, sink.lines))
    for asked in evidence.asked:
        if asked.verb == "results" and asked.job == evidence.label and asked.answer is not None:
            yield from _items(truth, f"what {asked.who} told at {asked.ended_s:.2f} s", asked.answer)
    for name, held in evidence.held.items():
        wrong: dict[str, list[str]] = defaultdict(list)
        for row in held:
            for what in truth.wrong_of(row):
                wrong[f"{'copies' if row.is_copy else 'records'} {what}"].append(row.url)
        for what, urls in wrong.items():
            yield f"{name} has {len(urls)} {what}: {listed(sorted(urls))}"


def _items(truth: _Truth, where: str, items: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    wrong = sorted(str(item.get("url")) for item in items if not truth.is_of_its_page(item))
    if wrong:
        yield f"{where} have {len(wrong)} items that are not what their pages said: {listed(wrong)}"


class _Truth:
    """The truth about pages: what the web has served, and what follows from it."""

    def __init__(self, evidence: Evidence) -> None:
        self._web = evidence.web
        made = {url: items_of(url, evidence.web.body(url)) for url in evidence.web.pages}
        self._items = {str(item["url"]): item for items in made.values() for item in items}
        self._counts = {url: len(items) for url, items in made.items()}
        self._statuses: dict[str, set[int]] = defaultdict(set)
        for visit in evidence.web.visits:
            self._statuses[visit.url].add(visit.status)
        self._one_each = evidence.one_each
        self._visits_max = evidence.rounds - 1 + len(evidence.asked_anew()) + len(evidence.begun_anew())
        self._visits_max += evidence.settings.get("retry_failed_times", 0)
        entries = evidence.entries()
        # What is gone with all disks that had it may have been nearer to the start.
        self._depths = _depths(self._web, entries if not evidence.destroyed else set(self._counts))
        self._rules: Mapping[str, Callable[[Content], bool]] = {
            "under another's fingerprint": lambda row: row.key == print_of(row.url),
            "with a status that the web never gave": self._has_its_status,
            "with another size than the page has": self._has_its_size,
            "that a page led to which does not": self._has_its_parent,
            "nearer to the start than there is a way": lambda row: row.depth >= self._depths.get(row.url, 0),
            "with which the job is said to begin": lambda row: not row.seed or row.url in entries,
            "with more visits than there were": self._was_visited,
            "with another number of items than they have": self._has_as_many,
            "with items that are not what their pages said": self._has_its_items,
        }

    def is_of_its_page(self, item: Mapping[str, Any]) -> bool:
        """Tells whether an item is what the page said whose URL it has."""
        plain = {name: value for name, value in item.items() if name not in ADDED}
        return plain == self._items.get(str(item.get("url")))

    def wrong_of(self, row: Content) -> Iterator[str]:
        """Says what is wrong with what a disk says of a page; nothing is known of what is no page of the web."""
        if row.url in self._counts and not row.url.startswith(START_URL) and not is_imprint(row.url):
            yield from (what for what, holds in self._rules.items() if not holds(row))

    def _has_its_status(self, row: Content) -> bool:
        if row.phase == QUEUED or not row.status:
            return row.phase != DONE
        given = self._statuses[row.url] | self._statuses[f"http://{self._web.pages[row.url].host}/robots.txt"]
        is_good = row.status in (FOUND, NOT_MODIFIED) or self._web.pages[row.url].kind is Kind.REDIRECT
        return row.status in given and (row.phase != DONE or is_good)

    def _has_its_size(self, row: Content) -> bool:
        if row.phase != DONE:
            return True
        return row.size == (len(self._web.body(row.url)) if row.status == FOUND else 0)

    def _was_visited(self, row: Content) -> bool:
        # A page of a private host that was met before anybody opened the host begins once more.
        private = self._web.hosts[self._web.pages[row.url].host].private
        return row.visit <= self._visits_max + private

    def _has_its_parent(self, row: Content) -> bool:
        parent = self._web.pages.get(row.referer)
        return parent is None or row.url in parent.links

    def _has_as_many(self, row: Content) -> bool:
        is_page = row.phase == DONE and self._web.pages[row.url].kind is not Kind.REDIRECT
        return row.number == len(row.items) and (
            row.number == self._counts[row.url] or not (is_page and self._one_each)
        )

    def _has_its_items(self, row: Content) -> bool:
        items = [json.loads(item) for item in row.items]
        names = {str(item.get("url")) for item in items}
        return len(names) == len(items) and all(
            page_of(str(item.get("url"))) == row.url and self.is_of_its_page(item) for item in items
        )


def _depths(web: Web, seeds: Collection[str]) -> dict[str, int]:
    """Returns how far each page is from the nearest start at least. Where a redirect leads to is as far as it is."""
    depths: dict[str, int] = dict.fromkeys((url for url in seeds if url in web.pages), 0)
    open_ = deque(depths)
    while open_:
        page = web.pages[open_.popleft()]
        further = depths[page.url] + (page.kind is not Kind.REDIRECT)
        for url in page.links:
            if further < depths.get(url, further + 1):
                depths[url] = further
                # What costs nothing comes first.
                open_.appendleft(url) if page.kind is Kind.REDIRECT else open_.append(url)
    return depths
