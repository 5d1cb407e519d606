"""The failed or dropped pages of a job by kind, read beside who writes them.

At a master of a cluster what has failed is found by an index of nothing else, and what was dropped by another, so a job
of a million pages with ten failures costs ten rows.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from p2pcrawl.frontier.database.schema import MappedErrors, open_for_reading
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.texts.imprint_url import is_imprint, without_imprint

KINDS_MAX = 60
"""Kinds that are told; there are fewer, unless another master tells nonsense."""


_STATUSES_MAX = 1_000


class ErrorExample(NamedTuple):
    """A page that failed, of one host."""

    url: str
    at: int
    """Seconds since 1970."""
    status: int
    detail: str
    """What its last attempt said; empty at a master that got the record from another one."""
    of_host: int
    """So many pages of its host failed in the same way; 0: nobody has counted them."""


class ErrorKind(NamedTuple):
    """The pages that failed for one reason, and how many hosts they are of; 0: nobody has counted those."""

    kind: str
    pages: int
    hosts: int
    examples: list[ErrorExample]


def errors_of(folder: Path, job: int, examples: int, only: str = "", phase: Phase = Phase.FAILED) -> list[ErrorKind]:
    """Returns the kinds of failures of a job (or of drops, by the ``phase``), most first, each with an example of
    each of the hosts that have most; of one kind ``only``, if that is given. Raises as every reading of a data folder
    does.
    """
    ended = f"job = ? AND phase = {int(phase)}"
    connection = open_for_reading(folder)
    try:
        with MappedErrors(folder):
            connection.execute("BEGIN")
            kinds = connection.execute(
                f"SELECT reason, sum(n) AS failed, count(*) FROM (SELECT reason, host, count(*) AS n FROM record"
                f" WHERE {ended} AND (? = '' OR reason = ?) GROUP BY reason, host) GROUP BY reason"
                " ORDER BY failed DESC, reason LIMIT ?",
                (job, only, only, KINDS_MAX),
            ).fetchall()
            found = []
            for kind, count, hosts in kinds:
                rows = connection.execute(
                    "SELECT r.url, r.ended, r.status, coalesce(a.detail, ''), f.n FROM (SELECT max(id) AS id,"
                    f" count(*) AS n FROM record WHERE {ended} AND reason = ? GROUP BY host ORDER BY n DESC, host"
                    " LIMIT ?) AS f JOIN record AS r ON r.id = f.id LEFT JOIN attempt AS a ON a.record = r.id"
                    " AND a.number = r.attempts ORDER BY f.n DESC, r.host",
                    (job, kind, examples),
                ).fetchall()
                found.append(_of_pages(ErrorKind(kind, count, hosts, [ErrorExample(*row) for row in rows])))
            return found
    finally:
        connection.close()


def statuses_of(folder: Path, job: int) -> dict[str, dict[int, int]]:
    """Counts the failures of a job by their reason and their status, of those that had an answer."""
    connection = open_for_reading(folder)
    try:
        with MappedErrors(folder):
            found: dict[str, dict[int, int]] = {}
            for reason, status, count in connection.execute(
                f"SELECT reason, status, count(*) FROM record WHERE job = ? AND phase = {int(Phase.FAILED)}"
                " AND status > 0 GROUP BY reason, status ORDER BY reason, status LIMIT ?",
                (job, _STATUSES_MAX),
            ):
                found.setdefault(reason, {})[status] = count
            return found
    finally:
        connection.close()


def _of_pages(kind: ErrorKind) -> ErrorKind:
    """Returns a kind with the pages that its imprints are of. An imprint lies with its text, at no host of its page."""
    if not any(is_imprint(example.url) for example in kind.examples):
        return kind
    pages = [example._replace(url=without_imprint(example.url), of_host=0) for example in kind.examples]
    return kind._replace(hosts=0, examples=pages)
