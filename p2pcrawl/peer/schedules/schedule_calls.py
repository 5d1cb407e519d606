"""The calls by which people make schedules, look at them and steer them; any master does what is asked."""

from __future__ import annotations

import time
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, TypedDict, TypeVar

from p2pcrawl.core.ring.rendezvous import bucket_of_hash, key_hash
from p2pcrawl.core.scheduling.calendar import Calendar
from p2pcrawl.core.scheduling.schedule_order import steered_schedule
from p2pcrawl.master.cluster import Cluster
from p2pcrawl.master.schedules.schedule_book import task_digest
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.cluster.schedule import (
    KEEP_MAX,
    Missed,
    Overlap,
    RunOutcome,
    Schedule,
    ScheduledRun,
    ScheduleState,
)
from p2pcrawl.model.errors import ConfigurationError, NotNow, NotThere, P2PCrawlError
from p2pcrawl.peer.answers.called_jobs import check_label
from p2pcrawl.peer.answers.submission import flag_of
from p2pcrawl.peer.schedules.beginning import Beginning, TakesCrawls
from p2pcrawl.peer.schedules.scheduled_task import ScheduledTask, asked_task
from p2pcrawl.wire.sealed.at_rest import RestSeal

E = TypeVar("E", bound=StrEnum)

NEXT: Final = 3
"""Moments to come that are told."""


class RunTold(TypedDict):
    """A run of a schedule. ``at``: the moment that it stands for; ``state``: how its job stands."""

    at: float
    outcome: str
    job: int
    state: str
    why: str
    by_hand: bool


class ScheduleAnswer(TypedDict):
    """A schedule: what it does, when, and what became of its last runs. ``missing`` will learn of a change later."""

    name: str
    state: str
    does: str
    cron: str
    zone: str
    overlap: str
    missed: str
    keep: int
    since: float
    owner: NodeId
    next: list[float]
    runs: list[RunTold]
    missing: list[NodeId]


class SchedulesAnswer(TypedDict):
    """All schedules, by name."""

    schedules: list[ScheduleAnswer]


