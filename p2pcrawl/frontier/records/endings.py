"""Ends visits of records: with the page over, or back in its queue.

An ending speaks of one visit. If the record has moved on meanwhile (another master had ended it, or a new visit has
begun), the ending changes nothing: what the batch counts for it is taken back, and its items are not kept, for those
of the winner are here already or will come.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from p2pcrawl.frontier.database.statements import run_many
from p2pcrawl.frontier.records import tallies
from p2pcrawl.frontier.records.batch import Batch, Committed, Ending, ItemRow
from p2pcrawl.frontier.records.candidates import queued
from p2pcrawl.frontier.records.item_table import ItemTable
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.packing import packed

_DETAIL_MAX = 8_192
_STILL = f"e.phase = {int(Phase.QUEUED)}"
_EARLIER = "coalesce(record.told, max(record.visit - 1, 0))"
"""The visit whose items stay."""
_NEXT = (
    f"due = iif({_STILL}, record.due, e.due), turn = iif({_STILL}, 0, e.due),"
    f" told = CASE WHEN {_STILL} THEN record.told WHEN e.keeps THEN {_EARLIER} ELSE e.visit END,"
    f" past = iif({_STILL}, record.past, e.past), page_type = iif(e.page_type = '', record.page_type, e.page_type)"
)
"""What is said of the next visit: nothing, while this one goes on."""


def write_endings(db: sqlite3.Connection, items: ItemTable, batch: Batch, result: Committed, now: int) -> None:
    """Writes ``batch.endings`` and ``batch.items``. An ending of what others have tried more often says so from then
    on: whoever is told of it is told what is on the disk.
    """
    tried = _end_visits(db, batch.endings, now)
    endings = batch.endings = [_after(e, *tried.get(e.candidate.record, (0, 0))) for e in batch.endings]
    if len(tried) < len(endings):
        late = [e for e in endings if e.candidate.record not in tried]
        _disregard(db, items, batch, late, result)
        endings = [e for e in endings if e.candidate.record in tried]
    _write_troubles(db, [e for e in endings if e.phase is not Phase.DONE], now)
    run_many(db, "DELETE FROM lease WHERE record IN (", [(e.candidate.record,) for e in batch.endings], ")")
    over = [e for e in endings if e.phase is not Phase.QUEUED]
    run_many(db, "INSERT INTO leave", [(c.job, c.host, c.link.kind, *c.rank) for c in (e.candidate for e in over)])
    _write_items(items, batch, over, result)
    visited = [e for e in endings if e.candidate.visit and (e.keeps or e.phase is Phase.QUEUED)]
    result.kept.update(items.kept([e.candidate.record for e in visited]))


def _end_visits(db: sqlite3.Connection, endings: Sequence[Ending], now: int) -> dict[int, tuple[int, int]]:
    """Writes the endings of visits that go on; returns the records of these, each with its attempts and losses."""
    found = run_many(
        db,
        "WITH e (id, visit, phase, attempts, losses, status, reason, size, ended, digest, due, past,"
        " page_type, keeps) AS (",
        [_columns_of(e, now) for e in endings],
        ") UPDATE record SET phase = e.phase, attempts = max(record.attempts, e.attempts),"
        " losses = max(record.losses, e.losses), status = e.status, reason = e.reason, size = e.size,"
        f" ended = e.ended, digest = e.digest, {_NEXT} FROM e WHERE record.id = e.id"
        f" AND record.visit = e.visit AND record.phase = {int(Phase.QUEUED)}"
        " RETURNING record.id, record.attempts, record.losses",
    )
    return {record: (attempts, losses) for record, attempts, losses in found}


def _after(e: Ending, attempts: int, losses: int) -> Ending:
    """Returns the ending, after so many attempts and losses at least."""
    if e.attempts >= attempts and e.losses >= losses:
        return e
    return e._replace(attempts=max(e.attempts, attempts), losses=max(e.losses, losses))


def _columns_of(e: Ending, now: int) -> tuple[Any, ...]:
    """Returns what is written of the end of a visit, in the order of the statement."""
    state = e.candidate.record, e.candidate.visit, int(e.phase), e.attempts, e.losses
    answer = e.status, e.reason, e.size, now, e.digest or None
    return (*state, *answer, e.due, e.past or None, e.page_type, int(e.keeps))


def _write_troubles(db: sqlite3.Connection, endings: list[Ending], now: int) -> None:
    """Writes what went wrong in attempts that did not end well."""
    troubles = [
        (e.candidate.record, e.attempts, now, e.reason, e.status, e.latency_s, e.detail[:_DETAIL_MAX]) for e in endings
    ]
    run_many(db, "INSERT OR REPLACE INTO attempt", troubles)


def _write_items(items: ItemTable, batch: Batch, over: list[Ending], result: Committed) -> None:
    """Writes the items of the pages that are over, in place of those of earlier visits."""
    over = [e for e in over if not e.keeps]
    again = [e.candidate.record for e in over if e.candidate.visit]
    for job, count in items.remove(again).items():
        batch.tallies[job]["items"] -= count
    items.add(batch.items)
    if again:
        # Whoever was brought the items of the earlier visit hears where there are none now.
        filled = {row.record for row in batch.items}
        empty = [e.candidate for e in over if e.candidate.visit and not e.staged and e.candidate.record not in filled]
        items.add([ItemRow(candidate.record, candidate.job, 0, b"") for candidate in empty])
    for record in (e.candidate.record for e in over if e.staged):
        parts = items.staged(record)
        items.add(parts)
        result.staged[record] = sum(p.number for p in parts), packed(p.data for p in parts)
    items.unstage([e.candidate.record for e in batch.endings if e.staged])


def _disregard(db: sqlite3.Connection, items: ItemTable, batch: Batch, late: list[Ending], result: Committed) -> None:
    """Takes back what was counted for these, and their items."""
    for e in late:
        if e.phase is not Phase.QUEUED:
            tally = batch.tallies[e.candidate.job]
            tally["queued"] += 1
            tallies.count(tally, e.phase, e.reason, -1)
            tally["again"] -= e.due > 0
            tally["items"] -= sum(part.number for part in items.staged(e.candidate.record))
            tally["items"] -= sum(row.number for row in batch.items if row.record == e.candidate.record)
    records = {e.candidate.record for e in late}
    batch.items = [row for row in batch.items if row.record not in records]
    waiting = run_many(
        db,
        f"SELECT id FROM record WHERE phase = {int(Phase.QUEUED)} AND id IN (",
        [(record,) for record in records],
        ")",
    )
    # A newer visit has begun: it is in the queue, though whoever ended the older one thinks that it has left.
    result.fresh += queued(db, [record for (record,) in waiting], batch.orders)
    result.ended |= records - {record for (record,) in waiting}
