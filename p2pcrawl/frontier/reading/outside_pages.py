"""The pages of a job that failed or were dropped for some reasons, one by one, read beside who writes them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import json

from p2pcrawl.frontier.database.schema import MappedErrors, open_for_reading
from p2pcrawl.frontier.records.columns import PARENT
from p2pcrawl.model.crawl.fingerprint import pack_halves
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.reason_choice import ReasonChoice
from p2pcrawl.model.texts.imprint_url import without_imprint

PAGES_MAX: Final = 500
_DETAIL_MAX: Final = 500
_TOLD: Final = (
    "r.id, r.host, r.hi, r.lo, r.url, r.phase, r.reason, r.status, r.ended, r.attempts, r.losses, r.visit,"
    " coalesce(r.referer, p.url, '') AS page, coalesce(a.detail, '') AS detail"
)
_JOINED: Final = f"{PARENT} LEFT JOIN attempt AS a ON a.record = r.id AND a.number = r.attempts"


class OutsidePage(NamedTuple):
    """A page that failed or was dropped."""

    place: str
    """To go on behind."""
    fingerprint: bytes
    url: str
    outcome: str
    reason: str
    status: int
    at: int
    """Seconds since 1970."""
    attempts: int
    losses: int
    visit: int
    page: str
    """Where the link to it was found, as far as that is known here."""
    detail: str

    def line(self) -> bytes:
        """Writes what people are told as a line of JSON, without its end."""
        facts = self._asdict()
        del facts["place"], facts["fingerprint"]
        return json.encode(facts)


def outside_after(folder: Path, job: int, choice: ReasonChoice, after: str) -> list[OutsidePage]:
    """Returns the next pages behind a place that is "" at first; none: there are no more so far. They come by phase and
    reason, then by host, which is how an index has them. Raises as every reading of a data folder does.
    """
    connection = open_for_reading(folder)
    connection.row_factory = sqlite3.Row
    place = _place(after)
    found: list[OutsidePage] = []
    try:
        with MappedErrors(folder):
            connection.execute("BEGIN")
            for phase in (Phase.DROPPED, Phase.FAILED):
                for reason in _reasons(connection, job, phase, choice):
                    if (int(phase), reason) < place[:2]:
                        continue
                    behind = place[2:] if (int(phase), reason) == place[:2] else _FIRST
                    status = "AND status = ?" if choice.status else ""
                    rows = connection.execute(
                        f"SELECT {_TOLD} FROM (SELECT id FROM record WHERE job = ? AND reason = ?"
                        f" AND phase = {int(phase)} AND (host, id) > (?, ?) {status} ORDER BY host, id LIMIT ?) AS f"
                        f" JOIN record AS r ON r.id = f.id {_JOINED} ORDER BY r.host, r.id",
                        (job, reason, *behind, *([choice.status] if status else []), PAGES_MAX - len(found)),
                    )
                    found += [_page(row) for row in rows]
                    if len(found) >= PAGES_MAX:
                        return found
            return found
    finally:
        connection.close()


def outside_pages(folder: Path, job: int, choice: ReasonChoice) -> Iterator[OutsidePage]:
    """Yields all of them in the order in which they were found, as they were at one moment: for a folder without those
    indexes, which is gone through once.
    """
    connection = open_for_reading(folder)
    connection.row_factory = sqlite3.Row
    try:
        with MappedErrors(folder):
            connection.execute("BEGIN")
            rows = connection.execute(
                f"SELECT {_TOLD} FROM record AS r {_JOINED} WHERE r.job = ? AND r.phase IN"
                f" ({int(Phase.DROPPED)}, {int(Phase.FAILED)}) AND {_chosen(choice)} ORDER BY r.id",
                (job, *choice.reasons),
            )
            for row in rows:
                if choice.covers(row["reason"], row["status"]):
                    yield _page(row)
    finally:
        connection.close()


_FIRST: Final = (-(1 << 63), 0)


def _reasons(connection: sqlite3.Connection, job: int, phase: Phase, choice: ReasonChoice) -> list[str]:
    """Returns the reasons for which pages of a job ended so, as far as they are chosen."""
    if choice.reasons:
        return sorted(choice.reasons)
    rows = connection.execute(
        f"SELECT DISTINCT reason FROM record WHERE job = ? AND phase = {int(phase)} ORDER BY reason", (job,)
    )
    return [reason for (reason,) in rows]


def _chosen(choice: ReasonChoice) -> str:
    return f"r.reason IN ({','.join('?' * len(choice.reasons))})" if choice.reasons else "TRUE"


def _page(row: sqlite3.Row) -> OutsidePage:
    phase, url = Phase(row["phase"]), without_imprint(row["url"])
    return OutsidePage(
        f"{int(phase)} {row['host']} {row['id']} {row['reason']}",
        pack_halves(row["hi"], row["lo"]),
        url,
        phase.name.lower(),
        row["reason"],
        row["status"],
        row["ended"],
        row["attempts"],
        row["losses"],
        row["visit"],
        # A text was found on its page; where the link to that was is a matter of another record.
        row["page"] if row["page"].startswith("http") and url == row["url"] else "",
        row["detail"][:_DETAIL_MAX],
    )


def _place(text: str) -> tuple[int, str, int, int]:
    """Reads a place; one that makes no sense is the beginning."""
    try:
        phase, host, record, reason = text.split(" ", 3)
        return int(phase), reason, int(host), int(record)
    except ValueError:
        return (-1, "", *_FIRST)


def some_outside(folder: Path, job: int, phase: Phase, choice: ReasonChoice, limit: int) -> list[OutsidePage]:
    """Returns a few pages of a job that ended in a phase for these reasons, the last first. Raises as every
    reading of a data folder does.
    """
    connection = open_for_reading(folder)
    connection.row_factory = sqlite3.Row
    try:
        with MappedErrors(folder):
            rows = connection.execute(
                f"SELECT {_TOLD} FROM record AS r {_JOINED} WHERE r.job = ? AND r.phase = {int(phase)}"
                f" AND {_chosen(choice)} AND (? = 0 OR r.status = ?) ORDER BY r.ended DESC, r.id LIMIT ?",
                (job, *choice.reasons, choice.status, choice.status, limit),
            )
            return [_page(row) for row in rows]
    finally:
        connection.close()
