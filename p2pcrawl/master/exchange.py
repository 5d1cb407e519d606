"""The exchange of a master's cycle with other masters: links that arrive, links that come back, buckets that move.

Everything waits here for the next turn of the cycle, takes part in its one transaction, and is answered after the
commit. So an answer always speaks of what is durable, and nothing overtakes what was accepted before it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from p2pcrawl.frontier.records.batch import Batch, MovedRow, NewLink
from p2pcrawl.master.company.company import Company
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.master.links.dispatch import Parcel
from p2pcrawl.master.links.mailbox import Arrival
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.errors import LinkError
from p2pcrawl.wire.messages.peer_messages import Row, Settled


@dataclass(slots=True)
class _Due:
    """The answer that another master is due for links that it brought, when these are safe."""

    job: int
    links: int
    answer: asyncio.Future[Settled]
    known: int
    unknown: bool = False
    refused: list[int] = field(default_factory=list)
    buckets: dict[int, int] = field(default_factory=dict)
    """The bucket of each link that was taken, by its position."""


class Exchange:
    """The cycle calls :meth:`gather` before its commit and :meth:`answer` after it."""

    def __init__(self, company: Company) -> None:
        ground = company.ground
        self._company = company
        self._jobs = ground.jobs
        self._keys = ground.keys
        self._openings = ground.openings
        self._mailbox = ground.mailbox
        self.received: Counter[int] = Counter()
        """Links per job that came from others and were settled here."""
        self._due: list[_Due] = []
        self._settled: list[Parcel] = []
        self._unsafe = 0
        """Links that are durable here and not yet as widely as they should be."""
        self._adopted: list[asyncio.Future[None]] = []

    def busy(self, job: Job) -> int:
        """Counts the links and records of the job that are neither stored here nor settled elsewhere."""
        if job.closed_early:
            return job.leased + self.under_way(job.id)
        # A page that is in hand here may be through elsewhere, and so not queued any more.
        waiting = max(job.leased, job.counts["queued"]) + max(0, job.counts["again"])
        return waiting + self.under_way(job.id) + len(self._openings.reopened.get(job.id, ()))

    def under_way(self, job: int) -> int:
        """Counts the links and records of the job that are neither stored here nor settled elsewhere."""
        mailbox = self._mailbox
        arrived = sum(len(a.links) for a in mailbox.arrivals) + sum(due.links for due in self._due)
        back = len(mailbox.returned) + len(self._settled) + len(mailbox.adoptions) + len(self._adopted) + self._unsafe
        return self._company.pending(job) + arrived + back

    def gather(self, batch: Batch) -> None:
        """Puts all that waits into the batch."""
        mailbox = self._mailbox
        self._due = [self._take(arrival, batch) for arrival in mailbox.arrivals]
        mailbox.arrivals = []
        for number, parcels in mailbox.returned:
            for parcel in parcels:
                self._return(number, parcel, batch)
        mailbox.returned = []
        for rows, done in mailbox.adoptions:
            moved = list(self._moved(rows))
            if all(self._company.router.owner(row.new.bucket) is None for row in moved):
                batch.moved.extend(moved)
                self._adopted.append(done)
            elif not done.done():
                done.set_exception(LinkError("these records have become another master's"))
        mailbox.adoptions = []

    def answer(self) -> None:
        """Answers whoever waits for what is durable now: for links when they have their copies, for rows at once."""
        answers, self._due = self._due, []
        settled, self._settled = self._settled, []
        if answers or settled:
            unsafe = sum(due.links for due in answers) + len(settled)
            self._unsafe += unsafe

            def answer() -> None:
                self._unsafe -= unsafe
                self._answer(answers, settled)

            self._company.when_safe(answer)
        adopted, self._adopted = self._adopted, []
        for done in adopted:
            if not done.done():
                done.set_result(None)

    def _answer(self, answers: list[_Due], settled: list[Parcel]) -> None:
        for due in answers:
            if not due.unknown:
                self.received[due.job] += due.links - len(due.refused)
            provisional = [n for n, bucket in due.buckets.items() if self._company.provisional(bucket, due.known)]
            if not due.answer.done():
                due.answer.set_result(Settled(0, due.refused, due.unknown, provisional))
        for parcel in settled:
            parcel.hold.count_off()

    def _take(self, arrival: Arrival, batch: Batch) -> _Due:
        """Puts links that arrived into the batch, and returns what their finder is to be told."""
        due = _Due(arrival.job, len(arrival.links), arrival.answer, arrival.known)
        job = self._jobs.get(arrival.job)
        if job is None:
            # The job may be known by the time of the answer, but none of these links will have been stored.
            due.unknown = True
            return due
        if job.is_deleted:
            # They are as safe as anybody wants them to be.
            return due
        self._openings.note(job, (link.url for link in arrival.links if link.seed))
        for number, link in enumerate(arrival.links):
            new = self._new(job, link)
            if self._company.router.owner(new.bucket) is not None:
                due.refused.append(number)
            else:
                due.buckets[number] = new.bucket
                batch.links.append(new)
        return due

    def _return(self, job: int, parcel: Parcel, batch: Batch) -> None:
        """Ours when it came back; by now the bucket may be another's again."""
        owner = self._company.router.owner(parcel.bucket)
        if owner is not None:
            parcel.hold.waiting -= 1
            self._company.send(job, owner, parcel)
            return
        if self._jobs[job].is_deleted:
            self._settled.append(parcel)
            return
        if parcel.link.seed:
            self._openings.note(self._jobs[job], [parcel.link.url])
        batch.links.append(self._new(self._jobs[job], parcel.link))
        self._settled.append(parcel)

    def _moved(self, rows: Iterable[Row]) -> Iterable[MovedRow]:
        for row in rows:
            job = self._jobs.get(row.job)
            if job is None or job.is_deleted:
                continue
            if row.link.seed:
                self._openings.note(job, [row.link.url])
            self._openings.moved(job, row)
            yield MovedRow(self._new(job, row.link), row)

    def _new(self, job: Job, link: Link) -> NewLink:
        """Puts a link that another master found where it belongs."""
        host, bucket = self._keys.place(
            job.settings.shard_key, link.url, link.fingerprint, stored=job.settings.reads_stored_pages
        )
        return NewLink(link, job.id, host, bucket, foreign=True)
