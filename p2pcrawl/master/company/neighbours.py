"""The other masters, as the parts of one see them: who owns what, and how links, copies and loans come there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from p2pcrawl.core.buckets.copy_ledger import Copying
from p2pcrawl.core.buckets.ownership import Ownership, Router
from p2pcrawl.core.control import Control
from p2pcrawl.master.company.company import failure_of
from p2pcrawl.master.company.ground import Ground
from p2pcrawl.master.company.orphans import Adoption
from p2pcrawl.master.copies.abreast import Abreast
from p2pcrawl.master.copies.copier import Copier
from p2pcrawl.master.copies.excess import Excess
from p2pcrawl.master.copies.holdings import Holdings
from p2pcrawl.master.copies.links_first import LinksFirst
from p2pcrawl.master.copies.own_rows import OwnRows
from p2pcrawl.master.copies.replication import Replication
from p2pcrawl.master.copies.spool import Spool
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.master.links.dispatch import Deliver, Dispatch
from p2pcrawl.master.loans.budgets import Budgets
from p2pcrawl.master.neighbours.host_notes import HostNotes
from p2pcrawl.master.neighbours.recalls import Recalls
from p2pcrawl.master.neighbours.remarks import Remarks
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.cluster.placement import RingName
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.overlay.peers import Peers
from p2pcrawl.wire.messages.peer_messages import Discover, Settled
from p2pcrawl.wire.messages.slave_messages import Bye


class Neighbours:
    """A company of others. ``copies``: how many are wanted, our own included."""

    others_bring_jobs = True
    sessions_end_by_time = True

    def __init__(self, folder: Path, settings: Settings, peers: Peers, copies: int, ring: RingName) -> None:
        self.ownership = Ownership(peers.me, copies, ring, keeps=True)
        self.remarks, self.recalls = Remarks(), Recalls(self.ownership)
        seated = self.recalls.seated
        self.ground = ground = Ground(folder, settings, clustered=True, remark=self.remarks, seated=seated)
        self.peers = peers
        self.holdings = Holdings(folder, ground.fate.fail)
        self.router: Router = self.ownership
        self.own_rows = OwnRows(ground.jobs, ground.keys, ground.recorder, ground.mailbox)
        self.host_notes = HostNotes(ground.workbench, self.remarks)
        self.copying = Copying(peers.me, copies)
        self.excess = Excess(peers, self.ownership, self.copying, ground.jobs, ground.openings)
        self.abreast = Abreast(self.ownership, self.copying)
        self.copier = Copier(self.copying, self.excess.carry, self.abreast.when)
        deliver = _delivery(peers, ground, self.copying)
        self.spool = Spool(self.holdings, self.ownership, self.copying, ground.jobs, ground.mailbox, deliver)
        self.dispatch = Dispatch(
            self.ownership.owner, deliver, ground.mailbox.take_back, keep=self.spool.keep, on_settled=ground.wake.set
        )
        here = self.own_rows, self.ownership, ground.jobs, ground.recorder
        self.links_first = LinksFirst(self.copier, self.dispatch, *here)
        replication = Replication(self.copier, self.ownership, self.links_first)
        self.adoption = Adoption(ground, peers, self.ownership, self.dispatch, self.own_rows, self.host_notes)
        self.budgets = Budgets(ground.workbench, ground.jobs, self.ownership, peers)
        # A company's answers that one part alone knows are that part's own.
        self.serves, self.permit, self.ended = self.ownership.serves, self.budgets.permit, self.budgets.ended
        self.withdraw, self.lent = self.budgets.borrowing.withdraw, self.budgets.lending.lent
        self.send, self.flush, self.pending = self.dispatch.add, self.dispatch.flush, self.dispatch.pending
        self.replicate, self.when_safe = replication.replicate, self.copier.when_safe
        self.when_copied = self.copier.when_copied
        self.doubt = self.copying.doubt
        self.adopt = self.adoption.take

    async def close(self) -> None:
        """Ends what is under way."""
        await self.links_first.close()
        await self.copier.close()
        await self.dispatch.close()
        await self.budgets.close()

    # -- jobs ---------------------------------------------------------------------------------

    def begins_with(self, control: Control) -> Control:
        """Returns it as it is: jobs go on by themselves."""
        return control

    def is_over(self, job: Job) -> bool:
        """Says no: all masters decide that together (:mod:`p2pcrawl.master.jobs.completion`)."""
        return False

    def slave_left(self, bye: Bye) -> None:
        """Ends the job that a slave cannot run, or the master if it is not a job's fault."""
        if bye.job:
            self.ground.lifecycle.refuse(bye.job, bye.reason)
        else:
            self.ground.fate.fail(failure_of(bye))

    # -- copies -------------------------------------------------------------------------------

    def when_abreast(self, then: Callable[[], None]) -> None:
        """Calls ``then`` when all that is here has its copies. What is on its way to the holders turn by turn is no
        lack of theirs, so that has to be acknowledged first.
        """
        self.copier.when_copied(lambda: self.abreast.when(then))

    # -- links --------------------------------------------------------------------------------

    def provisional(self, bucket: int, known: int) -> bool:
        """Tells whether links in a bucket have fewer copies than they should. In one that is not served they always
        have: until all have heard of its epoch no standing says that something was acknowledged, should it be lost.
        """
        ownership = self.ownership
        is_begun = ownership.in_service(bucket) and bucket not in ownership.untold
        return not is_begun or self.copying.provisional(bucket, known)

    @property
    def copied(self) -> int:
        """Returns the record up to which all links are with others, too."""
        return self.links_first.mark

    @property
    def full(self) -> bool:
        """Tells whether so much is under way to others that no new work should be begun."""
        return self.dispatch.full or self.copier.full

    @property
    def strained(self) -> bool:
        """Tells whether it soon will be, if what can wait does not."""
        return self.dispatch.strained or self.copier.strained

    @property
    def under_way(self) -> int:
        """The links of all jobs that are on their way to others."""
        return self.dispatch.under_way


def _delivery(peers: Peers, ground: Ground, copying: Copying) -> Deliver:
    jobs = ground.jobs

    async def deliver(owner: NodeId, number: int, links: list[Link]) -> Settled:
        """Takes links of a job to their owner, with the hosts that it has opened, and the number of masters
        that there are: the owner may not know of all of them yet.
        """
        job = jobs.get(number)
        opened = list(job.spec.opened) if job is not None else []
        return await peers.ask(owner, Discover(0, number, links, opened, copying.known))

    return deliver
