"""The service of a master for the others: one list of requests, each with the part that answers it.

Where a request concerns several parts their order is here, with its reason.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

from p2pcrawl.core.buckets.bitmaps import buckets_of
from p2pcrawl.master.cluster import Cluster
from p2pcrawl.master.copies.row_forms import row_of_copy
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.errors import LinkError
from p2pcrawl.wire.messages.ask import Answered, Answers
from p2pcrawl.wire.messages.peer_messages import (
    Borrow,
    CallIn,
    Claim,
    Compare,
    Copied,
    Copy,
    Delivered,
    Discover,
    DropCopies,
    Dropped,
    Forgotten,
    JobAtMaster,
    JobMarks,
    ListKeys,
    Merge,
    MirrorJob,
    Offer,
    OrderHosts,
    Pull,
    PullCopies,
    PullKeys,
    Query,
    Quiet,
    Released,
    Repay,
    Settled,
    Taken,
    Whole,
)
from p2pcrawl.wire.messages.schedule_messages import MirrorSchedule, ScheduleMarks

P = ParamSpec("P")
T = TypeVar("T")
Tell = Callable[[str, bytes], Awaitable[bytes]]
"""Answers the questions of faces: what is asked, with JSON arguments; JSON back."""


class Service:
    """One master's answers to the others. ``tell`` answers what they ask for their faces."""

    def __init__(self, cluster: Cluster, tell: Tell) -> None:
        self._cluster = cluster
        self._ground = cluster.neighbours.ground
        self._tell = tell

    def answers(self) -> Answers:
        """Lists the requests of other masters, each with what answers it."""
        cluster = self._cluster
        holdings, takeover, upkeep = cluster.holdings, cluster.takeover, cluster.upkeep
        mirroring, lending, borrowing = cluster.mirroring, cluster.budgets.lending, cluster.budgets.borrowing
        answers = [
            # Links and facts on their way to the owners of their buckets.
            Discover.by(self._discover),
            Merge.by(self._merge),
            # Copies, and how they are brought up to date.
            Copy.by(self._copy),
            Compare.by(lambda request, _: holdings.compare(request)),
            ListKeys.by(lambda request, _: holdings.list_keys(request)),
            PullKeys.by(lambda request, _: holdings.pull_keys(request)),
            Whole.by(lambda request, _: upkeep.whole(request)),
            DropCopies.by(self._drop),
            Delivered.by(lambda request, _: holdings.mark(request)),
            # Buckets that change hands.
            Claim.by(self._claim),
            Pull.by(lambda request, _: takeover.pull(request)),
            PullCopies.by(lambda request, _: takeover.pull_copies(request)),
            Taken.by(self._taken),
            Offer.by(_at_once(takeover.offered)),
            # Jobs.
            MirrorJob.by(mirroring.mirror),
            JobMarks.by(_at_once(mirroring.compare)),
            Quiet.by(self._quiet),
            # Hosts that are lent.
            Borrow.by(lending.lend),
            Repay.by(_at_once(lending.repaid)),
            CallIn.by(_at_once(borrowing.called_in)),
            # What people have said of hosts, for all to obey.
            OrderHosts.by(lambda request, _: cluster.orders.take(request.orders)),
            # What is to be done at which moments.
            ScheduleMarks.by(_at_once(cluster.schedules.compare)),
            MirrorSchedule.by(cluster.schedules.mirror),
            # What people ask.
            Query.by(self._query),
        ]
        # What voters ask each other, where a majority is asked for.
        return {**dict(answers), **cluster.mandate.answers()}

    async def _discover(self, request: Discover, sender: NodeId) -> Settled:
        # Before the links: what is open to them is known here when they are taken in.
        self._ground.openings.learn({request.job: request.opened})
        return await self._ground.mailbox.arrive(request.job, request.links, request.known)

    async def _merge(self, request: Merge, sender: NodeId) -> Settled:
        # A host that is not ours is refused before anything of the request is written down.
        self._cluster.adoption.learn(request.notes)
        # Before the rows: what is open to them is known here when they are.
        await self._cluster.master.admission.learn_opened(request.opened)
        return await self._cluster.adoption.merge(request.rows)

    async def _copy(self, request: Copy, sender: NodeId) -> Copied:
        # Before the rows, as above: whoever takes them over from here must not find a host closed that was open.
        await self._cluster.master.admission.learn_opened(request.opened)
        # Whoever brings copies of a job that was deleted hears of that soon, and drops them, too.
        request.rows = [row for row in request.rows if not self._ground.jobs.deleted(row.job)]
        await self._cluster.accounts.take(request.accounts)
        # What has become ours goes where the rest of it is: among copies, which are taken in before a bucket is served,
        # it might come too late. Parted in the moment in which the others go their way, for buckets change hands.
        ours = [row for row in request.rows if self._cluster.claims(row.bucket)]
        request.rows = [row for row in request.rows if not self._cluster.claims(row.bucket)]
        self._note_late(request, sender)
        copied = await self._cluster.holdings.copy(request)
        await self._cluster.neighbours.own_rows.take_in([row_of_copy(row) for row in ours])
        return copied

    def _note_late(self, request: Copy, sender: NodeId) -> None:
        """Takes in that copies come of buckets that the sender does not own any more, and does not know it, or of those
        that it has had dropped here. Whoever claimed them from us has what was here then: they are offered once more,
        and dropped when their owner has taken that.
        """
        ownership, upkeep = self._cluster.ownership, self._cluster.upkeep
        buckets = {row.bucket for row in request.rows}
        ownership.found({b for b in buckets if ownership.owner(b) not in (None, sender) or upkeep.are_late(b)})

    async def _drop(self, request: DropCopies, sender: NodeId) -> Dropped:
        buckets = sorted(buckets_of(request.buckets))
        if len(request.counters) != len(buckets):
            raise LinkError("as many epochs as buckets are needed")
        ownership = self._cluster.ownership
        epochs = dict(zip(buckets, request.counters, strict=True))
        theirs = {bucket: epoch for bucket, epoch in epochs.items() if ownership.owner(bucket) == sender}
        # First: what its owner may not have is not dropped, but offered.
        if request.view == ownership.view and self._cluster.takeover.keep_unheard(theirs):
            return Dropped(0, False)
        dropped = await self._cluster.upkeep.drop(request, self._cluster.takeover.left_over)
        if dropped.agreed:
            # Only in the view in which both act: another owner says it again.
            self._cluster.farewell.confirmed(buckets, sender, few=request.few)
        return dropped

    async def _claim(self, request: Claim, sender: NodeId) -> Released:
        # Most often the news of its view is under way here: a refusal would cost both a pause.
        await self._cluster.views.wait_for_view(request.view)
        return await self._cluster.takeover.let_go(request, sender)

    async def _taken(self, request: Taken, sender: NodeId) -> Forgotten:
        # First: from here on the sender has the only copy, till others have said that they have theirs.
        self._cluster.farewell.void_confirmed(buckets_of(request.buckets))
        return await self._cluster.takeover.taken(request, sender)

    async def _quiet(self, request: Quiet, sender: NodeId) -> JobAtMaster:
        if request.closing:
            # First: a job that closes has less left to do, and the answer is to say so.
            self._ground.lifecycle.close(request.job, request.closing)
        return self._cluster.own_standing.of(request.job)

    async def _query(self, request: Query, sender: NodeId) -> Answered:
        return Answered(0, await self._tell(request.what, request.arguments))


def _at_once(answer: Callable[P, T]) -> Callable[P, Awaitable[T]]:
    """Lets a part that need not wait for anything answer."""

    async def answered(*args: P.args, **kwargs: P.kwargs) -> T:
        return answer(*args, **kwargs)

    return answered
