"""The order in which hosts come to be asked: those that are ready, in two lines, and those that wait for a time or for
a slave.

One round gives every ready host one turn, so no host starves another. Ready hosts stand in two lines, for most hosts
that are dead look like new ones: the *trusted*, which answer (see politeness), and the *doubtful*. While a trusted
host was busy lately, three quarters of the capacity is the most that requests of doubtful hosts hold, and the trusted
go first; but up to one quarter both lines take turns, so that new hosts come into their own however many trusted ones
there are.

The trusted stand in the order in which they came. Among the doubtful, hosts that were never tried go before those that
were and came in the same ten seconds, and in an order of their own: a list of addresses of which most are dead may have
the living ones at its end.

Invariants, between rounds: a seat that is READY is in exactly one of the lines, held back or parked; ``doubted`` is the
number of open requests of doubtful hosts, as of the last begin or end of each.
"""

from __future__ import annotations

import heapq
from collections import deque

from p2pcrawl.core.bench.seat import Seat, SeatState

TRUSTED_LATELY_S = 10.0
"""How long after its last begin or end a trusted host keeps capacity free for its like."""


MIXED_S = 10.0
"""New hosts that come within so long have their turn in the order of their hashes."""

_Place = tuple[float, int, int]
"""In the line of the doubtful."""


