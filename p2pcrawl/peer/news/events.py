"""The events of a whole cluster, merged at the peer that is asked, for as long as somebody asks.

Each master keeps what it noted (:mod:`p2pcrawl.core.journal`). Whoever is asked gets from each of the others what is
new since it last asked, at most once a second, and keeps it for those who ask it next. While nobody asks, nothing is
collected. What a master has lost of its own, because it was too much or because it is in another life, is told as an
event ``gap``; so is what a master that is gone has taken with it, as far as somebody had read of it.
"""

from __future__ import annotations

import asyncio
import heapq
import time
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from math import inf
from typing import Annotated, Any, Final, TypedDict

from msgspec import Meta, Struct
from msgspec.json import Decoder

from p2pcrawl.core.journal import KEPT, Journal
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.cluster.notable import Detail, Notable
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.overlay.peers import Peers
from p2pcrawl.peer.answers.asking import whole_number
from p2pcrawl.peer.news.cursor import ReadPlace, cursor_text, read_cursor

FRESH_S: Final = 0.5
"""What was collected is news for so long."""
COLLECT_S: Final = 1.0
"""How long a master has to tell; one that is slow is asked again."""
GONE_MAX: Final = 32
"""Masters that are gone, of which it is kept what they had told."""
GIVEN: Final = 100
"""Events in an answer, unless more or fewer are asked for."""
MASTER_CHARS: Final = 8


class EventLine(TypedDict):
    """An event of the cluster. ``id``: the place up to which somebody has read who has read this one. ``peer``: the
    master that noted it."""

    id: str
    at: float
    kind: str
    peer: str
    fields: dict[str, Any]


class EventsAnswer(TypedDict):
    """The answer to ``events``, the oldest first. ``cursor``: the place to go on from."""

    events: list[EventLine]
    cursor: str


class EventHere(Struct):
    """An event, as a master tells it to another."""

    seq: int
    at: float
    kind: str
    fields: dict[str, Detail]


class EventsHere(Struct):
    """A master's own events after a number. ``last``: the number of its last one."""

    boot: str
    last: int
    events: Annotated[list[EventHere], Meta(max_length=KEPT)]


_HERE = Decoder(EventsHere)


class _HeardJournal:
    """The events of one master in the life that it is in, as far as they are known here."""

    def __init__(self, boot: str) -> None:
        self.boot = boot
        self.last = 0
        self.events: deque[EventHere] = deque(maxlen=KEPT)

    def take(self, told: EventsHere) -> None:
        """Takes in what is new."""
        self.events.extend(event for event in told.events if event.seq > self.last)
        self.last = max(self.last, told.last)

    def after(self, seq: int) -> list[EventHere]:
        """Returns those after a number that there are."""
        return [event for event in self.events if event.seq > seq]


