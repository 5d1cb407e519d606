"""Records that come from another master, merged with those that are here: of two, the one with the greater stamp wins.

What wins brings everything along: how its turn ended, and its items, which replace those that are here. A visit that
has only begun leaves the items of the visit before where they are. A record that is queued by a newer visit enters the
queue again; one that has ended leaves it. So the outcome is the same in whatever order rows come, and however often.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

from p2pcrawl.core.bench.candidate import rank_of
from p2pcrawl.frontier.database.statements import run_many, select_many
from p2pcrawl.frontier.records import tallies
from p2pcrawl.frontier.records.batch import Batch, Committed, ItemRow, MovedRow
from p2pcrawl.frontier.records.candidates import queued
from p2pcrawl.frontier.records.item_table import ItemTable
from p2pcrawl.frontier.records.known import Key, numbers_of
from p2pcrawl.model.crawl.fingerprint import halves
from p2pcrawl.model.crawl.record import VISIT_MAX, Phase, stamp_of
from p2pcrawl.wire.messages.peer_messages import Row


class _Here(NamedTuple):
    """A record as it stands here."""

    record: int
    job: int
    host: int
    bucket: int
    kind: str
    priority: int
    depth: int
    reason: str
    visit: int
    phase: int
    attempts: int
    losses: int

    @property
    def stamp(self) -> int:
        return stamp_of(self.visit, self.phase, self.attempts, self.losses)


_COLUMNS = ", ".join(f"record.{name}" for name in ("id", *_Here._fields[1:]))


def by_key(moved: Iterable[MovedRow]) -> dict[Key, MovedRow]:
    """Returns of each record that comes the row that wins."""
    best: dict[Key, MovedRow] = {}
    for each in moved:
        key = (*halves(each.row.link.fingerprint), each.row.job)
        if key not in best or best[key].row.stamp < each.row.stamp:
            best[key] = each
    return best


def merge(
    db: sqlite3.Connection, items: ItemTable, moved: dict[Key, MovedRow], batch: Batch, result: Committed, now: int
) -> None:
    """``moved`` are all known here by now, the new ones as if they had just been found."""
    numbers = numbers_of(db, [key for key, each in moved.items() if each.row.stamp])
    rows = {record: moved[key].row for key, record in numbers.items()}
    found = select_many(db, f"SELECT {_COLUMNS} FROM record WHERE id IN (", [(number,) for number in rows], ")")
    won = [(here, rows[here.record]) for here in map(_Here._make, found) if here.stamp < rows[here.record].stamp]
    run_many(
        db,
        "WITH m (id, visit, phase, attempts, losses, status, reason, size, ended) AS (",
        [
            (
                *(here.record, min(row.visit, VISIT_MAX), row.phase, row.attempts, row.losses),
                *(row.status, row.reason, row.size, now if row.phase != Phase.QUEUED else 0),
            )
            for here, row in won
        ],
        ") UPDATE record SET visit = m.visit, phase = m.phase, attempts = m.attempts, losses = m.losses,"
        " status = m.status, reason = m.reason, size = m.size, ended = m.ended, digest = NULL"
        " FROM m WHERE record.id = m.id",
    )
    _move_in_queue(db, won, batch, result)
    _replace_items(items, won, batch)
    result.touched.update(here.bucket for here, _ in won)


def _move_in_queue(db: sqlite3.Connection, won: list[tuple[_Here, Row]], batch: Batch, result: Committed) -> None:
    """The queue, the counters and the workbench follow the phases."""
    new = {candidate.record for candidate in result.fresh}
    leaves, enters = [], []
    for here, row in won:
        tally = batch.tallies[here.job]
        tallies.count(tally, here.phase, here.reason, -1)
        tallies.count(tally, row.phase, row.reason, +1)
        rank = rank_of(batch.orders[here.job], here.record, here.priority, here.depth)
        place = (here.job, here.host, here.kind, *rank)
        if here.phase == Phase.QUEUED and row.phase != Phase.QUEUED:
            leaves.append(place)
            if here.record not in new:
                result.ended.add(here.record)
        elif here.phase != Phase.QUEUED and row.phase == Phase.QUEUED:
            enters.append((*place, here.record))
            new.add(here.record)
    run_many(db, "INSERT INTO leave", leaves)
    run_many(db, "INSERT INTO queue_young", enters)
    changed = {here.record: row for here, row in won}
    result.fresh = [candidate for candidate in result.fresh if candidate.record not in changed]
    again = [number for number, row in changed.items() if number in new and row.phase == Phase.QUEUED]
    result.fresh += queued(db, again, batch.orders)


def _replace_items(items: ItemTable, won: list[tuple[_Here, Row]], batch: Batch) -> None:
    new = [(here, row) for here, row in won if row.phase != Phase.QUEUED or row.items]
    for job, count in items.remove([here.record for here, _ in new]).items():
        batch.tallies[job]["items"] -= count
    coming = [ItemRow(here.record, here.job, row.items, row.data) for here, row in new if row.items]
    items.add(coming)
    for item in coming:
        batch.tallies[item.job]["items"] += item.number