class ScheduleCalls:
    """Does what people ask of schedules."""

    ASKED: Final = frozenset({"schedules", "schedule"})
    TOLD: Final = frozenset({"schedule-add", "schedule-pause", "schedule-resume", "schedule-remove", "schedule-run"})

    def __init__(self, cluster: Cluster, acceptance: TakesCrawls, beginning: Beginning, seal: RestSeal) -> None:
        self._book = cluster.schedules
        self._jobs = cluster.master.jobs
        self._ownership = cluster.ownership
        self._acceptance = acceptance
        self.beginning = beginning
        self._seal = seal

    def ask(self, what: str, arguments: Mapping[str, Any]) -> Any:
        """Answers a question. Raises ConfigurationError."""
        if what == "schedules":
            return SchedulesAnswer(schedules=[self._told(each) for each in self._book.known])
        return self._told(self._called(arguments))

    async def tell(self, what: str, arguments: Mapping[str, Any]) -> Any:
        """Does something. Raises ConfigurationError for what cannot be."""
        if what == "schedule-add":
            return await self._add(arguments)
        schedule = self._called(arguments)
        if what == "schedule-run":
            return await self._run_now(schedule)
        state = {
            "schedule-pause": ScheduleState.PAUSED,
            "schedule-resume": ScheduleState.ACTIVE,
            "schedule-remove": ScheduleState.REMOVED,
        }[what]
        if schedule.state is state:
            return self._told(schedule)
        after = steered_schedule(schedule, state, _now())
        missing = await self._book.put(after)
        return {**self._told(after), "missing": missing}

    # -- inside -------------------------------------------------------------------------------

    async def _add(self, arguments: Mapping[str, Any]) -> ScheduleAnswer:
        name, cron = str(arguments.get("name", "")), str(arguments.get("cron", ""))
        check_schedule_name(name)
        now, zone = _now(), str(arguments.get("zone") or "UTC")
        if Calendar(cron, zone).after(now) is None:
            raise ConfigurationError(f"{cron!r:.80} has no moment in the next fifty years")
        known = self._book.of(name)
        if known is not None and not known.removed and not flag_of(arguments, "replace"):
            raise ConfigurationError(
                f"there is a schedule {name} already: --replace takes its place, `p2pcrawl schedule remove {name}` "
                "ends it"
            )
        task = asked_task(arguments.get("crawl"), arguments.get("inject"))
        overlap = _chosen(Overlap, arguments, "overlap", Overlap.SKIP)
        await self._check(task)
        packed = task.packed()
        schedule = Schedule(
            name=name,
            generation=known.generation + 1 if known is not None else 1,
            version=1,
            state=ScheduleState.ACTIVE,
            since=now,
            cron=cron,
            zone=zone,
            # URLs that are put into a job leave nothing behind that could go on.
            overlap=overlap if task.crawl is not None else Overlap.ALLOW,
            missed=_chosen(Missed, arguments, "missed", Missed.ONCE),
            summary=task.summary,
            digest=task_digest(packed),
            # Those that wait were to run what it did before.
            runs=tuple(run for run in known.runs if run.outcome is not RunOutcome.WAITING) if known is not None else (),
            keep=_kept(arguments),
        )
        missing = await self._book.put(schedule, packed, task.sealed(self._seal, name))
        return {**self._told(schedule), "missing": missing}

    async def _check(self, task: ScheduledTask) -> None:
        """Raises ConfigurationError for a crawl that cannot be run, now rather than at night."""
        if task.crawl is not None:
            await self._acceptance.try_out(task.crawl)

    async def _run_now(self, schedule: Schedule) -> RunTold:
        taken = {run.tick for run in schedule.runs if run.by_hand}
        tick = _now()
        while tick in taken:
            tick += 1
        run = await self.beginning.begin(schedule, tick, by_hand=True)
        if run.outcome is RunOutcome.REFUSED:
            raise NotNow(f"schedule {schedule.name} could not be run: {run.why}")
        return self._run_told(run)

    def _called(self, arguments: Mapping[str, Any]) -> Schedule:
        name = str(arguments.get("schedule", ""))
        schedule = self._book.of(name)
        if schedule is None or schedule.removed:
            raise NotThere(f"there is no schedule {name!r:.80}; `p2pcrawl schedule list` names them")
        return schedule

    def _told(self, schedule: Schedule) -> ScheduleAnswer:
        return ScheduleAnswer(
            name=schedule.name,
            state=schedule.state,
            does=schedule.summary,
            cron=schedule.cron,
            zone=schedule.zone,
            overlap=schedule.overlap,
            missed=schedule.missed,
            keep=schedule.keep,
            since=schedule.since / 1_000,
            owner=self._ownership.owner_id(bucket_of_hash(key_hash(schedule.name))),
            next=_upcoming(schedule),
            runs=[self._run_told(run) for run in schedule.runs],
            missing=[],
        )

    def _run_told(self, run: ScheduledRun) -> RunTold:
        job = self._jobs.get(run.job)
        return RunTold(
            at=run.tick / 1_000,
            outcome=run.outcome,
            job=run.job,
            state=job.state if job is not None else "",
            why=run.why,
            by_hand=run.by_hand,
        )


def check_schedule_name(name: str) -> None:
    """Raises ConfigurationError for what cannot be the name of a schedule: its jobs are called so."""
    try:
        check_label(name)
    except P2PCrawlError as error:
        raise ConfigurationError(f"{str(error).replace('a job', 'a schedule', 1)}") from None


def _upcoming(schedule: Schedule) -> list[float]:
    if schedule.state is not ScheduleState.ACTIVE:
        return []
    calendar, found, moment = Calendar(schedule.cron, schedule.zone), list[float](), max(_now(), schedule.since)
    while len(found) < NEXT and (following := calendar.after(moment)) is not None:
        found.append(following / 1_000)
        moment = following
    return found


def _kept(arguments: Mapping[str, Any]) -> int:
    keep = arguments.get("keep", 0)
    if not isinstance(keep, int) or isinstance(keep, bool) or not 0 <= keep <= KEEP_MAX:
        raise ConfigurationError(
            f"keep is how many jobs of the last runs stay: 1 to {KEEP_MAX}, or 0 for all that there will ever be"
        )
    return keep


def _chosen(kind: type[E], arguments: Mapping[str, Any], name: str, default: E) -> E:
    value = arguments.get(name) or default
    try:
        return kind(value)
    except ValueError:
        raise ConfigurationError(f"{name} is {' or '.join(kind)}, not {value!r:.40}") from None


def _now() -> int:
    return int(time.time() * 1_000)
