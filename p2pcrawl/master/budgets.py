"""Politeness across masters: whoever wants to ask a host borrows the right from the master that owns the host.

With ``SHARD_KEY=url`` or ``domain`` the pages of one host belong to many masters, and several jobs with different
keys meet at the same host. The owner of bucket(host) keeps its politeness; the others fetch under *loans*. A loan on
a host with a delay is exclusive: so many requests, spaced as the host wants it, and nobody else, the owner included,
asks meanwhile. A loan on a host without a delay is a share of its concurrency. After its term the borrower begins
nothing new; it repays when what is open has ended.

A loan ends when it is repaid, with what was learnt of the host (a longer delay, a Retry-After), and never otherwise
while its borrower lives: a host whose loan got lost would wait for ever. So what is *owed* is said until the owner has
heard it, and nothing is borrowed of the same host before that; who does not know whether it was lent something owes it,
and a question that comes after it was given up is not answered; who borrows while it has a loan has none. When the
borrower dies, or begins a new life, its loans end as soon as their terms are over and its slaves must have stopped.

Who does not serve the host's bucket lends nothing, and takes nothing itself. An owner lets go of a bucket when nothing
of it is lent (:class:`~p2pcrawl.master.handover.Handover`); a borrower lets go of it when what is open has ended, and
begins nothing more under loans of it.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
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
from p2pcrawl.wire.messages import DRIFT

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
    """What this master borrowed for one host. ``number``: of its question."""

    owner: NodeId
    number: int
    host: str
    left: int
    slots: int
    until: float
    pause_s: float = 0.0
    slow_downs: int = 0


@dataclass(frozen=True, slots=True)
class _Lent:
    """What this master has lent to one borrower. ``number``: of its question."""

    number: int
    slots: int
    life: bytes
    """Of the borrower."""
    until: float
    """It begins nothing after this."""


@dataclass(frozen=True, slots=True)
class _Asker:
    """One that waits for a loan."""

    node: NodeId
    request: Borrow
    since: float
    answer: asyncio.Future[Lent]


@dataclass(slots=True)
class _Ledger:
    """What this master, the owner, has lent of one host."""

    lent: dict[NodeId, _Lent] = field(default_factory=dict)
    """By borrower; on a host with a delay one slot is all."""
    line: deque[_Asker] = field(default_factory=deque)
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
        self._owed: dict[tuple[int, NodeId], Repay] = {}
        """What an owner has not heard yet, by the host's key."""
        self._saying: set[tuple[int, NodeId]] = set()
        """Of these: what is on its way."""
        self._waiting: set[int] = set()
        """Hosts that want to be asked: ours, but not ours alone yet, or with something owed to their owner."""
        self._ledgers: dict[int, _Ledger] = {}
        self._number_last = 0
        self._heard: dict[NodeId, int] = {}
        """The last number of each that has asked here."""
        self._lives: dict[NodeId, bytes] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._living: frozenset[NodeId] = frozenset()
        self.borrowed = 0
        self.lent = 0

    # -- borrowing ----------------------------------------------------------------------------

    def permit(self, seat: Seat, candidate: Candidate) -> bool:
        """Whether a request may begin now, as far as other masters are concerned; counts it if so."""
        if candidate.url.startswith(START_URL):
            return True
        host = seat.host
        bucket = bucket_of_hash(host.key)
        owner = self._router.owner(bucket)
        if owner is None:
            if self._router.serves(bucket):
                return self._permit_own(host)
            self._waiting.add(host.key)
            return False
        loan = self._loans.get(host.key)
        if loan is not None and loan.left > 0 and monotonic() < loan.until and loan.owner == owner:
            if host.open >= loan.slots:
                return False
            loan.left -= 1
            return True
        if (host.key, owner) in self._owed:
            self._waiting.add(host.key)
        elif loan is None and host.key not in self._asking:
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
                self._repay(host.key)
        elif host.key in self._ledgers:
            self._serve_line(host)

    def tend(self) -> None:
        """Gives back what is not used any more, and says again what is owed."""
        now = monotonic()
        for key, loan in list(self._loans.items()):
            seat = self._bench.seats.get(key)
            if seat is None or (seat.host.open == 0 and (now >= loan.until or loan.left <= 0 or self._idle(seat))):
                self._repay(key)
        for debt in [debt for debt in self._owed if debt[1] in self._living]:
            self._say(debt)
        waiting, self._waiting = self._waiting, set()
        for key in sorted(waiting):
            self._go_on(key)
        for key, ledger in list(self._ledgers.items()):
            seat = self._bench.seats.get(key)
            if seat is not None:
                self._serve_line(seat.host, insist=True)
            else:
                # It had nothing to do for so long that nobody waits any more.
                _refuse(ledger, lambda asker: True)
                del self._ledgers[key]

    def withdraw(self, buckets: Collection[int]) -> None:
        """Begins nothing more under loans of hosts in these buckets: they are claimed by whoever owns them."""
        for key, loan in self._loans.items():
            if bucket_of_hash(key) in buckets:
                loan.left = 0

    async def _borrow(self, seat: Seat, owner: NodeId, job: int) -> None:
        host = seat.host
        self._number_last = number = self._number_last + 1
        try:
            delay = host.lasting_delay_s(self._jobs[job].pace)
            asked_at = monotonic()
            answer = await self._call(owner, Borrow(0, host.name, job, delay, number))
            if isinstance(answer, Lent) and answer.granted:
                now, until = monotonic(), asked_at + answer.waited_s + answer.term_s
                # Who is not the owner any more waits for its loans to end.
                left = answer.count if self._router.owner(bucket_of_hash(host.key)) == owner else 0
                self._loans[host.key] = _Loan(owner, number, host.name, left, answer.slots, until)
                host.next_at = max(host.next_at, now + answer.wait_s)
                host.told_delay_s = max(host.told_delay_s, answer.delay_s)
                self.borrowed += 1
                return
            await asyncio.sleep(RETRY_S * random.uniform(0.5, 1.5))
        except (P2PCrawlError, KeyError) as error:
            log.debug("no loan of %s from %s: %s", host.name, owner[:8], error)
            self._owe(host.key, owner, Repay(0, host.name, 0.0, 0.0, 0.0, 0, number))
            await asyncio.sleep(RETRY_S * random.uniform(0.5, 1.5))
        finally:
            self._asking.discard(host.key)
            self._bench.ended(seat)

    def _repay(self, key: int) -> None:
        loan, seat = self._loans.pop(key), self._bench.seats.get(key)
        # A host that has lost its seat waits for nothing.
        delay = self._delay(seat.host) if seat is not None else 0.0
        wait = max(0.0, seat.host.next_at - monotonic()) if seat is not None else 0.0
        self._owe(key, loan.owner, Repay(0, loan.host, delay, wait, loan.pause_s, loan.slow_downs, loan.number))
        if seat is not None:
            # Others may have it next; who comes back asks again.
            self._bench.ended(seat)

    def _owe(self, key: int, owner: NodeId, repay: Repay) -> None:
        self._owed[key, owner] = repay
        self._say((key, owner))

    def _say(self, debt: tuple[int, NodeId]) -> None:
        if debt not in self._saying:
            self._saying.add(debt)
            self._start(self._send(debt, self._owed[debt]))

    async def _send(self, debt: tuple[int, NodeId], repay: Repay) -> None:
        key, owner = debt
        try:
            await self._call(owner, repay)
            if self._owed.get(debt) is repay:
                del self._owed[debt]
                self._go_on(key)
        except P2PCrawlError as error:
            log.debug("repaying %s to %s: %s", repay.host, owner[:8], error)
        finally:
            self._saying.discard(debt)

    def _go_on(self, key: int) -> None:
        """The host may be asked, or borrowed, where it could not be before."""
        seat = self._bench.seats.get(key)
        if seat is not None:
            self._bench.ended(seat)

    def _idle(self, seat: Seat) -> bool:
        return not any(queue.hot or queue.more for queue in seat.queues)

    # -- lending ------------------------------------------------------------------------------

    def lend(self, request: Borrow, sender: NodeId) -> asyncio.Future[Lent]:
        """The answer to a borrower, when its turn has come."""
        answer: asyncio.Future[Lent] = asyncio.get_running_loop().create_future()
        key = key_hash(request.host)
        job = self._jobs.get(request.job)
        known = sender in self._living and self._is_new(sender, request.number)
        if job is None or not known or not self._lends(key):
            answer.set_result(Lent(0, False))
            return answer
        host = self._bench.host(key, request.host, job.id)
        ledger = self._ledgers.setdefault(key, _Ledger())
        if sender in ledger.lent:
            # It would not ask if it knew of that.
            self._written_off(key, sender)
        ledger.line.append(_Asker(sender, request, monotonic(), answer))
        host.told_delay_s = max(host.told_delay_s, request.delay_s)
        self._serve_line(host)
        asyncio.get_running_loop().call_later(WAIT_S, _give_up, answer)
        return answer

    def repaid(self, request: Repay, sender: NodeId) -> Repaid:
        """A loan is over, with what was learnt."""
        self._is_new(sender, request.number)
        key = key_hash(request.host)
        ledger, seat = self._ledgers.get(key), self._bench.seats.get(key)
        if ledger is None or seat is None:
            return Repaid(0)
        # It may have given up waiting.
        _refuse(ledger, lambda asker: (asker.node, asker.request.number) == (sender, request.number))
        lent = ledger.lent.get(sender)
        if lent is None or request.number != lent.number:
            return Repaid(0)
        del ledger.lent[sender]
        host, now = seat.host, monotonic()
        host.told_delay_s = max(host.told_delay_s, request.delay_s)
        host.lent -= lent.slots
        host.next_at = max(host.next_at, now + max(request.wait_s, request.pause_s))
        for _ in range(request.slow_downs):
            host.slow_down()
        ledger.own_next = not self._idle(seat)
        self._serve_line(host)
        self._bench.ended(seat)
        return Repaid(0)

    def members_changed(self, living: Collection[NodeId]) -> None:
        """Loans of the dead end, a little later; loans from them are void."""
        self._living = frozenset(living)
        for key, loan in self._loans.items():
            if loan.owner not in self._living or self._router.owner(bucket_of_hash(key)) != loan.owner:
                loan.left = 0
        self._end_later(lambda node: node not in self._living)

    def came(self, node: NodeId, life: bytes) -> None:
        """It is there, for the first time or again. In another life it knows nothing of what it lent or borrowed."""
        known = self._lives.get(node, life)
        self._lives[node] = life
        if known == life:
            return
        self._heard.pop(node, None)
        for loan in self._loans.values():
            if loan.owner == node:
                loan.left = 0
        self._end_later(lambda borrower: borrower == node)

    def lent_of(self) -> Iterator[int]:
        """The buckets of hosts of which others have loans."""
        return (bucket_of_hash(key) for key, ledger in self._ledgers.items() if ledger.lent)

    def _end_later(self, gone: Callable[[NodeId], bool]) -> None:
        """The loans of those that are gone end when their slaves must have stopped."""
        for key, ledger in self._ledgers.items():
            _refuse(ledger, lambda asker: gone(asker.node))
            for borrower, lent in ledger.lent.items():
                if not gone(borrower):
                    continue
                wait_s = max(DEAD_S, lent.until - monotonic())
                asyncio.get_running_loop().call_later(wait_s, self._write_off, key, borrower, lent)

    def _write_off(self, key: int, borrower: NodeId, lent: _Lent) -> None:
        ledger = self._ledgers.get(key)
        if ledger is None or ledger.lent.get(borrower) is not lent:
            return
        if borrower in self._living and self._lives.get(borrower) == lent.life:
            # It was not dead, and repays.
            return
        self._written_off(key, borrower)
        seat = self._bench.seats.get(key)
        if seat is not None:
            self._serve_line(seat.host)

    def _written_off(self, key: int, borrower: NodeId) -> None:
        """A loan has ended, nobody knows when."""
        lent, seat = self._ledgers[key].lent.pop(borrower), self._bench.seats.get(key)
        if seat is not None:
            seat.host.lent -= lent.slots
            seat.host.next_at = max(seat.host.next_at, monotonic() + self._delay(seat.host))

    def _is_new(self, node: NodeId, number: int) -> bool:
        """Whether nothing that it asked later was heard before."""
        if number and number <= self._heard.get(node, 0):
            return False
        self._heard[node] = max(number, self._heard.get(node, 0))
        return True

    def _lends(self, key: int) -> bool:
        """Whether the host is ours, and nobody else's any more."""
        bucket = bucket_of_hash(key)
        return self._router.owner(bucket) is None and self._router.serves(bucket)

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
        if not self._lends(host.key):
            _refuse(ledger, lambda asker: True)
        while ledger.line and not ledger.own_next:
            asker = ledger.line[0]
            job = self._jobs.get(asker.request.job)
            if asker.answer.done() or job is None:
                ledger.line.popleft()
                continue
            spaced = self._delay(host) > 0.0 or host.penalty_s > 0.0
            limit = 1 if spaced else max(1, job.pace.concurrency // max(1, len(self._living)))
            used = host.open + host.lent
            if used and (spaced or used + limit > job.pace.concurrency):
                return
            ledger.line.popleft()
            host.lent += limit
            self.lent += 1
            count = self._count(host) if spaced else FREE_COUNT
            now = monotonic()
            wait = max(0.0, host.next_at - now)
            term, waited = wait + TERM_S, now - asker.since
            until = now + term * (1.0 + 2 * DRIFT)
            ledger.lent[asker.node] = _Lent(asker.request.number, limit, self._lives.get(asker.node, b""), until)
            asker.answer.set_result(Lent(0, True, count, limit, wait, term, self._delay(host), waited))
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


def _refuse(ledger: _Ledger, whom: Callable[[_Asker], bool]) -> None:
    """These wait in vain."""
    for asker in ledger.line:
        if whom(asker):
            _give_up(asker.answer)
    ledger.line = deque(asker for asker in ledger.line if not asker.answer.done())


def _give_up(answer: asyncio.Future[Lent]) -> None:
    if not answer.done():
        answer.set_result(Lent(0, False))
