"""The workbench: the hosts that may be asked, and the best part of their queues, in bounded memory.

The theory. Everything queued is on disk, in rank order, per (job, host, kind). A queue's *hot* part is
in memory; its ``horizon`` is the rank up to which memory is complete: what lies on disk at or before the
horizon is hot, open or delayed, what lies behind it is on disk only. A new candidate behind the horizon
therefore needs no memory at all. When the hot part runs low the shell is asked to load what follows.

A host is READY (in the round), WAITING (until a time), BUSY (as many open as it may have) or IDLE
(nothing in memory to ask for). One round gives every ready host one turn, so no host starves another;
within a host its index and detail queues, of every job, take turns.

Ready hosts stand in two lines, for most hosts that are dead look like new ones: the *trusted*, which
answer (see politeness), and the *doubtful*. While a trusted host was busy lately, three quarters of the
capacity is the most that requests of doubtful hosts hold, and the trusted go first; but up to one quarter
both lines take turns, so that new hosts come into their own however many trusted ones there are.

Invariants: a record is in memory at most once (``_members``); ``held`` is the number of hot candidates;
``_doubted`` is the number of open requests of doubtful hosts, as of the last begin or end of each.
The caller serialises loads with commits, so a load never races with what it loads.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from enum import IntEnum

from p2pcrawl.core.politeness import REST_MAX_S, Host, HostNote, Pace, RobotsEntry
from p2pcrawl.core.ring import bucket_of_hash, key_hash
from p2pcrawl.model.job import START_URL
from p2pcrawl.model.record import Order
from p2pcrawl.model.url import host_of, origin_of

HOT_MIN = 2
HOT_MAX = 1024
LOWEST = (-(1 << 63), -(1 << 63))
"""Before every rank: a horizon at which memory knows nothing yet."""
LOSSES_SUSPECT = 2
TRUSTED_LATELY_S = 10.0
"""How long after its last begin or end a trusted host keeps capacity free for its like."""

Rank = tuple[int, int]


@dataclass(slots=True)
class Candidate:
    """A queued URL, as it is held in memory."""

    record: int
    job: int
    host: int
    url: str
    fingerprint: bytes
    depth: int
    priority: int
    kind: str
    callback: str
    seed: bool
    referer: str
    extra: bytes
    attempts: int = 0
    losses: int = 0
    rank: Rank = (0, 0)
    bucket: int = 0
    visit: int = 0


def rank_of(order: Order, record: int, priority: int, depth: int) -> Rank:
    """Smaller is served first. Record numbers grow with discovery."""
    if order is Order.FIFO:
        return (0, record)
    if order is Order.LIFO:
        return (0, -record)
    return (-priority, (min(depth, 0x3FFF) << 48) | record)


class State(IntEnum):
    IDLE = 0
    READY = 1
    WAITING = 2
    BUSY = 3


class Queue:
    """One (job, host, kind)."""

    __slots__ = ("horizon", "hot", "job", "kind", "loading", "more")

    def __init__(self, job: int, kind: str) -> None:
        self.job = job
        self.kind = kind
        self.hot: list[tuple[Rank, int, Candidate]] = []
        self.horizon: Rank | None = None
        self.more = False
        self.loading = False


class Seat:
    """A host's place at the workbench: its politeness, its queues and its state."""

    __slots__ = ("doubted", "host", "queues", "robots_open", "state", "turn")

    def __init__(self, host: Host) -> None:
        self.host = host
        self.queues: list[Queue] = []
        self.turn = 0
        self.state = State.IDLE
        self.robots_open = False
        self.doubted = 0
        """Its part of the workbench's ``_doubted``."""

    @property
    def waiting(self) -> int:
        """How many of its URLs are in memory, to be asked for."""
        return sum([len(queue.hot) for queue in self.queues])

    @property
    def drained(self) -> bool:
        """Nothing is open, or queued but for retries whose time has not come."""
        return not self.host.open and not any([queue.hot or queue.more for queue in self.queues])

    def queue(self, job: int, kind: str) -> Queue:
        for queue in self.queues:
            if queue.job == job and queue.kind == kind:
                return queue
        queue = Queue(job, kind)
        self.queues.append(queue)
        return queue


