"""Mistakes against what docs/guarantees.md and docs/cluster.md says."""

from __future__ import annotations

from ...making.mutant import Mutant, Slip

MUTANTS = (
    Mutant(
        name="void-session-renewed",
        kind=Slip.FENCE,
        where="p2pcrawl.core.group.session_states:SessionTerm.renew",
        old="if self.state not in LASTING or self.void_in_s(now) < 0:",
        new="if False:",
        harm="A session that is over goes on beside the one that has its pages now.",
        blind=True,
    ),
    Mutant(
        name="leases-back-at-once",
        kind=Slip.EARLY,
        where="p2pcrawl.master.slaves.slaves:Slaves._lost",
        old="session.remote and session.in_hand > 0 and session.hung is None",
        new="session.remote and session.in_hand < 0 and session.hung is None",
        harm="Pages of a slave that is cut off are granted anew while it may be fetching them.",
        blind=True,
    ),
    Mutant(
        name="beats-of-another-session",
        kind=Slip.FENCE,
        where="p2pcrawl.master.slaves.slaves:Slaves.received",
        old="if self._fenced and message.session == session.id and session.term.renew(monotonic()):",
        new="if self._fenced and session.term.renew(monotonic()):",
        harm="A beat of a session before renews the one of now.",
        blind=True,
    ),
    Mutant(
        name="views-may-differ",
        kind=Slip.CHECK,
        where="p2pcrawl.master.jobs.completion:Completion._round",
        old="if any(reply is None or not reply.known or reply.view != own.view for reply in replies):",
        new="if any(reply is None or not reply.known for reply in replies):",
        harm="A job is finished by masters that act in several views, of which each may leave a bucket to the other.",
        blind=True,
    ),
    Mutant(
        name="silent-taken-for-idle",
        kind=Slip.QUORUM,
        where="p2pcrawl.master.jobs.completion:Completion._round",
        old="if any(reply is None or not reply.known or reply.view != own.view for reply in replies):",
        new="if any(reply is not None and (not reply.known or reply.view != own.view) for reply in replies):",
        harm="A master that does not answer has nothing left to do.",
        blind=True,
    ),
    Mutant(
        name="end-not-stored",
        kind=Slip.EARLY,
        where="p2pcrawl.master.steering:Steering.conclude",
        old="        await self._master.handover.stored()\n        await self._cluster.spread(job)\n",
        new="        await self._cluster.spread(job)\n",
        harm="Others hear of the end of a job that its own decider forgets in a crash.",
        blind=True,
    ),
    Mutant(
        name="final-while-missing",
        kind=Slip.MERGE,
        where="p2pcrawl.master.jobs.certificate:_come_to",
        old='"final": not missing and not incomplete,',
        new='"final": not incomplete,',
        harm="An end is final though somebody is away who may know more.",
        blind=True,
    ),
    Mutant(
        name="first-view-counts",
        kind=Slip.CHECK,
        where="p2pcrawl.master.jobs.certificate:certificate_of",
        old='if len({(body["job"], body["view"], body["members"]) for body in stated}) != 1:',
        new='if len({body["job"] for body in stated}) != 1:',
        harm="What masters of several views have counted is added up.",
        blind=True,
    ),
    Mutant(
        name="safe-of-an-earlier-view",
        kind=Slip.FENCE,
        where="p2pcrawl.master.buckets.farewell:Farewell._all_confirmed",
        old="if self._view != self._ownership.view or len(self._safe) < BUCKETS or self._takeover.unclaimed:",
        new="if len(self._safe) < BUCKETS or self._takeover.unclaimed:",
        harm="What was confirmed in a view that is over lets a master leave with the only copy.",
        blind=True,
    ),
)
