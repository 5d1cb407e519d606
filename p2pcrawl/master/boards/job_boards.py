"""The boards of a job as its master sees them, and what pages of each are called by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

from p2pcrawl.master.jobs.job import Job
from p2pcrawl.model.boards.job_board import JobBoard, mark_of
from p2pcrawl.model.crawl.domains import read_domains, sites_of
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.boards.board import Board, Limits
from p2pcrawl.spiders.boards.joint_spider import read_named
from p2pcrawl.spiders.boards.shared_settings import first_board
from p2pcrawl.spiders.extracting.wanted import in_domains

_read = lru_cache(maxsize=256)(read_named)


@dataclass(frozen=True, slots=True)
class KnownBoard:
    """A board of a job, read. ``mark``: the callback of its pages."""

    name: str
    mark: str
    version: JobBoard
    board: Board

    @property
    def is_limited(self) -> bool:
        """True if it may come to an end before its job does."""
        limits = self.board.limits
        return bool(limits.pages or limits.items or limits.seconds)

    @property
    def domains(self) -> Sequence[str]:
        """The hosts that it stays within."""
        return read_domains(self.board.domains)[0] or sites_of(self.board.entries)


def boards_of(job: Job) -> dict[str, KnownBoard]:
    """Returns the boards of a job by their names, with those that were taken away; none where its spider is no board.
    One that cannot be read is left out: no peer of ours has sent it.
    """
    spec = job.spec
    first = None if spec.name in spec.boards else first_board(spec.name, spec.spider.file, spec.code)
    whole = dict(spec.boards) if first is None else {spec.name: first, **spec.boards}
    found = {}
    for name, version in whole.items():
        try:
            found[name] = KnownBoard(name, mark_in(job, name), version, _read(name, version.text))
        except ConfigurationError:
            continue
    return found


def mark_in(job: Job, name: str) -> str:
    """Returns the callback of a board's pages in a job: the first board's pages were there before any other's."""
    return "" if name == job.spec.name else mark_of(name)


def note_late(job: Job, marks: Collection[str]) -> None:
    """Takes note of links that come with these callbacks: where their board is none any more, they come behind its
    end, and its queue is to be dropped once more.
    """
    job.late.update(name for name, board in job.spec.boards.items() if board.closed and mark_in(job, name) in marks)


def mark_for(job: Job, url: str) -> str:
    """Returns the callback of a page that somebody puts into a job: of the board within whose domains it is."""
    if not job.spec.boards:
        return ""
    known = [each for each in boards_of(job).values() if not each.version.closed]
    within = (each.mark for each in known if in_domains(url, each.domains))
    return next(within, known[0].mark if known else "")


def counts_in(stats: dict[str, int]) -> dict[str, Counter[str]]:
    """Reads from the stats of a job what each of its boards has brought: pages, and items."""
    found: dict[str, Counter[str]] = {}
    for key, count in stats.items():
        kind, _, rest = key.partition("/")
        name, _, what = rest.rpartition("/")
        if kind == "boards" and what in ("pages", "items"):
            found.setdefault(name, Counter())[what] = count
    return found


def limit_of(limits: Limits, counts: Counter[str], ran_s: float) -> str:
    """Returns the limit that a board has reached, as people read it, or ""."""
    for name, limit, now in (
        ("pages", limits.pages, counts["pages"]),
        ("items", limits.items, counts["items"]),
        ("seconds", limits.seconds, ran_s),
    ):
        if limit and now >= limit:
            return f"limits.{name}"
    return ""
