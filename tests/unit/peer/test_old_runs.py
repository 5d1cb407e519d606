"""Jobs of a schedule's old runs go, and nothing else does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from p2pcrawl.core.control import CANCELLED, DELETED, FINISHED, RUNNING
from p2pcrawl.core.scheduling.schedule_order import joined_runs
from p2pcrawl.master.jobs.job import Job, job_of
from p2pcrawl.model.cluster.schedule import (
    KEEP_MAX,
    RUNS_KEPT,
    Missed,
    Overlap,
    RunOutcome,
    Schedule,
    ScheduledRun,
    ScheduleState,
)
from p2pcrawl.model.crawl.job import JobId, JobSpec, SpiderRef
from p2pcrawl.peer.schedules.old_runs import AT_ONCE, OldRuns


def run(number: int, outcome: RunOutcome = RunOutcome.STARTED) -> ScheduledRun:
    return ScheduledRun(1_000 * number, outcome, number if outcome is RunOutcome.STARTED else 0)


def schedule(*runs: ScheduledRun, keep: int = 2) -> Schedule:
    state, rules = ScheduleState.ACTIVE, (Overlap.SKIP, Missed.ONCE)
    return Schedule("news", 1, 1, state, 0, "* * * * *", "UTC", *rules, "", b"", runs, keep)


def job(number: int, state: str = FINISHED, *, label: str = "news", submitted: int = 0) -> Job:
    made = job_of(JobSpec(JobId(number), "press", SpiderRef(), label=label, submitted=submitted or 1_000 * number))
    made.state = state
    return made


async def deleted(kept: Schedule, jobs: Sequence[Job], *, waiting: int = 0, away: Sequence[str] = ()) -> list[int]:
    gone = list[int]()

    async def told(asked: Sequence[Job]) -> list[dict[str, Any]]:
        return [{"away": away, "sinks": [{"waiting": waiting}]} for _ in asked]

    async def delete(each: Job) -> None:
        gone.append(each.id)

    await OldRuns({each.id: each for each in jobs}, told, delete).tidy(kept)
    return sorted(gone)


async def test_jobs_of_runs_before_the_last_ones_go() -> None:
    assert await deleted(schedule(*map(run, range(1, 6))), [job(n) for n in range(1, 6)]) == [1, 2, 3]


async def test_job_that_is_not_over_stays_and_counts() -> None:
    states = {1: RUNNING, 2: FINISHED, 3: RUNNING, 4: CANCELLED, 5: DELETED, 6: FINISHED}

    assert await deleted(schedule(*map(run, states)), [job(*each) for each in states.items()]) == [2]


@pytest.mark.parametrize(
    "theirs", [job(1, label="other"), job(1, submitted=999), job(1, label="")], ids=["other", "fed", "nameless"]
)
async def test_job_that_no_run_began_stays_though_a_run_names_it(theirs: Job) -> None:
    assert await deleted(schedule(*map(run, range(1, 4))), [theirs, job(2), job(3)]) == []


@pytest.mark.parametrize("why", [{"waiting": 1}, {"away": ["m2"]}])
async def test_job_stays_while_a_sink_waits_for_its_items_or_a_master_is_away(why: dict[str, Any]) -> None:
    assert await deleted(schedule(*map(run, range(1, 6))), [job(n) for n in range(1, 6)], **why) == []


async def test_schedule_that_keeps_all_deletes_nothing_and_others_some_at_a_time() -> None:
    runs, jobs = list(map(run, range(1, 40))), [job(n) for n in range(1, 40)]

    assert await deleted(schedule(*runs, keep=0), jobs) == []
    assert await deleted(schedule(*runs), jobs) == list(range(1, AT_ONCE + 1))


def test_runs_that_began_a_job_are_known_however_many_began_none_after_them() -> None:
    begun = [run(number) for number in range(1, KEEP_MAX + 9)]
    none = [run(1_000 + number, RunOutcome.SKIPPED) for number in range(3 * RUNS_KEPT)]

    kept = joined_runs([*begun, *none])

    assert list(kept) == [*begun[-KEEP_MAX:], *none[-RUNS_KEPT:]]
    assert joined_runs([*kept, *begun]) == kept
