"""When a job is finished, and who says so.

Two rounds, the second begun after the first ended, find every member idle, with equal counts, in one view. The member
with the smallest id asks; every other answers for itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from p2pcrawl.master.job import Job
from p2pcrawl.overlay.node import OverlayNode
from p2pcrawl.wire.cluster import Quiet, Standing

Round = tuple[int, int, int]
"""Links sent, links received, and the view."""

QUESTIONS_PER_S = 100.0
"""Of all jobs together: a large cluster is asked less often."""


class Completion:
    """``standing`` is our own answer, ``close`` is told of a job that a spider somewhere has closed."""

    def __init__(
        self, node: OverlayNode, standing: Callable[[int], Standing], close: Callable[[int, str], None]
    ) -> None:
        self._node = node
        self._standing = standing
        self._close = close
        self._rest_until = 0.0

    def falls_to_us(self) -> bool:
        """The member with the smallest id decides."""
        return self._node.members()[0].id == self._node.id

    def may_ask(self, now: float) -> bool:
        """Whether it falls to us, and others were not asked so much lately that they should have a rest."""
        return now >= self._rest_until and self.falls_to_us()

    async def is_finished(self, job: Job) -> bool:
        first = await self._round(job)
        return first is not None and first == await self._round(job)

    async def _round(self, job: Job) -> Round | None:
        """What it found if everyone is idle and agrees on the view, else None."""
        standings = [self._standing(job.id)]
        others = [m for m in self._node.members() if m.id != self._node.id]
        now = asyncio.get_running_loop().time()
        self._rest_until = max(now, self._rest_until) + len(others) / QUESTIONS_PER_S
        replies = await asyncio.gather(
            *(self._node.caller.call(m.address, Quiet(0, job.id, job.closing)) for m in others), return_exceptions=True
        )
        for reply in replies:
            if isinstance(reply, Standing) and reply.closing:
                self._close(job.id, reply.closing)
        for reply in replies:
            if not isinstance(reply, Standing) or not reply.known:
                return None
            standings.append(reply)
        view = standings[0].view
        if any(s.busy or s.view != view for s in standings):
            return None
        return sum(s.sent for s in standings), sum(s.received for s in standings), view
