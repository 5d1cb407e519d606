"""The frontier's writer: one connection, one transaction per batch.

All methods are synchronous and meant for one thread. After ``commit`` returns, everything in the batch
survives ``kill -9`` and power loss; if it raises, nothing of the batch was written.
"""

from __future__ import annotations

import json
import struct
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from p2pcrawl.core.workbench import Candidate, Want, rank_of
from p2pcrawl.frontier.batch import Batch, Committed, MovedRow, NewLink
from p2pcrawl.frontier.rows import run_many, select_many
from p2pcrawl.frontier.schema import FolderLock, mapped_errors, open_database
from p2pcrawl.frontier.seen import SeenFilter
from p2pcrawl.model.outcome import Failure
from p2pcrawl.model.record import Order, Phase

YOUNG_MAX = 200_000
"""Rows of the young generation before it is merged into the old one."""
MERGE_STEP = 20_000
_REBUILD_STEP = 5_000
_DETAIL_MAX = 8_192
_KEYS = {"seen": "hi, lo, job", "queue": "job, host, kind, prio, seq"}
ITEM_BYTES_MAX = 8 * 1024 * 1024
"""Bytes of items that are read at once."""

_halves = struct.Struct(">qq").unpack


class Store:
    """The database of a data folder. Raises as ``schema.open_database`` does."""

    def __init__(self, folder: Path, *, young_max: int = YOUNG_MAX, filter_: SeenFilter | None = None) -> None:
        self.folder = folder
        self._young_max = young_max
        self._lock = FolderLock(folder)
        try:
            self._db = open_database(folder)
        except BaseException:
            self._lock.release()
            raise
        self._filter = filter_ or SeenFilter()
        try:
            with mapped_errors(folder):
                self._last = self._one("SELECT coalesce(max(id), 0) FROM record")
                self._item = self._one("SELECT coalesce(max(id), 0) FROM item")
                self._young = self._one("SELECT count(*) FROM seen_young")
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
            with mapped_errors(self.folder):
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
        with mapped_errors(self.folder):
            if batch.writes:
                self._begin()
                try:
                    self._write(batch, result)
                    self._db.execute("COMMIT")
                except BaseException:
                    self._rollback()
                    raise
            for want in batch.wants:
                result.loaded.append((want, self._load(want, result)))
            self._tend()
        return result

    def _begin(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")

    def _rollback(self) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def _write(self, batch: Batch, result: Committed) -> None:
        db, now = self._db, int(time.time())
        if batch.moved:
            self._adopt(batch, result, now)
        if batch.links:
            self._discover(batch, result, now)
        if batch.staged:
            run_many(db, "INSERT INTO staged (record, job, count, data)", batch.staged)
        if batch.items:
            rows = [(self._item + n, i.job, i.record, i.number, i.data) for n, i in enumerate(batch.items, 1)]
            self._item += len(rows)
            run_many(db, "INSERT INTO item (id, job, record, count, data)", rows)
        if batch.endings:
            self._end(batch, result, now)
        if batch.unstage:
            self._delete_in("staged", batch.unstage)
        if batch.leases:
            run_many(db, "INSERT OR REPLACE INTO lease (record, job, lease, attempt)", batch.leases)
        if batch.returned:
            self._delete_in("lease", batch.returned)
        if batch.hosts:
            run_many(db, "INSERT OR REPLACE INTO host", [(*h, now) for h in batch.hosts])
        if batch.pauses:
            run_many(
                db,
                "INSERT INTO pause",
                [(key, now + int(seconds) + 1, seconds) for key, seconds in batch.pauses],
                "ON CONFLICT (key) DO UPDATE SET until = excluded.until, seconds = excluded.seconds"
                " WHERE excluded.until > pause.until",
            )
        self._write_jobs(batch)

    def _write_jobs(self, batch: Batch) -> None:
        db = self._db
        tallies = [(job, name, n) for job, counter in batch.tallies.items() for name, n in counter.items() if n]
        run_many(
            db, "INSERT INTO tally", tallies, "ON CONFLICT (job, name) DO UPDATE SET count = count + excluded.count"
        )
        for job, spec in batch.specs.items():
            db.execute("UPDATE job SET spec = ? WHERE id = ?", (spec, job))
        for job, (state, reason) in batch.states.items():
            db.execute("UPDATE job SET state = ?, reason = ? WHERE id = ?", (state, reason, job))
        for job, path, last, position in batch.delivered:
            db.execute(
                "UPDATE sink SET delivered = ?, position = ? WHERE job = ? AND path = ?", (last, position, job, path)
            )

    def _discover(self, batch: Batch, result: Committed, now: int) -> None:
        """New links become records and are queued."""
        new = self._new_links(batch.links)
        result.known = len(batch.links) - len(new)
        records, seen, queue = [], [], []
        for (hi, lo), link in new:
            self._last += 1
            record = self._last
            rank = rank_of(batch.orders[link.job], record, link.priority, link.depth)
            records.append(
                (
                    *(record, link.job, hi, lo, link.host, link.kind, link.priority, link.depth, int(link.seed)),
                    *(link.callback, link.parent, now, 0, 0, 0, 0, "", 0, 0, None, link.url, link.extra or None),
                    *(link.bucket, link.referer if link.foreign else None),
                )
            )
            seen.append((hi, lo, link.job, record))
            queue.append((link.job, link.host, link.kind, rank[0], rank[1], record))
            result.fresh.append(_candidate_of(record, link, rank))
            batch.tallies[link.job]["discovered"] += 1
            batch.tallies[link.job]["queued"] += 1
        run_many(self._db, "INSERT INTO record", records)
        run_many(self._db, "INSERT INTO seen_young", seen)
        run_many(self._db, "INSERT INTO queue_young", queue)
        self._young += len(new)

    def _adopt(self, batch: Batch, result: Committed, now: int) -> None:
        """Records that come with their bucket: new here, or merged with what is here, the further phase winning."""
        rows = {(*_halves(m.link.fingerprint), m.link.job): m for m in batch.moved}
        batch.links[:0] = [moved.link for moved in rows.values()]
        self._discover(batch, result, now)
        batch.links.clear()
        ahead = {key: m for key, m in rows.items() if m.phase is not Phase.QUEUED or m.attempts or m.losses}
        numbers: dict[tuple[int, int, int], int] = {}
        for table in ("seen_young", "seen"):
            found = select_many(
                self._db,
                "WITH asked (hi, lo, job) AS (",
                list(ahead),
                f") SELECT asked.*, s.id FROM asked JOIN {table} AS s ON s.hi = asked.hi AND s.lo = asked.lo"
                " AND s.job = asked.job",
            )
            numbers.update({(hi, lo, job): number for hi, lo, job, number in found})
        for key, moved in ahead.items():
            self._advance(numbers[key], moved, batch, now)
        tries = {numbers[key]: moved for key, moved in ahead.items()}
        for candidate in result.fresh:
            if (tried := tries.get(candidate.record)) is not None:
                candidate.attempts, candidate.losses = tried.attempts, tried.losses
        result.ended.update(number for number, moved in tries.items() if moved.phase is not Phase.QUEUED)
        result.fresh = [c for c in result.fresh if c.record not in result.ended]

    def _advance(self, record: int, moved: MovedRow, batch: Batch, now: int) -> None:
        """Brings a queued record to where the other master had brought it."""
        db, tally = self._db, batch.tallies[moved.link.job]
        changed = db.execute(
            "UPDATE record SET phase = ?, attempts = max(attempts, ?), losses = max(losses, ?), status = ?, reason = ?,"
            f" size = ?, ended = ? WHERE id = ? AND phase = {int(Phase.QUEUED)}",
            (int(moved.phase), moved.attempts, moved.losses, moved.status, moved.reason, moved.size, now, record),
        ).rowcount
        if not changed or moved.phase is Phase.QUEUED:
            return
        row = db.execute("SELECT job, host, kind, priority, depth FROM record WHERE id = ?", (record,)).fetchone()
        rank = rank_of(batch.orders[row[0]], record, row[3], row[4])
        db.execute("INSERT INTO leave VALUES (?, ?, ?, ?, ?)", (*row[:3], *rank))
        tally["queued"] -= 1
        tally[moved.phase.name.lower()] += 1
        if moved.phase is not Phase.DONE:
            tally[f"{moved.phase.name.lower()}:{moved.reason}"] += 1
        elif not moved.reason:
            tally["pages"] += 1
        if moved.items:
            self._item += 1
            row = (self._item, moved.link.job, record, moved.items, moved.data)
            db.execute("INSERT INTO item (id, job, record, count, data) VALUES (?, ?, ?, ?, ?)", row)
            tally["items"] += moved.items

    def _new_links(self, links: list[NewLink]) -> list[tuple[tuple[int, int], NewLink]]:
        """Those not in the table, each once, in their order."""
        first: dict[tuple[int, int, int], NewLink] = {}
        doubtful: list[tuple[int, int, int]] = []
        for link in links:
            hi, lo = _halves(link.fingerprint)
            key = (hi, lo, link.job)
            if key in first:
                continue
            first[key] = link
            if not self._filter.add(f"{hi}.{lo}.{link.job}"):
                doubtful.append(key)
        for table in ("seen_young", "seen"):
            found = select_many(
                self._db,
                "WITH asked (hi, lo, job) AS (",
                doubtful,
                f") SELECT asked.* FROM asked JOIN {table} AS s ON s.hi = asked.hi AND s.lo = asked.lo"
                " AND s.job = asked.job",
            )
            for key in found:
                first.pop(tuple(key), None)
            doubtful = [key for key in doubtful if key in first]
        return [((hi, lo), link) for (hi, lo, _), link in first.items()]

    def _end(self, batch: Batch, result: Committed, now: int) -> None:
        db, endings = self._db, batch.endings
        rows = [
            (e.record, int(e.phase), e.attempts, e.losses, e.status, e.reason, e.size, now, e.digest or None)
            for e in endings
        ]
        ended = select_many(
            db,
            "WITH e (id, phase, attempts, losses, status, reason, size, ended, digest) AS (",
            rows,
            ") UPDATE record SET phase = e.phase, attempts = e.attempts, losses = e.losses, status = e.status,"
            " reason = e.reason, size = e.size, ended = e.ended, digest = e.digest FROM e WHERE record.id = e.id"
            f" AND record.phase = {int(Phase.QUEUED)} RETURNING record.id",
        )
        if len(ended) < len(endings):
            self._uncount(batch, {record for (record,) in ended}, result)
        troubles = [
            (e.record, e.attempts, now, e.reason, e.status, e.latency_s, e.detail[:_DETAIL_MAX])
            for e in endings
            if e.phase is not Phase.DONE
        ]
        run_many(db, "INSERT OR REPLACE INTO attempt", troubles)
        self._delete_in("lease", [e.record for e in endings])
        gone = [(e.job, e.host, e.kind, *e.rank) for e in endings if e.phase is not Phase.QUEUED]
        run_many(db, "INSERT INTO leave", gone)
        staged = [e.record for e in endings if e.staged and e.phase is not Phase.QUEUED]
        for record in staged:
            parts = db.execute("SELECT job, record, count, data FROM staged WHERE record = ? ORDER BY rowid", (record,))
            for row in parts.fetchall():
                self._item += 1
                db.execute("INSERT INTO item (id, job, record, count, data) VALUES (?, ?, ?, ?, ?)", (self._item, *row))
        self._delete_in("staged", [e.record for e in endings if e.staged])

    def _uncount(self, batch: Batch, ended: set[int], result: Committed) -> None:
        """Ends of records that another master had ended meanwhile are counted already."""
        for e in batch.endings:
            if e.record in ended:
                continue
            result.ended.add(e.record)
            if e.phase is not Phase.QUEUED:
                tally, name = batch.tallies[e.job], e.phase.name.lower()
                tally["queued"] += 1
                tally[name] -= 1
                if e.phase is not Phase.DONE:
                    tally[f"{name}:{e.reason}"] -= 1

    def _delete_in(self, table: str, records: list[int]) -> None:
        run_many(self._db, f"DELETE FROM {table} WHERE record IN (", [(r,) for r in records], ")")

    # -- loading ------------------------------------------------------------------------------

    def _load(self, want: Want, result: Committed) -> list[Candidate]:
        key = (want.job, want.host, want.kind, *want.after)
        part = "SELECT prio, seq, id FROM {} WHERE job = ? AND host = ? AND kind = ? AND (prio, seq) > (?, ?)"
        rows = self._db.execute(
            "SELECT r.id, r.job, r.host, r.url, r.hi, r.lo, r.depth, r.priority, r.kind, r.callback, r.seed,"
            " CASE WHEN p.reason = 'redirect' THEN '' ELSE coalesce(r.referer, p.url, '') END, r.extra, r.attempts,"
            " r.losses, q.prio, q.seq, r.bucket FROM ("
            f"{part.format('queue_young')} UNION ALL {part.format('queue')} ORDER BY prio, seq LIMIT ?"
            ") AS q JOIN record AS r ON r.id = q.id LEFT JOIN record AS p ON p.id = r.parent ORDER BY q.prio, q.seq",
            (*key, *key, want.limit),
        ).fetchall()
        if want.host not in result.hosts:
            result.hosts[want.host] = self._db.execute("SELECT * FROM host WHERE key = ?", (want.host,)).fetchall()
        return [_candidate_from(*row) for row in rows]

    def queues_after(self, cursor: tuple[int, int, str] | None, count: int) -> list[tuple[int, int, str]]:
        """The next (job, host, kind) that have something queued, in key order."""
        found: list[tuple[int, int, str]] = []
        with mapped_errors(self.folder):
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
        """The next rows of items of a job: (number, items joined by newlines). Stops behind ``bytes_max``."""
        rows: list[tuple[int, bytes]] = []
        size = 0
        with mapped_errors(self.folder):
            found = self._db.execute(
                "SELECT id, data FROM item WHERE id > ? AND job = ? ORDER BY id LIMIT ?", (last, job, limit)
            )
            for number, data in found:
                rows.append((number, data))
                size += len(data)
                if size >= bytes_max:
                    break
            found.close()
        return rows

    # -- upkeep -------------------------------------------------------------------------------

    def _tend(self) -> None:
        """A bounded step of what is done in the background."""
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
            (self._rebuilt, self._rebuild_until, _REBUILD_STEP),
        ).fetchall()
        for record, hi, lo, job in rows:
            self._filter.add(f"{hi}.{lo}.{job}")
            self._rebuilt = record
        if len(rows) < _REBUILD_STEP:
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
        self._begin()
        try:
            self._db.execute(f"INSERT INTO {name} SELECT * FROM {name}_young {where} ORDER BY {keys}", parameters)
            self._db.execute(f"DELETE FROM {name}_young {where}", parameters)
            self._db.execute("COMMIT")
        except BaseException:
            self._rollback()
            raise
        return edge is None

    # -- jobs and recovery --------------------------------------------------------------------

    def jobs(self) -> list[tuple[int, str, bytes, str, str]]:
        """All jobs: (id, name, spec, state, reason)."""
        with mapped_errors(self.folder):
            return self._db.execute("SELECT id, name, spec, state, reason FROM job ORDER BY id").fetchall()

    def add_job(self, job: int, name: str, spec: bytes, link: NewLink | None, order: Batch) -> Committed:
        """A new job with its first record, if that is ours, in one transaction."""
        with mapped_errors(self.folder):
            result = Committed()
            self._begin()
            try:
                self._db.execute(
                    "INSERT INTO job (id, name, spec, state, created) VALUES (?, ?, ?, 'running', ?)",
                    (job, name, spec, int(time.time())),
                )
                if link is not None:
                    order.links.append(link)
                self._write(order, result)
                self._db.execute("COMMIT")
            except BaseException:
                self._rollback()
                raise
            return result

    def abandon(self, job: int, host: int, limit: int) -> Counter[str]:
        """Puts aside, as failed, up to ``limit`` records that are queued for a host and in nobody's hands.

        Returns what that changes in the job's counters; fewer than the limit means that was all.
        """
        key, change = (job, host), Counter[str]()
        part = "SELECT kind, prio, seq, id FROM {} WHERE job = ? AND host = ? AND id NOT IN (SELECT record FROM lease)"
        with mapped_errors(self.folder):
            rows = self._db.execute(
                f"{part.format('queue_young')} UNION ALL {part.format('queue')} LIMIT ?", (*key, *key, limit)
            ).fetchall()
            if not rows:
                return change
            change.update({"queued": -len(rows), "failed": len(rows), f"failed:{Failure.HOST_DOWN}": len(rows)})
            self._begin()
            try:
                run_many(
                    self._db,
                    "WITH gone (id) AS (",
                    [(record,) for *_, record in rows],
                    f") UPDATE record SET phase = {int(Phase.FAILED)}, reason = '{Failure.HOST_DOWN}',"
                    f" ended = {int(time.time())} FROM gone WHERE record.id = gone.id",
                )
                run_many(self._db, "INSERT INTO leave", [(*key, kind, prio, seq) for kind, prio, seq, _ in rows])
                self._write_jobs(Batch(tallies={job: change}))
                self._db.execute("COMMIT")
            except BaseException:
                self._rollback()
                raise
        return change

    def sinks(self, job: int) -> list[tuple[str, str, int, str]]:
        """The job's outputs: (path, spec, last delivered item, position)."""
        with mapped_errors(self.folder):
            return self._db.execute("SELECT path, spec, delivered, position FROM sink WHERE job = ?", (job,)).fetchall()

    def add_sink(self, job: int, path: str, spec: str, position: object) -> None:
        with mapped_errors(self.folder):
            self._db.execute(
                "INSERT INTO sink (job, path, spec, delivered, position) VALUES (?, ?, ?, 0, ?)",
                (job, path, spec, json.dumps(position)),
            )

    def recover(self) -> int:
        """After a crash: leases that never reported become attempts. Returns how many there were."""
        with mapped_errors(self.folder):
            open_leases = self._db.execute("SELECT record, job, attempt FROM lease").fetchall()
            batch, now = Batch(), int(time.time())
            if open_leases or self._one("SELECT count(*) FROM staged"):
                self._begin()
                try:
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
                    self._write_jobs(batch)
                    self._db.execute("DELETE FROM lease")
                    self._db.execute("DELETE FROM staged")
                    self._db.execute("COMMIT")
                except BaseException:
                    self._rollback()
                    raise
            return len(open_leases)

    def pauses(self) -> list[tuple[int, float]]:
        """Hosts that asked to be left alone, and for how many seconds more."""
        with mapped_errors(self.folder):
            now = time.time()
            rows = self._db.execute("SELECT key, until, seconds FROM pause WHERE until > ?", (int(now),)).fetchall()
            # Never longer than they asked for, though the clock may have been set back.
            return [(key, min(seconds, until - now)) for key, until, seconds in rows if until > now]

    # -- buckets that move --------------------------------------------------------------------

    def rows_of(
        self, buckets: Collection[int], after: int, limit: int, bytes_max: int = ITEM_BYTES_MAX
    ) -> tuple[list[tuple[Any, ...]], int]:
        """The next records of these buckets with their items, and the number of the last one looked at.

        Stops behind ``bytes_max``.
        """
        with mapped_errors(self.folder):
            self._claimed(buckets)
            rows = self._db.execute(
                "SELECT r.id, r.job, r.url, r.hi, r.lo, r.depth, r.priority, r.kind, r.callback, r.seed,"
                " coalesce(r.referer, p.url, ''), r.extra, r.phase, r.attempts, r.losses, r.status, r.reason, r.size"
                " FROM record AS r LEFT JOIN record AS p ON p.id = r.parent"
                " WHERE r.id > ? AND r.bucket IN (SELECT bucket FROM claimed) ORDER BY r.id LIMIT ?",
                (after, limit),
            ).fetchall()
            size, found = 0, []
            for row in rows:
                items = self._items_of(row[0])
                data = b"\n".join(part for _, part in items)
                found.append((*row, sum(count for count, _ in items), data))
                size += len(row[2]) + len(row[10]) + len(row[11] or b"") + len(data)
                if size >= bytes_max:
                    break
            return found, found[-1][0] if found else after

    def _items_of(self, record: int) -> list[tuple[int, bytes]]:
        return self._db.execute("SELECT count, data FROM item WHERE record = ? ORDER BY id", (record,)).fetchall()

    def forget(self, buckets: Collection[int], orders: Mapping[int, Order]) -> dict[int, Counter[str]]:
        """Deletes the records of these buckets with their items: another master holds them durably.

        What that takes from the counters.
        """
        tallies: dict[int, Counter[str]] = defaultdict(Counter)
        with mapped_errors(self.folder):
            self._claimed(buckets)
            rows = self._db.execute(
                "SELECT id, job, hi, lo, host, kind, priority, depth, phase, reason FROM record"
                " WHERE bucket IN (SELECT bucket FROM claimed)"
            ).fetchall()
            self._begin()
            try:
                for number, job, hi, lo, host, kind, priority, depth, phase, reason in rows:
                    name = Phase(phase).name.lower()
                    tallies[job]["discovered"] -= 1
                    tallies[job][name] -= 1
                    if phase in (Phase.FAILED, Phase.DROPPED):
                        tallies[job][f"{name}:{reason}"] -= 1
                    elif phase == Phase.DONE and not reason:
                        tallies[job]["pages"] -= 1
                    if phase == Phase.QUEUED:
                        rank = rank_of(orders[job], number, priority, depth)
                        self._db.execute("INSERT INTO leave VALUES (?, ?, ?, ?, ?)", (job, host, kind, *rank))
                    for table in ("seen_young", "seen"):
                        self._db.execute(f"DELETE FROM {table} WHERE hi = ? AND lo = ? AND job = ?", (hi, lo, job))
                ours = "SELECT id FROM record WHERE bucket IN (SELECT bucket FROM claimed)"
                for job, count in self._db.execute(
                    f"SELECT job, sum(count) FROM item WHERE record IN ({ours}) GROUP BY job"
                ).fetchall():
                    tallies[job]["items"] -= count
                self._db.execute(f"DELETE FROM item WHERE record IN ({ours})")
                self._db.execute(f"DELETE FROM attempt WHERE record IN ({ours})")
                self._db.execute("DELETE FROM record WHERE bucket IN (SELECT bucket FROM claimed)")
                self._write_jobs(Batch(tallies=tallies))
                self._db.execute("COMMIT")
            except BaseException:
                self._rollback()
                raise
        return tallies

    def size(self) -> int:
        """How many records there are."""
        with mapped_errors(self.folder):
            return self._one("SELECT count(*) FROM record")

    def _claimed(self, buckets: Collection[int]) -> None:
        self._db.execute("CREATE TEMP TABLE IF NOT EXISTS claimed (bucket INTEGER PRIMARY KEY)")
        self._db.execute("DELETE FROM claimed")
        run_many(self._db, "INSERT INTO claimed", [(bucket,) for bucket in sorted(buckets)])

    def store_id(self) -> str:
        """The random id of this store: another one is an empty copy, whatever the identity."""
        with mapped_errors(self.folder):
            return str(self._db.execute("SELECT value FROM meta WHERE name = 'store'").fetchone()[0])

    def tallies(self, job: int) -> dict[str, int]:
        """The job's counters, as of the last commit."""
        with mapped_errors(self.folder):
            return dict(self._db.execute("SELECT name, count FROM tally WHERE job = ?", (job,)).fetchall())

    def census(self, job: int) -> dict[str, int]:
        """The records of a job by phase, counted one by one: what the counters must equal."""
        with mapped_errors(self.folder):
            rows = self._db.execute("SELECT phase, count(*) FROM record WHERE job = ? GROUP BY phase", (job,))
            counts = {Phase(phase).name.lower(): n for phase, n in rows}
            counts["leased"] = self._one("SELECT count(*) FROM lease WHERE job = ?", job)
            return counts

    def troubles(self, job: int, limit: int) -> list[tuple[str, str, str]]:
        """Some records that failed or were dropped, start URLs first: (url, reason, detail)."""
        with mapped_errors(self.folder):
            return self._db.execute(
                "SELECT r.url, r.reason, coalesce(a.detail, '') FROM record AS r LEFT JOIN attempt AS a"
                " ON a.record = r.id AND a.number = r.attempts WHERE r.job = ? AND r.phase IN (?, ?)"
                " ORDER BY r.id LIMIT ?",
                (job, int(Phase.FAILED), int(Phase.DROPPED), limit),
            ).fetchall()

    def _one(self, sql: str, *parameters: int) -> int:
        return int(self._db.execute(sql, parameters).fetchone()[0])


def _candidate_from(
    record: int,
    job: int,
    host: int,
    url: str,
    hi: int,
    lo: int,
    depth: int,
    priority: int,
    kind: str,
    callback: str,
    seed: int,
    referer: str,
    extra: bytes | None,
    attempts: int,
    losses: int,
    prio: int,
    seq: int,
    bucket: int,
) -> Candidate:
    return Candidate(
        record,
        job,
        host,
        url,
        struct.pack(">qq", hi, lo),
        depth,
        priority,
        kind,
        callback,
        bool(seed),
        referer if referer.startswith("http") else "",
        extra or b"",
        attempts,
        losses,
        (prio, seq),
        bucket,
    )


def _candidate_of(record: int, link: NewLink, rank: tuple[int, int]) -> Candidate:
    return Candidate(
        record,
        link.job,
        link.host,
        link.url,
        link.fingerprint,
        link.depth,
        link.priority,
        link.kind,
        link.callback,
        link.seed,
        link.referer,
        link.extra,
        rank=rank,
        bucket=link.bucket,
    )
