"""The queues of a job are cleared, over all masters, and begun anew.

What is queued and in nobody's hands is dropped, with a reason of its own, so that the counts add up. Pages that are
being fetched end as they would, and what they find is queued. With a restart the entries are visited again when all
masters have cleared theirs, and what is found once more is queued once more: slaves forget what they have reported.

The call is answered when the copies know of it, as far as they can; it may be made again, and then clears what is left.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, Final, TypedDict

from msgspec.json import Decoder

from p2pcrawl.core.control import CANCELLED, RETRY, steered
from p2pcrawl.master.cluster import Cluster
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.model.cluster.node import Member
from p2pcrawl.model.errors import ConfigurationError, NotNow, P2PCrawlError

log = logging.getLogger(__name__)

QUEUES: Final = {"index": ("index",), "detail": ("detail",), "all": ("index", "detail")}
"""The kinds of requests that are in each queue, as people call it."""
ROUNDS: Final = 5
"""So often the queues are cleared once more where buckets have moved meanwhile."""
ASK_S: Final = 45.0
COPIED_S: Final = 20.0
"""For how long the copies are waited for."""
LOOK_S: Final = 0.1


class ClearedHere(TypedDict):
    """The number of pages that a master has dropped, or of entries that it has queued; and the view it was in."""

    count: int
    view: str


_HERE = Decoder(ClearedHere)


class QueueClearing:
    """Clears queues of jobs, in the whole cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._master = cluster.master
        self._peers = cluster.peers

    async def clear(self, job: Job, queue: str, *, restart: bool) -> dict[str, Any]:
        """Does it in the whole cluster. Raises ConfigurationError for a queue that there is not, NotNow where the job
        is over for good, P2PCrawlError where a master does not answer: then it is to be asked again.
        """
        _check_queue(queue)
        _check_goes_on(job, restart=restart)
        was, cleared = job.state, 0
        for _ in range(ROUNDS):
            here = await self._everywhere(job, {"queue": queue})
            cleared += sum(each["count"] for each in here)
            if len({each["view"] for each in here}) == 1 and not any(each["count"] for each in here):
                break
        restarted = 0
        if restart:
            restarted = sum(each["count"] for each in await self._everywhere(job, {"restart": True}))
            await self._run_again(job)
        await self._master.handover.stored()
        await self._master.admission.write(job)
        away = sorted(member.id for member in self._peers.missing())
        told = {"job": job.id, "name": job.spec.name, "was": was, "state": job.state, "missing": away}
        log.info("the queue %s of job %d was cleared: %d pages; %d begun anew", queue, job.id, cleared, restarted)
        return {**told, "queue": queue, "cleared": cleared, "restarted": restarted}

    async def here(self, job: Job, queue: str, *, restart: bool) -> ClearedHere:
        """Does this master's part: clears a queue, or begins its entries anew."""
        if not restart:
            _check_queue(queue)
        # First: what is found again is to be reported again.
        self._master.slaves.forget()
        view = f"{self._cluster.ownership.view:016x} {self._cluster.takeover.handovers}"
        if restart:
            count = await self._master.aside.restart(job)
        else:
            count = await self._master.aside.clear(job, QUEUES[queue])
        try:
            async with asyncio.timeout(COPIED_S):
                while self._cluster.copying.lacking():  # noqa: ASYNC110
                    await asyncio.sleep(LOOK_S)
        except TimeoutError:
            log.warning("not all copies have heard yet that the queue of job %d was cleared", job.id)
        return ClearedHere(count=count, view=view)

    async def _everywhere(self, job: Job, arguments: dict[str, Any]) -> Sequence[ClearedHere]:
        asked = {"job": job.id, **arguments}
        return await asyncio.gather(*(self._at(member, job, asked) for member in self._peers.members()))

    async def _at(self, member: Member, job: Job, asked: dict[str, Any]) -> ClearedHere:
        if member.id == self._peers.me:
            return await self.here(job, asked.get("queue", ""), restart=asked.get("restart", False))
        try:
            return await self._peers.query(member.id, "tell:clear-here", asked, _HERE, ASK_S)
        except P2PCrawlError as error:
            raise P2PCrawlError(f"{member.id[:8]} did not clear its queues ({error}); ask again") from error

    async def _run_again(self, job: Job) -> None:
        after = steered(job.control, RETRY)
        if after is not None and after != job.control:
            self._master.lifecycle.steer(job, after)
        await self._cluster.spread(job)


def _check_queue(queue: str) -> None:
    if queue not in QUEUES:
        raise ConfigurationError(f"there is no queue {queue!r:.40}: it is {', '.join(QUEUES)}")


def _check_goes_on(job: Job, *, restart: bool) -> None:
    if job.state == CANCELLED:
        raise NotNow(f"cannot clear a queue of job {job.id}: it is cancelled, which is final")
    if restart and (job.closing or job.reason):
        raise NotNow(f"cannot begin job {job.id} anew: it was closed by a limit ({job.closing or job.reason})")
