"""Every master mirrors every job: who has been told of which, and who is to be told.

Whoever begins or changes a job tells all others (:meth:`Mirroring.spread`). That it gets to everybody else too, whether
who began it dies in the middle or somebody comes later, is made sure of by a few sendings from each master to those in
its charge (:meth:`Mirroring.send_missing`). To ask what another knows costs a mark of each job; a job itself may be
long, with its code and its certificate, and goes only to those that lack it.

Nobody hears of a change before it is on disk here, whoever has made it: one that died in between would come back with
the job as it was, and give another change the same version.
"""

from __future__ import annotations

import asyncio
import logging
from bisect import bisect_left
from collections.abc import Collection

from p2pcrawl.core.buckets.ownership import Ownership
from p2pcrawl.core.control import Control
from p2pcrawl.master.jobs.admission import Admission
from p2pcrawl.master.jobs.job import Job, KnownJobs, Told, mirror_of, spec_of_mirror, told_now
from p2pcrawl.model.cluster.node import Member, NodeId
from p2pcrawl.model.errors import LinkError, P2PCrawlError
from p2pcrawl.overlay.peers import SOON_S, Peers
from p2pcrawl.overlay.tasks import end
from p2pcrawl.wire.messages.peer_messages import JobMarks, JobsDiffering, Mirrored, MirrorJob

log = logging.getLogger(__name__)

SPREAD_S = 3.0
"""How long a member may take to note a job before it is left to hear of it later."""
SPREAD_AGAIN_S = 0.25
"""Before those are told again that did not answer, while too few have."""


class Mirroring:
    """Tells other masters of jobs, and takes in what they tell. ``members``: those that the last view has."""

    def __init__(self, jobs: KnownJobs, admission: Admission, peers: Peers, ownership: Ownership) -> None:
        self._jobs = jobs
        self._admission = admission
        self._peers = peers
        self._ownership = ownership
        self.sent: dict[NodeId, dict[int, Told]] = {}
        """What each member was told of each job."""
        self.refusals: dict[NodeId, str] = {}
        """Why a member cannot run a job that it was told of."""

    def restarted(self, node: NodeId) -> None:
        """Forgets what a member was told: it may have lost that."""
        self.sent.pop(node, None)

    # -- what others tell ---------------------------------------------------------------------

    async def mirror(self, request: MirrorJob, sender: NodeId) -> Mirrored:
        control = Control(request.version, request.state, request.reason, request.certificate)
        if not control.valid:
            raise LinkError(f"there is no state {request.state!r}, version {request.version}, of a job")
        spec = spec_of_mirror(request)
        refusal = await self._admission.mirror(spec, control)
        if sender in self._ownership.weights:
            # The sender need not be told what it told us.
            self.sent.setdefault(sender, {})[spec.id] = told_now(spec, control)
        return Mirrored(0, refusal)

    def compare(self, request: JobMarks, sender: NodeId) -> JobsDiffering:
        differing = []
        for number, mark in zip(request.jobs, request.marks, strict=False):
            job = self._jobs.get(number)
            if job is None or job.mark != mark or not self._admission.is_written(job):
                differing.append(number)
            elif sender in self._ownership.weights:
                self.sent.setdefault(sender, {})[number] = job.told
        return JobsDiffering(0, differing)

    # -- what we tell others ------------------------------------------------------------------

    async def spread(self, job: Job, enough: int | None = None) -> list[str]:
        """Tells every living member of a job; why each that refused did so.

        Returns when all have answered, or when ``enough`` have it on disk and the others have had their time; asks
        again as long as there are fewer. The rest hears of it later.
        """
        while True:
            others = self._peers.others()
            tasks = [asyncio.create_task(self._send(m, job)) for m in others]
            if not tasks:
                return []
            try:
                done, _ = await asyncio.wait(tasks, timeout=SPREAD_S)
            finally:
                await end(tasks)
            answers = [task.result() for task in done if task.exception() is None]
            if refusals := [answer for answer in answers if answer]:
                return refusals
            if enough is None or len(answers) >= min(enough, len(others)):
                return []
            await asyncio.sleep(SPREAD_AGAIN_S)

    async def send_missing(self) -> None:
        """Tells all that are in our charge, at once, what they do not know: one that does not answer holds up no
        other.
        """
        sendings = []
        for member in charges(self._peers.members(), self._peers.me):
            if unsent := self._unsent(member):
                sendings.append(self._send_all(member, unsent))
        await asyncio.gather(*sendings)

    async def assured(self, members: Collection[Member], enough: int) -> bool:
        """Tells whether so many of these, or all, know every job as it stands; sends jobs to some that do not."""
        wanted = min(enough, len(members))
        knowing = [member for member in members if not self._unsent(member)]
        ignorant = [member for member in members if self._unsent(member)]
        if len(knowing) < wanted:
            sendings = (self._send_all(m, self._unsent(m)) for m in ignorant[: wanted - len(knowing)])
            await asyncio.gather(*sendings)
            knowing = [member for member in members if not self._unsent(member)]
        return len(knowing) >= wanted

    def _unsent(self, member: Member) -> list[Job]:
        sent = self.sent.get(member.id, {})
        return [j for j in self._jobs.values() if sent.get(j.id) != j.told]

    async def _send_all(self, member: Member, jobs: list[Job]) -> None:
        """Sends a member those of the jobs of which its mark differs."""
        known = {job.id: job.told for job in jobs}
        marks = JobMarks(0, list(known), [job.mark for job in jobs])
        await asyncio.gather(*(self._admission.write(job) for job in jobs))
        try:
            answer = await self._peers.ask(member.id, marks)
            for job in jobs:
                if job.id in answer.jobs:
                    await self._send(member, job)
                else:
                    self.sent.setdefault(member.id, {})[job.id] = known[job.id]
        except P2PCrawlError as error:
            log.debug("%s was not told of all jobs: %s", member.id[:8], error)

    async def _send(self, member: Member, job: Job) -> str:
        told, message = job.told, mirror_of(job)
        await self._admission.write(job)
        reply = await self._peers.ask(member.id, message, SOON_S)
        if reply.refusal:
            self.refusals[member.id] = reply.refusal
        else:
            self.refusals.pop(member.id, None)
            self.sent.setdefault(member.id, {})[job.id] = told
        return reply.refusal


def charges(members: list[Member], me: NodeId) -> list[Member]:
    """Returns the members that come 1, 2, 4, 8 ... places after us in the order of ids, as in a ring.

    Were all to tell all others of each change, a cluster would pay for it with the square of its size. So everybody
    hears of it within as many steps as the cluster's size has binary digits.
    """
    here = bisect_left(members, me, key=lambda member: member.id)
    places = [1 << n for n in range(len(members).bit_length()) if 1 << n < len(members)]
    return [members[(here + place) % len(members)] for place in places]
