"""Controls of what is put into a cluster while it runs: URLs into a job, and the runs of schedules."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from random import Random

from p2pcrawl.core.scheduling.due_runs import DueRuns
from p2pcrawl.frontier.records import cleared
from p2pcrawl.frontier.records.batch import EnteredRow
from p2pcrawl.master.injection import Injection
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.master.steering import Steering
from p2pcrawl.model.cluster.schedule import Schedule
from p2pcrawl.peer.acceptance import Acceptance
from p2pcrawl.peer.answers.submission import Submission
from p2pcrawl.peer.schedules.firing import Firing

from ..play.options import Options
from .making.control import LIMIT_S, LONG_S, Control
from .making.swaps import swap

# -- injected-unsettled: the call is answered before its URLs are safe with anybody ------------

_bring = Injection._bring
LATER_S = 0.5


async def _bring_later(self: Injection, job: Job, urls: Sequence[str]) -> None:
    async def bring() -> None:
        await asyncio.sleep(LATER_S)
        await _bring(self, job, urls)

    self.left = asyncio.create_task(bring())  # type: ignore[attr-defined]


# -- links-for-good: what was met as a link is none of the entries, whoever puts it into the job ---


def _enter_nothing(db: sqlite3.Connection, records: Sequence[int]) -> list[EnteredRow]:
    return []


# -- injected-closed: nobody opens a finished job again for what was put into it ---------------


async def _leave_closed(self: Injection, job: Job) -> None:
    pass


def _no_news(self: Steering, job: Job) -> bool:
    return False


# -- run-renumbered: whoever begins a run gives its job a number of its own ---------------------

_dice = Random(7)
_begin_numbered = Acceptance.begin_numbered


async def _begin_any(self: Acceptance, submission: Submission, number: int, at_ms: int) -> Job:
    return await _begin_numbered(self, submission, _dice.randrange(1, 1 << 52), at_ms)


# -- run-dropped: a run whose moment has passed is not begun any more --------------------------

_due = Firing._due


def _on_time_only(self: Firing, schedule: Schedule, now: int) -> DueRuns:
    due = _due(self, schedule, now)
    return DueRuns(tuple(tick for tick in due.begin if tick > now - 1_000), due.passed)


_SMALL = Options(scenario="inject", masters=3, pages=60, hosts=10, private=0.5, seed=1, limit_s=LIMIT_S)
_MINUTES = Options(scenario="scheduled", masters=3, pages=40, hosts=8, seed=1, limit_s=2.5 * LONG_S)

CONTROLS = {
    "injected-unsettled": Control(
        "a call that puts URLs into a job is answered before they are safe",
        "coverage",
        _SMALL,
        (swap(Injection._bring, _bring_later),),
    ),
    "links-for-good": Control(
        "a URL that was met as a link stays one when people put it into the job",
        "entries",
        Options(masters=3, pages=40, hosts=8, seed=1, limit_s=LIMIT_S, draws=("verbs",)),
        (swap(cleared.enter, _enter_nothing),),
    ),
    "links-settled-for-entries": Control(
        "what people put into a job is said to be safe where it is known as a link",
        "acknowledged",
        Options(masters=3, pages=40, hosts=8, seed=1, limit_s=LIMIT_S, draws=("verbs",)),
        (swap(cleared.enter, _enter_nothing),),
    ),
    "injected-closed": Control(
        "a finished job into which URLs are put stays finished",
        "coverage",
        _SMALL,
        (swap(Injection._open_again, _leave_closed), swap(Steering._has_news, _no_news)),
    ),
    "run-renumbered": Control(
        "the job of a scheduled run has another number with each master that begins it",
        "scheduled",
        _MINUTES,
        (swap(Acceptance.begin_numbered, _begin_any),),
    ),
    "run-dropped": Control(
        "a scheduled run is left out if its owner has just died",
        "scheduled",
        _MINUTES,
        (swap(Firing._due, _on_time_only),),
    ),
}
