"""Records that come from another master, merged with those that are here: of two, the one that is further wins, and an
entry is what any of them was.

What wins brings everything along: how its turn ended, and its items, which replace those that are here. A visit that
has only begun leaves the items of the visit before where they are. A record that is queued by a newer visit enters the
queue again; one that has ended leaves it. So the outcome is the same in whatever order rows come, and however often.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator

import msgspec

from p2pcrawl.frontier.database.known import Key, numbers_of
from p2pcrawl.frontier.database.statements import run_many
from p2pcrawl.frontier.records import tallies
from p2pcrawl.frontier.records.batch import Batch, Committed, ItemRow, MovedRow
from p2pcrawl.frontier.records.candidates import queued
from p2pcrawl.frontier.records.columns import PLACE, STAMPED, named, place_of, stamp_in
from p2pcrawl.frontier.records.item_table import ItemTable
from p2pcrawl.model.crawl.fingerprint import halves
from p2pcrawl.model.crawl.record import VISIT_MAX, Phase, is_further
from p2pcrawl.wire.messages.peer_messages import UNTOLD, Row

_HERE = f"{PLACE}, r.bucket, r.reason, r.turn, {STAMPED}"
"""A record as it stands here."""


def by_key(moved: Iterable[MovedRow]) -> dict[Key, MovedRow]:
    """Returns for each record that comes the row that wins: an entry, if any of its rows is one."""
    best: dict[Key, MovedRow] = {}
    entries: set[Key] = set()
    for each in moved:
        key = (*halves(each.row.link.fingerprint), each.row.job)
        if each.row.link.seed:
            entries.add(key)
        if key not in best or is_further(each.row.stamp, best[key].row.stamp):
            best[key] = each
    for key in entries:
        if not best[key].row.link.seed:
            best[key] = _as_entry(best[key])
    return best


def _as_entry(moved: MovedRow) -> MovedRow:
    link = moved.row.link._replace(seed=True)
    return MovedRow(moved.new._replace(link=link), msgspec.structs.replace(moved.row, link=link))


def merge(
    db: sqlite3.Connection, items: ItemTable, moved: dict[Key, MovedRow], batch: Batch, result: Committed, now: int
) -> None:
    """Merges rows with what is here. ``moved`` are all known here by now, the new ones as if they had just been
    found, and entries as such.
    """
    numbers = numbers_of(db, [key for key, each in moved.items() if each.row.stamp])
    rows = {record: moved[key].row for key, record in numbers.items()}
    found = run_many(named(db), f"SELECT {_HERE} FROM record AS r WHERE r.id IN (", [(number,) for number in rows], ")")
    won = [(here, rows[here["id"]]) for here in found if is_further(rows[here["id"]].stamp, stamp_in(here))]
    items.mark({n: row for n, row in _equal(found, rows) if row.marks})
    run_many(
        db,
        "WITH m (id, visit, phase, attempts, losses, status, reason, size, ended, due, turn, told, past, page_type)"
        " AS (",
        [
            (
                *(here["id"], min(row.visit, VISIT_MAX), row.phase, row.attempts, row.losses),
                *(row.status, row.reason, row.size, now if row.phase != Phase.QUEUED else 0),
                *(row.due, row.due if row.phase != Phase.QUEUED else 0),
                *(None if row.told == UNTOLD else row.told, row.past or None, row.page_type),
            )
            for here, row in won
        ],
        ") UPDATE record SET visit = m.visit, phase = m.phase, attempts = m.attempts, losses = m.losses,"
        " status = m.status, reason = m.reason, size = m.size, ended = m.ended, digest = NULL,"
        " due = m.due, turn = m.turn, told = m.told, past = m.past, page_type = m.page_type"
        " FROM m WHERE record.id = m.id",
    )
    _move_in_queue(db, won, batch, result)
    _replace_items(items, won, batch)
    result.touched.update(here["bucket"] for here, _ in won)


def _equal(found: Iterable[sqlite3.Row], rows: dict[int, Row]) -> Iterator[tuple[int, Row]]:
    """Yields the rows that say what is known here, which a sink may have from elsewhere."""
    for here in found:
        row = rows[here["id"]]
        if stamp_in(here) >> 1 == row.stamp >> 1:
            yield here["id"], row


def _move_in_queue(db: sqlite3.Connection, won: list[tuple[sqlite3.Row, Row]], batch: Batch, result: Committed) -> None:
    """Lets the queue, the counters and the workbench follow the phases."""
    new = {candidate.record for candidate in result.fresh}
    leaves, enters = [], []
    for here, row in won:
        tally, number, phase = batch.tallies[row.job], here["id"], here["phase"]
        tallies.count(tally, phase, here["reason"], -1)
        tallies.count(tally, row.phase, row.reason, +1)
        tally["again"] += (row.due > 0 and row.phase != Phase.QUEUED) - (here["turn"] > 0)
        place = place_of(here, batch.orders)
        if phase == Phase.QUEUED and row.phase != Phase.QUEUED:
            leaves.append(place)
            if number not in new:
                result.ended.add(number)
        elif phase != Phase.QUEUED and row.phase == Phase.QUEUED:
            enters.append((*place, number))
            new.add(number)
    run_many(db, "INSERT INTO leave", leaves)
    run_many(db, "INSERT INTO queue_young", enters)
    changed = {here["id"]: row for here, row in won}
    result.fresh = [candidate for candidate in result.fresh if candidate.record not in changed]
    again = [number for number, row in changed.items() if number in new and row.phase == Phase.QUEUED]
    result.fresh += queued(db, again, batch.orders)


def _replace_items(items: ItemTable, won: list[tuple[sqlite3.Row, Row]], batch: Batch) -> None:
    new = [(here, row) for here, row in won if row.phase != Phase.QUEUED or row.items]
    for job, count in items.remove([here["id"] for here, _ in new]).items():
        batch.tallies[job]["items"] -= count
    coming = [
        ItemRow(here["id"], row.job, row.items, row.data, row.marks) for here, row in new if row.items or row.visit
    ]
    items.add(coming)
    for item in coming:
        batch.tallies[item.job]["items"] += item.number
