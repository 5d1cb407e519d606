"""The workbench: the hosts that may be asked, and the best part of their queues, in bounded memory.

The theory. A host has a *seat* here while it has something queued or open. Its seat is READY (in the round), WAITING
(until a time), BUSY (as many open as it may have) or IDLE (nothing in memory to ask for). Within a host its index and
detail queues, of every job, take turns; among hosts the round does (``core.lines``). What is queued is on disk; the
best part of each queue is in memory, too (``core.hot_queues``). There may be more hosts than seats (``core.seating``),
and of some hosts other masters know what they ask for (``core.known_hosts``).

The workbench joins these four: what comes in finds its seat and its queue, and :meth:`Workbench.take` gives hosts
their turns. It holds no candidate and no line itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from p2pcrawl.core.bench.candidate import Candidate, Want
from p2pcrawl.core.bench.hot_queues import HOT_MIN, HotQueues
from p2pcrawl.core.bench.known_hosts import KnownHosts
from p2pcrawl.core.bench.lines import Lines
from p2pcrawl.core.bench.seat import Queue, Seat, SeatState
from p2pcrawl.core.bench.seating import Seating
from p2pcrawl.core.hosts.hearing import Hearing
from p2pcrawl.core.hosts.politeness import REST_MAX_S, Host, HostNote, Pace, RobotsEntry
from p2pcrawl.model.cluster.host_order import HostOrder
from p2pcrawl.model.crawl.url import origin_of

LOSSES_SUSPECT = 2
"""A page that so many slaves were lost with is a suspect."""


@dataclass(slots=True)
class Pick:
    """The result of asking a host at the bench: a candidate to fetch, or the robots.txt that must come first."""

    seat: Seat
    candidate: Candidate
    session: int
    robots_origin: str = ""


class Terms(Protocol):
    """Says what other masters leave to this one."""

    def serves(self, bucket: int) -> bool:
        """Tells whether this master may grant what is in a bucket."""

    def permit(self, seat: Seat, job: int) -> bool:
        """Tells whether a request of this job may begin now, as far as others are concerned; counts it if so. Asked
        last.
        """


class Unshared:
    """The terms where nobody else is."""

    def serves(self, bucket: int) -> bool:
        """Says yes."""
        return True

    def permit(self, seat: Seat, job: int) -> bool:
        """Says yes."""
        return True


UNSHARED = Unshared()


class Workbench:
    """Chooses what is fetched next, politely and in turn. ``memory``: how many candidates are in memory; ``hosts_max``:
    how many hosts have a seat.
    """

    __slots__ = (
        "_halted",
        "_paces",
        "_remark",
        "_unserved",
        "hearing",
        "hot",
        "known",
        "lines",
        "seating",
        "seats",
    )

    def __init__(
        self,
        memory: int = 200_000,
        hosts_max: int = 100_000,
        *,
        remark: Callable[[int], None] = lambda key: None,
        seated: Callable[[Host], None] = lambda host: None,
    ) -> None:
        """``remark`` is told of hosts, by their keys, that ask for more patience than others do: it is called often,
        and has to be quick. ``seated`` is told of each host that gets a seat, before anything is granted to it."""
        self.seats: dict[int, Seat] = {}
        self._paces: dict[int, Pace] = {}
        self._halted: set[int] = set()
        self.lines = Lines()
        self.hearing = Hearing()
        self.hot = HotQueues(memory, self.lines.wake)
        self.known = KnownHosts(self.seats, self._paces, hosts_max)
        self.seating = Seating(hosts_max, self._halted, self.seats, self.lines, self.hot, self.known, seated)
        self._unserved: list[Seat] = []
        """Seats whose turn came while their bucket was not served."""
        self._remark = remark

    # -- jobs ---------------------------------------------------------------------------------

    def open_job(self, job: int, pace: Pace) -> None:
        self._paces[job] = pace
        self._halted.discard(job)

    def halt_job(self, job: int) -> None:
        """Grants nothing more of this job; what is open goes on."""
        self._halted.add(job)

    def resume_job(self, job: int) -> None:
        self._halted.discard(job)
        for seat in self.seats.values():
            if any(q.job == job for q in seat.queues):
                self.lines.wake(seat)

    def change_pace(self, job: int, pace: Pace) -> None:
        """Lets hosts be visited at another pace from their next request on. Costs a pass."""
        self._paces[job] = pace
        for seat in self.seats.values():
            if any(q.job == job for q in seat.queues):
                self.lines.wake(seat)

    def drop_job(self, job: int) -> None:
        """Takes everything of a job off the bench: it is no more. What is open ends as it will. Costs a pass."""
        self._halted.add(job)
        self.hot.take_off(self.seats.values(), lambda candidate: candidate.job == job)

    def pace(self, job: int) -> Pace:
        return self._paces[job]

    # -- what comes in ------------------------------------------------------------------------

    def add(self, candidates: Iterable[Candidate]) -> None:
        """Adds new or returned candidates that are already on disk."""
        seats, hot, queue_of, push = self.seats, self.hot, self.seating.queue, self.hot.push
        for candidate in candidates:
            seat = seats.get(candidate.host)
            if seat is None:
                if not self.seating.admits():
                    continue
                seat = self.seating.seat_of(candidate)
            queue = queue_of(seat, candidate.job, candidate.link.kind)
            if queue.more and not queue.loading and queue.horizon is not None and candidate.rank > queue.horizon:
                continue
            push(seat, queue, candidate)
            # While it loads it may not shrink: the load is what follows the horizon that it had.
            if not queue.loading and len(queue.hot) >= 2 * HOT_MIN and hot.over(queue):
                hot.trim(queue)

    def loaded(self, want: Want, candidates: list[Candidate]) -> None:
        """Takes in the answer to a Want: candidates in rank order; fewer than the limit means that was all."""
        seat = self.seats.get(want.host)
        if seat is None:
            if not candidates:
                return
            seat = self.seating.seat_of(candidates[0])
        queue = self.seating.queue(seat, want.job, want.kind)
        fits = self.hot.load(seat, queue, want.after, want.limit, candidates)
        if fits and seat.state is SeatState.IDLE:
            self.lines.rest(seat)

    def delay(self, candidate: Candidate, until: float) -> None:
        """Keeps a retry, which goes back into its queue at ``until``."""
        self.hot.delay(candidate, until)

    def forget(self, record: int) -> None:
        """Forgets a record that left the queue: done, failed or dropped, and durably so."""
        self.hot.forget(record)

    def wants(self, limit: int) -> list[Want]:
        """Queues to be loaded, at most ``limit``."""
        return self.hot.wants(self.seats, limit)

    # -- what goes out ------------------------------------------------------------------------

    def take(
        self, now: float, choose: Callable[[Seat, bool], int], limit: int, capacity: int, terms: Terms = UNSHARED
    ) -> list[Pick]:
        """Takes up to ``limit`` candidates of hosts that are due, to be granted.

        ``choose(seat, suspect)`` names the slave session for a host. A session with a minus is busy: the host is
        parked until ``lines.unpark``. 0: the round ends for now. ``capacity``: the requests that can be open at once,
        over all slaves. ``terms``: what other masters leave to us.
        """
        lines = self.lines
        lines.begin(now, capacity)
        for candidate in self.hot.due(now):
            back = self.seating.seat_of(candidate)
            self.hot.push(back, self.seating.queue(back, candidate.job, candidate.link.kind), candidate)
        turns: list[Pick] = []
        while len(turns) < limit and (seat := lines.next()) is not None:
            queue = self._pick(seat)
            if queue is None:
                lines.rest(seat)
                continue
            candidate = queue.hot[0][2]
            if not terms.serves(candidate.bucket):
                seat.state = SeatState.BUSY
                self._unserved.append(seat)
                continue
            pace = self._paces[candidate.job]
            host = seat.host
            if host.halted:
                # Until somebody lets it go on: an order wakes it.
                seat.state = SeatState.BUSY
                continue
            if now < host.next_at:
                lines.wait(seat)
                continue
            if seat.robots_open or not host.may_begin(now, pace):
                seat.state = SeatState.BUSY
                continue
            origin = _robots_needed(host, pace, candidate, now)
            if origin and host.open:
                # robots.txt comes alone: what is open must end first.
                seat.state = SeatState.BUSY
                continue
            suspect = candidate.losses >= LOSSES_SUSPECT
            session = choose(seat, suspect)
            if session < 0:
                lines.park(seat, -session)
                continue
            if not session:
                if suspect:
                    lines.hold_back(seat)
                    continue
                lines.line_up(seat, first=True)
                break
            if not candidate.asks_nobody and not terms.permit(seat, candidate.job):
                seat.state = SeatState.BUSY
                continue
            host.begin()
            lines.reckon(seat)
            if origin:
                seat.robots_open = True
                seat.state = SeatState.BUSY
            else:
                self.hot.pop(seat, queue)
                lines.line_up(seat)
            turns.append(Pick(seat, candidate, session, origin))
        return turns

    def _pick(self, seat: Seat) -> Queue | None:
        count = len(seat.queues)
        for step in range(count):
            queue = seat.queues[(seat.next_queue + step) % count]
            if queue.hot and queue.job not in self._halted:
                return queue
        return None

    def next_at(self, now: float) -> float | None:
        """Returns when the next host or retry is due; ``now`` when one is; None when nothing is timed."""
        times = [at for at in (self.lines.next_at(now), self.hot.next_retry_at) if at is not None]
        return min(times) if times else None

    def ended(self, seat: Seat) -> None:
        """Lets a host be asked again, if it may: a request of it ended (``host.end`` has been called)."""
        self.lines.ended(seat)
        host = seat.host
        if host.penalty_s or host.paused_until > self.lines.now:
            self._remark(host.key)

    # -- hosts --------------------------------------------------------------------------------

    @property
    def hosts(self) -> Iterator[Host]:
        """The hosts that have a seat."""
        return (seat.host for seat in self.seats.values())

    def host(self, key: int, name: str, job: int) -> Host:
        """Returns the politeness of a host, given a seat if it has none."""
        return self.seating.host(key, name, job)

    def robots_known(self, seat: Seat, origin: str, agent: str, entry: RobotsEntry) -> None:
        """Takes in the robots.txt that a Turn with ``robots_origin`` asked for."""
        seat.robots_open = False
        if seat.host.robots is None:
            seat.host.robots = {}
        seat.host.robots[(origin, agent)] = entry
        if entry.crawl_delay_s > 0.0:
            self._remark(seat.host.key)

    def note(self, key: int, now: float) -> HostNote | None:
        """Returns what a host asks beyond the delays of its jobs; None if nothing is known of it."""
        return self.known.note(key, now)

    def notes(self, buckets: Collection[int], now: float) -> dict[int, HostNote]:
        """Collects what the hosts in these buckets ask, as far as they ask anything. Costs a pass."""
        return self.known.notes(buckets, now)

    def learn(self, key: int, note: HostNote, now: float) -> None:
        """Takes in what another master knew of a host, now or when the host gets a seat."""
        self.known.learn(key, note, now)

    def order(self, key: int, order: HostOrder) -> None:
        """Lets a host obey what a person has said, from its next request on."""
        seat = self.known.order(key, order)
        if seat is None:
            return
        if seat.state is SeatState.WAITING:
            # It may wait for less, or for more: its next turn tells.
            seat.state = SeatState.IDLE
        self.lines.ended(seat)

    def came_over(self, buckets: Collection[int], now: float) -> None:
        """Makes the hosts of these buckets wait: the buckets were another master's until now, who may have asked them a
        moment ago. Costs a pass.
        """
        self.known.came_over(buckets, now)

    def rest(self, hosts: Iterable[int], now: float) -> None:
        """Makes these hosts wait their delay from now: another master asked them a moment ago."""
        self.known.rest(hosts, now)

    def abandon(self, job: int, host: int) -> None:
        """Forgets what is in memory of a host's queues of one job; the caller takes the rest off the disk.

        The host is left alone for a while, so that nothing is granted before that is over.
        """
        self.hot.drop_retries(lambda candidate: (candidate.job, candidate.host) == (job, host))
        seat = self.seats.get(host)
        if seat is None:
            return
        seat.host.next_at = max(seat.host.next_at, self.lines.now + REST_MAX_S)
        for queue in seat.queues:
            if queue.job == job:
                self.hot.clear(queue)

    # -- buckets that move --------------------------------------------------------------------

    def wake_unserved(self) -> None:
        """Buckets are served that were not before."""
        seats, self._unserved = self._unserved, []
        for seat in seats:
            self.ended(seat)

    def remove(self, buckets: Collection[int]) -> None:
        """Takes everything of these buckets off the bench; what is open ends as it will. Costs a pass.

        Should they come back, what is on disk is loaded anew: a queue that is empty now is not known any more, and
        one that is not has more on disk. One that had more of other buckets there is loaded at once: nothing of it is
        granted any more, which would ask for that.
        """
        for seat, queue in self.hot.take_off(self.seats.values(), lambda candidate: candidate.bucket in buckets):
            if queue.hot or queue.loading:
                queue.more, queue.horizon = True, None
            elif queue.more:
                self.hot.reload(seat, queue)
            else:
                seat.queues.remove(queue)
                seat.next_queue = 0
                self.hot.closed(1)
        self.wake_unserved()

    def reload_job(self, job: int) -> None:
        """Loads all queues of this job anew: there is more on disk than memory knows of, at any rank. Costs a pass."""
        for seat in self.seats.values():
            for queue in seat.queues:
                if queue.job == job:
                    self.hot.reload(seat, queue)

    def enter(self, records: Collection[int]) -> None:
        """Takes note that these records are entries of their jobs. Costs a pass."""
        for candidate in self.hot.candidates(self.seats.values()):
            if candidate.record in records:
                candidate.link = candidate.link._replace(seed=True)

    def withdraw(self, records: Collection[int]) -> None:
        """Takes these records off the bench: they have ended elsewhere. Costs a pass."""
        for seat, queue in self.hot.take_off(self.seats.values(), lambda candidate: candidate.record in records):
            if queue.more and not queue.hot and not queue.loading:
                # Nothing is granted of it any more, which would ask for what follows.
                self.hot.want(seat, queue)


def _robots_needed(host: Host, pace: Pace, candidate: Candidate, now: float) -> str:
    if not pace.obey_robots or candidate.asks_nobody:
        return ""
    origin = origin_of(candidate.link.url)
    entry = host.robots.get((origin, pace.agent)) if host.robots else None
    known = entry is not None and now < entry.expires_at and entry.only_for in (0, candidate.job)
    return "" if known else origin