@dataclass(frozen=True, slots=True)
class Want:
    """The shell is asked to load what follows ``after`` in a queue."""

    job: int
    host: int
    kind: str
    after: Rank
    limit: int


@dataclass(slots=True)
class Turn:
    """What a host's turn came to: a candidate to fetch, or the robots.txt that must come first."""

    seat: Seat
    candidate: Candidate
    session: int
    robots_origin: str = ""


@dataclass(frozen=True, slots=True)
class Standing:
    """A host as it stands now. ``waiting`` counts its URLs in memory; ``more``: there are others on disk."""

    name: str
    open: int
    waiting: int
    more: bool
    waits: str
    """What its next request waits for: "robots.txt", "Retry-After", "delay", "answers", "a slave", "a sign of life"
    (it left too many requests without an answer), or nothing."""
    seconds: float
    """How much longer, where that is known."""


@dataclass(slots=True)
class Workbench:
    """See the module."""

    memory: int = 200_000
    hosts_max: int = 100_000
    seats: dict[int, Seat] = field(default_factory=dict)
    held: int = 0
    dormant: bool = False
    """There may be queues on disk whose hosts have no seat; a new queue then knows nothing yet."""
    _missed: bool = False
    """A host was turned away since the last sweep began, perhaps behind it."""
    _paces: dict[int, Pace] = field(default_factory=dict)
    _halted: set[int] = field(default_factory=set)
    _members: set[int] = field(default_factory=set)
    _ready: deque[Seat] = field(default_factory=deque)
    _doubtful: OrderedDict[int, Seat] = field(default_factory=OrderedDict)
    """Ready, too, by host: a host that answers at last leaves it from the middle."""
    _doubted: int = 0
    _capacity: int = 0
    _trusted_at: float = -TRUSTED_LATELY_S
    _doubtful_last: bool = False
    """The last turn went to a doubtful host ahead of the trusted ones."""
    _held_back: list[Seat] = field(default_factory=list)
    """Ready, but with a suspect that no slave could take at the last look."""
    _parked: dict[int, deque[Seat]] = field(default_factory=dict)
    """Ready, but their slave was busy: by its session."""
    _waiting: list[tuple[float, int, Seat]] = field(default_factory=list)
    _delayed: list[tuple[float, int, Candidate]] = field(default_factory=list)
    _wants: dict[tuple[int, int, str], None] = field(default_factory=dict)
    _queues: int = 0
    _counter: int = 0
    _now: float = 0.0
    resumed_at: float | None = None
    """When set, hosts without memory of their last visit wait their delay from here."""
    permit: Callable[[Seat, Candidate], bool] | None = None
    """Asked last before a request begins: whether other masters leave the host to us. Counts it if so."""
    serves: Callable[[int], bool] | None = None
    """Says whether this master may grant what is in a bucket; without it, everything."""
    seated: Callable[[Host], None] | None = None
    """Told of each host that gets a seat, before anything is granted to it."""
    remark: Callable[[int], None] | None = None
    """Told of hosts, by their keys, that ask for more patience than others do. Called often: it has to be quick."""
    _told: dict[int, tuple[HostNote, float]] = field(default_factory=dict)
    """What others knew of hosts that have no seat, and when they said it."""
    _unserved: list[Seat] = field(default_factory=list)
    """Seats whose turn came while their bucket was not served."""
    _dry: dict[int, Seat] = field(default_factory=dict)
    """Seats that had nothing to ask for lately, by host."""
    pauses: dict[int, float] = field(default_factory=dict)
    """Until when hosts asked to be left alone (Retry-After) in an earlier run."""

    # -- jobs ---------------------------------------------------------------------------------

    def open_job(self, job: int, pace: Pace) -> None:
        self._paces[job] = pace
        self._halted.discard(job)

    def halt_job(self, job: int) -> None:
        """Nothing more of this job is granted; what is open goes on."""
        self._halted.add(job)

    def resume_job(self, job: int) -> None:
        self._halted.discard(job)
        for seat in self.seats.values():
            if any(q.job == job for q in seat.queues):
                self._wake(seat)

    def pace(self, job: int) -> Pace:
        return self._paces[job]

    # -- what comes in ------------------------------------------------------------------------

    def add(self, candidates: Iterable[Candidate]) -> None:
        """New or returned candidates that are already on disk."""
        for candidate in candidates:
            seat = self.seats.get(candidate.host)
            if seat is None:
                if len(self.seats) >= self.hosts_max and not self._retire():
                    self.dormant = self._missed = True
                    continue
                seat = self.seat_of(candidate)
            queue = self._queue(seat, candidate.job, candidate.kind)
            if queue.more and not queue.loading and queue.horizon is not None and candidate.rank > queue.horizon:
                continue
            self._push(seat, queue, candidate)
            # While it loads it may not shrink: the load is what follows the horizon that it had.
            if not queue.loading and len(queue.hot) >= 2 * HOT_MIN and self._over(queue):
                self._trim(queue)

    def seat_of(self, candidate: Candidate) -> Seat:
        """The seat of a candidate's host, made if it has none."""
        seat = self.seats.get(candidate.host)
        return seat or self._seated(candidate.host, host_of(candidate.url), candidate.job)

    def host(self, key: int, name: str, job: int) -> Host:
        """The politeness of a host, given a seat if it has none."""
        return (self.seats.get(key) or self._seated(key, name, job)).host

    def _seated(self, key: int, name: str, job: int) -> Seat:
        """A new seat, with what an earlier run left of the host's wishes."""
        host = Host(key, name)
        if key in self._told:
            note, at = self._told.pop(key)
            host.learn(note, at, self._pause_max_s)
        if self.resumed_at is not None:
            host.next_at = max(host.next_at, self.resumed_at + host.delay_s(self._paces[job]))
        if key in self.pauses:
            host.paused_until = self.pauses[key]
            host.next_at = max(host.next_at, host.paused_until)
        seat = self.seats[key] = Seat(host)
        if self.seated is not None:
            self.seated(host)
        return seat

    def delay(self, candidate: Candidate, until: float) -> None:
        """A retry: back into its queue at ``until``."""
        self._members.add(candidate.record)
        self._counter += 1
        heapq.heappush(self._delayed, (until, self._counter, candidate))

    def abandon(self, job: int, host: int) -> None:
        """What is in memory of a host's queues, of one job, has left them; the rest on disk does so, too.

        The host is left alone for a while, so that nothing is granted before that is over.
        """
        gone = [entry for entry in self._delayed if (entry[2].job, entry[2].host) == (job, host)]
        if gone:
            self._delayed = [entry for entry in self._delayed if (entry[2].job, entry[2].host) != (job, host)]
            heapq.heapify(self._delayed)
            self._members.difference_update(entry[2].record for entry in gone)
        seat = self.seats.get(host)
        if seat is None:
            return
        seat.host.next_at = max(seat.host.next_at, self._now + REST_MAX_S)
        for queue in seat.queues:
            if queue.job == job:
                self._members.difference_update(entry[1] for entry in queue.hot)
                self.held -= len(queue.hot)
                queue.hot.clear()
                queue.more, queue.horizon = False, None

    def forget(self, record: int) -> None:
        """The record left the queue: done, failed or dropped, and durably so."""
        self._members.discard(record)

    def loaded(self, want: Want, candidates: list[Candidate]) -> None:
        """The answer to a Want: candidates in rank order; fewer than the limit means that was all."""
        seat = self.seats.get(want.host)
        if seat is None:
            if not candidates:
                return
            seat = self.seat_of(candidates[0])
        queue = self._queue(seat, want.job, want.kind)
        queue.loading = False
        if queue.more and queue.horizon is not None and want.after > queue.horizon:
            # Memory ends before the place where this begins.
            self._want(seat, queue)
            return
        queue.more = len(candidates) >= want.limit
        queue.horizon = candidates[-1].rank if queue.more else None
        for candidate in candidates:
            if candidate.record not in self._members:
                self._push(seat, queue, candidate)
        if self._over(queue):
            self._trim(queue)
        if queue.more and not queue.hot:
            self._want(seat, queue)
        if seat.state is State.IDLE and not seat.host.open:
            self._dry[seat.host.key] = seat

    # -- what goes out ------------------------------------------------------------------------

    def take(self, now: float, choose: Callable[[Seat, bool], int], limit: int, capacity: int) -> list[Turn]:
        """Up to ``limit`` turns of hosts that are due.

        ``choose(seat, suspect)`` names the slave session for a host. A session with a minus is busy: the host is
        parked until ``unpark``. 0: the round ends for now. ``capacity``: the requests that can be open at once,
        over all slaves.
        """
        self._capacity = capacity
        self._advance(now)
        for held_back in reversed(self._held_back):
            self._line_up(held_back, first=True)
        self._held_back.clear()
        turns: list[Turn] = []
        while len(turns) < limit and (seat := self._next_ready()) is not None:
            queue = self._pick(seat)
            if queue is None:
                seat.state = State.IDLE
                if not seat.host.open:
                    self._dry[seat.host.key] = seat
                continue
            candidate = queue.hot[0][2]
            if self.serves is not None and not self.serves(candidate.bucket):
                seat.state = State.BUSY
                self._unserved.append(seat)
                continue
            pace = self._paces[candidate.job]
            host = seat.host
            if now < host.next_at:
                self._wait(seat)
                continue
            if seat.robots_open or not host.may_begin(now, pace):
                seat.state = State.BUSY
                continue
            origin = self._robots_needed(host, pace, candidate, now)
            if origin and host.open:
                # robots.txt comes alone: what is open must end first.
                seat.state = State.BUSY
                continue
            suspect = candidate.losses >= LOSSES_SUSPECT
            session = choose(seat, suspect)
            if session < 0:
                self._parked.setdefault(-session, deque()).append(seat)
                continue
            if not session:
                if suspect:
                    self._held_back.append(seat)
                    continue
                self._line_up(seat, first=True)
                break
            if self.permit is not None and not self.permit(seat, candidate):
                seat.state = State.BUSY
                continue
            host.begin()
            self._reckon(seat)
            if origin:
                seat.robots_open = True
                seat.state = State.BUSY
            else:
                self._pop(seat, queue)
                self._line_up(seat)
            turns.append(Turn(seat, candidate, session, origin))
        return turns

    def unpark(self, session: int, count: int) -> None:
        """Hosts that wait for a slave, as many as it has room for now, are the next to have their turn."""
        parked = self._parked.get(session)
        if parked is None:
            return
        for seat in reversed([parked.popleft() for _ in range(min(count, len(parked)))]):
            self._line_up(seat, first=True)
        if not parked:
            del self._parked[session]

    @property
    def parked(self) -> dict[int, int]:
        """How many hosts wait for which slave."""
        return {session: len(seats) for session, seats in self._parked.items()}

    def drained(self) -> list[Seat]:
        """The hosts that had nothing to do in a round since the last call, and have found nothing after it.

        What a host's last page leads to comes in between: it was in the same report, and that was taken in before
        the round, but is added after it.
        """
        dry, self._dry = self._dry, {}
        return [seat for seat in dry.values() if seat.drained]

    def ended(self, seat: Seat) -> None:
        """A request of this host ended (``host.end`` has been called): it may have another turn."""
        self._reckon(seat)
        if seat.state is State.READY and seat.host.trusted and self._doubtful.pop(seat.host.key, None) is not None:
            self._ready.append(seat)
        if seat.state is State.BUSY:
            seat.state = State.IDLE
        self._wake(seat)
        host = seat.host
        if self.remark is not None and (host.penalty_s or host.paused_until > self._now):
            self.remark(host.key)

    def robots_known(self, seat: Seat, origin: str, agent: str, entry: RobotsEntry) -> None:
        """The answer to a Turn with ``robots_origin``."""
        seat.robots_open = False
        if seat.host.robots is None:
            seat.host.robots = {}
        seat.host.robots[(origin, agent)] = entry
        if self.remark is not None and entry.crawl_delay_s > 0.0:
            self.remark(seat.host.key)

    def note(self, key: int, now: float) -> HostNote | None:
        """What a host asks beyond the delays of its jobs; None without a seat."""
        seat = self.seats.get(key)
        return seat.host.note(now, [self._paces[q.job] for q in seat.queues]) if seat is not None else None

    def learn(self, key: int, note: HostNote, now: float) -> None:
        """What another master knew of a host, taken in now or when it gets a seat."""
        seat = self.seats.get(key)
        if seat is not None:
            seat.host.learn(note, now, self._pause_max_s)
        elif len(self._told) < self.hosts_max:
            self._told[key] = note, now

    @property
    def _pause_max_s(self) -> float:
        return max((pace.retry_after_max_s for pace in self._paces.values()), default=0.0)

    def came_over(self, buckets: Collection[int], now: float) -> None:
        """These buckets were another master's until now, who may have asked their hosts a moment ago. Costs a pass."""
        self.resumed_at = now
        for key, seat in self.seats.items():
            if bucket_of_hash(key) in buckets:
                delays = [seat.host.delay_s(self._paces[queue.job]) for queue in seat.queues]
                seat.host.next_at = max(seat.host.next_at, now + max(delays, default=0.0))

    def notes(self, buckets: Collection[int], now: float) -> dict[int, HostNote]:
        """What the hosts in these buckets ask, as far as they ask anything. Costs a pass."""
        found = {key: self.note(key, now) for key in self.seats if bucket_of_hash(key) in buckets}
        return {key: note for key, note in found.items() if note}

    def wants(self, limit: int) -> list[Want]:
        """Queues to be loaded, at most ``limit``."""
        found: list[Want] = []
        while self._wants and len(found) < limit:
            (job, host, kind), _ = self._wants.popitem()
            seat = self.seats.get(host)
            if seat is None:
                continue
            queue = seat.queue(job, kind)
            if queue.more and not queue.loading:
                queue.loading = True
                found.append(Want(job, host, kind, queue.horizon or LOWEST, self._hot_limit()))
        return found

    def next_at(self, now: float) -> float | None:
        """When the next host or retry is due; ``now`` when one is; None when nothing is timed."""
        if self._ready:
            return now
        times = [heap[0][0] for heap in (self._waiting, self._delayed) if heap]
        if self._doubtful:
            times.append(now if self._doubtful_may() else self._trusted_at + TRUSTED_LATELY_S)
        return min(times) if times else None

    def want_all(self, job: int, host: int, kind: str) -> Want:
        """A Want for a queue found on disk whose host may have no seat yet."""
        return Want(job, host, kind, LOWEST, self._hot_limit())

    # -- more hosts than seats ----------------------------------------------------------------

    @property
    def room(self) -> int:
        """How many more hosts may have a seat."""
        return max(0, self.hosts_max - len(self.seats))

    def make_room(self) -> int:
        """The room, after hosts that have nothing to do gave up their seats if there was little."""
        if self.room <= self.hosts_max // 10:
            self._retire()
        return self.room

    def knows(self, job: int, host: int, kind: str) -> bool:
        """Whether the queue is at the bench, so that it is loaded as it is used up."""
        seat = self.seats.get(host)
        return seat is not None and any(q.job == job and q.kind == kind for q in seat.queues)

    def sweeping(self) -> None:
        """A sweep over the queues on disk begins: each is to be loaded (``want_all``)."""
        self._missed = False

    def swept(self) -> None:
        """The sweep is through: only hosts turned away since it began may still be without a seat."""
        self.dormant = self._missed

    @property
    def wanting(self) -> bool:
        """Some queue waits to be loaded."""
        return bool(self._wants)

    def busiest(self, count: int, now: float) -> list[Standing]:
        """The hosts with most waiting and open. Costs a pass over all seats."""
        rows = ((sum(len(q.hot) for q in s.queues), s.host.open, s) for s in self.seats.values())
        best = heapq.nlargest(count, rows, key=lambda r: (r[0], r[1]))
        return [self._standing(seat, waiting, now) for waiting, open_, seat in best if waiting or open_]

    def standing(self, key: int, now: float) -> Standing | None:
        """How a host stands; None when it has no seat."""
        seat = self.seats.get(key)
        return None if seat is None else self._standing(seat, sum(len(q.hot) for q in seat.queues), now)

    def _standing(self, seat: Seat, waiting: int, now: float) -> Standing:
        host = seat.host
        waits, seconds = "", 0.0
        if seat.robots_open:
            waits = "robots.txt"
        elif now < host.paused_until:
            waits, seconds = "Retry-After", host.paused_until - now
        elif now < host.next_at and host.rest_s:
            waits, seconds = "a sign of life", host.next_at - now
        elif now < host.next_at:
            waits, seconds = "delay", host.next_at - now
        elif seat.state is State.BUSY:
            waits = "answers"
        elif seat.state is State.READY:
            waits = "a slave"
        return Standing(host.name, host.open, waiting, any(q.more for q in seat.queues), waits, seconds)

    # -- buckets that move --------------------------------------------------------------------

    def wake_unserved(self) -> None:
        """Buckets are served that were not before."""
        seats, self._unserved = self._unserved, []
        for seat in seats:
            self.ended(seat)

    def remove(self, buckets: Collection[int]) -> None:
        """Takes everything of these buckets off the bench; what is open ends as it will. Costs a pass.

        Should they come back, what is on disk is loaded anew: a queue that is empty now is not known any more, and
        one that is not has more on disk.
        """
        for seat, queue in self._take_off(lambda candidate: candidate.bucket in buckets):
            if queue.hot or queue.loading:
                queue.more, queue.horizon = True, None
            else:
                seat.queues.remove(queue)
                seat.turn = 0
                self._queues -= 1
        self.wake_unserved()

    def reload_job(self, job: int) -> None:
        """There is more of this job on disk than memory knows of, at any rank. Costs a pass."""
        for seat in self.seats.values():
            for queue in seat.queues:
                if queue.job == job:
                    queue.more, queue.horizon = True, None
                    self._want(seat, queue)

    def withdraw(self, records: Collection[int]) -> None:
        """Takes these records off the bench: they have ended elsewhere. Costs a pass."""
        self._take_off(lambda candidate: candidate.record in records)

    def _take_off(self, goes: Callable[[Candidate], bool]) -> list[tuple[Seat, Queue]]:
        """Whose queues became shorter."""
        shorter = []
        for seat in self.seats.values():
            for queue in seat.queues:
                kept = [entry for entry in queue.hot if not goes(entry[2])]
                if len(kept) == len(queue.hot):
                    continue
                self._members.difference_update(entry[1] for entry in queue.hot if goes(entry[2]))
                self.held -= len(queue.hot) - len(kept)
                queue.hot = kept
                heapq.heapify(queue.hot)
                shorter.append((seat, queue))
        gone = [entry for entry in self._delayed if goes(entry[2])]
        if gone:
            self._members.difference_update(entry[2].record for entry in gone)
            self._delayed = [entry for entry in self._delayed if not goes(entry[2])]
            heapq.heapify(self._delayed)
        return shorter

    # -- inside -------------------------------------------------------------------------------

    def _queue(self, seat: Seat, job: int, kind: str) -> Queue:
        before = len(seat.queues)
        queue = seat.queue(job, kind)
        if len(seat.queues) > before:
            self._queues += 1
            if self.dormant:
                queue.more, queue.horizon = True, LOWEST
                self._want(seat, queue)
        return queue

    def _push(self, seat: Seat, queue: Queue, candidate: Candidate) -> None:
        if candidate.record in self._members:
            return
        self._members.add(candidate.record)
        heapq.heappush(queue.hot, (candidate.rank, candidate.record, candidate))
        self.held += 1
        self._wake(seat)

    def _pop(self, seat: Seat, queue: Queue) -> None:
        heapq.heappop(queue.hot)
        self.held -= 1
        seat.turn = seat.queues.index(queue) + 1
        if queue.more and not queue.loading and len(queue.hot) <= self._hot_limit() // 4:
            self._want(seat, queue)

    def _want(self, seat: Seat, queue: Queue) -> None:
        self._wants[(queue.job, seat.host.key, queue.kind)] = None

    def _pick(self, seat: Seat) -> Queue | None:
        count = len(seat.queues)
        for step in range(count):
            queue = seat.queues[(seat.turn + step) % count]
            if queue.hot and queue.job not in self._halted:
                return queue
        return None

    def _robots_needed(self, host: Host, pace: Pace, candidate: Candidate, now: float) -> str:
        if not pace.obey_robots or candidate.url.startswith(START_URL):
            return ""
        origin = origin_of(candidate.url)
        entry = host.robots.get((origin, pace.agent)) if host.robots else None
        return "" if entry is not None and now < entry.expires_at else origin

    def _wake(self, seat: Seat) -> None:
        if seat.state is State.IDLE:
            seat.state = State.READY
            self._line_up(seat)

    def _line_up(self, seat: Seat, *, first: bool = False) -> None:
        if not seat.host.trusted:
            self._doubtful[seat.host.key] = seat
            if first:
                self._doubtful.move_to_end(seat.host.key, last=False)
        elif first:
            self._ready.appendleft(seat)
        else:
            self._ready.append(seat)

    def _next_ready(self) -> Seat | None:
        """Takes the seat whose turn it is out of its line."""
        ready, doubtful = self._ready, self._doubtful
        while ready and not ready[0].host.trusted:
            # It lost its trust while it stood there.
            self._line_up(ready.popleft())
        if doubtful and self._doubtful_may():
            ahead = not self._doubtful_last and self._doubted < self._capacity / 4
            if not ready or ahead:
                self._doubtful_last = bool(ready)
                return doubtful.popitem(last=False)[1]
        self._doubtful_last = False
        return ready.popleft() if ready else None

    def _doubtful_may(self) -> bool:
        return self._doubted < max(1, self._capacity * 3 // 4) or self._now - self._trusted_at >= TRUSTED_LATELY_S

    def _reckon(self, seat: Seat) -> None:
        """A request of the host began or ended."""
        trusted = seat.host.trusted
        if trusted:
            self._trusted_at = self._now
        doubted = 0 if trusted else seat.host.open
        self._doubted += doubted - seat.doubted
        seat.doubted = doubted

    def _wait(self, seat: Seat) -> None:
        seat.state = State.WAITING
        self._counter += 1
        heapq.heappush(self._waiting, (seat.host.next_at, self._counter, seat))

    def _advance(self, now: float) -> None:
        self._now = now
        while self._waiting and self._waiting[0][0] <= now:
            seat = heapq.heappop(self._waiting)[2]
            if seat.state is State.WAITING:
                seat.state = State.READY
                self._line_up(seat)
        while self._delayed and self._delayed[0][0] <= now:
            candidate = heapq.heappop(self._delayed)[2]
            self._members.discard(candidate.record)
            seat = self.seat_of(candidate)
            self._push(seat, self._queue(seat, candidate.job, candidate.kind), candidate)

    def _hot_limit(self) -> int:
        return max(HOT_MIN, min(HOT_MAX, self.memory // max(1, self._queues) // 2))

    def _over(self, queue: Queue) -> bool:
        limit = self._hot_limit()
        return len(queue.hot) >= 2 * limit or (self.held > self.memory and len(queue.hot) > limit)

    def _trim(self, queue: Queue) -> None:
        """Leaves the tail of a hot queue to the disk, where it is anyway."""
        queue.hot.sort()
        limit = self._hot_limit()
        for _, record, _ in queue.hot[limit:]:
            self._members.discard(record)
        self.held -= len(queue.hot) - limit
        del queue.hot[limit:]
        queue.horizon = queue.hot[-1][0]
        queue.more = True

    def _retire(self) -> bool:
        """Makes room by forgetting hosts that have nothing to do. Costs a pass, so it frees many."""
        gone = [
            key
            for key, seat in self.seats.items()
            if seat.state is State.IDLE and seat.host.next_at <= self._now and seat.drained
        ]
        for key in gone[: max(1, self.hosts_max // 10)]:
            self._queues -= len(self.seats[key].queues)
            del self.seats[key]
        return bool(gone)


def host_key(url: str) -> int:
    """The number of a URL's host, the same on every machine."""
    return key_hash(host_of(url))
