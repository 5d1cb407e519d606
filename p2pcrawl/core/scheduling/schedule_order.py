"""The order of schedules: says what counts when masters know different things of one.

All masters know all schedules, and hear of changes late, twice and in any order. A schedule has a *head*, which people
change, and *runs*, which only ever become more. Of two heads the greater one counts: first by generation, which is
raised when somebody makes a schedule anew under a name, then by version, then by state. Removing has the greatest
version there is, so that no change made elsewhere in ignorance of it undoes it; only a new generation comes after it.
Runs of one generation are joined: of each moment the outcome that says more, and the last of all. So what masters know
merges in any order to the same.

Nothing that must not happen twice hangs on this. The number of a run's job is made of the schedule and the moment alone
(:func:`run_number`): whoever begins a run that another master has begun, and could tell nobody of, begins the same job.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import astuple, replace
from hashlib import blake2b

from p2pcrawl.core.control import FINAL
from p2pcrawl.model.cluster.schedule import KEEP_MAX, RUNS_KEPT, RunOutcome, Schedule, ScheduledRun, ScheduleState

_STATES = list(ScheduleState)
_OUTCOMES = list(RunOutcome)
_Key = tuple[int, bool]


def merged_schedule(one: Schedule, other: Schedule) -> Schedule:
    """Returns what counts of two of one name."""
    head = max(one, other, key=_rank)
    runs = [run for each in (one, other) if each.generation == head.generation for run in each.runs]
    return replace(head, runs=() if head.removed else joined_runs(runs))


def joined_runs(runs: Iterable[ScheduledRun]) -> tuple[ScheduledRun, ...]:
    """Returns the last of these runs, by their moments: of each what says most. Those that wait are all kept, and the
    last ones that began a job, however many that began none came after them.
    """
    newest: dict[_Key, ScheduledRun] = {}
    for run in runs:
        key = (run.tick, run.by_hand)
        newest[key] = max(newest.get(key, run), run, key=lambda each: (_OUTCOMES.index(each.outcome), each))
    ordered = sorted(newest.values())
    begun = [run for run in ordered if run.outcome is RunOutcome.STARTED][-KEEP_MAX:]
    kept = {*ordered[-RUNS_KEPT:], *begun}
    return tuple(run for run in ordered if run in kept or run.outcome is RunOutcome.WAITING)


def with_run(schedule: Schedule, run: ScheduledRun) -> Schedule:
    """Returns the schedule with one more run, or with what has become of one."""
    return replace(schedule, runs=joined_runs([*schedule.runs, run]))


def steered_schedule(schedule: Schedule, state: ScheduleState, now: int) -> Schedule:
    """Returns the schedule in another state from now on. What was due while it was paused is not made up for; of a
    removed one only its name is left.
    """
    if state is ScheduleState.REMOVED:
        bare = replace(schedule, cron="", zone="", summary="", digest=b"", runs=())
        return replace(bare, state=state, version=FINAL, since=now)
    since = now if state is ScheduleState.ACTIVE else schedule.since
    return replace(schedule, state=state, version=min(schedule.version + 1, FINAL - 1), since=since)


def schedule_mark(schedule: Schedule) -> bytes:
    """Returns a short value that is equal at all masters that know the same of a schedule."""
    return blake2b(repr(astuple(schedule)).encode(), digest_size=8).digest()


def schedules_marks(schedules: Mapping[str, Schedule]) -> dict[str, bytes]:
    """Returns the mark of each."""
    return {name: schedule_mark(schedule) for name, schedule in schedules.items()}


def run_number(schedule: Schedule, tick: int, *, by_hand: bool = False) -> int:
    """Returns the number of the job that a run of the schedule at a moment is."""
    told = repr((schedule.name, schedule.generation, schedule.digest, tick, by_hand))
    return int.from_bytes(blake2b(told.encode(), digest_size=8).digest()) % ((1 << 52) - 1) + 1


def _rank(schedule: Schedule) -> tuple[int, int, int, str]:
    rest = repr(astuple(replace(schedule, runs=())))
    return schedule.generation, schedule.version, _STATES.index(schedule.state), rest
