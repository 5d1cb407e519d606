"""The decision that a job is finished, and who makes it.

Two rounds, the second begun after the first ended, find every member idle, with equal counts, in one view. The member
with the smallest id asks; every other answers for itself. While the one that was found busiest is busy still, no round
can find everybody idle, and that one alone is asked. With each round comes word of what closes a job early: a spider
somewhere, or a limit that all masters together have reached; and whoever asks tells all others at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from math import inf

from p2pcrawl.master.jobs.job import Job
from p2pcrawl.master.jobs.lifecycle import count_reached, has_count_limit
from p2pcrawl.model.cluster.node import Member, NodeId
from p2pcrawl.overlay.peers import SOON_S, Peers
from p2pcrawl.wire.messages.peer_messages import JobAtMaster, Quiet

Round = tuple[int, int, int, int, bool]
"""Links sent, links received, the view, URLs discovered, and whether some component wants to hear of it."""

QUESTIONS_PER_S = 100.0
"""Of all jobs together: a large cluster is asked less often."""
CLOSING_S = 2.0
"""Between two rounds while somebody is known to be busy: with them comes word of spiders that closed a job."""


class Completion:
    """``job_here`` gives our own answer, ``close`` is told of a job that a spider somewhere has closed."""

    def __init__(self, peers: Peers, job_here: Callable[[int], JobAtMaster], close: Callable[[int, str], None]) -> None:
        self._peers = peers
        self._job_here = job_here
        self._close = close
        self._rest_until = 0.0
        self._busiest: dict[int, NodeId] = {}
        """Who had most of each job to do, when all were asked."""
        self._round_at: dict[int, float] = {}
        self.discovered, self.listens = 0, False
        """The URLs of the job that was found to be finished last, and whether a component wants to hear of that."""

    def falls_to_us(self) -> bool:
        """Tells whether the decision is ours: the member with the smallest id decides; nobody, when the last one has
        said good-bye.
        """
        members = self._peers.members()
        return bool(members) and members[0].id == self._peers.me

    def may_ask(self, now: float) -> bool:
        """Tells whether it falls to us, and others were not asked so much lately that they should have a rest."""
        return now >= self._rest_until and self.falls_to_us()

    async def finished_in(self, job: Job) -> int | None:
        """Returns the view in which the job is finished; None while it is not."""
        if await self._is_known_to_go_on(job):
            return None
        first = await self._round(job)
        if first is None or first != await self._round(job):
            return None
        self._round_at.pop(job.id, None)
        _, _, view, self.discovered, self.listens = first
        return view

    async def _is_known_to_go_on(self, job: Job) -> bool:
        now = asyncio.get_running_loop().time()
        if job.closing or has_count_limit(job.settings) or now >= self._round_at.get(job.id, -inf) + CLOSING_S:
            return False
        busiest = self._busiest.get(job.id)
        if busiest == self._peers.me:
            return self._job_here(job.id).busy > 0
        reply, *_ = await self._ask(job, [m for m in self._peers.members() if m.id == busiest]) or [None]
        return reply is not None and reply.busy > 0 and not reply.closing

    async def _round(self, job: Job) -> Round | None:
        """Asks all once. Returns what it found if everyone is idle and agrees on the view, else None."""
        own = self._job_here(job.id)
        others = self._peers.others()
        self._round_at[job.id] = asyncio.get_running_loop().time()
        replies = await self._ask(job, others)
        if self._closes(job, own, replies):
            replies = await self._ask(job, others)
        answered = [(own, self._peers.me)]
        answered += [(reply, m.id) for reply, m in zip(replies, others, strict=True) if reply is not None]
        most, busiest = max(answered, key=lambda answer: answer[0].busy)
        if most.busy:
            self._busiest[job.id] = busiest
            return None
        self._busiest.pop(job.id, None)
        if any(reply is None or not reply.known or reply.view != own.view for reply in replies):
            return None
        if any(reply.opened != own.opened for reply, _ in answered):
            # Somebody may have dropped what another knows to be open.
            return None
        links = sum(s.sent for s, _ in answered), sum(s.received for s, _ in answered)
        return *links, own.view, sum(s.discovered for s, _ in answered), any(s.listens for s, _ in answered)

    async def _ask(self, job: Job, members: Sequence[Member]) -> list[JobAtMaster | None]:
        """Asks these how the job stands. Whoever does not answer has no word in it."""
        now = asyncio.get_running_loop().time()
        self._rest_until = max(now, self._rest_until) + len(members) / QUESTIONS_PER_S
        replies = await asyncio.gather(
            *(self._peers.ask(m.id, Quiet(0, job.id, job.closing), SOON_S) for m in members), return_exceptions=True
        )
        return [None if isinstance(reply, BaseException) else reply for reply in replies]

    def _closes(self, job: Job, own: JobAtMaster, replies: Sequence[JobAtMaster | None]) -> bool:
        """Closes the job here if it is to be closed early. Tells whether it was not known to be."""
        if job.closing:
            return False
        heard = [own, *(reply for reply in replies if reply is not None)]
        # In another view a page may be counted at both ends of its way.
        agreed = [each for each in heard if each.view == own.view]
        pages, items, errors = (sum(getattr(each, name) for each in agreed) for name in ("pages", "items", "errors"))
        told = next((each.closing for each in heard if each.closing), "")
        if reason := told or count_reached(job.settings, pages, items, errors):
            self._close(job.id, reason)
        return bool(reason)
