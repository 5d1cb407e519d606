"""The work that the slaves of a master have reported since it started: figures that only ever grow.

A job's counters say how its records stand here, so they jump when buckets move. These do not: they are counted where
reports become a batch, before anybody else's rows come to it. How fast a crawl goes is told by them alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from p2pcrawl.core.meters.histogram import Histogram

FETCH_BOUNDS_S: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 180.0)
WORK: Final = ("pages", "items", "bytes", "fetches", "done", "failed", "dropped", "retries", "losses")
"""The figures that are kept beside the classes of statuses; those of a batch's tallies with these names."""
ENDED: Final = ("done", "failed", "dropped")
"""The figures of records that left their queues."""
ERRORS: Final = ("retries", "failed")
"""The figures of fetches that went wrong: those that are tried again, and those of pages that failed for good."""


class Meters:
    """Counts the work on each job, and how long hosts took to answer."""

    def __init__(self) -> None:
        self.jobs: defaultdict[int, Counter[str]] = defaultdict(Counter)
        self.whole: Counter[str] = Counter()
        """Of all jobs that there were."""
        self.answers_s = Histogram(FETCH_BOUNDS_S)

    def count(self, tallies: Mapping[int, Mapping[str, int]]) -> None:
        """Counts the work of one turn."""
        for job, tally in tallies.items():
            known = self.jobs[job]
            for name, number in tally.items():
                if name.startswith("statuses:"):
                    name = status_class(name[9:])
                elif name not in WORK:
                    continue
                known[name] += number
                self.whole[name] += number

    def keep(self, jobs: Iterable[int]) -> None:
        """Forgets the jobs that are not among these any more; what was worked on them stays in the whole."""
        for gone in self.jobs.keys() - set(jobs):
            del self.jobs[gone]


def status_class(status: str) -> str:
    """Returns the class that an HTTP status is of: "404" is one of ``status_4xx``."""
    return f"status_{status[0]}xx" if len(status) == 3 and status[0] in "12345" else "status_other"
