"""The mark of what others have: the number of the record up to which all links of a frontier are with others, too.

It is written along with what is written anyway, and now and then only: what lies between is sent once more after a
crash.
"""

from __future__ import annotations

import sqlite3
from typing import Final

STEP: Final = 1_000
"""So many records may be sent once more for each write that this spares."""


class CopiedMark:
    """The mark of one database. ``last``: the last of its records, whose number may be given again once it is gone."""

    def __init__(self, db: sqlite3.Connection, last: int) -> None:
        self._db = db
        # Of what an older version has left nothing is known, and nothing was kept.
        db.execute(
            "INSERT INTO meta VALUES ('copied', ?1) ON CONFLICT (name) DO UPDATE SET value = ?1 WHERE value > ?1",
            (last,),
        )
        self.number: int = db.execute("SELECT value FROM meta WHERE name = 'copied'").fetchone()[0]

    def note(self, number: int) -> None:
        """Moves the mark, within a transaction, if that is worth a write."""
        if number >= self.number + STEP:
            self._db.execute("UPDATE meta SET value = ? WHERE name = 'copied'", (number,))
            self.number = number

    def fall_back(self, number: int) -> None:
        """Moves the mark back, within a transaction, to before a record of which there is more to be told."""
        if number < self.number:
            self._db.execute("UPDATE meta SET value = ? WHERE name = 'copied'", (number,))
            self.number = number
