"""Deleted jobs: what is kept of them goes at every master, also at those that come back with it.

A deleted job is a state like any other, the greatest there is, and travels as such. Whoever learns of it empties both
its stores, when nothing of the job is in any slave's hands; the word that it was deleted stays. What others still bring
of it is taken as settled and not kept, so nothing waits for it; what was on its way meanwhile is looked for again.
"""

from __future__ import annotations

import asyncio
import logging

from p2pcrawl.master.cluster import Cluster
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.overlay.tasks import end

log = logging.getLogger(__name__)

LOOK_S = 1.0
LOOKS = 30
"""So often a deleted job is looked at again, in case that something of it was on its way."""


class Deletion:
    """Empties what this master has of deleted jobs. ``start`` and ``close`` with the cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._master = cluster.master
        self._looks: dict[int, int] = {}
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._look_after())

    async def close(self) -> None:
        if self._task is not None:
            await end([self._task])

    async def _look_after(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            for job in [job for job in self._master.jobs.values() if job.is_deleted]:
                try:
                    await self._see_to(job)
                except P2PCrawlError as error:
                    log.debug("deleting job %d: %s", job.id, error)
                except Exception:
                    log.exception("deleting job %d failed", job.id)

    async def _see_to(self, job: Job) -> None:
        looks = self._looks.get(job.id, 0)
        if job.leased or (looks >= LOOKS and not job.counts["discovered"]):
            return
        await self._master.outputs.leave(job)
        if self._master.outputs.carried(job):
            return
        if not looks or job.counts["discovered"]:
            await self._master.admission.empty(job)
        dropped = await self._cluster.holdings.drop_job(job.id)
        self._looks[job.id] = looks + 1
        if dropped or not looks:
            log.info("job %d is deleted here, with %d copies", job.id, dropped)
