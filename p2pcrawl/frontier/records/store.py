"""The frontier's writer: one connection, one transaction per batch.

All methods are synchronous and meant for one thread. After ``commit`` returns, everything in the batch
survives ``kill -9`` and power loss; if it raises, nothing of the batch was written.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from p2pcrawl.core.bench.candidate import Candidate, Want, rank_of
from p2pcrawl.core.slices import Slice
from p2pcrawl.frontier.database.copied_mark import CopiedMark
from p2pcrawl.frontier.database.digest import Range
from p2pcrawl.frontier.database.integrity import stored_phase
from p2pcrawl.frontier.database.known import Key, numbers_of
from p2pcrawl.frontier.database.left_out_rows import make_left_out, write_left_out
from p2pcrawl.frontier.database.schema import FolderLock, MappedErrors, Transaction, open_database
from p2pcrawl.frontier.database.statements import insert_many, run_many
from p2pcrawl.frontier.records import candidates, cleared, due_visits, merging, tallies
from p2pcrawl.frontier.records import retried as aside
from p2pcrawl.frontier.records.batch import Batch, Committed, NewLink
from p2pcrawl.frontier.records.bucket_rows import Buckets
from p2pcrawl.frontier.records.columns import columns_of, host_columns, host_of_columns, named
from p2pcrawl.frontier.records.due_visits import BegunVisits, DueVisit, Hastened, Lateness, WaitingPage
from p2pcrawl.frontier.records.endings import write_endings
from p2pcrawl.frontier.records.item_table import ITEM_BYTES_MAX, BroughtPage, DurablePage, ItemTable
from p2pcrawl.frontier.records.retried import NEVER_AGAIN, FailedAgain
from p2pcrawl.frontier.records.seen import SeenFilter
from p2pcrawl.frontier.records.statistic_rows import read_slices, write_slices
from p2pcrawl.frontier.texts.imprint_table import ImprintTable
from p2pcrawl.model.crawl.fingerprint import halves
from p2pcrawl.model.crawl.record import Order, Phase
from p2pcrawl.model.reason_choice import EVERY_REASON, ReasonChoice
from p2pcrawl.model.texts.imprint_url import IMPRINT_URL
from p2pcrawl.wire.messages.peer_messages import Row

YOUNG_MAX = 200_000
"""Rows of the young generation before it is merged into the old one."""
MERGE_STEP = 20_000
NUMBER_MAX = (1 << 63) - 1
REBUILD_STEP = 5_000
_KEYS = {"seen": "hi, lo, job", "queue": "job, host, kind, prio, seq"}


class Store:
    """The database of a data folder. Raises as ``schema.open_database`` does.

    ``clustered``: buckets move from and to this folder, so records are found by their bucket, too.
    """

    def __init__(
        self, folder: Path, *, young_max: int = YOUNG_MAX, filter_: SeenFilter | None = None, clustered: bool = False
    ) -> None:
        self.folder = folder
        self._young_max = young_max
        self._lock = FolderLock(folder)
        try:
            self._db = open_database(folder)
        except BaseException:
            self._lock.release()
            raise
        self._transaction, self._errors = Transaction(self._db), MappedErrors(folder)
        self._filter = filter_ or SeenFilter()
        try:
            with self._errors:
                make_left_out(self._db)
                self._items = ItemTable(self._db)
                self._imprints = ImprintTable(self._db)
                self._buckets = Buckets(self._db, self._items, self._imprints, indexed=clustered)
                self._last = self._one("SELECT coalesce(max(id), 0) FROM record")
                self._young = self._one("SELECT count(*) FROM seen_young")
                self._copied = CopiedMark(self._db, self._last)
        except BaseException:
            self.close()
            raise
        self._rebuilt = 0
        self._rebuild_until = self._last
        self._filter.complete = self._last == 0
        self._merging: dict[str, bool] = {}

    def close(self) -> None:
        """Leaves a database without a write-ahead log behind, if nothing hinders."""
        try:
            with self._errors:
                self._db.close()
        finally:
            self._lock.release()

    # -- the one write ------------------------------------------------------------------------

    def commit(self, batch: Batch) -> Committed:
        """Writes the batch in one transaction, then loads what it wants.

        If a load or the upkeep after it raises, the batch is written all the same: an error ends the crawl,
        and a resume finds what is there.
        """
        result = Committed()
        with self._errors:
            if batch.writes:
                with self._transaction:
                    self._write(batch, result)
            result.last_record = self._last
            for want in batch.wants:
                result.loaded.append((want, self._load(want, result)))
            self._tend()
        return result

    def _write(self, batch: Batch, result: Committed) -> None:
        db, now, last_item = self._db, int(time.time()), self._items.last
        # First: what becomes an entry in this turn has it fall back.
        self._copied.note(batch.copied)
        if batch.moved:
            self._adopt(batch, result, now)
        if batch.links:
            result.entered = cleared.enter(db, self._discover(batch.links, batch, result, now))
            if result.entered:
                # Others know of these links, and not that they are entries: that goes ahead of what led to them, too.
                self._copied.fall_back(min(each.record for each in result.entered) - 1)
            self._find_cleared(batch, result)
        self._items.stage(batch.staged)
        if batch.endings or batch.items:
            write_endings(db, self._items, batch, result, now)
        result.kept.update(self._items.kept([candidate.record for candidate in result.fresh if candidate.visit]))
        self._items.unstage(batch.unstage)
        self._write_leases(batch, result)
        if batch.hosts:
            insert_many(db, "host", [host_columns(host, now) for host in batch.hosts], replace=True)
        if batch.pauses:
            run_many(
                db,
                "INSERT INTO pause",
                [(key, now + int(seconds) + 1, seconds) for key, seconds in batch.pauses],
                "ON CONFLICT (key) DO UPDATE SET until = excluded.until, seconds = excluded.seconds"
                " WHERE excluded.until > pause.until",
            )
        write_left_out(db, batch.left_out, now)
        tallies.write(db, batch.tallies)
        for job, spec in batch.specs.items():
            db.execute("UPDATE job SET spec = ? WHERE id = ?", (spec, job))
        for job, (state, reason) in batch.states.items():
            db.execute("UPDATE job SET state = ?, reason = ? WHERE id = ?", (state, reason, job))
        self._deliver(batch.delivered)
        result.last_item = self._items.last if self._items.last > last_item else 0

    def _deliver(self, delivered: Sequence[tuple[int, str, int, str]]) -> None:
        """Takes note of how far sinks have come."""
        for job, path, last, position in delivered:
            sink = self._db.execute(
                "UPDATE sink SET delivered = ?, position = ? WHERE job = ? AND path = ? RETURNING place",
                (last, position, job, path),
            ).fetchone()
            if sink is not None and sink[0] is not None:
                self._items.passed(job, sink[0], last)

    def _write_leases(self, batch: Batch, result: Committed) -> None:
        """Writes what is granted, with the verdicts on texts, and takes back what was given back."""
        if batch.leases:
            run_many(self._db, "INSERT OR REPLACE INTO lease (record, job, lease, attempt)", batch.leases)
        for candidate in batch.imprints:
            candidate.link = self._imprints.judge(candidate)
        if batch.returned:
            returned = [(record,) for record in batch.returned]
            run_many(self._db, "DELETE FROM lease WHERE record IN (", returned, ")")
            which = f"SELECT id FROM record WHERE phase = {int(Phase.QUEUED)} AND id IN ("
            queued = {record for (record,) in run_many(self._db, which, returned, ")")}
            # The rest has ended at another master, and came here while it was in a slave's hands.
            result.ended.update({*batch.returned} - queued)

    def _discover(self, links: Sequence[NewLink], batch: Batch, result: Committed, now: int) -> list[int]:
        """Makes new links records, and queues them. Returns the records of those that are known and come as entries."""
        new, known = self._known_apart(links)
        due_visits.hasten(self._db, [link for link in links if link.changed], now)
        records, seen, queue, imprints = [], [], [], []
        for (hi, lo, job), found in new:
            self._last += 1
            record, link, host = self._last, found.link, found.host
            rank = rank_of(batch.orders[job], record, link.priority, link.depth)
            records.append(columns_of(record, found, hi, lo, now))
            seen.append((hi, lo, job, record))
            queue.append((job, host, link.kind, *rank, record))
            if link.url.startswith(IMPRINT_URL):
                imprints.append((record, job, link))
            result.fresh.append(Candidate(record, link, job, host, found.bucket, *rank))
            batch.tallies[job]["discovered"] += 1
            batch.tallies[job]["queued"] += 1
        insert_many(self._db, "record", records)
        if imprints:
            self._imprints.add(imprints)
        run_many(self._db, "INSERT INTO seen_young", seen)
        run_many(self._db, "INSERT INTO queue_young", queue)
        self._young += len(new)
        return known

    def _find_cleared(self, batch: Batch, result: Committed) -> None:
        """Queues again what was cleared and is linked to."""
        keys = [(*halves(new.link.fingerprint), new.job) for new in batch.links if new.job in batch.cleared]
        if keys:
            result.fresh += cleared.take_up_found(self._db, keys, batch.tallies, batch.orders)

    def _adopt(self, batch: Batch, result: Committed, now: int) -> None:
        """Takes in records that come with their bucket: new here, or merged with what is here."""
        moved = merging.by_key(batch.moved)
        entered = cleared.enter(self._db, self._discover([each.new for each in moved.values()], batch, result, now))
        result.touched.update(candidate.bucket for candidate in result.fresh)
        result.touched.update(row.bucket for row in entered)
        result.came.update(candidate.record for candidate in result.fresh)
        merging.merge(self._db, self._items, moved, batch, result, now)
        if imprints := [key for key, each in moved.items() if each.new.link.url.startswith(IMPRINT_URL)]:
            numbers = numbers_of(self._db, imprints)
            self._imprints.learn({record: moved[key].new.link for key, record in numbers.items()})

    def _known_apart(self, links: Sequence[NewLink]) -> tuple[Collection[tuple[Key, NewLink]], list[int]]:
        """Returns the links that are not in the table, each once, in their order, and the records of those that are
        there and come as entries.
        """
        first: dict[Key, NewLink] = {}
        doubtful: list[Key] = []
        for new in links:
            hi, lo = halves(new.link.fingerprint)
            key = (hi, lo, new.job)
            if (met := first.get(key)) is not None:
                if new.link.seed and not met.link.seed:
                    first[key] = met._replace(link=met.link._replace(seed=True))
                continue
            first[key] = new
            if not self._filter.add(f"{hi}.{lo}.{new.job}"):
                doubtful.append(key)
        known = numbers_of(self._db, doubtful)
        coming = [number for key, number in known.items() if first.pop(key).link.seed]
        return first.items(), coming

    # -- loading ------------------------------------------------------------------------------

    def _load(self, want: Want, result: Committed) -> list[Candidate]:
        if want.host not in result.hosts:
            told = named(self._db).execute("SELECT * FROM host WHERE key = ?", (want.host,))
            result.hosts[want.host] = [host_of_columns(row) for row in told]
        return candidates.next_of(self._db, want)

    def queues_after(self, cursor: tuple[int, int, str] | None, count: int) -> list[tuple[int, int, str]]:
        """Returns the next (job, host, kind) that have something queued, in key order."""
        found: list[tuple[int, int, str]] = []
        with self._errors:
            while len(found) < count:
                nexts = [n for n in (self._next_queue(t, cursor) for t in ("queue_young", "queue")) if n is not None]
                if not nexts:
                    break
                cursor = min(nexts)
                found.append(cursor)
        return found

    def _next_queue(self, table: str, cursor: tuple[int, int, str] | None) -> tuple[int, int, str] | None:
        where = "WHERE (job, host, kind) > (?, ?, ?)" if cursor else ""
        row = self._db.execute(
            f"SELECT job, host, kind FROM {table} {where} ORDER BY job, host, kind LIMIT 1", cursor or ()
        ).fetchone()
        return tuple(row) if row else None

    # -- items --------------------------------------------------------------------------------

    def items_after(self, job: int, last: int, limit: int, bytes_max: int = ITEM_BYTES_MAX) -> list[tuple[int, bytes]]:
        """Returns the next rows of items of a job: (number, items joined by newlines). Stops behind ``bytes_max``."""
        with self._errors:
            return self._items.after(job, last, limit, bytes_max)

    def pages_after(
        self, job: int, last: int, items_max: int, bytes_max: int, *, until: int = NUMBER_MAX, marked: int = 0
    ) -> tuple[list[DurablePage], int, bool]:
        """Returns the next pages of a job with their items, as ``ItemTable.pages_after``."""
        with self._errors:
            return self._items.pages_after(job, last, items_max, bytes_max, until, marked)

    def waiting(self, job: int, last: int, marked: int = 0) -> int:
        """Counts the items of a job behind a number that are not ``marked`` with this bit."""
        with self._errors:
            return self._items.waiting(job, last, marked)

    def waiting_by_sink(self, job: int) -> dict[str, tuple[int, str]]:
        """Returns for each sink that a job was submitted with how many items wait for it, and its position."""
        with self._errors:
            rows = self._db.execute(
                "SELECT path, delivered, place, position FROM sink WHERE job = ? AND place NOTNULL", (job,)
            ).fetchall()
            return {path: (self._items.waiting(job, last, 1 << place), at) for path, last, place, at in rows}

    def waits(self, job: int) -> bool:
        """Tells whether items of a job wait for any of the sinks that it was submitted with."""
        with self._errors:
            return bool(
                self._one(
                    "SELECT EXISTS (SELECT 1 FROM sink AS s JOIN item AS i ON i.job = s.job AND i.id > s.delivered"
                    " AND coalesce(i.marks, 0) & (1 << s.place) = 0 WHERE s.job = ? AND s.place NOTNULL)",
                    job,
                )
            )

    def last_item(self) -> int:
        """Returns the number of the last items."""
        with self._errors:
            return self._items.last

    def brought(self, job: int, after: int, until: int, limit: int) -> list[BroughtPage]:
        """Returns pages whose items a sink has, as ``ItemTable.brought``."""
        with self._errors:
            return self._items.brought(job, after, until, limit)

    # -- upkeep -------------------------------------------------------------------------------

    def _tend(self) -> None:
        """Takes a bounded step of what is done in the background."""
        if not self._filter.complete and self._rebuilt < self._rebuild_until:
            self._rebuild_step()
        if self._young >= self._young_max and not self._merging:
            self._merging = {"seen": True, "queue": True}
        for name in list(self._merging):
            if self._merge_step(name):
                del self._merging[name]
                if name == "seen":
                    self._young = self._one("SELECT count(*) FROM seen_young")

    def _rebuild_step(self) -> None:
        rows = self._db.execute(
            "SELECT id, hi, lo, job FROM record WHERE id > ? AND id <= ? ORDER BY id LIMIT ?",
            (self._rebuilt, self._rebuild_until, REBUILD_STEP),
        ).fetchall()
        for record, hi, lo, job in rows:
            self._filter.add(f"{hi}.{lo}.{job}")
            self._rebuilt = record
        if len(rows) < REBUILD_STEP:
            self._rebuilt = self._rebuild_until
            self._filter.complete = True

    def _merge_step(self, name: str) -> bool:
        """Moves the next rows, in key order, from the young table to the old; True when it was all.

        Key order makes neighbours land on the same page: an old page is written once for many rows.
        """
        keys = _KEYS[name]
        edge = self._db.execute(
            f"SELECT {keys} FROM {name}_young ORDER BY {keys} LIMIT 1 OFFSET {MERGE_STEP - 1}"
        ).fetchone()
        where, parameters = "", ()
        if edge is not None:
            where = f"WHERE ({keys}) <= ({','.join('?' * len(edge))})"
            parameters = tuple(edge)
        with self._transaction:
            self._db.execute(f"INSERT INTO {name} SELECT * FROM {name}_young {where} ORDER BY {keys}", parameters)
            self._db.execute(f"DELETE FROM {name}_young {where}", parameters)
        return edge is None

    # -- jobs and recovery --------------------------------------------------------------------

    def jobs(self) -> list[tuple[int, str, bytes, str, str]]:
        """Returns all jobs: (id, name, spec, state, reason)."""
        with self._errors:
            return self._db.execute("SELECT id, name, spec, state, reason FROM job ORDER BY id").fetchall()

    def add_job(
        self, job: int, name: str, spec: bytes, start: NewLink | None, order: Batch, state: str = "running",
        reason: str = "",
    ) -> Committed:  # fmt: skip
        """Adds a job, in the state in which it is, with its first record, if that is ours, in one transaction."""
        with self._errors:
            result = Committed()
            with self._transaction:
                self._db.execute(
                    "INSERT INTO job (id, name, spec, state, reason, created) VALUES (?, ?, ?, ?, ?, ?)",
                    (job, name, spec, state, reason, int(time.time())),
                )
                if start is not None:
                    order.links.append(start)
                self._write(order, result)
            return result

    def drop_job(self, job: int, order: Order) -> None:
        """Deletes a job with its records, items and outputs. Several transactions: if it raises, some are gone, and the
        job is there to be dropped again.
        """
        with self._errors:
            self._buckets.drop_job(job, order)

    def empty_job(self, job: int, order: Order) -> None:
        """Deletes all that a job has brought: records, items, how far its outputs have come. The job stays, as a word
        for those that come back.
        """
        with self._errors:
            self._buckets.empty_job(job, order)

    def last_job(self) -> int:
        """Returns the greatest number of a job that was dropped: none before it is given again."""
        with self._errors:
            return self._one("SELECT coalesce((SELECT value FROM meta WHERE name = 'dropped'), 0)")

    def give_up(self, job: int, host: int, limit: int) -> tuple[int, set[int]]:
        """Gives up as many as ``limit`` files of a host that items wait for, and that are in nobody's hands: they stay
        queued, for a slave to send the items on without them. Returns how many wait so, and in which buckets they were
        given up now; none mean that was all.
        """
        with self._errors:
            return aside.give_up(self._db, job, host, limit)

    def abandon(
        self,
        job: int,
        host: int,
        limit: int,
        due_at: Mapping[str, int] | None = None,
        failed: FailedAgain = NEVER_AGAIN,
    ) -> tuple[Counter[str], set[int]]:
        """Puts aside, as failed, up to ``limit`` records that are queued for a host and in nobody's hands; but no files
        that items wait for. ``due_at``: by the kinds of pages, when they are to be visited again;
        ``failed``: the others.

        Returns what that changes in the job's counters, and in which buckets; fewer than the limit means that was all.
        """
        with self._errors:
            return aside.abandon(self._db, job, host, limit, due_at or {}, failed)

    def retry(
        self, job: int, orders: Mapping[int, Order], choice: ReasonChoice = EVERY_REASON
    ) -> tuple[Counter[str], set[int]]:
        """Begins a new visit of every record of a job that has failed: it is queued as if it had just been found. Of
        those that ended for some reasons, where they are chosen, be they failed or dropped.

        Returns what that changes in the job's counters, and in which buckets. Several transactions: if it raises, some
        are queued and the others as they were.
        """
        with self._errors:
            return aside.retry(self._db, job, orders, choice)

    def clear(self, job: int, kinds: Collection[str], callback: str | None = None) -> cleared.Cleared:
        """Puts aside, as dropped, some of the records of a job that are queued as one of these kinds and in nobody's
        hands; with a ``callback`` those of a board that is none any more. Returns what that changes; where no record
        left its queue, that was all.
        """
        with self._errors:
            return cleared.clear(self._db, job, kinds, callback)

    def cease(self, job: int, callback: str) -> cleared.Cleared:
        """Lets some of the pages of such a board be visited no more. Returns what that changes; where there is no
        record in it, that was all.
        """
        with self._errors:
            return cleared.cease(self._db, job, callback)

    def restart(self, job: int, orders: Mapping[int, Order]) -> tuple[Counter[str], set[int]]:
        """Begins a new visit of the entries of a job that are not queued, and of its spider's start. Returns what that
        changes in the job's counters, and in which buckets.
        """
        with self._errors:
            return cleared.restart(self._db, job, orders)

    def take_up_dropped(
        self, job: int, is_open: Callable[[str], bool], orders: Mapping[int, Order]
    ) -> tuple[Counter[str], set[int]]:
        """Queues again, as ``retry`` does, records of a job that were dropped for their network, of which ``is_open``
        says by their URL that it is open.
        """
        with self._errors:
            return aside.take_up_dropped(self._db, job, is_open, orders)

    def due_visits(self, job: int, now: int, limit: int) -> list[DueVisit]:
        """Returns the next pages of a job that are to be visited again by ``now``, in seconds since 1970."""
        with self._errors:
            return due_visits.due_now(self._db, job, now, limit)

    def begin_visits(
        self, job: int, records: Collection[int], put_off: Sequence[tuple[int, int]], orders: Mapping[int, Order]
    ) -> BegunVisits:
        """Queues these pages for a new visit, and puts others off until a moment, in one transaction."""
        with self._errors:
            return due_visits.begin(self._db, job, records, put_off, orders)

    def hasten_some(
        self, job: int, callback: str, after: int, now: int, due_of: Callable[[WaitingPage], int]
    ) -> Hastened:
        """Makes some of the pages of a job with a callback due when ``due_of`` says, where that is sooner. Returns what
        that changes, and the number behind which the next step looks.
        """
        with self._errors:
            return due_visits.hasten_some(self._db, job, callback, after, now, due_of)

    def bring_back_visits(self, job: int, latest: int) -> int:
        """Lets no visit of a job be due later than that; returns of how many it was said."""
        with self._errors:
            return due_visits.bring_back(self._db, job, latest)

    def lateness(self, job: int, now: int, put_off_s: int) -> Lateness:
        """Tells how far a job is behind the times at which its pages are due."""
        with self._errors:
            return due_visits.lateness(self._db, job, now, put_off_s)

    def sinks(self, job: int) -> list[tuple[str, str, int, str]]:
        """Returns the job's outputs: (path, spec, last delivered item, position)."""
        with self._errors:
            return self._db.execute("SELECT path, spec, delivered, position FROM sink WHERE job = ?", (job,)).fetchall()

    def positions(self, path: str) -> list[tuple[int, str]]:
        """Returns how far each job has come with an output: (last delivered item, position)."""
        with self._errors:
            return self._db.execute("SELECT delivered, position FROM sink WHERE path = ?", (path,)).fetchall()

    def add_sink(self, job: int, path: str, spec: str, position: str) -> None:
        with self._errors:
            self._db.execute(
                "INSERT INTO sink (job, path, spec, delivered, position) VALUES (?, ?, ?, 0, ?)",
                (job, path, spec, position),
            )

    def carry_sinks(self, job: int, sinks: Sequence[tuple[str, str]], position: str) -> None:
        """Adds the sinks that a job was submitted with, (path, spec) of each in their order, unless they are there."""
        with self._errors, self._transaction:
            for place, (path, spec) in enumerate(sinks):
                self._db.execute(
                    "INSERT OR IGNORE INTO sink (job, path, spec, delivered, position, place)"
                    " VALUES (?, ?, ?, 0, ?, ?)",
                    (job, path, spec, position, place),
                )

    def recover(self) -> int:
        """Ends what a crash has left: leases that never reported become attempts. Returns how many there were."""
        with self._errors:
            open_leases = self._db.execute("SELECT record, job, attempt FROM lease").fetchall()
            batch, now = Batch(), int(time.time())
            if open_leases or self._one("SELECT count(*) FROM staged"):
                with self._transaction:
                    run_many(
                        self._db,
                        "WITH l (id, job, attempts) AS (",
                        open_leases,
                        ") UPDATE record SET attempts = max(record.attempts, l.attempts) FROM l WHERE record.id = l.id",
                    )
                    run_many(
                        self._db,
                        "INSERT OR REPLACE INTO attempt",
                        [(r, a, now, "interrupted", 0, 0.0, "the master stopped") for r, _, a in open_leases],
                    )
                    for _, job, _ in open_leases:
                        batch.tallies[job]["interrupted"] += 1
                    tallies.write(self._db, batch.tallies)
                    self._db.execute("DELETE FROM lease")
                    self._db.execute("DELETE FROM staged")
            return len(open_leases)

    def pauses(self) -> list[tuple[int, float]]:
        """Returns the hosts that asked to be left alone, and for how many seconds more."""
        with self._errors:
            now = time.time()
            rows = self._db.execute("SELECT key, until, seconds FROM pause WHERE until > ?", (int(now),)).fetchall()
            # Never longer than they asked for, though the clock may have been set back.
            return [(key, min(seconds, until - now)) for key, until, seconds in rows if until > now]

    # -- buckets that move --------------------------------------------------------------------

    def rows_of(
        self, buckets: Collection[int], after: int, limit: int, bytes_max: int = ITEM_BYTES_MAX
    ) -> tuple[list[Row], int]:
        """Returns the next records of these buckets with their items, and the place behind them; ``after`` is 0 at
        first.

        Stops behind ``bytes_max``. No rows: there are no more.
        """
        with self._errors:
            return self._buckets.rows(buckets, after, limit, bytes_max)

    def uncopied(self) -> tuple[int, int]:
        """Returns the record up to which all links are known to be with others, too, and the last one."""
        return self._copied.number, self._last

    def links_after(self, after: int, until: int, limit: int) -> tuple[list[Row], int]:
        """Returns the next records, up to ``until``, as they were when they were found, and the last one's number."""
        with self._errors:
            return self._buckets.links_after(after, until, limit)

    def sizes(self, buckets: Collection[int]) -> Counter[int]:
        """Counts the records in each of these buckets that has any."""
        with self._errors:
            return self._buckets.sizes(buckets)

    def rows_by_key(self, bucket: int, keys: Sequence[Key]) -> list[Row]:
        """Returns those of these records (hi, lo, job) of a bucket that are here, as ``rows_of`` does."""
        with self._errors:
            return self._buckets.rows_by_key(bucket, keys)

    def digests(self, nonce: bytes, ranges: Sequence[Range]) -> list[tuple[int, int]]:
        """Counts the records of each range, and sums them under a key of 16 bytes."""
        with self._errors:
            return self._buckets.digests(nonce, ranges)

    def keys(self, ranges: Sequence[Range]) -> list[tuple[int, int, int, int]]:
        """Returns (hi, lo, job, stamp) of all records in these ranges."""
        with self._errors:
            return self._buckets.keys(ranges)

    def forget(self, buckets: Collection[int], orders: Mapping[int, Order]) -> dict[int, Counter[str]]:
        """Deletes the records of these buckets with their items: another master holds them durably.

        What that takes from the counters. Several transactions: if it raises, some are gone.
        """
        with self._errors:
            return self._buckets.forget(buckets, orders)

    def size(self) -> int:
        """Counts the records."""
        with self._errors:
            return self._one("SELECT count(*) FROM record")

    def store_id(self) -> str:
        """Returns the random id of this store: another one is an empty copy, whatever the identity."""
        with self._errors:
            return str(self._db.execute("SELECT value FROM meta WHERE name = 'store'").fetchone()[0])

    def life(self) -> str:
        """Returns the name of what is counted here: that of the store when it was new. It stays when copies beside it
        are lost, with which the store gets another id.
        """
        with self._errors, Transaction(self._db):
            self._db.execute("INSERT OR IGNORE INTO meta SELECT 'life', value FROM meta WHERE name = 'store'")
            return str(self._db.execute("SELECT value FROM meta WHERE name = 'life'").fetchone()[0])

    def tallies(self, job: int) -> dict[str, int]:
        """Returns the job's counters, as of the last commit."""
        with self._errors:
            return dict(self._db.execute("SELECT name, count FROM tally WHERE job = ?", (job,)).fetchall())

    def slices(self) -> list[Slice]:
        """Returns the slices of the work that was done here."""
        with self._errors:
            return read_slices(self._db)

    def set_slices(self, slices: Sequence[Slice], gone: Sequence[tuple[int, str]] = ()) -> None:
        """Replaces slices, and deletes those of which a job and a name are given."""
        with self._errors, self._transaction:
            write_slices(self._db, slices, gone)

    def census(self, job: int) -> dict[str, int]:
        """Counts the records of a job by phase, one by one: what the counters must equal."""
        with self._errors:
            rows = self._db.execute("SELECT phase, count(*) FROM record WHERE job = ? GROUP BY phase", (job,))
            counts = {stored_phase(phase).name.lower(): n for phase, n in rows}
            counts["again"] = self._one("SELECT count(*) FROM record WHERE job = ? AND turn > 0", job)
            counts["leased"] = self._one("SELECT count(*) FROM lease WHERE job = ?", job)
            return counts

    def troubles(self, job: int, limit: int) -> list[tuple[str, str, str]]:
        """Returns some records that failed or were dropped, start URLs first: (url, reason, detail)."""
        with self._errors:
            return self._db.execute(
                "SELECT r.url, r.reason, coalesce(a.detail, '') FROM record AS r LEFT JOIN attempt AS a"
                " ON a.record = r.id AND a.number = r.attempts WHERE r.job = ? AND r.phase IN (?, ?)"
                " ORDER BY r.id LIMIT ?",
                (job, int(Phase.FAILED), int(Phase.DROPPED), limit),
            ).fetchall()

    def _one(self, sql: str, *parameters: int) -> int:
        return int(self._db.execute(sql, parameters).fetchone()[0])
