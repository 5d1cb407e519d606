"""Politeness across masters: whoever wants to ask a host borrows the right from the master that owns the host.

With ``SHARD_KEY=url`` or ``domain`` the pages of one host belong to many masters, and several jobs with different
keys meet at the same host. The owner of bucket(host) keeps its politeness; the others fetch under *loans*. A loan on
a host with a delay is exclusive: so many requests, spaced as the host wants it, and nobody else, the owner included,
asks meanwhile. A loan on a host without a delay is a share of its concurrency. A loan ends when it is repaid, with
what was learnt of the host (a longer delay, a Retry-After), or when the borrower is declared dead, by when its slaves
have long stopped. After its term the borrower begins nothing new; it repays when what is open has ended.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from time import monotonic

from p2pcrawl.core.candidate import Candidate
from p2pcrawl.core.ownership import Router
from p2pcrawl.core.politeness import Host
from p2pcrawl.core.ring import bucket_of_hash, key_hash
from p2pcrawl.core.seat import Seat
from p2pcrawl.core.workbench import Workbench
from p2pcrawl.master.job import RUNNING, Job
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.model.job import START_URL
from p2pcrawl.model.node import NodeId
from p2pcrawl.wire.cluster import Borrow, Lent, Repaid, Repay

log = logging.getLogger(__name__)

TERM_S = 5.0
SPACED_S = 2.0
"""About how long an exclusive loan lasts: its number of requests follows from the delay."""
COUNT_MAX = 16
FREE_COUNT = 1 << 20
WAIT_S = 20.0
"""How long a borrower waits in line before it asks again."""
RETRY_S = 0.5
DEAD_S = 7.0
"""After a borrower is declared dead, before its loan counts as ended: its slaves' sessions end sooner."""

Call = Callable[[NodeId, Borrow | Repay], Awaitable[object]]


@dataclass(slots=True)
class _Loan:
    """What this master borrowed for one host."""

    owner: NodeId
    left: int
    slots: int
    until: float
    pause_s: float = 0.0
    slow_downs: int = 0


@dataclass(slots=True)
class _Ledger:
    """What this master, the owner, has lent of one host."""

    lent: dict[NodeId, int] = field(default_factory=dict)
    """Slots by borrower; on a host with a delay one slot is all."""
    line: deque[tuple[NodeId, Borrow, asyncio.Future[Lent]]] = field(default_factory=deque)
    own_next: bool = False
    """After a loan it is our own turn first, so that we do not starve on our own host."""


