"""What masters know of a schedule merges to the same in any order; removing it is final but for a new one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from p2pcrawl.core.scheduling.schedule_order import (
    joined_runs,
    merged_schedule,
    run_number,
    schedule_mark,
    steered_schedule,
    with_run,
)
from p2pcrawl.model.cluster.schedule import RUNS_KEPT, RunOutcome, Schedule, ScheduledRun, ScheduleState
from tests.unit.core.scheduling.schedules import MINUTE, run, schedule

runs = st.lists(
    st.builds(
        ScheduledRun,
        st.integers(0, 6),
        st.sampled_from(RunOutcome),
        st.integers(0, 2),
        st.sampled_from(["", "why"]),
        st.booleans(),
    ),
    max_size=6,
).map(joined_runs)


@st.composite
def schedules(draw: Any) -> Schedule:
    state = draw(st.sampled_from(ScheduleState))
    made = schedule(
        generation=draw(st.integers(1, 2)),
        version=draw(st.integers(1, 3)),
        since=draw(st.integers(0, 2)),
        digest=draw(st.sampled_from([b"a", b"b"])),
        runs=draw(runs),
    )
    return steered_schedule(made, state, 5) if state is ScheduleState.REMOVED else replace(made, state=state)


@given(schedules(), schedules(), schedules())
def test_what_counts_is_the_same_in_whatever_order_it_is_heard(one: Schedule, other: Schedule, third: Schedule) -> None:
    assert merged_schedule(one, other) == merged_schedule(other, one)
    assert merged_schedule(merged_schedule(one, other), third) == merged_schedule(one, merged_schedule(other, third))
    assert merged_schedule(one, one) == one


@given(schedules(), schedules())
def test_equal_marks_mean_equal_knowledge(one: Schedule, other: Schedule) -> None:
    assert (schedule_mark(one) == schedule_mark(other)) == (one == other)


def test_removing_counts_more_than_what_others_have_changed_meanwhile() -> None:
    removed = steered_schedule(schedule(runs=(run(101),)), ScheduleState.REMOVED, 7)
    busy = schedule(version=90, runs=(run(102),))

    assert merged_schedule(busy, removed) == removed
    assert removed.runs == () and removed.digest == b""


def test_schedule_that_is_made_anew_under_a_name_comes_after_the_removed_one() -> None:
    removed = steered_schedule(schedule(), ScheduleState.REMOVED, 7)
    again = schedule(generation=2)

    assert merged_schedule(removed, again) == again


def test_run_that_has_begun_counts_more_than_what_else_was_thought_of_it() -> None:
    here = schedule(runs=(run(101, RunOutcome.SKIPPED), run(102)))
    there = schedule(runs=(run(101, job=7), run(103, RunOutcome.WAITING)))

    assert merged_schedule(here, there).runs == (run(101, job=7), run(102), run(103, RunOutcome.WAITING))


def test_last_runs_are_kept_and_all_that_wait() -> None:
    known = schedule(runs=(run(1, RunOutcome.WAITING),))
    for minute in range(2, RUNS_KEPT + 10):
        known = with_run(known, run(minute))

    assert len(known.runs) == RUNS_KEPT + 1
    assert known.runs[0] == run(1, RunOutcome.WAITING)
    assert known.runs[-1] == run(RUNS_KEPT + 9)


def test_schedule_that_goes_on_does_not_make_up_for_its_rest() -> None:
    paused = steered_schedule(schedule(), ScheduleState.PAUSED, 200 * MINUTE)
    resumed = steered_schedule(paused, ScheduleState.ACTIVE, 300 * MINUTE)

    assert paused.since == 100 * MINUTE
    assert resumed.since == 300 * MINUTE
    assert merged_schedule(paused, resumed) == resumed


def test_number_of_a_run_is_that_of_its_moment_and_of_nothing_that_changes() -> None:
    known = schedule()

    assert run_number(known, 1_000) == run_number(with_run(replace(known, version=9), run(3)), 1_000)
    assert len({run_number(known, tick) for tick in range(0, 100_000, 1_000)}) == 100
    assert run_number(known, 1_000) != run_number(replace(known, generation=2), 1_000)
    assert run_number(known, 1_000) != run_number(known, 1_000, by_hand=True)
    assert all(0 < run_number(known, tick) < 1 << 52 for tick in range(100))