class Lines:
    """Keeps the lines of ready hosts, and those that wait. ``now`` is when the last round began."""

    __slots__ = (
        "_capacity",
        "_counter",
        "_doubtful",
        "_doubtful_last",
        "_dry",
        "_held_back",
        "_parked",
        "_places",
        "_trusted",
        "_trusted_at",
        "_waiting",
        "doubted",
        "now",
    )

    def __init__(self) -> None:
        self.now = 0.0
        self.doubted = 0
        self._capacity = 0
        self._trusted: deque[Seat] = deque()
        self._trusted_at = -TRUSTED_LATELY_S
        self._doubtful: dict[int, tuple[_Place, Seat]] = {}
        """By host: one that answers at last leaves the line from the middle."""
        self._places: list[tuple[_Place, int]] = []
        """A heap of these places with their hosts; those that have left may still be in it."""
        self._doubtful_last = False
        """The last turn went to a doubtful host ahead of the trusted ones."""
        self._held_back: list[Seat] = []
        self._parked: dict[int, deque[Seat]] = {}
        self._waiting: list[tuple[float, int, Seat]] = []
        self._counter = 0
        self._dry: dict[int, Seat] = {}
        """By host."""

    # -- a round ------------------------------------------------------------------------------

    def begin(self, now: float, capacity: int) -> None:
        """Begins a round: whose time has come lines up. ``capacity``: the requests that can be open at once."""
        self.now, self._capacity = now, capacity
        while self._waiting and self._waiting[0][0] <= now:
            seat = heapq.heappop(self._waiting)[2]
            if seat.state is SeatState.WAITING:
                seat.state = SeatState.READY
                self.line_up(seat)
        for seat in reversed(self._held_back):
            self.line_up(seat, first=True)
        self._held_back.clear()

    def next(self) -> Seat | None:
        """Takes the seat whose turn it is out of its line."""
        trusted, doubtful = self._trusted, self._doubtful
        while trusted and not trusted[0].host.trusted:
            # This host has lost its trust while it stood in the line.
            self.line_up(trusted.popleft())
        if doubtful and self._doubtful_may():
            ahead = not self._doubtful_last and self.doubted < self._capacity / 4
            if not trusted or ahead:
                self._doubtful_last = bool(trusted)
                return self._next_doubtful()
        self._doubtful_last = False
        return trusted.popleft() if trusted else None

    def line_up(self, seat: Seat, *, first: bool = False) -> None:
        """Puts a seat that is ready, and in no line, into its own: at the end, or ``first`` if it was next already."""
        if not seat.host.trusted:
            self._line_up_doubtful(seat, first=first)
        elif first:
            self._trusted.appendleft(seat)
        else:
            self._trusted.append(seat)

    def wait(self, seat: Seat) -> None:
        """Lets a seat wait until its host may be asked again."""
        seat.state = SeatState.WAITING
        self._counter += 1
        heapq.heappush(self._waiting, (seat.host.next_at, self._counter, seat))

    def hold_back(self, seat: Seat) -> None:
        """Holds a ready seat back till the next round: its next page is a suspect, which no slave can take in this
        one.
        """
        self._held_back.append(seat)

    def rest(self, seat: Seat) -> None:
        """Lets a seat rest that has nothing to ask for."""
        seat.state = SeatState.IDLE
        if not seat.host.open:
            self._dry[seat.host.key] = seat

    def drained(self) -> list[Seat]:
        """Returns the hosts that had nothing to do in a round since the last call, and have found nothing after it.

        What a host's last page leads to comes in between: it was in the same report, and that was taken in before
        the round, but is added after it.
        """
        dry, self._dry = self._dry, {}
        return [seat for seat in dry.values() if seat.drained]

    # -- what happens to a host ---------------------------------------------------------------

    def wake(self, seat: Seat) -> None:
        """Lines a resting seat up again: it has something to ask for."""
        if seat.state is SeatState.IDLE:
            seat.state = SeatState.READY
            self.line_up(seat)

    def reckon(self, seat: Seat) -> None:
        """Counts the open requests of the host anew: one began or ended."""
        trusted = seat.host.trusted
        if trusted:
            self._trusted_at = self.now
        doubted = 0 if trusted else seat.host.open
        self.doubted += doubted - seat.doubted
        seat.doubted = doubted

    def ended(self, seat: Seat) -> None:
        """Lets a host be asked again, if it may: a request of it ended."""
        self.reckon(seat)
        if seat.state is SeatState.READY and seat.host.trusted and self._doubtful.pop(seat.host.key, None) is not None:
            self._trusted.append(seat)
        if seat.state is SeatState.BUSY:
            seat.state = SeatState.IDLE
        self.wake(seat)

    def next_at(self, now: float) -> float | None:
        """Returns when the next host is due; ``now`` when one is; None when nothing is timed."""
        if self._trusted:
            return now
        times = [self._waiting[0][0]] if self._waiting else []
        if self._doubtful:
            times.append(now if self._doubtful_may() else self._trusted_at + TRUSTED_LATELY_S)
        return min(times) if times else None

    # -- hosts whose slave is busy ------------------------------------------------------------

    def park(self, seat: Seat, session: int) -> None:
        """Parks a ready seat until this session, its slave's, has room."""
        self._parked.setdefault(session, deque()).append(seat)

    def unpark(self, session: int, count: int) -> None:
        """Lines up first those that wait for a slave, as many as it has room for now."""
        parked = self._parked.get(session)
        if parked is None:
            return
        for seat in reversed([parked.popleft() for _ in range(min(count, len(parked)))]):
            self.line_up(seat, first=True)
        if not parked:
            del self._parked[session]

    @property
    def parked(self) -> dict[int, int]:
        """The number of hosts that wait for a slave, by slave."""
        return {session: len(seats) for session, seats in self._parked.items()}

    # -- inside -------------------------------------------------------------------------------

    def _line_up_doubtful(self, seat: Seat, *, first: bool) -> None:
        host = seat.host
        self._counter += 1
        if first:
            place = (-1.0, 0, -self._counter)
        elif host.answered or host.unanswered or host.open:
            place = (self.now, 1, self._counter)
        else:
            place = (self.now // MIXED_S * MIXED_S, 0, host.key)
        self._doubtful[host.key] = place, seat
        heapq.heappush(self._places, (place, host.key))

    def _next_doubtful(self) -> Seat:
        while True:
            place, key = heapq.heappop(self._places)
            found = self._doubtful.get(key)
            if found is not None and found[0] == place:
                del self._doubtful[key]
                return found[1]

    def _doubtful_may(self) -> bool:
        return self.doubted < max(1, self._capacity * 3 // 4) or self.now >= self._trusted_at + TRUSTED_LATELY_S