class Budgets:
    """Both sides of loans. ``call`` reaches another master."""

    def __init__(self, workbench: Workbench, jobs: Mapping[int, Job], router: Router, call: Call) -> None:
        self._bench = workbench
        self._jobs = jobs
        self._router = router
        self._call = call
        self._loans: dict[int, _Loan] = {}
        self._asking: set[int] = set()
        self._ledgers: dict[int, _Ledger] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._masters = 1
        self.borrowed = 0
        self.lent = 0

    # -- borrowing ----------------------------------------------------------------------------

    def permit(self, seat: Seat, candidate: Candidate) -> bool:
        """Whether a request may begin now, as far as other masters are concerned; counts it if so."""
        if candidate.url.startswith(START_URL):
            return True
        host = seat.host
        owner = self._router.owner(bucket_of_hash(host.key))
        if owner is None:
            return self._permit_own(host)
        loan = self._loans.get(host.key)
        if loan is not None and loan.left > 0 and monotonic() < loan.until and loan.owner == owner:
            if host.open >= loan.slots:
                return False
            loan.left -= 1
            return True
        if loan is None and host.key not in self._asking:
            self._asking.add(host.key)
            self._start(self._borrow(seat, owner, candidate.job))
        return False

    def ended(self, seat: Seat, *, pause_s: float = 0.0, slow_down: bool = False) -> None:
        """A request of this host ended here (its ``open`` is already one less)."""
        host = seat.host
        loan = self._loans.get(host.key)
        if loan is not None:
            loan.pause_s = max(loan.pause_s, pause_s)
            loan.slow_downs += slow_down
            if host.open == 0 and (loan.left <= 0 or monotonic() >= loan.until or self._idle(seat)):
                self._repay(seat, loan)
        elif host.key in self._ledgers:
            self._serve_line(host)

    def tend(self) -> None:
        """Gives back what is not used any more."""
        now = monotonic()
        for key, loan in list(self._loans.items()):
            seat = self._bench.seats.get(key)
            if seat is None or (seat.host.open == 0 and (now >= loan.until or loan.left <= 0 or self._idle(seat))):
                self._repay(seat, loan, key)
        for key in list(self._ledgers):
            seat = self._bench.seats.get(key)
            if seat is not None:
                self._serve_line(seat.host, insist=True)

    async def _borrow(self, seat: Seat, owner: NodeId, job: int) -> None:
        host = seat.host
        try:
            delay = host.lasting_delay_s(self._jobs[job].pace)
            answer = await self._call(owner, Borrow(0, host.name, job, delay))
            if isinstance(answer, Lent) and answer.granted:
                now = monotonic()
                self._loans[host.key] = _Loan(owner, answer.count, answer.slots, now + answer.term_s)
                host.next_at = max(host.next_at, now + answer.wait_s)
                host.told_delay_s = max(host.told_delay_s, answer.delay_s)
                self.borrowed += 1
                return
            await asyncio.sleep(RETRY_S * random.uniform(0.5, 1.5))
        except (P2PCrawlError, KeyError) as error:
            log.debug("no loan of %s from %s: %s", host.name, owner[:8], error)
            await asyncio.sleep(RETRY_S * random.uniform(0.5, 1.5))
        finally:
            self._asking.discard(host.key)
            self._bench.ended(seat)

    def _repay(self, seat: Seat | None, loan: _Loan, key: int | None = None) -> None:
        number = seat.host.key if seat is not None else key
        assert number is not None
        self._loans.pop(number, None)
        if seat is None:
            return
        host = seat.host
        delay = self._delay(host)
        wait = max(0.0, host.next_at - monotonic())
        self._start(self._send_repay(loan.owner, Repay(0, host.name, delay, wait, loan.pause_s, loan.slow_downs)))
        # Others may have it next; who comes back asks again.
        self._bench.ended(seat)

    async def _send_repay(self, owner: NodeId, repay: Repay) -> None:
        for _ in range(5):
            try:
                await self._call(owner, repay)
                return
            except P2PCrawlError as error:
                log.debug("repaying %s to %s: %s", repay.host, owner[:8], error)
                await asyncio.sleep(RETRY_S)

    def _idle(self, seat: Seat) -> bool:
        return not any(queue.hot or queue.more for queue in seat.queues)

    # -- lending ------------------------------------------------------------------------------

    def lend(self, request: Borrow, sender: NodeId) -> asyncio.Future[Lent]:
        """The answer to a borrower, when its turn has come."""
        answer: asyncio.Future[Lent] = asyncio.get_running_loop().create_future()
        key = key_hash(request.host)
        job = self._jobs.get(request.job)
        if job is None or self._router.owner(bucket_of_hash(key)) is not None:
            answer.set_result(Lent(0, False))
            return answer
        ledger = self._ledgers.setdefault(key, _Ledger())
        ledger.line.append((sender, request, answer))
        host = self._bench.host(key, request.host, job.id)
        host.told_delay_s = max(host.told_delay_s, request.delay_s)
        self._serve_line(host)
        asyncio.get_running_loop().call_later(WAIT_S, _give_up, answer)
        return answer

    def repaid(self, request: Repay, sender: NodeId) -> Repaid:
        """A loan is over, with what was learnt."""
        key = key_hash(request.host)
        ledger = self._ledgers.get(key)
        slots = ledger.lent.pop(sender, 0) if ledger is not None else 0
        seat = self._bench.seats.get(key)
        if ledger is None or not slots or seat is None:
            return Repaid(0)
        host, now = seat.host, monotonic()
        host.told_delay_s = max(host.told_delay_s, request.delay_s)
        host.lent -= slots
        host.next_at = max(host.next_at, now + max(request.wait_s, request.pause_s))
        for _ in range(request.slow_downs):
            host.slow_down()
        ledger.own_next = not self._idle(seat)
        self._serve_line(host)
        self._bench.ended(seat)
        return Repaid(0)

    def members_changed(self, living: Collection[NodeId]) -> None:
        """Loans of the dead end, a little later; loans from them are void."""
        self._masters = max(1, len(living))
        alive = set(living)
        for key, loan in list(self._loans.items()):
            if loan.owner not in alive or self._router.owner(bucket_of_hash(key)) != loan.owner:
                loan.left = 0
        for key, ledger in self._ledgers.items():
            for borrower in list(ledger.lent):
                if borrower not in alive:
                    asyncio.get_running_loop().call_later(DEAD_S, self._write_off, key, borrower)

    def _write_off(self, key: int, borrower: NodeId) -> None:
        ledger, seat = self._ledgers.get(key), self._bench.seats.get(key)
        slots = ledger.lent.pop(borrower, 0) if ledger is not None else 0
        if slots and seat is not None:
            seat.host.lent -= slots
            seat.host.next_at = max(seat.host.next_at, monotonic() + self._delay(seat.host))
            self._serve_line(seat.host)
            self._bench.ended(seat)

    def _permit_own(self, host: Host) -> bool:
        ledger = self._ledgers.get(host.key)
        if ledger is None:
            return True
        if ledger.line and not ledger.own_next:
            return False
        ledger.own_next = False
        return True

    def _serve_line(self, host: Host, *, insist: bool = False) -> None:
        """Lends to who is next, if the host is free for it and it is not our own turn (or nothing came of that)."""
        ledger = self._ledgers[host.key]
        if insist:
            ledger.own_next = False
        while ledger.line and not ledger.own_next:
            sender, request, answer = ledger.line[0]
            job = self._jobs.get(request.job)
            if answer.done() or job is None:
                ledger.line.popleft()
                continue
            spaced = self._delay(host) > 0.0 or host.penalty_s > 0.0
            limit = 1 if spaced else max(1, job.pace.concurrency // self._masters)
            used = host.open + host.lent
            if used and (spaced or used + limit > job.pace.concurrency):
                return
            ledger.line.popleft()
            ledger.lent[sender] = ledger.lent.get(sender, 0) + limit
            host.lent += limit
            self.lent += 1
            count = self._count(host) if spaced else FREE_COUNT
            wait = max(0.0, host.next_at - monotonic())
            answer.set_result(Lent(0, True, count, limit, wait, max(TERM_S, wait + TERM_S), self._delay(host)))
        seat = self._bench.seats.get(host.key)
        if seat is not None:
            self._bench.ended(seat)
        if not ledger.lent and not ledger.line:
            del self._ledgers[host.key]

    def _count(self, host: Host) -> int:
        delay = self._delay(host)
        return max(1, min(COUNT_MAX, int(SPACED_S / delay))) if delay > 0.0 else COUNT_MAX

    def _delay(self, host: Host) -> float:
        paces = (job.pace for job in self._jobs.values() if job.state == RUNNING)
        return max((host.lasting_delay_s(pace) for pace in paces), default=0.0)

    # -- tasks --------------------------------------------------------------------------------

    def _start(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _give_up(answer: asyncio.Future[Lent]) -> None:
    if not answer.done():
        answer.set_result(Lent(0, False))