class Events:
    """Collects and merges the events of all masters."""

    def __init__(self, peers: Peers, journal: Journal, boot: bytes) -> None:
        """``boot``: the life that this master is in."""
        self._peers = peers
        self._journal = journal
        self._boot = boot.hex()[:8]
        self._known: dict[str, _HeardJournal] = {}
        """By the beginning of the masters' ids."""
        self._collected_at = float("-inf")
        self._collecting = asyncio.Lock()

    def here(self, arguments: Mapping[str, Any]) -> EventsHere:
        """Answers a master that collects: what was noted here after the number that it has of this life."""
        after = int(arguments["after"]) if arguments.get("boot") == self._boot else 0
        events = [EventHere(e.seq, e.at, e.kind.value, dict(e.fields)) for e in self._journal.after(after)]
        return EventsHere(self._boot, self._journal.last, events)

    async def answer(self, arguments: Mapping[str, Any]) -> EventsAnswer:
        """Answers with what follows the place ``after``, and with the last ones when none is given. Raises
        ConfigurationError.
        """
        limit = whole_number(arguments, "limit", GIVEN, KEPT)
        text = str(arguments.get("after", ""))
        after = read_cursor(text)
        await self._collect()
        start = after if text else self._before_last(limit)
        lines = list(islice(self._following(start), limit))
        return EventsAnswer(events=lines, cursor=lines[-1]["id"] if lines else cursor_text(start))

    def _before_last(self, limit: int) -> dict[str, ReadPlace]:
        """Returns the place after which the last events follow, so many of them."""
        last = heapq.nlargest(limit, (e.at for known in self._known.values() for e in known.events))
        since = last[-1] if last else inf
        return {
            master: ReadPlace(known.boot, next((e.seq - 1 for e in known.events if e.at >= since), known.last))
            for master, known in self._known.items()
        }

    def _following(self, after: Mapping[str, ReadPlace]) -> Iterator[EventLine]:
        """Yields the events after a place, each with the place that it leads to."""
        reached = dict(after)
        living = {member.id[:MASTER_CHARS] for member in self._peers.members()}
        for master in sorted(after.keys() - self._known.keys() - living):
            # It is gone, and with it what it noted after that.
            del reached[master]
            yield _line(master, _gap(0, time.time(), None), reached)
        parts = [_of_master(master, known, after.get(master)) for master, known in sorted(self._known.items())]
        for master, boot, event in heapq.merge(*parts, key=lambda each: each[2].at):
            reached[master] = ReadPlace(boot, event.seq)
            yield _line(master, event, reached)

    async def _collect(self) -> None:
        """Asks all masters what is new, unless that was done a moment ago."""
        loop = asyncio.get_running_loop()
        async with self._collecting:
            if loop.time() - self._collected_at < FRESH_S:
                return
            own = self._peers.me
            self._take(own, self.here(self._place_of(own)))
            others = [member.id for member in self._peers.others()]
            told = await asyncio.gather(*(self._ask(node) for node in others))
            for node, events in zip(others, told, strict=True):
                if events is not None:
                    self._take(node, events)
            self._forget_gone({member.id[:MASTER_CHARS] for member in self._peers.members()})
            self._collected_at = loop.time()

    def _forget_gone(self, living: Collection[str]) -> None:
        gone = [master for master in self._known if master not in living]
        for master in gone[:-GONE_MAX]:
            del self._known[master]

    def _place_of(self, node: NodeId) -> dict[str, Any]:
        known = self._known.get(node[:MASTER_CHARS])
        return {"boot": known.boot, "after": known.last} if known is not None else {"boot": "", "after": 0}

    async def _ask(self, node: NodeId) -> EventsHere | None:
        try:
            return await self._peers.query(node, "ask:events-here", self._place_of(node), _HERE, COLLECT_S)
        except P2PCrawlError:
            return None

    def _take(self, node: NodeId, told: EventsHere) -> None:
        known = self._known.get(node[:MASTER_CHARS])
        if known is None or known.boot != told.boot:
            known = self._known[node[:MASTER_CHARS]] = _HeardJournal(told.boot)
        known.take(told)


def _of_master(master: str, known: _HeardJournal, place: ReadPlace | None) -> Iterator[tuple[str, str, EventHere]]:
    """Yields the events of one master that somebody has not read who has come to this place, and before them what was
    lost.
    """
    read = place.seq if place is not None and place.boot == known.boot else 0
    events = known.after(read)
    at = events[0].at if events else time.time()
    if place is not None and place.boot != known.boot:
        yield master, known.boot, _gap(0, at, None)
    if events and events[0].seq > read + 1:
        yield master, known.boot, _gap(events[0].seq - 1, at, events[0].seq - 1 - read)
    for event in events:
        yield master, known.boot, event


def _gap(seq: int, at: float, lost: int | None) -> EventHere:
    """Makes the event that tells that events are lost, and how many, if that is known."""
    return EventHere(seq, at, Notable.GAP.value, {"lost": lost})


def _line(master: str, event: EventHere, reached: Mapping[str, ReadPlace]) -> EventLine:
    return EventLine(
        id=cursor_text(reached), at=round(event.at, 3), kind=event.kind, peer=master, fields=dict(event.fields)
    )
