"""The rows of our own buckets, as they go to other masters and come from them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Sequence

from p2pcrawl.frontier.database.digest import Range
from p2pcrawl.frontier.records.recorder import Recorder
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.master.jobs.job import KnownJobs
from p2pcrawl.master.links.mailbox import Mailbox
from p2pcrawl.master.links.shard_keys import Keys
from p2pcrawl.model.errors import LinkError, P2PCrawlError
from p2pcrawl.wire.messages.peer_messages import Row


class OwnRows:
    """The interface of the owner's store, as syncing asks it."""

    def __init__(self, jobs: KnownJobs, keys: Keys, recorder: Recorder, mailbox: Mailbox) -> None:
        self._jobs = jobs
        self._keys = keys
        self._recorder = recorder
        self._mailbox = mailbox

    def bucket_of(self, row: Row) -> int:
        """Returns the bucket that a row is in. Raises P2PCrawlError for a row of an unknown job."""
        job = self._jobs.get(row.job)
        if job is None:
            raise P2PCrawlError(f"job {row.job} is not known here")
        return self._keys.bucket(job.settings.shard_key, row.link.url, row.link.fingerprint)

    async def rows_of(self, buckets: Collection[int], after: int, limit: int) -> tuple[list[Row], int]:
        """Returns the next rows of these buckets, and where they end."""
        return await self._recorder.run(Store.rows_of, buckets, after, limit)

    async def rows_by_key(self, bucket: int, keys: Sequence[tuple[int, int, int]]) -> list[Row]:
        """Returns the rows of a bucket with these keys: (hi, lo, job)."""
        return await self._recorder.run(Store.rows_by_key, bucket, keys)

    async def sizes(self, buckets: Collection[int]) -> Counter[int]:
        """Counts the rows in each of these buckets that has any."""
        # Where no job is known there are no rows.
        return await self._recorder.run(Store.sizes, buckets) if self._jobs else Counter()

    async def digests(self, nonce: bytes, ranges: Sequence[Range]) -> list[tuple[int, int]]:
        """Counts the rows in each range, and sums them up."""
        return await self._recorder.run(Store.digests, nonce, ranges)

    async def keys(self, ranges: Sequence[Range]) -> list[tuple[int, int, int, int]]:
        """Returns (hi, lo, job, stamp) of each row in these ranges."""
        return await self._recorder.run(Store.keys, ranges)

    def adopt(self, rows: list[Row]) -> asyncio.Future[None]:
        """Takes in rows of buckets that are ours; done when they are durable. LinkError when they are another's by
        then. Rows of unknown jobs are left out."""
        return self._mailbox.adopt(rows)

    async def take_in(self, rows: list[Row]) -> None:
        """Takes in rows of buckets that come to us; durable when this returns. Raises LinkError as long as a job of
        theirs is not known here."""
        if any(row.job not in self._jobs for row in rows):
            raise LinkError("rows of a job came before it")
        if rows:
            await self._mailbox.adopt(rows)
