"""Links first: what this master found while nobody else had it goes to others before anything that they led from does.

The theory. Turn by turn no copy says that a page is done whose links are nowhere else (``Copier``). That order is lost
with the process: a master that dies between a commit and its copies comes back with a page that is done, and its links,
all in one store, in different buckets; so does one that was alone. Then buckets are compared and handed over one by
one, and others may have the page before they have the links, which are lost if the disk is. The same goes for a page
that ends now, and leads to such a link: for its own master that is known, and not new.

And what waits for a holder that dies, of a bucket that the next view gives to another master, is nowhere else either
until that one has taken the bucket over.

So a mark is kept on disk: the record up to which all links were acknowledged by another store while the turns went in
order (``frontier.database.copied_mark``). What is behind it when this master begins, meets others after it was alone,
or had links wait for one that died in buckets that it has to give up, is sent before any copy is brought up to date,
before any end of a page, and before any bucket is let go of: to the holders of what is our own, to the owners of what
is not. It travels as what it was when it was found, so nothing of it can say too much; what has come of it follows with
its bucket. A link that has become an entry is news, too: the mark falls back to before it until that is acknowledged.

More than ``LINKS_MAX`` are not sent ahead: hosts would wait for them. That is so where one was alone for long
(docs/copies.md).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection

from p2pcrawl.core.buckets.ownership import Router
from p2pcrawl.frontier.records.recorder import Recorder
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.master.copies.copier import Copier
from p2pcrawl.master.copies.own_rows import OwnRows
from p2pcrawl.master.copies.row_forms import copy_of_row
from p2pcrawl.master.jobs.job import KnownJobs
from p2pcrawl.master.links.dispatch import Dispatch, Hold, Parcel
from p2pcrawl.model.errors import StorageError
from p2pcrawl.overlay.tasks import Tasks
from p2pcrawl.wire.messages.peer_messages import CopyRow, Row

log = logging.getLogger(__name__)

LINKS_MAX = 60_000
"""So many are sent ahead at most: more than may be under way in order (``copier.UNDER_WAY_MAX``), and in one turn
behind that."""
SEND_ROWS = 10_000
PATIENCE_S = 120.0
"""For so long all else waits for somebody who does not take them, as one does that refuses their job for good."""


class LinksFirst:
    """Keeps the mark, and sends what is behind it: :meth:`tend` when others have come or gone."""

    def __init__(
        self, copier: Copier, dispatch: Dispatch, own: OwnRows, router: Router, jobs: KnownJobs, recorder: Recorder
    ) -> None:
        self._copying = copying = copier.copying
        self._copier = copier
        self._dispatch = dispatch
        self._own = own
        self._router = router
        self._jobs = jobs
        self._recorder = recorder
        self.mark = 0
        """The record up to which all links are with others; 0 until that is known."""
        self._last = 0
        self._alone = 1
        """How often links may have gone to nobody, for nobody was there: at the beginning that is not known."""
        self._closed = 0
        """How many of these were made good."""
        self._entering = 0
        """Turns in which links became entries, of which that is not acknowledged yet."""
        self._in_order = asyncio.Event()
        self._sending = Tasks()
        if copying.copies > 1:
            copier.withhold()
        else:
            self._close_gaps(0)

    async def close(self) -> None:
        """Ends what is under way."""
        await self._sending.close()

    # -- turn by turn -------------------------------------------------------------------------

    def committed(self, last: int, entered: Collection[int] = ()) -> None:
        """Takes in the last record of a turn, whose links are on their way to their holders. ``entered``: earlier
        records which became entries in it, so that there is more to be told of them.
        """
        if entered:
            self._entering += 1
            self.mark = min(self.mark, min(entered) - 1)
        if entered or last != self._last:
            self._last = last
            self._copier.when_safe(lambda: self._acknowledged(last, has_entered=bool(entered)))

    def _acknowledged(self, last: int, *, has_entered: bool) -> None:
        self._entering -= has_entered
        if self._copying.alone:
            self._alone += 1
            self._copier.withhold()
        elif self._closed == self._gaps and not self._entering:
            self.mark = last

    @property
    def _gaps(self) -> int:
        """Counts how often links may have gone to nobody."""
        return self._alone + self._copier.stranded

    # -- what went out of order ---------------------------------------------------------------

    async def safe(self) -> None:
        """Returns when all links up to now are with others, as far as they are to be sent ahead."""
        await self._copier.safe()
        if self._closed != self._gaps:
            self._in_order.clear()
        await self._in_order.wait()

    def tend(self) -> None:
        """Begins to send what is behind the mark, where somebody is there who can have it."""
        if self._closed != self._gaps and not self._copying.alone and not self._sending:
            self._sending.start(self._make_good())

    async def _make_good(self) -> None:
        try:
            while self._closed != self._gaps and not self._copying.alone:
                gaps = self._gaps
                after, until = await self._recorder.run(Store.uncopied)
                after = max(after, self.mark)
                if until - after > LINKS_MAX:
                    log.warning("%d links are not sent ahead of what has come of them", until - after)
                elif not await self._sent_in_time(after, until):
                    continue
                if gaps == self._gaps and not self._copying.alone:
                    self._close_gaps(until)
        except StorageError as error:
            # Which ends the master; whoever keeps its books is told.
            log.debug("what was found is not sent ahead: %s", error)

    def _close_gaps(self, mark: int) -> None:
        self.mark, self._closed = self.mark if self._entering else mark, self._gaps
        self._in_order.set()
        self._copier.withhold_no_longer()

    async def _sent_in_time(self, after: int, until: int) -> bool:
        """Sends the links between two records, or waits no longer; tells whether somebody was there all the time."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                return await self._send_all(after, until)
        except TimeoutError:
            log.warning("%d links were not taken in %.0f s; what has come of them goes on", until - after, PATIENCE_S)
            return True

    async def _send_all(self, after: int, until: int) -> bool:
        """Sends the links between two records; tells whether somebody was there all the time."""
        while after < until and not self._copying.alone:
            rows, last = await self._recorder.run(Store.links_after, after, until, SEND_ROWS)
            changes = self._copying.changes
            await self._send([row for row in rows if not self._is_over(row)])
            if changes == self._copying.changes:
                # Else they may belong to others by now, who have not got them.
                after = last
        return after >= until

    def _is_over(self, row: Row) -> bool:
        return row.job not in self._jobs or self._jobs.deleted(row.job)

    async def _send(self, rows: list[Row]) -> None:
        """Sends links to those that are to have them; returns when they have them."""
        copies: list[CopyRow] = []
        there = asyncio.Event()
        hold = Hold(0, there.set)
        for row in rows:
            bucket = self._own.bucket_of(row)
            if (owner := self._router.owner(bucket)) is None:
                copies.append(copy_of_row(row, bucket))
            else:
                self._dispatch.add(row.job, owner, Parcel(row.link, bucket, hold))
        self._copier.transfer(copies, ())
        self._dispatch.flush()
        await self._copier.safe()
        if hold.waiting:
            await there.wait()
