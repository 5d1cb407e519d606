"""The records that this master publishes in the directory of its buckets and hosts, and what it looks up there.

It says, lazily and while a job runs, which buckets it serves and which hosts ask for more patience than others
(:mod:`p2pcrawl.core.directory_schedule` tells when). It asks when buckets came to it from a master that is gone:
nobody handed over
what that one knew of their hosts, so for each of them the directory is asked before the host's first request, or
soon after it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from time import monotonic

from p2pcrawl.core.bench.workbench import Workbench
from p2pcrawl.core.buckets.ownership import Ownership
from p2pcrawl.core.directory_schedule import EVERY_S, PublishHost, PublishOwner
from p2pcrawl.core.hosts.politeness import HostNote
from p2pcrawl.core.ring.rendezvous import bucket_of_hash
from p2pcrawl.master.neighbours.recalls import RECALL_S, Recalls
from p2pcrawl.master.neighbours.remarks import Remarks
from p2pcrawl.model.cluster.node import Address
from p2pcrawl.overlay.directory import Directory
from p2pcrawl.overlay.tasks import end

log = logging.getLogger(__name__)

SURVEY_S = 30.0
"""How often all buckets are looked through for those that came and went."""
IDLE_S = 5.0
"""How often one that has nothing to say looks whether a job runs."""
RECALLS_AT_ONCE = 4
RECALL_EVERY_S = 0.05
"""Between two questions of each of these: no more than 80 a second."""


class Notes:
    """Publishes records, and looks up hosts. ``crawling`` says whether a job runs; while none does, nothing is
    published.
    """

    def __init__(
        self,
        directory: Directory,
        ownership: Ownership,
        workbench: Workbench,
        remarks: Remarks,
        recalls: Recalls,
        address: Address,
        crawling: Callable[[], bool],
    ) -> None:
        self._directory = directory
        self._ownership = ownership
        self._bench = workbench
        self._remarks = remarks
        self._hints = remarks.hints
        self._recalls = recalls
        self._address = address
        self._crawling = crawling
        self._survey_at = 0.0
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self._publish())]
        self._tasks += [asyncio.create_task(self._ask()) for _ in range(RECALLS_AT_ONCE)]

    async def close(self) -> None:
        await end(self._tasks)

    # -- what is asked ------------------------------------------------------------------------

    async def recall(self, host: str) -> HostNote | None:
        """Looks up what another master said of the host; None when nobody did, or no answer came in time."""
        try:
            async with asyncio.timeout(RECALL_S):
                return await self._directory.host(host)
        except TimeoutError:
            return None

    async def _ask(self) -> None:
        while True:
            host = await self._recalls.waiting.get()
            try:
                note = await self.recall(host.name)
                if note is not None and self._ownership.owner(bucket_of_hash(host.key)) is None:
                    self._bench.learn(host.key, note, monotonic())
                    self._remarks(host.key)
            except Exception:
                log.exception("asking the directory about a host failed")
            await asyncio.sleep(RECALL_EVERY_S)

    # -- what is said -------------------------------------------------------------------------

    async def _publish(self) -> None:
        while True:
            # Without others to hear it there is nothing to say.
            idle = not self._directory.contacts or not self._crawling()
            await asyncio.sleep(IDLE_S if idle else EVERY_S)
            if idle:
                continue
            try:
                await self._publish_next(monotonic())
            except Exception:
                log.exception("saying something in the directory failed; it goes on")

    async def _publish_next(self, now: float) -> None:
        if now >= self._survey_at:
            self._survey_at = now + SURVEY_S
            ownership = self._ownership
            served = {b: ownership.counters[b] for b in sorted(ownership.serving())}
            self._hints.owners.survey(served, now)
        match self._hints.next(now, lambda key: self._note(key, now)):
            case PublishOwner(bucket, counter):
                if self._ownership.serves(bucket) and not await self._directory.publish_owner(
                    bucket, counter, self._address
                ):
                    self._hints.owners.not_stored(bucket, now)
            case PublishHost(key, note):
                if not await self._publish_host(key, note):
                    self._hints.hosts.not_stored(key, now)

    async def _publish_host(self, key: int, note: HostNote) -> int:
        seat = self._bench.seats.get(key)
        if seat is None:
            return 0
        try:
            return await self._directory.publish_host(seat.host.name, note)
        except ValueError:
            # A name that no record can have is not tried again soon.
            return 0

    def _note(self, key: int, now: float) -> HostNote | None:
        """Returns what a host asks, if it is ours to say."""
        if self._ownership.owner(bucket_of_hash(key)) is not None:
            return None
        return self._bench.note(key, now)
