"""Examples of the links that a slave does not follow, so that whoever wonders can be shown some.

A page may have thousands of such links, and a crawl millions: they are counted, and of each reason a few are told with
the ends of the pages that they were on. Who has told enough of a reason is silent about it from then on.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Final

from p2pcrawl.model.crawl.url import host_of
from p2pcrawl.model.outcome import Filter
from p2pcrawl.wire.messages.bounds import LEFT_OUT_CHARS, LEFT_OUT_MAX
from p2pcrawl.wire.messages.slave_messages import LeftOutLink

EXAMPLES: Final = 12
"""Of one reason, that one slave tells in its life of a job."""
OF_HOST: Final = 2
"""Of them, that lead to one host, so that hosts differ where there are several."""
_LOOKED_AT: Final = 5_000
"""Links of a reason of which the hosts are looked at: where all lead to one host, nobody looks for ever."""


class LeftOutExamples:
    """One per job and slave."""

    def __init__(self) -> None:
        self._told: Counter[str] = Counter()
        self._looked: Counter[str] = Counter()
        self._hosts: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def wants(self, reason: str) -> bool:
        """Tells whether more examples of a reason are welcome."""
        return reason != Filter.SEEN and self._told[reason] < EXAMPLES and self._looked[reason] < _LOOKED_AT

    def take(self, url: str, reason: str, page: list[LeftOutLink]) -> None:
        """Adds a link to the examples of its page, unless there are enough of it, or of its host."""
        if len(page) >= LEFT_OUT_MAX or not self.wants(reason):
            return
        self._looked[reason] += 1
        host = host_of(url[:LEFT_OUT_CHARS])
        if self._hosts[reason][host] < OF_HOST:
            self._hosts[reason][host] += 1
            self._told[reason] += 1
            text = url.encode("utf-8", "replace").decode()
            page.append(LeftOutLink(str(reason), text[:LEFT_OUT_CHARS]))
