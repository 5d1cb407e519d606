"""The best part of each queue, in bounded memory.

Everything queued is on disk, in rank order, per (job, host, kind). A queue's *hot* part is in memory; its ``horizon``
is the rank up to which memory is complete: what lies on disk at or before the horizon is hot, open or delayed, what
lies behind it is on disk only. A new candidate behind the horizon therefore needs no memory at all. When the hot part
runs low the shell is asked to load what follows.

Invariants: a record is in memory at most once (``members``); ``held`` is the number of hot candidates. The caller
serialises loads with commits, so a load never races with what it loads.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping

from p2pcrawl.core.bench.candidate import LOWEST, Candidate, Rank, Want
from p2pcrawl.core.bench.seat import Queue, Seat

HOT_MIN = 2
HOT_MAX = 1024


class HotQueues:
    """Keeps the best part of each queue in memory, and says which queues want more from the disk. ``wake`` is called
    with seats that have something to ask for.
    """

    __slots__ = ("_counter", "_delayed", "_memory", "_queues", "_wake", "_wants", "held", "members")

    def __init__(self, memory: int, wake: Callable[[Seat], None]) -> None:
        self._memory = memory
        self._wake = wake
        self.held = 0
        self.members: set[int] = set()
        """Records that are hot, open or delayed."""
        self._delayed: list[tuple[float, int, Candidate]] = []
        self._wants: dict[tuple[int, int, str], None] = {}
        self._queues = 0
        self._counter = 0

    # -- queues -------------------------------------------------------------------------------

    def opened(self, seat: Seat, queue: Queue, *, unknown: bool) -> None:
        """Counts a queue that is new in memory. ``unknown``: some of it may be on disk."""
        self._queues += 1
        if unknown:
            queue.more, queue.horizon = True, LOWEST
            self.want(seat, queue)

    def closed(self, count: int) -> None:
        """Takes off so many queues that have left memory."""
        self._queues -= count

    def push(self, seat: Seat, queue: Queue, candidate: Candidate) -> None:
        if candidate.record in self.members:
            return
        self.members.add(candidate.record)
        heapq.heappush(queue.hot, (candidate.prio, candidate.seq, candidate))
        self.held += 1
        self._wake(seat)

    def pop(self, seat: Seat, queue: Queue) -> None:
        """Takes the first of the queue, which is granted."""
        heapq.heappop(queue.hot)
        self.held -= 1
        seat.next_queue = seat.queues.index(queue) + 1
        if queue.more and not queue.loading and len(queue.hot) <= self._limit() // 4:
            self.want(seat, queue)

    def over(self, queue: Queue) -> bool:
        """Tells whether more of the queue is hot than should be."""
        limit = self._limit()
        return len(queue.hot) >= 2 * limit or (self.held > self._memory and len(queue.hot) > limit)

    def trim(self, queue: Queue) -> None:
        """Leaves the tail of a hot queue to the disk, where it is anyway."""
        queue.hot.sort()
        limit = self._limit()
        for _, _, candidate in queue.hot[limit:]:
            self.members.discard(candidate.record)
        self.held -= len(queue.hot) - limit
        del queue.hot[limit:]
        if not queue.more or queue.horizon is not None:
            # Else the whole is to be loaded again, and what lies on disk before the tail may not be in memory.
            queue.horizon = queue.hot[-1][2].rank
        queue.more = True

    # -- loading ------------------------------------------------------------------------------

    @property
    def wanting(self) -> bool:
        """Some queue waits to be loaded."""
        return bool(self._wants)

    def want(self, seat: Seat, queue: Queue) -> None:
        """Asks for what follows in the queue to be loaded."""
        self._wants[(queue.job, seat.host.key, queue.kind)] = None

    def want_all(self, job: int, host: int, kind: str) -> Want:
        """Makes a Want for a queue found on disk whose host may have no seat yet."""
        return Want(job, host, kind, LOWEST, self._limit())

    def wants(self, seats: Mapping[int, Seat], limit: int) -> list[Want]:
        """Queues to be loaded, at most ``limit``."""
        found: list[Want] = []
        while self._wants and len(found) < limit:
            (job, host, kind), _ = self._wants.popitem()
            seat = seats.get(host)
            if seat is None:
                continue
            queue = seat.queue(job, kind)
            if queue.more and not queue.loading:
                queue.loading = True
                found.append(Want(job, host, kind, queue.horizon or LOWEST, self._limit()))
        return found

    def load(self, seat: Seat, queue: Queue, after: Rank, limit: int, candidates: list[Candidate]) -> bool:
        """Takes in what follows ``after``, in rank order; fewer than the limit means that was all. Tells whether it
        fits in.
        """
        queue.loading = False
        if queue.more and after > (queue.horizon or LOWEST):
            # Memory ends before the place where this begins, or the whole is to be loaded again.
            self.want(seat, queue)
            return False
        queue.more = len(candidates) >= limit
        queue.horizon = candidates[-1].rank if queue.more else None
        for candidate in candidates:
            self.push(seat, queue, candidate)
        if self.over(queue):
            self.trim(queue)
        if queue.more and not queue.hot:
            self.want(seat, queue)
        return True

    def reload(self, seat: Seat, queue: Queue) -> None:
        """Asks for the whole queue again: there is more of it on disk than memory knows of, at any rank."""
        queue.more, queue.horizon = True, None
        self.want(seat, queue)

    # -- retries ------------------------------------------------------------------------------

    def delay(self, candidate: Candidate, until: float) -> None:
        """Keeps a retry, which goes back into its queue at ``until``."""
        self.members.add(candidate.record)
        self._counter += 1
        heapq.heappush(self._delayed, (until, self._counter, candidate))

    def due(self, now: float) -> Iterator[Candidate]:
        """Takes out the retries whose time has come."""
        while self._delayed and self._delayed[0][0] <= now:
            candidate = heapq.heappop(self._delayed)[2]
            self.members.discard(candidate.record)
            yield candidate

    @property
    def next_retry_at(self) -> float | None:
        return self._delayed[0][0] if self._delayed else None

    def candidates(self, seats: Iterable[Seat]) -> Iterator[Candidate]:
        """Yields all that are hot, or to be tried again."""
        for seat in seats:
            for queue in seat.queues:
                yield from (candidate for *_, candidate in queue.hot)
        yield from (candidate for *_, candidate in self._delayed)

    # -- what leaves memory -------------------------------------------------------------------

    def forget(self, record: int) -> None:
        """Forgets a record that left the queue: done, failed or dropped, and durably so."""
        self.members.discard(record)

    def clear(self, queue: Queue) -> None:
        """Forgets a queue of which nothing is on disk any more."""
        self.members.difference_update(candidate.record for _, _, candidate in queue.hot)
        self.held -= len(queue.hot)
        queue.hot.clear()
        queue.more, queue.horizon = False, None

    def take_off(self, seats: Iterable[Seat], goes: Callable[[Candidate], bool]) -> list[tuple[Seat, Queue]]:
        """Takes these candidates, and retries, out of memory. Returns of whose queues something went. Costs a pass."""
        dropped = self.drop_retries(goes)
        shorter = []
        for seat in seats:
            for queue in seat.queues:
                kept = [entry for entry in queue.hot if not goes(entry[2])]
                if len(kept) < len(queue.hot):
                    self.members.difference_update(entry[2].record for entry in queue.hot if goes(entry[2]))
                    self.held -= len(queue.hot) - len(kept)
                    queue.hot = kept
                    heapq.heapify(queue.hot)
                elif (queue.job, seat.host.key, queue.kind) not in dropped:
                    continue
                shorter.append((seat, queue))
        return shorter

    def drop_retries(self, goes: Callable[[Candidate], bool]) -> set[tuple[int, int, str]]:
        """Takes these retries out of memory. Returns the job, host and kind of the queues that they were of."""
        gone = [entry[2] for entry in self._delayed if goes(entry[2])]
        if gone:
            self.members.difference_update(candidate.record for candidate in gone)
            self._delayed = [entry for entry in self._delayed if not goes(entry[2])]
            heapq.heapify(self._delayed)
        return {(candidate.job, candidate.host, candidate.link.kind) for candidate in gone}

    def _limit(self) -> int:
        """Returns how many candidates of a queue should be hot."""
        return max(HOT_MIN, min(HOT_MAX, self._memory // max(1, self._queues) // 2))
