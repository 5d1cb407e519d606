"""The borrower's side of loans: what this master has borrowed of hosts that other masters own, and what it owes them.

A loan is asked for when a host's turn has come and there is none. Under it so many requests may begin, so many at once,
until its term is over, or its owner is gone or calls it in, or its bucket is claimed. When what is open has ended it is
repaid, with what was learnt of the host; so is a loan of which nothing is left to ask.

A host whose loan got lost would wait for ever. So what is *owed* is said until the owner has heard it, and nothing is
borrowed of the same host before that; who does not know whether it was lent something owes it.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Collection
from dataclasses import dataclass
from time import monotonic

import msgspec

from p2pcrawl.core.bench.seat import Seat
from p2pcrawl.core.bench.workbench import Workbench
from p2pcrawl.core.buckets.ownership import Router
from p2pcrawl.core.ring.rendezvous import bucket_of_hash, key_hash
from p2pcrawl.master.jobs.job import KnownJobs, asked_delay_s, lasting_delay_s
from p2pcrawl.master.loans.boots import Lives
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.overlay.peers import Peers
from p2pcrawl.overlay.tasks import Tasks
from p2pcrawl.wire.messages.peer_messages import Borrow, CalledIn, CallIn, Repay

log = logging.getLogger(__name__)

RETRY_S = 0.5
"""About how long a host of which nothing was lent waits before it is borrowed again."""


@dataclass(slots=True)
class _Loan:
    """A loan that this master has for one host. ``number``: of its question."""

    owner: NodeId
    number: int
    host: str
    left: int
    slots: int
    until: float
    free: bool = False
    """It was lent as a host without a delay."""
    pause_s: float = 0.0
    slow_downs: int = 0

    def over(self, seat: Seat, now: float) -> bool:
        """Tells whether nothing is open under the loan, and nothing will be."""
        return seat.drained or (seat.host.open == 0 and (self.left <= 0 or now >= self.until))


@dataclass(frozen=True, slots=True)
class _Debt:
    """A repayment that its owner has not heard yet."""

    repay: Repay
    since: float

    def said(self, now: float) -> Repay:
        """Returns it as it is to be said now: of what the host asked for, the time that has passed is over."""
        age_s, repay = now - self.since, self.repay
        wait_s, pause_s = max(0.0, repay.wait_s - age_s), max(0.0, repay.pause_s - age_s)
        return msgspec.structs.replace(repay, wait_s=wait_s, pause_s=pause_s)


class Borrowing:
    """Borrows hosts of other masters, and pays back what is owed."""

    def __init__(self, workbench: Workbench, jobs: KnownJobs, router: Router, lives: Lives, peers: Peers) -> None:
        self._bench = workbench
        self._jobs = jobs
        self._router = router
        self._lives = lives
        self._peers = peers
        self._loans: dict[int, _Loan] = {}
        self._asking: dict[int, tuple[NodeId, int] | None] = {}
        """Who is asked for a loan of which host, and the number of the question; nothing once that loan is called in.
        """
        self._number_last = 0
        self._owed: dict[tuple[int, NodeId], _Debt] = {}
        """What an owner has not heard yet, by the host's key."""
        self._sending: set[tuple[int, NodeId]] = set()
        """Of these: what is on its way."""
        self._tasks = Tasks()

    # -- loans --------------------------------------------------------------------------------

    def permit(self, seat: Seat, owner: NodeId, job: int) -> bool:
        """Tells whether a request may begin now under a loan; counts it if so, and asks for a loan if there is none.

        Not to be asked while something is owed to the owner of the host (:meth:`owes`).
        """
        host = seat.host
        loan = self._loans.get(host.key)
        if loan is not None and loan.left > 0 and monotonic() < loan.until and loan.owner == owner:
            if host.open >= loan.slots:
                return False
            loan.left -= 1
            return True
        if loan is None and host.key not in self._asking:
            self._number_last += 1
            self._asking[host.key] = owner, self._number_last
            self._tasks.start(self._borrow(seat, owner, job, self._number_last))
        return False

    def ended(self, seat: Seat, *, pause_s: float, slow_down: bool) -> bool:
        """Takes in that a request of this host ended here. Returns whether it is on loan."""
        loan = self._loans.get(seat.host.key)
        if loan is None:
            return False
        loan.pause_s = max(loan.pause_s, pause_s)
        loan.slow_downs += slow_down and not pause_s
        if loan.free and (pause_s or slow_down or lasting_delay_s(seat.host, self._jobs.values()) > 0.0):
            # It asks for patience, by this answer or its robots.txt: the owner is to know that before it lends to more
            # of us at once.
            loan.left = 0
        if loan.over(seat, monotonic()):
            self._repay(seat.host.key)
        return True

    def tend(self) -> None:
        """Gives back what is not used any more, and says again what is owed."""
        now = monotonic()
        for key, loan in list(self._loans.items()):
            seat = self._bench.seats.get(key)
            if seat is None or loan.over(seat, now):
                self._repay(key)
        for to in [to for to in self._owed if to[1] in self._lives]:
            self._send_debt(to)

    def called_in(self, request: CallIn, sender: NodeId) -> CalledIn:
        """Begins nothing more under a loan, at its owner's word, also if it has yet to be heard of."""
        key, which = key_hash(request.host), (sender, request.number)
        if self._asking.get(key) == which:
            self._asking[key] = None
        loan = self._loans.get(key)
        if loan is not None and (loan.owner, loan.number) == which:
            loan.left = 0
        return CalledIn(0)

    def withdraw(self, buckets: Collection[int]) -> None:
        """Begins nothing more under loans of hosts in these buckets: they are claimed by whoever owns them."""
        self._void(lambda key, loan: bucket_of_hash(key) in buckets)

    def members_changed(self) -> None:
        """Loans from the dead are void, and those of hosts that somebody else owns now."""
        self._void(
            lambda key, loan: loan.owner not in self._lives or self._router.owner(bucket_of_hash(key)) != loan.owner
        )

    def restarted(self, owner: NodeId) -> None:
        """Voids what an owner lent that knows nothing of it any more."""
        self._void(lambda key, loan: loan.owner == owner)

    def _void(self, which: Callable[[int, _Loan], bool]) -> None:
        """Begins nothing more under these loans."""
        for key, loan in self._loans.items():
            if which(key, loan):
                loan.left = 0

    async def _borrow(self, seat: Seat, owner: NodeId, job: int, number: int) -> None:
        host = seat.host
        try:
            known_s = host.asked_delay_s(self._jobs[job].pace)
            asked_at = monotonic()
            answer = await self._peers.ask(owner, Borrow(0, host.name, job, known_s, number))
            if answer.granted:
                now, until = monotonic(), asked_at + answer.waited_s + answer.term_s
                # Who is not the owner any more waits for its loans to end; so does who called this one in already.
                owns = self._router.owner(bucket_of_hash(host.key)) == owner
                left = answer.count if owns and self._asking[host.key] is not None else 0
                self._loans[host.key] = _Loan(
                    owner, number, host.name, left, answer.slots, until, answer.delay_s <= 0.0
                )
                host.told_on_loan(answer.asked_s)
                here_s = lasting_delay_s(host, self._jobs.values())
                host.wait_on_loan(now + answer.wait_s, answer.delay_s, answer.order, here_s)
                return
            await asyncio.sleep(RETRY_S * random.uniform(0.5, 1.5))
        except (P2PCrawlError, KeyError) as error:
            log.debug("no loan of %s from %s: %s", host.name, owner[:8], error)
            self._owe(host.key, owner, Repay(0, host.name, 0.0, 0.0, 0.0, 0, number))
            await asyncio.sleep(RETRY_S * random.uniform(0.5, 1.5))
        finally:
            del self._asking[host.key]
            self._bench.ended(seat)

    # -- debts --------------------------------------------------------------------------------

    def owes(self, key: int, owner: NodeId) -> bool:
        """Tells whether the owner of a host has not heard yet that a loan is over."""
        return (key, owner) in self._owed

    def _repay(self, key: int) -> None:
        loan, seat = self._loans.pop(key), self._bench.seats.get(key)
        repay = Repay(0, loan.host, 0.0, 0.0, loan.pause_s, loan.slow_downs, loan.number)
        if seat is not None:
            # A host that has lost its seat waits for nothing.
            host, jobs = seat.host, self._jobs.values()
            repay.delay_s, repay.asked_s = lasting_delay_s(host, jobs), asked_delay_s(host, jobs)
            repay.wait_s, repay.order = max(0.0, host.next_at - monotonic()), host.order_version
        self._owe(key, loan.owner, repay)
        if seat is not None:
            # Others may have it next; who comes back asks again.
            self._bench.ended(seat)

    def _owe(self, key: int, owner: NodeId, repay: Repay) -> None:
        self._owed[key, owner] = _Debt(repay, monotonic())
        self._send_debt((key, owner))

    def _send_debt(self, to: tuple[int, NodeId]) -> None:
        if to not in self._sending:
            self._sending.add(to)
            self._tasks.start(self._send(to, self._owed[to]))

    async def _send(self, to: tuple[int, NodeId], debt: _Debt) -> None:
        key, owner = to
        try:
            await self._peers.ask(owner, debt.said(monotonic()))
            if self._owed.get(to) is debt:
                del self._owed[to]
                if (seat := self._bench.seats.get(key)) is not None:
                    # The host may be borrowed again.
                    self._bench.ended(seat)
        except P2PCrawlError as error:
            log.debug("repaying %s to %s: %s", debt.repay.host, owner[:8], error)
        finally:
            self._sending.discard(to)

    async def close(self) -> None:
        await self._tasks.close()
