"""The schedules as they are stored beside the copies; see :mod:`p2pcrawl.core.scheduling.schedule_order`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from p2pcrawl.frontier.database.integrity import Nonsense
from p2pcrawl.model.cluster.schedule import Schedule

SCHEDULES_TABLE = """
CREATE TABLE schedule (
    name TEXT PRIMARY KEY, head BLOB NOT NULL, task BLOB NOT NULL DEFAULT x'', secrets BLOB NOT NULL DEFAULT x''
)
"""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Schedule).decode


class ScheduleRow(NamedTuple):
    """A schedule, and what it does where that has changed."""

    schedule: Schedule
    task: bytes | None = None
    secrets: bytes | None = None


def write_schedules(db: sqlite3.Connection, rows: Iterable[ScheduleRow]) -> None:
    """Puts schedules in the place of those of the same names. Of a removed one the task goes."""
    for schedule, task, secrets in rows:
        if schedule.removed:
            task, secrets = b"", b""
        db.execute(
            "INSERT INTO schedule (name, head) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET head = excluded.head",
            (schedule.name, _encode(schedule)),
        )
        if task is not None:
            db.execute(
                "UPDATE schedule SET task = ?, secrets = ? WHERE name = ?", (task, secrets or b"", schedule.name)
            )


def read_schedules(db: sqlite3.Connection) -> list[Schedule]:
    """Returns all schedules. Raises Nonsense for what is none."""
    found = []
    for name, head in db.execute("SELECT name, head FROM schedule ORDER BY name").fetchall():
        try:
            found.append(_decode(head))
        except msgspec.MsgspecError as error:
            raise Nonsense(f"the schedule {name!r:.80} cannot be read: {error}") from error
    return found


def stored_task(db: sqlite3.Connection, name: str) -> tuple[bytes, bytes]:
    """Returns the task of a schedule and its secrets; nothing of one that there is not."""
    row = db.execute("SELECT task, secrets FROM schedule WHERE name = ?", (name,)).fetchone()
    return (bytes(row[0]), bytes(row[1])) if row is not None else (b"", b"")
