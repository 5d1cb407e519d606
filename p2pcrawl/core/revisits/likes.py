"""Likes of a page: what its host's pages have been, and so what it may be before its own visits tell.

The theory. A page of which little is known is taken for one of its like: those of its host, and, of these, those whose
URL has the same pattern. Their mean rate of change is what it is expected to have, and half a change weighs it: as
soon as its own visits have seen about one, they outweigh the others.
A mean over n pages says little of the next one where n is small. So one more is counted among those of a host, which
changes as often as it can be asked for at all: of a host of which nobody knows anything a page is asked soon, and of
one where a hundred pages were quiet seldom, though never as if a hundred were all. Among those of a pattern one more
is counted that is as its host's are.

Nothing of it is kept or travels: it is made of the histories of pages, which are with their records. Whoever takes over
a host knows it again by the first of its pages that come to be visited. Of a group the pages of the smallest keys
count, up to ``PAGES``: a sample in which each page is as likely as any other, however often it is asked, and in which
one that is counted twice counts once.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

PAGES: Final = 32
"""Of a group that count."""
GROUPS: Final = 4_096
"""Hosts and patterns that are known; what was longest out of use is forgotten. With all their pages some 20 MB."""

Group = tuple[int, str]
"""A host, and a pattern of its URLs, or "": all of them."""


@dataclass(slots=True)
class _Sample:
    """The pages of a group that count: by their keys, what each has changed in so many seconds."""

    pages: dict[bytes, tuple[float, float]] = field(default_factory=dict)
    changes: float = 0.0
    seconds: float = 0.0
    last: bytes = b""
    """The greatest key."""

    def learn(self, page: bytes, changes: float, seconds: float) -> None:
        if page not in self.pages and len(self.pages) >= PAGES:
            if page > self.last:
                return
            del self.pages[self.last]
        self.pages[page] = changes, seconds
        # Summed anew: differences of floats would add up over months.
        self.changes = sum(changes for changes, _ in self.pages.values())
        self.seconds = sum(seconds for _, seconds in self.pages.values())
        self.last = max(self.pages)

    def rate(self, one_more: float) -> float:
        """Returns the mean rate, with one more page that has that one."""
        each_s = self.seconds / len(self.pages)
        return (self.changes + one_more * each_s) / (self.seconds + each_s)


class Likes:
    """The hosts of a master, whatever the job."""

    def __init__(self) -> None:
        self._samples: OrderedDict[Group, _Sample] = OrderedDict()

    def learn(self, host: int, pattern: str, page: bytes, changes: float, seconds: float) -> None:
        """Takes in that a page has changed so often in so many seconds, by all that is known of it by now."""
        if seconds <= 0.0:
            return
        for group in ((host, ""), (host, pattern)):
            sample = self._samples.get(group)
            if sample is None:
                if len(self._samples) >= GROUPS:
                    self._samples.popitem(last=False)
                sample = self._samples[group] = _Sample()
            self._samples.move_to_end(group)
            sample.learn(page, changes, seconds)

    def rate(self, host: int, pattern: str, busiest: float) -> float:
        """Returns how often a page is expected to change, in changes a second; ``busiest``: that of a page that is
        asked as often as may be.
        """
        expected = busiest
        for group in ((host, ""), (host, pattern)):
            if (sample := self._samples.get(group)) is not None:
                expected = sample.rate(expected)
        return min(expected, busiest)
