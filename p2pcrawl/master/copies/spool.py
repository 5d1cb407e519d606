"""Links that were acknowledged provisionally: kept on this disk, and said again until enough others have them.

While fewer masters live than there should be copies nothing can be settled. Then each is said once more, and again
when somebody has come or gone, for owners may be others by then; not every few seconds, for what is kept grows with the
crawl.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from p2pcrawl.core.buckets.copy_ledger import Copying
from p2pcrawl.core.buckets.ownership import Ownership
from p2pcrawl.frontier.copies.copy_store import SpoolRow
from p2pcrawl.master.copies.holdings import Holdings
from p2pcrawl.master.jobs.job import KnownJobs
from p2pcrawl.master.links.dispatch import Deliver, Parcel
from p2pcrawl.master.links.mailbox import Mailbox
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.crawl.fingerprint import halves
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.wire.messages.bounds import WireLink
from p2pcrawl.wire.messages.peer_messages import Settled

log = logging.getLogger(__name__)

AGAIN_S = 5.0
ROWS_MAX = 1_000


class Spool:
    """Keeps provisional links, and sends them again when that may help."""

    def __init__(
        self,
        holdings: Holdings,
        ownership: Ownership,
        copying: Copying,
        jobs: KnownJobs,
        mailbox: Mailbox,
        deliver: Deliver,
    ) -> None:
        self._holdings = holdings
        self._ownership = ownership
        self._copying = copying
        self._jobs = jobs
        self._mailbox = mailbox
        self._deliver = deliver
        self.size = 0
        self._sent_at = -1
        """The change of who lives after which all up to ``_sent_to`` were said, and answered."""
        self._sent_to = 0
        """The last of them that is still kept."""
        self._kept = 0
        """How often anything came to be kept."""
        self._said = 0
        """What ``_kept`` was when all that was kept then was said."""
        self._hasten = asyncio.Event()

    @property
    def unsaid(self) -> bool:
        """Tells whether something is kept here that its owner of now may not have: it was not said since it came to be
        kept, or since somebody came or went.
        """
        return self.size > 0 and (self._said != self._kept or self._sent_at != self._copying.changes)

    def hasten(self) -> None:
        """Has what is kept said soon: somebody waits for it. What is not answered is said no more often than ever."""
        self._hasten.set()

    async def keep(self, job: int, parcels: Sequence[Parcel]) -> None:
        """Keeps links, durably when this returns."""
        rows = [SpoolRow(job, *halves(p.link.fingerprint), p.bucket, msgspec.msgpack.encode(p.link)) for p in parcels]
        await self._holdings.spool(rows)
        self.size += len(rows)
        self._kept += 1

    async def run(self) -> None:
        """Says again what is kept, for ever."""
        self.size = await self._holdings.spool_size()
        answered = True
        while True:
            # Who does not answer is not asked more often, whoever waits for it.
            with suppress(TimeoutError):
                async with asyncio.timeout(AGAIN_S):
                    if not answered:
                        await asyncio.sleep(AGAIN_S)
                    await self._hasten.wait()
            self._hasten.clear()
            answered = await self.send_again()

    async def send_again(self) -> bool:
        """Says what is kept once more, but for what was said in vain and would be again. Tells whether all of it was
        answered.
        """
        if not self.size:
            return True
        changes, kept_before = self._copying.changes, self._kept
        if not self._copying.short or changes != self._sent_at:
            self._sent_to = 0
        answered, after = True, self._sent_to
        while rows := await self._holdings.spooled(after, ROWS_MAX):
            after = rows[-1][0]
            answered = await self._send(rows) and answered
        self._sent_at = changes if answered else -1
        self._said = kept_before
        self.size = await self._holdings.spool_size()
        return answered

    async def send_once_more(self) -> bool:
        """Sends all of it once more; tells whether the owners of this moment have taken everything that is kept
        here.
        """
        await self.send_again()
        return not self.size or self._sent_at == self._copying.changes

    async def _send(self, rows: list[tuple[int, SpoolRow]]) -> bool:
        """Sends links to their owners again; tells whether these have taken them all, be it provisionally."""
        answered = True
        groups: dict[tuple[int, NodeId | None], list[tuple[int, WireLink]]] = defaultdict(list)
        for number, row in rows:
            link = msgspec.msgpack.decode(row.link, type=WireLink)
            groups[(row.job, self._ownership.owner(row.bucket))].append((number, link))
        for (job, owner), links in groups.items():
            batch = [link for _, link in links]
            try:
                if job not in self._jobs:
                    answer = Settled(0)
                elif owner is None:
                    answer = await self._mailbox.arrive(job, batch)
                else:
                    answer = await self._deliver(owner, job, batch)
            except P2PCrawlError as error:
                log.debug("%d spooled links must wait: %s", len(links), error)
                answered = False
                continue
            if answer.unknown_job or answer.refused:
                answered = False
            if answer.unknown_job:
                continue
            # What is our own by now is on this disk already: here it would not be safer.
            waiting = {*answer.refused, *(answer.provisional if owner is not None else ())}
            await self._holdings.unspool([number for n, (number, _) in enumerate(links) if n not in waiting])
            # Not one that is gone: its number may be another's before long.
            kept = (number for n, (number, _) in enumerate(links) if n in waiting)
            self._sent_to = max(self._sent_to, max(kept, default=0))
        return answered
