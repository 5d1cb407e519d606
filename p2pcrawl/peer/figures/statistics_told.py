"""Statistics over all masters: the work on a job, or on all, by hour, day, host, or kind of failure.

Each master tells what it has counted itself, and what it keeps of masters that are gone. Several may keep of the same:
who keeps the greatest versions of it counts.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypedDict

from msgspec.json import Decoder

from p2pcrawl.core.slice_rows import StatisticsBy, added_rows, first_rows, slice_rows
from p2pcrawl.core.slices import Slice
from p2pcrawl.master.cluster import Cluster
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.model.cluster.account import Account
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.peer.answers.asking import ask_others, whole_number

ROWS: Final = 50
ROWS_MAX: Final = 1_000

PlainRows = dict[str, dict[str, int]]


class GoneWork(TypedDict):
    """The work of a master in a life that is over, as another one keeps it."""

    master: NodeId
    life: str
    version: int
    rows: PlainRows
    total: dict[str, int]


class WorkHere(TypedDict):
    """The work of a master in the life that it is in, and of others that are gone."""

    life: str
    rows: PlainRows
    total: dict[str, int]
    gone: list[GoneWork]


class StatisticsRow(TypedDict):
    """One row: an ``hour`` or a ``day`` by when it began, in seconds since 1970, a ``host``, or an ``error``."""

    name: str
    at: int | None
    pages: int
    items: int
    bytes: int
    fetches: int
    failed: int
    retries: int
    errors: dict[str, int]
    """Failed pages by kind, and attempts that were repeated."""


class StatisticsAnswer(TypedDict):
    """Statistics of a job, or of all (``job`` is None), and the masters that did not answer."""

    job: int | None
    by: str
    rows: list[StatisticsRow]
    total: StatisticsRow
    missing: list[NodeId]


_HERE = Decoder(WorkHere)


class StatisticsTold:
    """Answers ``statistics``."""

    def __init__(self, cluster: Cluster) -> None:
        self._peers = cluster.peers
        self._accounts = cluster.accounts

    async def of(self, job: Job | None, arguments: Mapping[str, Any]) -> StatisticsAnswer:
        """Adds up the work at all masters. Raises ConfigurationError for arguments that cannot be."""
        by, limit = _asked(arguments)
        number = job.id if job is not None else None
        asked = {"job": number, "by": str(by), "limit": limit}
        told, missing = await ask_others(self._peers, "statistics-here", asked, _HERE)
        parts = {self._peers.me: await self.here(asked), **told}
        works = [*parts.values(), *latest_gone(parts)]
        rows = first_rows(added_rows(work["rows"] for work in works), by, limit)
        total = Counter[str]()
        for work in works:
            total.update(work["total"])
        return StatisticsAnswer(
            job=number,
            by=str(by),
            rows=[_row(name, by, figures) for name, figures in rows.items()],
            total=_row("total", by, total),
            missing=missing,
        )

    async def here(self, arguments: Mapping[str, Any]) -> WorkHere:
        """Adds up the work that this master knows of, in a thread: it may be of many hosts."""
        by, limit = _asked(arguments)
        job = arguments["job"]
        own = [each for each in self._accounts.own_slices if job is None or each.job == job]
        gone = [each for each in self._accounts.slices_of_gone() if job is None or each.key.job == job]
        return await asyncio.to_thread(_summed, self._accounts.life, own, gone, by, limit)


def _summed(life: str, own: list[Slice], gone: list[Account], by: StatisticsBy, limit: int) -> WorkHere:
    lives: dict[tuple[NodeId, str], list[Account]] = defaultdict(list)
    for account in gone:
        lives[account.key.master, account.key.life].append(account)
    kept = [
        GoneWork(
            master=master,
            life=theirs,
            version=sum(account.version for account in accounts),
            **_work([(account.key.slice, account.figures) for account in accounts], by, limit),
        )
        for (master, theirs), accounts in sorted(lives.items())
    ]
    return WorkHere(life=life, gone=kept, **_work([(each.name, each.figures) for each in own], by, limit))


class _WorkRows(TypedDict):
    rows: PlainRows
    total: dict[str, int]


def _work(slices: list[tuple[str, Mapping[str, int]]], by: StatisticsBy, limit: int) -> _WorkRows:
    rows = first_rows(slice_rows(slices, by), by, ROWS_MAX if by is StatisticsBy.ERROR else limit)
    days = added_rows([{"": figures} for name, figures in slices if name.startswith("d")])
    return _WorkRows(rows={name: dict(row) for name, row in rows.items()}, total=dict(days.get("", ())))


def latest_gone(parts: Mapping[NodeId, WorkHere]) -> Iterable[GoneWork]:
    """Returns the work of those that do not speak for themselves, of each life what is known latest."""
    latest: dict[tuple[NodeId, str], GoneWork] = {}
    for part in parts.values():
        for work in part["gone"]:
            whose = work["master"], work["life"]
            if whose[0] in parts and parts[whose[0]]["life"] == whose[1]:
                continue
            if whose not in latest or work["version"] > latest[whose]["version"]:
                latest[whose] = work
    return latest.values()


def _asked(arguments: Mapping[str, Any]) -> tuple[StatisticsBy, int]:
    by = str(arguments.get("by") or StatisticsBy.HOUR)
    if by not in {each.value for each in StatisticsBy}:
        raise ConfigurationError(f"statistics are by {', '.join(StatisticsBy)}, not by {by!r:.40}")
    return StatisticsBy(by), whole_number(arguments, "limit", ROWS, ROWS_MAX)


def _row(name: str, by: StatisticsBy, figures: Mapping[str, int]) -> StatisticsRow:
    errors = Counter[str]()
    for figure, count in figures.items():
        if ":" in figure:
            errors[figure.partition(":")[2]] += count
    timed = by in (StatisticsBy.HOUR, StatisticsBy.DAY) and name.isdigit()
    return StatisticsRow(
        name=name,
        at=int(name) if timed else None,
        pages=figures.get("pages", 0),
        items=figures.get("items", 0),
        bytes=figures.get("bytes", 0),
        fetches=figures.get("fetches", 0),
        failed=figures.get("failed", 0),
        retries=figures.get("retries", 0),
        errors=dict(errors.most_common()),
    )
