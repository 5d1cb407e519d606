"""The pages of a job that have ended, by their fingerprints."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from p2pcrawl.frontier.database.schema import MappedErrors, open_for_reading
from p2pcrawl.model.crawl.fingerprint import halves
from p2pcrawl.model.crawl.record import Phase


def ended_among(folder: Path, job: int, prints: Sequence[bytes]) -> set[bytes]:
    """Returns those of these fingerprints whose pages are done or failed. Raises as every reading of a data folder
    does.
    """
    connection = open_for_reading(folder)
    found: set[bytes] = set()
    try:
        with MappedErrors(folder):
            for print_ in prints:
                hi, lo = halves(print_)
                for seen in ("seen", "seen_young"):
                    row = connection.execute(
                        f"SELECT r.phase FROM {seen} AS s JOIN record AS r ON r.id = s.id"
                        " WHERE s.hi = ? AND s.lo = ? AND s.job = ?",
                        (hi, lo, job),
                    ).fetchone()
                    if row is not None and row[0] in (Phase.DONE, Phase.FAILED):
                        found.add(print_)
            return found
    finally:
        connection.close()
