"""Examples of the links that slaves did not follow, read beside who writes them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from p2pcrawl.frontier.database.schema import MappedErrors, open_for_reading


class LeftOutExample(NamedTuple):
    """A link that was not followed, the page that it was on, and when."""

    reason: str
    url: str
    page: str
    at: int
    """Seconds since 1970."""


def left_out_of(folder: Path, job: int) -> list[LeftOutExample]:
    """Returns the examples that are kept of a job. Raises as every reading of a data folder does."""
    connection = open_for_reading(folder)
    try:
        with MappedErrors(folder):
            if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'left_out'").fetchone() is None:
                return []
            rows = connection.execute(
                "SELECT reason, url, page, found FROM left_out WHERE job = ? ORDER BY reason, found, url", (job,)
            )
            return [LeftOutExample(*row) for row in rows]
    finally:
        connection.close()
