"""What slaves of a dead master bring with them: pages that were fetched and never reported.

They are facts like any others: their links go to the owners of their buckets, and when these are settled the pages'
ends follow, with their items, to the owners of theirs.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from p2pcrawl.core.ownership import Ownership
from p2pcrawl.master.dispatch import Dispatch, Hold, Parcel
from p2pcrawl.master.job import Job
from p2pcrawl.master.master import Master
from p2pcrawl.master.session import Session
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.model.fingerprint import SIZE
from p2pcrawl.model.node import NodeId
from p2pcrawl.wire.cluster import Found, Merge, Row, Settled
from p2pcrawl.wire.messages import Links, OrphanPage, Orphans

log = logging.getLogger(__name__)

RETRY_S = 0.5

Call = Callable[[NodeId, Any], Awaitable[Any]]


class Orphanage:
    """See the module."""

    def __init__(self, master: Master, ownership: Ownership, dispatch: Dispatch, call: Call) -> None:
        self._master = master
        self._ownership = ownership
        self._dispatch = dispatch
        self._call = call
        self.adopted = 0
        """Pages that slaves brought."""

    async def take(self, slave: Session, orphans: Orphans) -> None:
        """Returns when all of it is settled; pages of jobs that nobody here knows are left out."""
        known = [page for page in orphans.pages if page.page.job in self._master.jobs]
        log.info("slave %d brings %d pages of its last master", slave.pid, len(known))
        await asyncio.gather(*(self._take(page) for page in known))
        self.adopted += len(known)

    async def _take(self, orphan: OrphanPage) -> None:
        job = self._master.jobs[orphan.page.job]
        await self._settle_links(job, [found for links in orphan.page.links for found in _found_in(links)])
        if orphan.page.outcome is not None:
            await self._settle_end(job, _row_of(orphan))

    async def _settle_links(self, job: Job, links: list[Found]) -> None:
        if not links:
            return
        settled = asyncio.Event()
        hold = Hold(0, settled.set)
        ours = []
        for found in links:
            bucket = self._master.bucket_of_found(job, found)
            parcel = Parcel(found, bucket, hold)
            owner = self._ownership.owner(bucket)
            if owner is None:
                hold.waiting += 1
                ours.append(parcel)
            else:
                self._dispatch.add(job.id, owner, parcel)
        if ours:
            self._master.take_back(job.id, ours)
        self._dispatch.flush()
        await settled.wait()

    async def _settle_end(self, job: Job, row: Row) -> None:
        bucket = self._master.bucket_of_row(row)
        while True:
            owner = self._ownership.owner(bucket)
            try:
                answer = await (self._master.merge([row]) if owner is None else self._call(owner, Merge(0, [row])))
                if isinstance(answer, Settled) and not answer.refused and not answer.unknown_job:
                    return
            except P2PCrawlError as error:
                log.debug("an end of job %d must wait: %s", job.id, error)
            # Its owner is dead, or sees another owner: the view will tell.
            await asyncio.sleep(RETRY_S)


def _found_in(links: Links) -> Iterator[Found]:
    for number, url in enumerate(links.urls):
        yield Found(
            url,
            links.fingerprints[number * SIZE : number * SIZE + SIZE],
            links.depth,
            links.priority,
            links.kind,
            links.callback,
            links.seed,
            links.referer,
            links.extra,
        )


def _row_of(orphan: OrphanPage) -> Row:
    task, outcome = orphan.task, orphan.page.outcome
    assert outcome is not None
    return Row(
        task.job,
        task.url,
        task.fingerprint,
        task.depth,
        task.priority,
        task.kind,
        task.callback,
        task.seed,
        task.referer,
        task.extra,
        outcome.phase,
        task.attempt,
        0,
        outcome.status,
        outcome.reason,
        outcome.size,
        len(orphan.page.items),
        b"\n".join(orphan.page.items),
    )
