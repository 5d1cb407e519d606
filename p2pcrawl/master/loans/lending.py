"""The owner's side of loans: what this master has lent of its hosts, and who waits in line for them.

Each host with a loan or a line has a ledger here. On a host with a delay one slot is all there is to lend, for so many
requests as fit into a short time; on one without a delay it is a part of the concurrency, by the number of masters, and
not while the host wants to be left alone. After a loan it is the owner's own turn, if it has something to ask; then the
next in line has its own.

A loan ends when it is repaid, and never otherwise while its borrower lives, for nobody else knows what is open under
it. Borrowers number their questions: one that comes after it was given up gets nothing, and who asks while it has a
loan does not know of that, so it has none. When the borrower dies, or begins a new life, its loans are *written off* as
soon as their terms are over and its slaves must have stopped; if it comes back in the same life, it has them still
(:mod:`~p2pcrawl.master.loans.written_off`), and what was lent to others meanwhile is *called in*.

Who does not serve the host's bucket lends nothing of it. An owner lets go of a bucket when nothing of it is lent
(:class:`~p2pcrawl.master.buckets.handover.Handover`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from time import monotonic

from p2pcrawl.core.bench.workbench import Workbench
from p2pcrawl.core.buckets.ownership import Router
from p2pcrawl.core.hosts.politeness import Host, HostNote
from p2pcrawl.core.ring.rendezvous import bucket_of_hash, key_hash
from p2pcrawl.master.jobs.job import KnownJobs, asked_delay_s, lasting_delay_s
from p2pcrawl.master.loans.boots import Lives
from p2pcrawl.master.loans.elsewhere import Elsewhere
from p2pcrawl.master.loans.host_ledger import Asker, HostLedger, answer_in_vain
from p2pcrawl.master.loans.written_off import MadeLoan, WrittenOff
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.timings import TIMINGS
from p2pcrawl.wire.messages.peer_messages import Borrow, CallIn, Lent, Repaid, Repay

COUNT_MAX = 16
FREE_COUNT = 1 << 20
WAIT_S = 20.0
"""How long a borrower waits in line before it asks again."""


class Lending:
    """Lends the hosts of this master, one after the other in line. ``call_in`` brings a borrower the word that nothing
    more is to begin under a loan.
    """

    def __init__(
        self,
        workbench: Workbench,
        jobs: KnownJobs,
        router: Router,
        lives: Lives,
        elsewhere: Elsewhere,
        call_in: Callable[[NodeId, CallIn], None],
    ) -> None:
        self._bench = workbench
        self._jobs = jobs
        self._router = router
        self._lives = lives
        self._elsewhere = elsewhere
        self._call_in = call_in
        self._ledgers: dict[int, HostLedger] = {}
        self._written_off = WrittenOff(lives)
        self._heard: dict[NodeId, int] = {}
        """The last number of each that has asked here."""

    # -- borrowers ----------------------------------------------------------------------------

    def lend(self, request: Borrow, sender: NodeId) -> asyncio.Future[Lent]:
        """Answers a borrower, when its turn has come."""
        answer: asyncio.Future[Lent] = asyncio.get_running_loop().create_future()
        key = key_hash(request.host)
        job = self._jobs.get(request.job)
        known = sender in self._lives and self._is_new(sender, request.number)
        if job is None or not known or not self._lends(key):
            answer.set_result(Lent(0, False))
            return answer
        host = self._bench.host(key, request.host, job.id)
        ledger = self._ledgers.setdefault(key, HostLedger())
        if sender in ledger.lent:
            # The borrower would not ask if it knew of the loan that it has.
            self._write_off(key, sender)
        ledger.line.append(Asker(sender, request, monotonic(), answer))
        host.told_on_loan(request.asked_s)
        self._serve_line(host)
        asyncio.get_running_loop().call_later(WAIT_S, answer_in_vain, answer)
        return answer

    def repaid(self, request: Repay, sender: NodeId) -> Repaid:
        """Ends a loan that is over, with what was learnt."""
        self._is_new(sender, request.number)
        key = key_hash(request.host)
        ended, seat = self._end(key, request.number, sender), self._bench.seats.get(key)
        if not ended or seat is None:
            return Repaid(0)
        host, now = seat.host, monotonic()
        host.told_on_loan(request.asked_s)
        host.wait_on_loan(now + request.wait_s, request.delay_s, request.order, self._delay_s(host))
        if request.pause_s > 0.0:
            # Whoever owns it next, and holds copies, is told that, and it is obeyed for no longer than our jobs say.
            self._bench.learn(key, HostNote(pause_s=request.pause_s), now)
        for _ in range(request.slow_downs):
            host.slow_down()
        if (ledger := self._ledgers.get(key)) is not None:
            ledger.own_next = any(queue.hot or queue.more for queue in seat.queues)
            self._serve_line(host)
        self._bench.ended(seat)
        return Repaid(0)

    def _end(self, key: int, number: int, borrower: NodeId) -> bool:
        """Ends a loan, whether it was written off or not, and the wait for one. Tells whether there was that loan."""
        if (ledger := self._ledgers.get(key)) is not None:
            # The borrower may have given up waiting.
            ledger.refuse(lambda asker: (asker.node, asker.request.number) == (borrower, number))
            lent, seat = ledger.lent.get(borrower), self._bench.seats.get(key)
            if lent is not None and lent.number == number:
                del ledger.lent[borrower]
                if seat is not None:
                    seat.host.lent -= lent.slots
                return True
        return self._written_off.repaid(key, borrower, number)

    def lent(self) -> Iterator[int]:
        """Returns the hosts of which others have loans, by their keys."""
        return (key for key, ledger in self._ledgers.items() if ledger.lent)

    def call_in(self, hosts: Iterable[int], back: NodeId | None = None) -> None:
        """Calls in what is lent of these hosts, but to ``back``, who asks them or knows more of them. What is open goes
        on.
        """
        for key in hosts:
            seat, ledger = self._bench.seats.get(key), self._ledgers.get(key)
            if seat is not None and ledger is not None and self._spaced(seat.host):
                for borrower, lent in ledger.lent.items():
                    if borrower != back:
                        self._call_in(borrower, CallIn(0, seat.host.name, lent.number))

    def _is_new(self, node: NodeId, number: int) -> bool:
        """Tells whether nothing that the borrower asked later was heard before."""
        if number and number <= self._heard.get(node, 0):
            return False
        self._heard[node] = max(number, self._heard.get(node, 0))
        return True

    # -- the owner itself ---------------------------------------------------------------------

    def permit(self, host: Host) -> bool:
        """Tells whether it is our own turn to ask a host that we serve; counts it if so."""
        ledger = self._ledgers.get(host.key)
        if ledger is None:
            return True
        if ledger.line and not ledger.own_next:
            return False
        ledger.own_next = False
        return True

    def is_asked_elsewhere(self, host: Host) -> bool:
        """Tells whether a master that served it, too, is asking a host still that one asks at a time."""
        return self._elsewhere.is_asked(host.key) and self._spaced(host)

    def ended(self, host: Host) -> None:
        """Serves those in line: a request of this host ended here."""
        if host.key in self._ledgers:
            self._serve_line(host)

    def tend(self) -> None:
        """Serves the lines of hosts of which our own turn came to nothing."""
        for key, ledger in list(self._ledgers.items()):
            seat = self._bench.seats.get(key)
            if seat is not None:
                ledger.own_next = False
                self._serve_line(seat.host)
            else:
                # The host has no seat: it had nothing to do for so long that nobody waits any more.
                ledger.refuse()
                del self._ledgers[key]

    # -- borrowers that are gone --------------------------------------------------------------

    def members_changed(self) -> None:
        """Loans of the dead end, a little later; those of masters that were taken for dead and are back count again."""
        for key, borrower, lent in self._written_off.returned():
            if (seat := self._bench.seats.get(key)) is not None:
                # Somebody else's by now: nothing begins beside what came back.
                self.call_in([key], borrower)
                self._ledgers.setdefault(key, HostLedger()).lent[borrower] = lent
                seat.host.lent += lent.slots
        self._end_later(lambda node: node not in self._lives)

    def forgotten(self, node: NodeId) -> None:
        """Forgets what was written off of one that has been away for very long."""
        self._written_off.forget(node)

    def restarted(self, borrower: NodeId) -> None:
        """Ends the loans of a borrower that knows nothing of them any more, and numbers its questions anew."""
        self._heard.pop(borrower, None)
        self._end_later(lambda node: node == borrower)

    def _end_later(self, gone: Callable[[NodeId], bool]) -> None:
        """Ends the loans of those that are gone when their slaves must have stopped."""
        for key, ledger in self._ledgers.items():
            ledger.refuse(lambda asker: gone(asker.node))
            for borrower, lent in ledger.lent.items():
                if not gone(borrower):
                    continue
                wait_s = max(TIMINGS.loan_dead_s, lent.until - monotonic())
                asyncio.get_running_loop().call_later(wait_s, self._expire, key, borrower, lent)

    def _expire(self, key: int, borrower: NodeId, lent: MadeLoan) -> None:
        ledger = self._ledgers.get(key)
        if ledger is None or ledger.lent.get(borrower) is not lent:
            return
        if borrower in self._lives and self._lives.of(borrower) == lent.life:
            # The borrower was not dead, and repays.
            return
        self._write_off(key, borrower)
        self._written_off.note(key, borrower, lent)
        seat = self._bench.seats.get(key)
        if seat is not None:
            self._serve_line(seat.host)

    def _write_off(self, key: int, borrower: NodeId) -> None:
        """Ends a loan of which nobody knows when it ended."""
        lent, seat = self._ledgers[key].lent.pop(borrower), self._bench.seats.get(key)
        if seat is not None:
            seat.host.lent -= lent.slots
            seat.host.next_at = max(seat.host.next_at, monotonic() + self._delay_s(seat.host))

    # -- the line -----------------------------------------------------------------------------

    def _lends(self, key: int) -> bool:
        """Tells whether the host is ours, and nobody else's any more."""
        bucket = bucket_of_hash(key)
        return self._router.owner(bucket) is None and self._router.serves(bucket)

    def _serve_line(self, host: Host) -> None:
        """Lends to who is next, if the host is free for it and it is not our own turn."""
        ledger = self._ledgers[host.key]
        if not self._lends(host.key):
            ledger.refuse()
        while self._may_lend(host, ledger):
            asker = ledger.line[0]
            job = self._jobs.get(asker.request.job)
            if asker.answer.done() or job is None:
                ledger.line.popleft()
                continue
            spaced = self._spaced(host)
            limit = 1 if spaced else max(1, job.pace.concurrency // max(1, len(self._lives)))
            used = host.open + host.lent
            if used and (spaced or used + limit > job.pace.concurrency):
                return
            count = self._count(host) if spaced else FREE_COUNT
            ledger.line.popleft()
            host.lent += limit
            now = monotonic()
            wait = max(0.0, host.next_at - now)
            term, waited = wait + TIMINGS.loan_term_s, now - asker.since
            until = now + term * (1.0 + 2 * TIMINGS.drift)
            ledger.lent[asker.node] = MadeLoan(asker.request.number, limit, self._lives.of(asker.node), until, job.id)
            asked = asked_delay_s(host, self._jobs.values(), ledger.jobs)
            asker.answer.set_result(
                Lent(0, True, count, limit, wait, term, self._delay_s(host), waited, host.order_version, asked)
            )
        seat = self._bench.seats.get(host.key)
        if seat is not None:
            self._bench.ended(seat)
        if not ledger.lent and not ledger.line:
            del self._ledgers[host.key]

    def _may_lend(self, host: Host, ledger: HostLedger) -> bool:
        """Tells whether anybody waits for the host, and may have it before we do."""
        if not ledger.line or ledger.own_next or host.halted or self.is_asked_elsewhere(host):
            return False
        # One of several at a time would not hear of it if the host asked for more patience meanwhile.
        return host.paused_until <= monotonic() or self._spaced(host)

    def _count(self, host: Host) -> int:
        delay = self._delay_s(host)
        return max(1, min(COUNT_MAX, int(TIMINGS.loan_spaced_s / delay))) if delay > 0.0 else COUNT_MAX

    def _spaced(self, host: Host) -> bool:
        """Tells whether one asks the host at a time."""
        return self._delay_s(host) > 0.0 or host.penalty_s > 0.0

    def _delay_s(self, host: Host) -> float:
        ledger = self._ledgers.get(host.key)
        return lasting_delay_s(host, self._jobs.values(), ledger.jobs if ledger is not None else ())
