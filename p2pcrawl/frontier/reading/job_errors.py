"""The failed pages of a job by kind, read beside who writes them.

What has failed is found by an index of nothing else, so a job of a million pages with ten failures costs ten rows.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from p2pcrawl.frontier.database.schema import MappedErrors, open_for_reading
from p2pcrawl.model.crawl.record import Phase

KINDS_MAX = 60
"""Kinds that are told; there are fewer, unless another master tells nonsense."""
_FAILED = f"job = ? AND phase = {int(Phase.FAILED)}"


class ErrorExample(NamedTuple):
    """A page that failed, of one host."""

    url: str
    at: int
    """Seconds since 1970."""
    status: int
    detail: str
    """What its last attempt said; empty at a master that got the record from another one."""
    of_host: int
    """So many pages of its host failed in the same way."""


class ErrorKind(NamedTuple):
    """The pages that failed for one reason, and how many hosts they are of."""

    kind: str
    pages: int
    hosts: int
    examples: list[ErrorExample]


def errors_of(folder: Path, job: int, examples: int, only: str = "") -> list[ErrorKind]:
    """Returns the kinds of failures of a job, most first, each with an example of each of the hosts that have most; of
    one kind ``only``, if that is given. Raises as every reading of a data folder does.
    """
    connection = open_for_reading(folder)
    try:
        with MappedErrors(folder):
            connection.execute("BEGIN")
            kinds = connection.execute(
                f"SELECT reason, sum(n) AS failed, count(*) FROM (SELECT reason, host, count(*) AS n FROM record"
                f" WHERE {_FAILED} AND (? = '' OR reason = ?) GROUP BY reason, host) GROUP BY reason"
                " ORDER BY failed DESC, reason LIMIT ?",
                (job, only, only, KINDS_MAX),
            ).fetchall()
            found = []
            for kind, count, hosts in kinds:
                rows = connection.execute(
                    "SELECT r.url, r.ended, r.status, coalesce(a.detail, ''), f.n FROM (SELECT max(id) AS id,"
                    f" count(*) AS n FROM record WHERE {_FAILED} AND reason = ? GROUP BY host ORDER BY n DESC, host"
                    " LIMIT ?) AS f JOIN record AS r ON r.id = f.id LEFT JOIN attempt AS a ON a.record = r.id"
                    " AND a.number = r.attempts ORDER BY f.n DESC, r.host",
                    (job, kind, examples),
                ).fetchall()
                found.append(ErrorKind(kind, count, hosts, [ErrorExample(*row) for row in rows]))
            return found
    finally:
        connection.close()
