"""The messages by which masters tell each other of schedules; see :mod:`p2pcrawl.core.scheduling.schedule_order`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from p2pcrawl.model.cluster.schedule import (
    CRON_CHARS_MAX,
    KEEP_MAX,
    RUNS_KEPT,
    SCHEDULES_MAX,
    TASK_BYTES_MAX,
    WAITING_MAX,
    WHY_CHARS_MAX,
    ZONE_CHARS_MAX,
    Missed,
    Overlap,
    RunOutcome,
    ScheduleState,
)
from p2pcrawl.model.crawl.job import LABEL_MAX
from p2pcrawl.model.crawl.sink_spec import SINK_SECRET_MAX, SINKS_MAX
from p2pcrawl.wire.messages.ask import PeerReply, PeerRequest
from p2pcrawl.wire.messages.bounds import Count
from p2pcrawl.wire.messages.slave_messages import Record

ScheduleName = Annotated[str, Meta(min_length=1, max_length=LABEL_MAX)]
Mark = Annotated[bytes, Meta(min_length=8, max_length=8)]


class WireRun(Record):
    """A run of a schedule."""

    tick: Count
    outcome: RunOutcome
    job: Count = 0
    why: Annotated[str, Meta(max_length=WHY_CHARS_MAX)] = ""
    by_hand: bool = False


class WireSchedule(Record):
    """A schedule, without what it does."""

    name: ScheduleName
    generation: Count
    version: Count
    state: ScheduleState
    since: Count
    cron: Annotated[str, Meta(max_length=CRON_CHARS_MAX)]
    zone: Annotated[str, Meta(max_length=ZONE_CHARS_MAX)]
    overlap: Overlap
    missed: Missed
    summary: Annotated[str, Meta(max_length=WHY_CHARS_MAX)]
    digest: Annotated[bytes, Meta(max_length=32)]
    runs: Annotated[list[WireRun], Meta(max_length=RUNS_KEPT + KEEP_MAX + WAITING_MAX)]
    keep: Annotated[int, Meta(ge=0, le=KEEP_MAX)] = 0


class SchedulesDiffering(PeerReply, tag=81):
    """The schedules of which the receiver knows something else, or nothing."""

    names: list[ScheduleName] = []


class ScheduleMarks(PeerRequest[SchedulesDiffering], tag=80):
    """The sender's schedules, each with what it knows of it in short. Answered with those of which the receiver knows
    something else.
    """

    marks: Annotated[dict[ScheduleName, Mark], Meta(max_length=SCHEDULES_MAX)]


class ScheduleMirrored(PeerReply, tag=83):
    """The schedule is durable; or it is not, for the receiver ``lacks`` what it does."""

    lacks: bool = False


class MirrorSchedule(PeerRequest[ScheduleMirrored], tag=82):
    """A schedule that every master keeps. What it does follows only if the receiver lacks it: that may be long."""

    schedule: WireSchedule
    task: Annotated[bytes, Meta(max_length=TASK_BYTES_MAX)] | None = None
    secrets: Annotated[bytes, Meta(max_length=5 * SINKS_MAX * SINK_SECRET_MAX)] = b""
