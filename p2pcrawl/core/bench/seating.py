"""The seats of the workbench: which hosts have one, and what is to be done when there are more hosts than seats.

Who has nothing to do gives up its seat: nothing is queued there, or only what is of jobs of which nothing is granted.
That is on disk, and is looked for there when its job goes on.

Queues of hosts without a seat are on disk only. While there may be such queues the bench is *dormant*: a sweep over the
disk, which the shell does, brings them in as room comes free, and a queue that is new in memory knows nothing yet.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from p2pcrawl.core.bench.candidate import Candidate
from p2pcrawl.core.bench.hot_queues import HotQueues
from p2pcrawl.core.bench.known_hosts import KnownHosts
from p2pcrawl.core.bench.lines import Lines
from p2pcrawl.core.bench.seat import Queue, Seat, SeatState
from p2pcrawl.core.hosts.politeness import Host
from p2pcrawl.model.crawl.url import host_of


class Seating:
    """Gives hosts seats at the workbench and takes them back. ``seats`` are the workbench's, by host."""

    __slots__ = ("_halted", "_hot", "_known", "_lines", "_missed", "_seated", "_seats", "dormant", "hosts_max")

    def __init__(
        self,
        hosts_max: int,
        halted: Collection[int],
        seats: dict[int, Seat],
        lines: Lines,
        hot: HotQueues,
        known: KnownHosts,
        seated: Callable[[Host], None],
    ) -> None:
        """``halted``: the jobs of which nothing is granted. ``seated`` is told of each host that gets a seat, before
        anything is granted to it.
        """
        self.hosts_max = hosts_max
        self._halted = halted
        self._seats = seats
        self._lines = lines
        self._hot = hot
        self._known = known
        self._seated = seated
        self.dormant = False
        """There may be queues on disk whose hosts have no seat."""
        self._missed = False
        """A host was turned away since the last sweep began, perhaps behind it."""

    # -- seats --------------------------------------------------------------------------------

    def admits(self) -> bool:
        """Tells whether there is room for one more host, or can be made; if not, a host is turned away for now."""
        if self.room or self._retire():
            return True
        self.dormant = self._missed = True
        return False

    def seat_of(self, candidate: Candidate) -> Seat:
        """Returns the seat of a candidate's host, made if it has none, even if that is one too many."""
        seat = self._seats.get(candidate.host)
        return seat or self._give(candidate.host, host_of(candidate.link.url), candidate.job)

    def host(self, key: int, name: str, job: int) -> Host:
        """Returns the politeness of a host, given a seat if it has none."""
        return (self._seats.get(key) or self._give(key, name, job)).host

    def queue(self, seat: Seat, job: int, kind: str) -> Queue:
        """Returns one of a seat's queues, made if there is none."""
        before = len(seat.queues)
        queue = seat.queue(job, kind)
        if len(seat.queues) > before:
            self._hot.opened(seat, queue, unknown=self.dormant)
        return queue

    def _give(self, key: int, name: str, job: int) -> Seat:
        host = Host(key, name)
        self._known.introduce(host, job)
        seat = self._seats[key] = Seat(host)
        self._seated(host)
        return seat

    # -- more hosts than seats ----------------------------------------------------------------

    @property
    def room(self) -> int:
        """The number of hosts that may have a seat beside those that have one."""
        return max(0, self.hosts_max - len(self._seats))

    def make_room(self) -> int:
        """Makes room, if there is little, by taking the seats of hosts that have nothing to do. Returns how much there
        is then.
        """
        if self.room <= self.hosts_max // 10:
            self._retire()
        return self.room

    def knows(self, job: int, host: int, kind: str) -> bool:
        """Tells whether the queue is at the bench, so that it is loaded as it is used up."""
        seat = self._seats.get(host)
        return seat is not None and any(q.job == job and q.kind == kind for q in seat.queues)

    def sweeping(self) -> None:
        """Begins a sweep over the queues on disk: each is to be loaded (``Workbench.want_all``)."""
        self._missed = False

    def swept(self) -> None:
        """Ends a sweep: only hosts turned away since it began may still be without a seat."""
        self.dormant = self._missed

    def _retire(self) -> bool:
        """Makes room by forgetting hosts that have nothing to do, first those of which nothing is queued. Costs a pass,
        so it frees many.
        """
        now = self._lines.now
        gone = [
            key
            for key, seat in self._seats.items()
            if seat.state is SeatState.IDLE
            and seat.host.next_at <= now
            and seat.rests(self._halted)
            and not seat.host.lent
        ]
        gone.sort(key=lambda key: not self._seats[key].drained)
        for key in gone[: max(1, self.hosts_max // 10)]:
            queues = self._seats.pop(key).queues
            for queue in queues:
                self._hot.clear(queue)
            self._hot.closed(len(queues))
        return bool(gone)
