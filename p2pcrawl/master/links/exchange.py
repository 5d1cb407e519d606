"""What a master's cycle exchanges with other masters: links that arrive, links that come back, buckets that move.

Everything waits here for the next turn of the cycle, takes part in its one transaction, and is answered after the
commit. So an answer always speaks of what is durable, and nothing overtakes what was accepted before it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from p2pcrawl.core.bench.candidate import Candidate
from p2pcrawl.core.buckets.ownership import Alone, Router
from p2pcrawl.frontier.records.batch import Batch, Committed, Ending, MovedRow, NewLink
from p2pcrawl.master.copies.copier import Copier
from p2pcrawl.master.copies.row_forms import copy_of_candidate, copy_of_ending
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.master.jobs.openings import Openings
from p2pcrawl.master.links.dispatch import Dispatch, Parcel
from p2pcrawl.master.links.shard_keys import Keys
from p2pcrawl.master.loans.budgets import Budgets
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.errors import LinkError
from p2pcrawl.wire.messages.peer_messages import CopyRow, Row, Settled


@dataclass(slots=True)
class _Arrival:
    job: int
    links: list[Link]
    answer: asyncio.Future[Settled]
    refused: list[int]
    unknown: bool = False
    buckets: dict[int, int] = field(default_factory=dict)
    """The bucket of each link that was taken, by its position."""


class EndedPage(NamedTuple):
    """A page whose turn ended in this cycle, with its items if they came whole."""

    ending: Ending
    items: int = 0
    data: bytes = b""


class Exchange:
    """The cycle calls :meth:`gather` before its commit and :meth:`settle` after it."""

    def __init__(self, jobs: Mapping[int, Job], keys: Keys, openings: Openings) -> None:
        self._jobs = jobs
        self._keys = keys
        self._openings = openings
        self.router: Router = Alone()
        self.dispatch: Dispatch | None = None
        self.budgets: Budgets | None = None
        self.copier: Copier | None = None
        self.ended: list[EndedPage] = []
        """Pages that ended in this turn, for their copies."""
        self.received: Counter[int] = Counter()
        """Links per job that came from others and were settled here."""
        self._arrivals: list[_Arrival] = []
        self._returned: list[tuple[int, list[Parcel]]] = []
        self._adoptions: list[tuple[list[Row], asyncio.Future[None]]] = []
        self._answered: list[_Arrival] = []
        self._settled: list[Parcel] = []
        self._unsafe = 0
        """Links that are durable here and not yet as widely as they should be."""
        self._adopted: list[asyncio.Future[None]] = []

    def lent_of(self) -> Iterator[int]:
        """The buckets of hosts that are lent to other masters."""
        return self.budgets.lending.lent_of() if self.budgets is not None else iter(())

    @property
    def waiting(self) -> bool:
        return bool(self._arrivals or self._returned or self._adoptions)

    @property
    def full(self) -> bool:
        """So much is under way that no new work should be begun."""
        dispatch, copier = self.dispatch, self.copier
        return (dispatch is not None and dispatch.full) or (copier is not None and copier.full)

    @property
    def strained(self) -> bool:
        """Soon it will be, if what can wait does not."""
        dispatch, copier = self.dispatch, self.copier
        return (dispatch is not None and dispatch.strained) or (copier is not None and copier.strained)

    def busy(self, job: int) -> int:
        """Links and records of the job that are neither stored here nor settled elsewhere."""
        under_way = self.dispatch.pending(job) if self.dispatch is not None else 0
        arrived = sum(len(a.links) for a in (*self._arrivals, *self._answered))
        back = len(self._returned) + len(self._settled) + len(self._adoptions) + len(self._adopted) + self._unsafe
        return under_way + arrived + back

    def arrive(self, job: int, links: list[Link]) -> asyncio.Future[Settled]:
        """Links that another master found; answered when they are durable."""
        answer: asyncio.Future[Settled] = asyncio.get_running_loop().create_future()
        self._arrivals.append(_Arrival(job, links, answer, []))
        return answer

    def take_back(self, job: int, parcels: list[Parcel]) -> None:
        """Links on their way elsewhere that turn out to be ours."""
        self._returned.append((job, parcels))

    def adopt(self, rows: list[Row]) -> asyncio.Future[None]:
        """Records of buckets that are ours; done when they are durable. LinkError when they are another's by then."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._adoptions.append((rows, done))
        return done

    def gather(self, batch: Batch) -> None:
        """Puts all that waits into the batch."""
        for arrival in self._arrivals:
            self._take(arrival, batch)
        self._answered, self._arrivals = self._arrivals, []
        for number, parcels in self._returned:
            for parcel in parcels:
                self._return(number, parcel, batch)
        self._returned = []
        for rows, done in self._adoptions:
            moved = list(self._moved(rows))
            if all(self.router.owner(each.new.bucket) is None for each in moved):
                batch.moved.extend(moved)
                self._adopted.append(done)
            elif not done.done():
                done.set_exception(LinkError("these records have become another master's"))
        self._adoptions = []

    def settle(self, committed: Committed) -> None:
        """The batch is durable here: sends what changed to the copies, and answers whoever waits for all that."""
        ended, self.ended = self.ended, []
        copier = self.copier
        if copier is not None:
            copier.copying.doubt(committed.touched)
            copier.transfer(
                [copy_of_candidate(c) for c in committed.fresh if self._is_news(c, copier, committed)],
                [self._copy_of(e, committed) for e in ended if self._counts(e, copier, committed)],
            )
        answered, self._answered = self._answered, []
        settled, self._settled = self._settled, []
        if answered or settled:
            unsafe = sum(len(a.links) for a in answered) + len(settled)
            self._unsafe += unsafe

            def answer() -> None:
                self._unsafe -= unsafe
                self._answer(answered, settled)

            if copier is None:
                answer()
            else:
                copier.when_safe(answer)
        adopted, self._adopted = self._adopted, []
        for done in adopted:
            if not done.done():
                done.set_result(None)

    def _answer(self, answered: list[_Arrival], settled: list[Parcel]) -> None:
        copying = self.copier.copying if self.copier is not None else None
        for arrival in answered:
            if not arrival.unknown:
                self.received[arrival.job] += len(arrival.links) - len(arrival.refused)
            provisional = []
            if copying is not None:
                provisional = [n for n, bucket in arrival.buckets.items() if copying.provisional(bucket)]
            if not arrival.answer.done():
                arrival.answer.set_result(Settled(0, arrival.refused, arrival.unknown, provisional))
        for parcel in settled:
            parcel.hold.settled()

    def _is_news(self, candidate: Candidate, copier: Copier, committed: Committed) -> bool:
        """Whether holders hear of it at once. What comes with a bucket that is not served yet is brought to them with
        everything else of that, and held up by nobody: it is many rows, of which others have copies."""
        if candidate.record in committed.came and not self.router.serves(candidate.bucket):
            return False
        return bool(copier.copying.holders(candidate.bucket))

    @staticmethod
    def _counts(ended: EndedPage, copier: Copier, committed: Committed) -> bool:
        candidate = ended.ending.candidate
        return candidate.record not in committed.ended and bool(copier.copying.holders(candidate.bucket))

    @staticmethod
    def _copy_of(ended: EndedPage, committed: Committed) -> CopyRow:
        items, data = committed.staged.get(ended.ending.candidate.record, (ended.items, ended.data))
        return copy_of_ending(ended.ending, items, data)

    def _take(self, arrival: _Arrival, batch: Batch) -> None:
        job = self._jobs.get(arrival.job)
        if job is None:
            # It may be known by the time of the answer, but nothing of this will have been stored.
            arrival.unknown = True
            return
        self._openings.note(job, (link.url for link in arrival.links if link.seed))
        for number, link in enumerate(arrival.links):
            new = self._new(job, link)
            if self.router.owner(new.bucket) is not None:
                arrival.refused.append(number)
            else:
                arrival.buckets[number] = new.bucket
                batch.links.append(new)

    def _return(self, job: int, parcel: Parcel, batch: Batch) -> None:
        """Ours when it came back; by now the bucket may be another's again."""
        owner = self.router.owner(parcel.bucket)
        if owner is not None and self.dispatch is not None:
            parcel.hold.waiting -= 1
            self.dispatch.add(job, owner, parcel)
            return
        if parcel.link.seed:
            self._openings.note(self._jobs[job], [parcel.link.url])
        batch.links.append(self._new(self._jobs[job], parcel.link))
        self._settled.append(parcel)

    def _moved(self, rows: Iterable[Row]) -> Iterable[MovedRow]:
        for row in rows:
            job = self._jobs.get(row.job)
            if job is None:
                continue
            if row.link.seed:
                self._openings.note(job, [row.link.url])
            self._openings.moved(job, row)
            yield MovedRow(self._new(job, row.link), row)

    def _new(self, job: Job, link: Link) -> NewLink:
        """Puts a link that another master found where it belongs."""
        host, bucket = self._keys.place(job.settings.shard_key, link)
        return NewLink(link, job.id, host, bucket, foreign=True)
