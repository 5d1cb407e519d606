"""Politeness across masters: whoever wants to ask a host borrows the right from the master that owns the host.

With ``SHARD_KEY=url`` or ``domain`` the pages of one host belong to many masters, and several jobs with different
keys meet at the same host. The owner of bucket(host) keeps its politeness; the others fetch under *loans*. A loan on
a host with a delay is exclusive: so many requests, spaced as the host wants it, and nobody else, the owner included,
asks meanwhile. A loan on a host without a delay is a share of its concurrency. After its term the borrower begins
nothing new, and repays when what is open has ended, with what was learnt of the host (a longer delay, a Retry-After).

Every master is on both sides: it lends what it owns (:mod:`~p2pcrawl.master.loans.lending`) and borrows what others do
(:mod:`~p2pcrawl.master.loans.borrowing`). Here is what concerns both: which side a host is on, and who lives.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from time import monotonic

from p2pcrawl.core.bench.seat import Seat
from p2pcrawl.core.bench.workbench import Workbench
from p2pcrawl.core.buckets.ownership import Router
from p2pcrawl.core.ring.rendezvous import bucket_of_hash
from p2pcrawl.master.jobs.job import KnownJobs
from p2pcrawl.master.loans.boots import Lives
from p2pcrawl.master.loans.borrowing import Borrowing
from p2pcrawl.master.loans.elsewhere import Elsewhere
from p2pcrawl.master.loans.lending import Lending
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.overlay.peers import SOON_S, Peers
from p2pcrawl.overlay.tasks import Tasks
from p2pcrawl.wire.messages.peer_messages import CallIn

log = logging.getLogger(__name__)


class Budgets:
    """Both sides of loans."""

    def __init__(self, workbench: Workbench, jobs: KnownJobs, router: Router, peers: Peers) -> None:
        self._bench = workbench
        self._router = router
        self._peers = peers
        self._lives = Lives()
        self.borrowing = Borrowing(workbench, jobs, router, self._lives, peers)
        self.elsewhere = Elsewhere(workbench)
        self.lending = Lending(workbench, jobs, router, self._lives, self.elsewhere, self._call_in)
        self._calls = Tasks()
        """Loans that are being called in."""
        self._waiting: set[int] = set()
        """Hosts that want to be asked: ours, but not ours alone yet or asked elsewhere, or with something owed to their
        owner."""

    def permit(self, seat: Seat, job: int) -> bool:
        """Tells whether a request of this job may begin now, as far as other masters are concerned; counts it if so."""
        host = seat.host
        bucket = bucket_of_hash(host.key)
        owner = self._router.owner(bucket)
        if owner is None:
            if self._router.serves(bucket) and not self.lending.is_asked_elsewhere(host):
                return self.lending.permit(host)
        elif not self.borrowing.owes(host.key, owner):
            return self.borrowing.permit(seat, owner, job)
        self._waiting.add(host.key)
        return False

    def ended(self, seat: Seat, *, pause_s: float = 0.0, slow_down: bool = False) -> None:
        """Takes in that a request of this host ended here (its ``open`` is already one less)."""
        if not self.borrowing.ended(seat, pause_s=pause_s, slow_down=slow_down):
            self.lending.ended(seat.host)

    def tend(self) -> None:
        """Repeats what is owed, and lets hosts try again. To be called now and then: what is sent once may be lost, and
        a turn may come to nothing.
        """
        self.borrowing.tend()
        self.elsewhere.tend()
        waiting, self._waiting = self._waiting, set()
        for key in sorted(waiting):
            if (seat := self._bench.seats.get(key)) is not None:
                self._bench.ended(seat)
        self.lending.tend()

    def members_changed(self, living: Collection[NodeId]) -> None:
        """Loans of the dead end, a little later; loans from them are void."""
        self._lives.change(living)
        self.borrowing.members_changed()
        self.lending.members_changed()

    def came_over(self, buckets: Collection[int]) -> None:
        """Makes the hosts of these buckets wait their delay, for another master may have asked them a moment ago. What
        we have lent of them is called in: borrowers do not know of that.
        """
        self._bench.came_over(buckets, monotonic())
        self.lending.call_in([key for key in self.lending.lent() if bucket_of_hash(key) in buckets])

    def met(self, node: NodeId, asked: Collection[int], told: Collection[int]) -> None:
        """Takes in what a master says that served the same buckets: all hosts of ours that are asked there, and those
        that have asked something of it. What we have lent of them is called in.
        """
        self.lending.call_in([*self.elsewhere.said(node, asked), *told], node)

    def is_back(self, node: NodeId, life: bytes) -> bool:
        """Tells whether a master that comes was only out of reach: it may have served what we did meanwhile."""
        return self._lives.is_back(node, life)

    def came(self, node: NodeId, life: bytes) -> None:
        """Takes in that a master is there, for the first time or again. In another life it knows nothing of what it
        lent or borrowed.
        """
        if self._lives.came(node, life):
            self.borrowing.restarted(node)
            self.lending.restarted(node)

    def forgotten(self, node: NodeId) -> None:
        """Takes in that a master has been away for so long that nobody counts on it any more."""
        self.lending.forgotten(node)

    def _call_in(self, borrower: NodeId, request: CallIn) -> None:
        self._calls.start(self._send(borrower, request))

    async def _send(self, borrower: NodeId, request: CallIn) -> None:
        try:
            await self._peers.ask(borrower, request, SOON_S)
        except P2PCrawlError as error:
            # The loan ends by itself, after the requests that it is for.
            log.debug("calling in %s from %s: %s", request.host, borrower[:8], error)

    async def close(self) -> None:
        await self._calls.close()
        await self.borrowing.close()
