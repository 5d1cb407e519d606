"""Links that were acknowledged provisionally: kept on this disk, and said again until enough others have them."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from p2pcrawl.core.ownership import Ownership
from p2pcrawl.frontier.copies import SpoolRow
from p2pcrawl.master.dispatch import Parcel
from p2pcrawl.master.holdings import Holdings
from p2pcrawl.master.master import Master
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.model.fingerprint import halves
from p2pcrawl.model.node import NodeId
from p2pcrawl.wire.cluster import Discover, Found, Settled

log = logging.getLogger(__name__)

AGAIN_S = 5.0
ROWS_MAX = 1_000

Deliver = Callable[[NodeId, Discover], Awaitable[Settled]]


class Spool:
    """See the module."""

    def __init__(self, holdings: Holdings, ownership: Ownership, master: Master, deliver: Deliver) -> None:
        self._holdings = holdings
        self._ownership = ownership
        self._master = master
        self._deliver = deliver
        self.size = 0

    async def keep(self, job: int, parcels: Sequence[Parcel]) -> None:
        """Durable here when this returns."""
        rows = [SpoolRow(job, *halves(p.found.fingerprint), p.bucket, msgspec.msgpack.encode(p.found)) for p in parcels]
        await self._holdings.spool(rows)
        self.size += len(rows)

    async def run(self) -> None:
        """Says again what is kept, for ever."""
        self.size = await self._holdings.spool_size()
        while True:
            await asyncio.sleep(AGAIN_S)
            after = 0
            while self.size and (rows := await self._holdings.spooled(after, ROWS_MAX)):
                after = rows[-1][0]
                await self._say_again(rows)
            self.size = await self._holdings.spool_size()

    async def _say_again(self, rows: list[tuple[int, SpoolRow]]) -> None:
        groups: dict[tuple[int, NodeId | None], list[tuple[int, Found]]] = defaultdict(list)
        for number, row in rows:
            found = msgspec.msgpack.decode(row.link, type=Found)
            groups[(row.job, self._ownership.owner(row.bucket))].append((number, found))
        for (job, owner), links in groups.items():
            batch = Discover(0, job, [found for _, found in links])
            try:
                if job not in self._master.jobs:
                    answer = Settled(0)
                elif owner is None:
                    answer = await self._master.arrive(job, batch.links)
                else:
                    answer = await self._deliver(owner, batch)
            except P2PCrawlError as error:
                log.debug("%d spooled links must wait: %s", len(links), error)
                continue
            if answer.unknown_job:
                continue
            waiting = {*answer.refused, *answer.provisional}
            await self._holdings.unspool([number for n, (number, _) in enumerate(links) if n not in waiting])
