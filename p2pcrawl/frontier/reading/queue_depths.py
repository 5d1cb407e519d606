"""The lengths of the queues of hosts, read beside who writes them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from p2pcrawl.frontier.database.schema import MappedErrors, open_for_reading
from p2pcrawl.model.crawl.url import host_of

DEPTHS_MAX = 50_000
"""Pairs of a job and a host of which the lengths are told: the longest ones."""

_QUEUES = "SELECT job, host, count(*) AS n FROM queue GROUP BY job, host UNION ALL"
_BOTH = f"{_QUEUES} {_QUEUES.replace('FROM queue', 'FROM queue_young').removesuffix(' UNION ALL')}"


@dataclass(frozen=True, slots=True)
class QueueDepths:
    """The lengths as they were at one moment, what is in slaves' hands counted in: by job, and by the keys of hosts."""

    by_job: dict[int, Counter[int]] = field(default_factory=dict)
    all_jobs: Counter[int] = field(default_factory=Counter)
    hosts: dict[int, int] = field(default_factory=dict)
    """How many hosts of each job have anything queued."""
    total: int = 0
    """How many hosts have."""

    def of(self, job: int | None) -> Counter[int]:
        """Returns those of a job, or of all."""
        return self.all_jobs if job is None else self.by_job.get(job, Counter())

    def total_of(self, job: int | None) -> int:
        """Returns how many hosts of a job, or of all, have anything queued."""
        return self.total if job is None else self.hosts.get(job, 0)


def queue_depths(folder: Path) -> QueueDepths:
    """Counts all queues. Costs a look at each place in them, by an index. Raises as every reading of a data folder
    does.
    """
    connection = open_for_reading(folder)
    try:
        with MappedErrors(folder):
            connection.execute(f"CREATE TEMP TABLE depth AS SELECT job, host, sum(n) AS n FROM ({_BOTH}) GROUP BY 1, 2")
            hosts = dict(connection.execute("SELECT job, count(*) FROM depth GROUP BY job").fetchall())
            (total,) = connection.execute("SELECT count(DISTINCT host) FROM depth").fetchone()
            by_job, all_jobs = defaultdict[int, Counter[int]](Counter), Counter[int]()
            rows = connection.execute("SELECT job, host, n FROM depth ORDER BY n DESC LIMIT ?", (DEPTHS_MAX,))
            for job, host, depth in rows:
                by_job[job][host] = depth
                all_jobs[host] += depth
            return QueueDepths(dict(by_job), all_jobs, hosts, total)
    finally:
        connection.close()


def names_of(folder: Path, hosts: Iterable[tuple[int, int]]) -> dict[int, str]:
    """Returns the names of hosts, each given by a job and its key, by the URL of a page that is queued there."""
    connection = open_for_reading(folder)
    found: dict[int, str] = {}
    try:
        with MappedErrors(folder):
            for job, host in hosts:
                for queue in ("queue", "queue_young"):
                    first = f"SELECT id FROM {queue} WHERE job = ? AND host = ? LIMIT 1"
                    row = connection.execute(f"SELECT url FROM record WHERE id = ({first})", (job, host)).fetchone()
                    if row is not None:
                        found[host] = host_of(row[0])
                        break
            return found
    finally:
        connection.close()
