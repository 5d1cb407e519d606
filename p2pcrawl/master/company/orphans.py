"""The orphans that slaves of a dead master bring with them: pages that were fetched and never reported.

They are facts like any others: their links go to the owners of their buckets, and when these are settled the pages'
ends follow, with their items, to the owners of theirs. Before all that, whoever owns a page's host is told what it
asked for (Retry-After), which nobody else may know; and a page that closed its job closes it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence

from p2pcrawl.core.bench.candidate import host_key
from p2pcrawl.core.buckets.ownership import Ownership
from p2pcrawl.core.hosts import politeness
from p2pcrawl.core.hosts.politeness import PENALTY_START_S
from p2pcrawl.core.ring.rendezvous import bucket_of_hash
from p2pcrawl.master.company.ground import Ground
from p2pcrawl.master.copies.own_rows import OwnRows
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.master.links.dispatch import Dispatch, Hold, Parcel
from p2pcrawl.master.neighbours.host_notes import HostNotes
from p2pcrawl.master.revisits.visit_ends import due_after
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.errors import LinkError, P2PCrawlError
from p2pcrawl.model.texts.imprint_url import is_imprint
from p2pcrawl.overlay.peers import Peers
from p2pcrawl.wire.messages.peer_messages import Merge, Row, Settled, WireHostNote
from p2pcrawl.wire.messages.slave_messages import OrphanPage, Orphans, Outcome

log = logging.getLogger(__name__)

RETRY_S = 0.5


class Adoption:
    """Takes in orphans' pages: sends their links and ends to those that own them."""

    def __init__(
        self,
        ground: Ground,
        peers: Peers,
        ownership: Ownership,
        dispatch: Dispatch,
        own_rows: OwnRows,
        host_notes: HostNotes,
    ) -> None:
        self._jobs = ground.jobs
        self._keys = ground.keys
        self._mailbox = ground.mailbox
        self._openings = ground.openings
        self._lifecycle = ground.lifecycle
        self._peers = peers
        self._ownership = ownership
        self._dispatch = dispatch
        self._own_rows = own_rows
        self._host_notes = host_notes

    async def take(self, pid: int, orphans: Orphans) -> None:
        """Returns when all of it is settled; pages of jobs that nobody here knows are left out, and so is what followed
        from verdicts: whoever owns the text now may have given another one.
        """
        known = [p for p in orphans.pages if p.page.job in self._jobs and not is_imprint(p.task.link.url)]
        log.info("slave %d brings %d pages of its last master", pid, len(known))
        await asyncio.gather(*(self._take(page) for page in known))

    async def merge(self, rows: list[Row]) -> Settled:
        """Takes in ends of pages in our buckets; answered when they are durable."""
        if any(row.job not in self._jobs for row in rows):
            return Settled(0, unknown_job=True)
        owner, bucket_of = self._ownership.owner, self._own_rows.bucket_of
        refused = [n for n, row in enumerate(rows) if owner(bucket_of(row)) is not None]
        others = set(refused)
        await self._mailbox.adopt([row for n, row in enumerate(rows) if n not in others])
        return Settled(0, refused)

    def learn(self, notes: Sequence[WireHostNote]) -> None:
        """Takes in what hosts of ours have told somebody else. Raises LinkError if one is not ours."""
        if any(self._ownership.owner(bucket_of_hash(note.key)) is not None for note in notes):
            raise LinkError("another master owns that host")
        self._host_notes.learn(
            {note.key: politeness.HostNote(note.delay_s, note.penalty_s, note.pause_s) for note in notes}
        )
        self._host_notes.remarked.update(note.key for note in notes)

    async def _take(self, orphan: OrphanPage) -> None:
        job = self._jobs[orphan.page.job]
        if (outcome := orphan.page.outcome) is not None:
            if outcome.close:
                self._lifecycle.close(job.id, outcome.close)
            if note := _note_of(orphan.task.link.url, outcome, job.pace.retry_after_max_s):
                await self._settle_note(note)
        await self._settle_links(job, [link for links in orphan.page.links for link in links.each()])
        if outcome is not None and (then := due_after(job, orphan.task, outcome, time.time())) is not None:
            await self._settle_end(job, _row_of(orphan, *then))

    async def _settle_links(self, job: Job, links: list[Link]) -> None:
        if not links:
            return
        settled = asyncio.Event()
        hold = Hold(0, settled.set)
        ours = []
        for link in links:
            bucket = self._keys.bucket(job.settings.shard_key, link.url, link.fingerprint)
            parcel = Parcel(link, bucket, hold)
            owner = self._ownership.owner(bucket)
            if owner is None:
                hold.waiting += 1
                ours.append(parcel)
            else:
                self._dispatch.add(job.id, owner, parcel)
        if ours:
            self._mailbox.take_back(job.id, ours)
        self._dispatch.flush()
        await settled.wait()

    async def _settle_note(self, note: WireHostNote) -> None:
        async def learn(owner: NodeId | None) -> bool:
            if owner is None:
                self.learn([note])
                return True
            return _is_taken(await self._peers.ask(owner, Merge(0, [], [note])))

        await self._deliver(note.bucket, learn)

    async def _settle_end(self, job: Job, row: Row) -> None:
        async def merge(owner: NodeId | None) -> bool:
            if owner is None:
                return _is_taken(await self.merge([row]))
            return _is_taken(await self._peers.ask(owner, Merge(0, [row], opened=self._openings.known([job.id]))))

        await self._deliver(self._own_rows.bucket_of(row), merge)

    async def _deliver(self, bucket: int, deliver: Callable[[NodeId | None], Awaitable[bool]]) -> None:
        """Returns when the bucket's owner has taken it; None is this master itself."""
        while True:
            try:
                if await deliver(self._ownership.owner(bucket)):
                    return
            except P2PCrawlError as error:
                log.debug("something of bucket %d must wait: %s", bucket, error)
            # Its owner is dead, or sees another owner: the view will tell.
            await asyncio.sleep(RETRY_S)


def _is_taken(settled: Settled) -> bool:
    return not settled.refused and not settled.unknown_job


def _note_of(url: str, outcome: Outcome, pause_s_max: float) -> WireHostNote | None:
    """Returns what the page's host asked for, if it did."""
    if not outcome.host_pause_s and not outcome.slow_down:
        return None
    key = host_key(url)
    pause_s = min(outcome.host_pause_s, pause_s_max)
    return WireHostNote(key, bucket_of_hash(key), 0.0, 0.0 if pause_s else PENALTY_START_S, pause_s)


def _row_of(orphan: OrphanPage, past: bytes, due: int) -> Row:
    task, outcome = orphan.task, orphan.page.outcome
    assert outcome is not None
    return Row(
        job=task.job,
        link=task.link,
        phase=outcome.phase,
        attempts=task.attempt,
        losses=0,
        status=outcome.status,
        reason=outcome.reason,
        size=outcome.size,
        items=len(orphan.page.items),
        data=b"\n".join(orphan.page.items),
        visit=task.visit,
        told=task.visit,
        past=past,
        due=due,
        page_type=outcome.page_type,
    )
