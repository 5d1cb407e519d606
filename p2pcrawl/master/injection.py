"""URLs that a person puts into a job that is there already.

They are start URLs like those of the spider: each goes to the owner of its bucket, and the call is answered when all
are as safe as links are before their page ends. Which of them are known already does not matter, so a call that was not
answered is made again.

A job may come to its end meanwhile, decided elsewhere. What was acknowledged is crawled all the same: whoever injected
opens a finished job again, and a record that lies in a finished job opens it (``master.steering``) should that master
die between the two. A job that was cancelled, or closed by a limit, takes nothing, and says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

from p2pcrawl.core.control import CANCELLED, OVER, RUNNING
from p2pcrawl.master.board_changes.entries import bring_entries
from p2pcrawl.master.boards.job_boards import mark_for
from p2pcrawl.master.cluster import Cluster
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.model.errors import ConfigurationError, NotNow, P2PCrawlError

INJECT_S = 30.0
"""For how long the owners of the URLs are waited for."""
URLS_MAX = 10_000
"""URLs of one call."""


class Injection:
    """Puts URLs into jobs, in the whole cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._ground = cluster.neighbours.ground

    async def inject(self, job: Job, urls: Sequence[str]) -> dict[str, Any]:
        """Returns when all of these normalised URLs are safe with their owners. Raises ConfigurationError where the job
        takes none, P2PCrawlError where owners did not answer in time.
        """
        check_takes_urls(job)
        if len(urls) > URLS_MAX:
            raise ConfigurationError(f"at most {URLS_MAX:,} URLs are put into a job at once, not {len(urls):,}")
        was = job.state
        try:
            async with asyncio.timeout(INJECT_S):
                await self._bring(job, urls)
        except TimeoutError:
            text = f"not all of the URLs are safe yet, after {INJECT_S:g} s; they may be put into the job again"
            raise P2PCrawlError(text) from None
        if job.state in OVER and not job.reason:
            await self._open_again(job)
        await self._cluster.master.admission.write(job)
        check_takes_urls(job)
        return {"job": job.id, "name": job.spec.name, "injected": len(urls), "was": was, "state": job.state}

    async def _bring(self, job: Job, urls: Sequence[str]) -> None:
        company, admission = self._cluster.neighbours, self._cluster.master.admission
        await bring_entries(company, admission, job, urls, partial(mark_for, job))

    async def _open_again(self, job: Job) -> None:
        self._ground.lifecycle.steer(job, job.control.then(RUNNING))
        await self._cluster.master.handover.stored()
        await self._cluster.spread(job)


def check_takes_urls(job: Job) -> None:
    """Raises ConfigurationError where nothing more of a job is crawled, and says why."""
    if job.state == CANCELLED:
        why = "it is cancelled, which is final"
    elif job.closed_early:
        why = f"it was closed before its queue was empty ({job.closed_early})"
    else:
        return
    raise NotNow(f"job {job.id} takes no URLs: {why}")
