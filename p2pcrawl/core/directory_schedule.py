"""The schedule of what a master says in the directory: never more than two records a second, both kinds together.

The theory. A record ends two hours after it was said, so whatever stays true is said anew after an hour and a half.
The buckets of a cluster are 4,096, so each of N masters has 4,096 / N records to say in that time: 0.38 a second for
one of two, 0.08 for one of ten. Where both kinds have something to say they take turns, so buckets may have one record
a second, and all 4,096 would fit into an hour and a half beside as many hosts.

What a master has to say of its buckets is spread over half an hour. So all masters together say two or three buckets a
second when they begin, be they two or two hundred; each at full speed, two hundred would say 400.

A bucket is said when it has been served for a minute: ownership that moves on at once is not worth it. A host is said
when it asks for more than others do; the same one again after a minute at the earliest, and only if it asks for more,
or another delay, than was said.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from p2pcrawl.core.hosts.politeness import HostNote
from p2pcrawl.model.timings import TIMINGS

EVERY_S = 0.5
"""Between any two records."""
SERVED_S = 60.0
"""A bucket is served for so long before it is said."""
GAP_MAX_S = 60.0
"""The longest time between two of them: a master with few buckets says them sooner."""
RETRY_S = 300.0
"""Before what nobody took is said again."""
SAME_HOST_S = 60.0
PAUSE_MIN_S = 10.0
"""A pause that ends sooner, or is by so little longer than what was said, would be over before anybody could use it."""
HOSTS_MAX = 10_000
"""More could not be said in time."""
LOOKS_MAX = 32
"""Hosts looked at in one go."""


class PublishOwner(NamedTuple):
    """An order to publish that this bucket is served here, under this counter."""

    bucket: int
    counter: int


class PublishHost(NamedTuple):
    """The host of this key asks this."""

    key: int
    note: HostNote


class OwnerHints:
    """The buckets that are served here, each said under the counter of its epoch."""

    def __init__(self) -> None:
        self._due: dict[int, tuple[int, float]] = {}
        """Counter and time of each bucket that is served."""
        self._line: deque[int] = deque()
        self._free_at = 0.0

    def survey(self, counters: Mapping[int, int], now: float) -> None:
        """Takes in which buckets are served at the moment, under which counters, and lines up those that are due. Costs
        a pass.
        """
        for bucket in self._due.keys() - counters.keys():
            del self._due[bucket]
        for bucket, counter in counters.items():
            known = self._due.get(bucket)
            if known is None or known[0] != counter:
                self._due[bucket] = (counter, now + SERVED_S)
        ready = [(at, bucket) for bucket, (_, at) in self._due.items() if at <= now]
        self._line = deque(bucket for _, bucket in sorted(ready))

    def next(self, now: float) -> PublishOwner | None:
        """Returns a bucket to publish now; when no node stores it, :meth:`not_stored` has to be called."""
        while self._line and now >= self._free_at:
            bucket = self._line.popleft()
            counter, at = self._due.get(bucket, (0, now + 1.0))
            if at <= now:
                self._due[bucket] = (counter, now + TIMINGS.record_renew_s)
                self._free_at = now + min(GAP_MAX_S, TIMINGS.record_spread_s / len(self._due))
                return PublishOwner(bucket, counter)
        return None

    def not_stored(self, bucket: int, now: float) -> None:
        """Plans another try for a bucket whose record no node has stored."""
        if bucket in self._due:
            self._due[bucket] = (self._due[bucket][0], now + RETRY_S)


@dataclass(frozen=True, slots=True)
class _Published:
    note: HostNote
    at: float

    def covers(self, note: HostNote, now: float) -> bool:
        """Tells whether whoever reads what was said is as careful as ``note`` asks."""
        left = self.note.pause_s - (now - self.at)
        said = self.note
        return (
            said.delay_s == note.delay_s
            and said.penalty_s >= note.penalty_s
            and note.pause_s <= max(left, 0.0) + PAUSE_MIN_S
        )


class HostHints:
    """The hosts that ask for more than others, by their keys, each with what was said of it."""

    def __init__(self) -> None:
        self._published: dict[int, _Published] = {}
        self._due: dict[int, float] = {}
        self._heap: list[tuple[float, int]] = []
        """By time; an entry that is not that of ``_due`` is void."""

    def remark(self, key: int, now: float) -> None:
        """Plans to look at a host that may have something to be said of it."""
        if key not in self._due and len(self._due) >= HOSTS_MAX:
            return
        said = self._published.get(key)
        self._put(key, max(now, said.at + SAME_HOST_S) if said is not None else now)

    def next(self, now: float, look: Callable[[int], HostNote | None]) -> PublishHost | None:
        """Returns a host that is to be published now; when no node stores it, :meth:`not_stored` has to be called.
        ``look`` says what it asks, or None when it is not ours any more.
        """
        for _ in range(LOOKS_MAX):
            if not self._heap or self._heap[0][0] > now:
                return None
            at, key = heapq.heappop(self._heap)
            if self._due.get(key) != at:
                continue
            del self._due[key]
            said, note = self._published.get(key), look(key)
            if note is None or not (note.delay_s or note.penalty_s or note.pause_s >= PAUSE_MIN_S):
                self._published.pop(key, None)
            elif said is None or now >= said.at + TIMINGS.record_renew_s or not said.covers(note, now):
                self._published[key] = _Published(note, now)
                self._put(key, now + TIMINGS.record_renew_s)
                return PublishHost(key, note)
            else:
                self._put(key, said.at + TIMINGS.record_renew_s)
        return None

    def not_stored(self, key: int, now: float) -> None:
        """Plans another try for a host whose record no node has stored."""
        self._published.pop(key, None)
        self._due.pop(key, None)
        self._put(key, now + RETRY_S)

    def _put(self, key: int, at: float) -> None:
        if key not in self._due or at < self._due[key]:
            self._due[key] = at
            heapq.heappush(self._heap, (at, key))


class Hints:
    """Both kinds, at one rate."""

    def __init__(self) -> None:
        self.owners = OwnerHints()
        self.hosts = HostHints()
        self._free_at = 0.0
        self._hosts_first = False

    def next(self, now: float, look: Callable[[int], HostNote | None]) -> PublishOwner | PublishHost | None:
        """Returns what is to be said now; None while there is nothing or it is too soon. See ``next`` of each."""
        if now < self._free_at:
            return None
        self._hosts_first = not self._hosts_first
        found: PublishOwner | PublishHost | None
        if self._hosts_first:
            found = self.hosts.next(now, look) or self.owners.next(now)
        else:
            found = self.owners.next(now) or self.hosts.next(now, look)
        if found is not None:
            self._free_at = now + EVERY_S
        return found
