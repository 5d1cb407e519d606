"""The holdings of a master: the copies that it keeps for others, and what it knows of how good its buckets are."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from p2pcrawl.core.accounts import joined_accounts
from p2pcrawl.core.buckets.standings import Standing
from p2pcrawl.core.hosts.politeness import HostNote
from p2pcrawl.frontier.copies.copy_store import LAYOUT, CopyStore, Mark, NoteRow, SpoolRow
from p2pcrawl.frontier.copies.schedule_rows import ScheduleRow
from p2pcrawl.frontier.database.digest import Range
from p2pcrawl.master.copies.copier import BYTES_MAX, ROWS_MAX
from p2pcrawl.master.copies.looking import Looking
from p2pcrawl.model.cluster.account import Account, AccountKey
from p2pcrawl.model.cluster.host_order import HostOrder
from p2pcrawl.model.cluster.schedule import Schedule
from p2pcrawl.model.crawl.fingerprint import SIZE, halves, pack_halves
from p2pcrawl.model.errors import LinkError, StorageError
from p2pcrawl.overlay.tasks import end, to_its_end
from p2pcrawl.wire.messages import peer_messages as wire
from p2pcrawl.wire.messages.peer_messages import (
    Compare,
    Compared,
    Copied,
    Copy,
    CopyRow,
    Delivered,
    Listed,
    ListKeys,
    Marked,
    PullCopies,
    PulledCopies,
    PullKeys,
)

T = TypeVar("T")

LISTED_MAX = 20_000
"""Keys that are listed at once: an owner that asks for more should have split its ranges."""


class Holdings:
    """The store of copies in a thread of its own, so that no holder's answer waits for the crawl here."""

    def __init__(self, folder: Path, failed: Callable[[StorageError], None]) -> None:
        """``failed`` is told when something cannot be stored: who keeps nothing for others must not seem to."""
        self._folder = folder
        self._failed = failed
        self._broken: StorageError | None = None
        """The first failure: nothing is done behind it, for it may rest on what was not stored then."""
        self._keeping = asyncio.Lock()
        self.standings: dict[int, Standing] = {}
        """What is here of each bucket of which anything was ever known here, as it is on the disk."""
        self.orders: list[HostOrder] = []
        """What people had said of hosts, as it was on the disk when this was opened."""
        self.schedules: list[Schedule] = []
        """What was scheduled, as it was on the disk then."""
        self.accounts: dict[AccountKey, Account] = {}
        """What other masters have counted, as it is on the disk;"""
        self.slices: dict[AccountKey, Account] = {}
        """and the slices of that."""
        self._came = self._arrived = 0
        """How often copies came, and how often they were stored: the second is counted in the thread."""

    async def open(self) -> None:
        """Raises as the frontier's store does."""
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, "copies")
        try:
            self._store: CopyStore = await self._in_thread(lambda: CopyStore(self._folder))
            self.standings = await self._in_thread(self._store.standings)
            self._note_accounts(await self._in_thread(self._store.accounts))
            self.orders = await self._in_thread(self._store.orders)
            self.schedules = await self._in_thread(self._store.schedules)
        except BaseException:
            self._thread.shutdown()
            raise
        self._looking = asyncio.create_task(Looking(self._folder / LAYOUT.file, self._failed).run())

    async def close(self) -> None:
        await end([self._looking])
        try:
            await self._loop.run_in_executor(self._thread, self._store.close)
        finally:
            self._thread.shutdown()

    def _in_thread(self, call: Callable[..., T], *arguments: Any) -> asyncio.Future[T]:
        """Makes a call in the thread, and reports its failure though nobody may wait for it any more. Behind a call
        that has failed each one fails.
        """

        def judged() -> T:
            if self._broken is not None:
                raise self._broken
            try:
                return call(*arguments)
            except StorageError as error:
                self._broken = error
                self._loop.call_soon_threadsafe(self._failed, error)
                raise

        # Made though nobody waits for it any more: what memory has for stored is stored.
        return asyncio.shield(self._loop.run_in_executor(self._thread, judged))

    # -- what owners ask ----------------------------------------------------------------------

    async def copy(self, message: Copy) -> Copied:
        """Stores copies, durably when this returns."""
        notes = [NoteRow(n.key, n.bucket, n.delay_s, n.penalty_s, n.pause_s) for n in message.notes]
        await self._put(message.rows, notes)
        return Copied(0)

    def _put(self, rows: Sequence[CopyRow], notes: Sequence[NoteRow] = ()) -> asyncio.Future[None]:
        """Stores copies, and counts them as on their way till they are there."""

        def put() -> None:
            self._store.put(rows, notes)
            self._arrived += 1

        self._came += 1
        return self._in_thread(put)

    async def drop_job(self, job: int) -> int:
        """Deletes the copies of a job that was deleted, durably when this returns; returns how many there were."""
        for accounts in (self.accounts, self.slices):
            for key in [key for key in accounts if key.job == job]:
                del accounts[key]
        return await self._in_thread(self._store.drop_job, job)

    async def keep_accounts(self, accounts: Sequence[Account]) -> None:
        """Keeps accounts of other masters, durably when this returns; those that are known here as they are, or as they
        were later, change nothing."""
        # To its end though nobody waits for it any more: what is stored is known here, or it is taken for news again.
        await to_its_end(self._keep_accounts(accounts))

    async def _keep_accounts(self, accounts: Sequence[Account]) -> None:
        async with self._keeping:
            told = joined_accounts(accounts)
            here = [account for key in told if (account := self.account(key)) is not None]
            after = joined_accounts([*here, *told.values()])
            news = [account for key, account in after.items() if self.account(key) != account]
            if news:
                await self._in_thread(self._store.set_accounts, news)
                self._note_accounts(news)

    def account(self, key: AccountKey) -> Account | None:
        """Returns an account of another master, or a slice of one, as it is on the disk."""
        return (self.slices if key.slice else self.accounts).get(key)

    def _note_accounts(self, accounts: Iterable[Account]) -> None:
        for account in accounts:
            (self.slices if account.key.slice else self.accounts)[account.key] = account

    async def drop_accounts(self, keys: Collection[AccountKey]) -> None:
        """Deletes accounts, durably when this returns."""
        await to_its_end(self._drop_accounts(keys))

    async def _drop_accounts(self, keys: Collection[AccountKey]) -> None:
        async with self._keeping:
            await self._in_thread(self._store.drop_accounts, keys)
            for key in keys:
                self.accounts.pop(key, None)
                self.slices.pop(key, None)

    async def keep_orders(self, orders: Sequence[HostOrder]) -> None:
        """Keeps orders about hosts, durably when this returns."""
        await self._in_thread(self._store.set_orders, orders)

    async def keep_schedules(self, rows: Sequence[ScheduleRow]) -> None:
        """Keeps schedules, durably when this returns."""
        await self._in_thread(self._store.set_schedules, rows)

    async def schedule_task(self, name: str) -> tuple[bytes, bytes]:
        """Returns what a schedule does, and the secrets of that."""
        return await self._in_thread(self._store.schedule_task, name)

    async def mark(self, message: Delivered) -> Marked:
        """Takes in that a sink has the items of some copies."""
        prints = [message.keys[at : at + SIZE] for at in range(0, len(message.keys), SIZE)]
        if len(message.keys) % SIZE or not len(prints) == len(message.buckets) == len(message.stamps) == len(
            message.items
        ):
            raise LinkError("marks have as many buckets, stamps and numbers of items as keys")
        told = zip(message.buckets, prints, message.stamps, message.items, strict=True)
        marks = [Mark(b, *halves(p), message.job, stamp, items, message.marks) for b, p, stamp, items in told]
        await self._in_thread(self._store.mark, marks)
        return Marked(0)

    async def compare(self, message: Compare) -> Compared:
        ranges = [Range(r.bucket, r.depth, r.prefix) for r in message.ranges]
        if not len(ranges) == len(message.counts) == len(message.sums):
            raise LinkError("a comparison has as many counts and sums as ranges")
        ours = await self._in_thread(self._store.digests, message.nonce, ranges)
        theirs = zip(message.counts, message.sums, strict=True)
        differing = [n for n, (here, there) in enumerate(zip(ours, theirs, strict=True)) if here != there]
        return Compared(0, differing, [ours[n][0] for n in differing])

    async def list_keys(self, message: ListKeys) -> Listed:
        keys = await self._in_thread(self._store.keys, [Range(r.bucket, r.depth, r.prefix) for r in message.ranges])
        if len(keys) > LISTED_MAX:
            raise LinkError(f"{len(keys)} keys are too many for one answer")
        prints = b"".join(pack_halves(hi, lo) for hi, lo, _, _ in keys)
        return Listed(0, prints, [job for _, _, job, _ in keys], [stamp for *_, stamp in keys])

    async def pull_keys(self, message: PullKeys) -> PulledCopies:
        if len(message.keys) != SIZE * len(message.jobs):
            raise LinkError("the lists of keys have different lengths")
        keys = [
            (*halves(message.keys[n * SIZE : n * SIZE + SIZE]), job) for n, job in enumerate(message.jobs[:ROWS_MAX])
        ]
        rows = await self._in_thread(self._store.rows_of, message.bucket, keys)
        return PulledCopies(0, rows)

    async def pull(self, buckets: Collection[int], message: PullCopies) -> PulledCopies:
        rows, place = await self.rows(buckets, message.after)
        notes = [] if message.after else await self._in_thread(self._store.notes, buckets)
        return PulledCopies(0, rows, place, [wire.WireHostNote(*note) for note in notes])

    # -- what this master does with them ------------------------------------------------------

    async def rows(self, buckets: Collection[int], after: bytes) -> tuple[list[CopyRow], bytes]:
        """Returns the next copies behind a place, and the next place."""
        return await self._in_thread(self._store.rows, buckets, after, ROWS_MAX, BYTES_MAX)

    async def notes(self, buckets: Collection[int]) -> dict[int, HostNote]:
        """Returns what is known of hosts in these buckets, by their keys."""
        rows = await self._in_thread(self._store.notes, buckets)
        return {note.key: HostNote(note.delay_s, note.penalty_s, note.pause_s) for note in rows}

    async def has_rows(self, buckets: Collection[int]) -> bool:
        """Tells whether a copy of any of these buckets is here."""
        is_none = not self._store.count() and not self._is_coming
        return not is_none and await self._in_thread(self._store.has_rows, buckets)

    async def sizes(self, buckets: Collection[int]) -> Counter[int]:
        """Counts how much is here of each of these buckets of which there is anything: copies, and what their hosts
        ask.
        """
        is_none = self._store.bare and not self._is_coming
        return Counter() if is_none else await self._in_thread(self._store.sizes, buckets)

    @property
    def _is_coming(self) -> bool:
        """True if copies are on their way to the disk: who finds none there does not see these."""
        return self._came != self._arrived

    async def keep(self, rows: Sequence[CopyRow]) -> None:
        """Copies of what was ours until now."""
        await self._put(rows)

    async def drop(self, buckets: Collection[int]) -> None:
        await self._in_thread(self._store.drop, buckets)

    async def give_up(self, buckets: Collection[int], standings: Mapping[int, Standing]) -> None:
        """Stores the standings that are left without the copies of these buckets, then deletes the copies. In one go:
        what comes in between would be acknowledged, or compared, and be gone.
        """
        newer = self._newer(standings)

        def both() -> None:
            # First: whoever asks what we have of them is not to be told of what is gone.
            self._store.set_standings(newer)
            self._store.drop(buckets)

        await self._in_thread(both)

    async def note(self, standings: Mapping[int, Standing]) -> None:
        """Stores standings, durably when this returns. An epoch that is known here is not forgotten for an older
        one.
        """
        await self._in_thread(self._store.set_standings, self._newer(standings))

    def _newer(self, standings: Mapping[int, Standing]) -> dict[int, Standing]:
        """Takes in those of these standings that are no older than what is known here; returns those that differ from
        it. The others are on disk, or on their way there: calls of the store are made in their order.
        """
        here = self.standings
        other = {b: s for b, s in standings.items() if here.get(b) is not s}
        newer = {b: s for b, s in other.items() if b not in here or s.epoch >= here[b].epoch}
        changed = {b: s for b, s in newer.items() if here.get(b) != s}
        here.update(changed)
        return changed

    @property
    def count(self) -> int:
        return self._store.count()

    @property
    def new(self) -> bool:
        """True if nothing was ever held or known here."""
        return self._store.bare and not self.standings

    # -- the spool ----------------------------------------------------------------------------

    async def spool(self, rows: Sequence[SpoolRow]) -> None:
        """Stores links that are provisional at their owners, durably when this returns."""
        await self._in_thread(self._store.spool, rows)

    async def spooled(self, after: int, limit: int) -> list[tuple[int, SpoolRow]]:
        return await self._in_thread(self._store.spooled, after, limit)

    async def unspool(self, numbers: Sequence[int]) -> None:
        await self._in_thread(self._store.unspool, numbers)

    async def spool_size(self) -> int:
        return await self._in_thread(self._store.spool_size)
