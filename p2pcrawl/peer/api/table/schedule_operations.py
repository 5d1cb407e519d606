"""Operations on schedules: make, look, steer, and run one out of its turn."""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec

from p2pcrawl.model.cluster.schedule import CRON_CHARS_MAX, KEEP_MAX, ZONE_CHARS_MAX, Missed, Overlap
from p2pcrawl.model.crawl.job import LABEL_MAX
from p2pcrawl.peer.api.table.job_operations import SubmittedCrawl
from p2pcrawl.peer.api.table.operation import Operation, Parameter, Rank, RequestPart
from p2pcrawl.peer.schedules.schedule_calls import RunTold, ScheduleAnswer, SchedulesAnswer

_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=LABEL_MAX)]
_SCHEDULE = Parameter("schedule", _Name, "the schedule's name", RequestPart.PATH, required=True)


class FedUrls(msgspec.Struct, forbid_unknown_fields=True):
    """URLs that are put into a job each time, and the job, as people call it."""

    job: str
    urls: list[str]


class NewSchedule(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A schedule to make: when, in a time zone, and either a crawl to submit, or URLs to inject into a job."""

    name: _Name
    cron: Annotated[str, msgspec.Meta(min_length=1, max_length=CRON_CHARS_MAX)]
    zone: Annotated[str, msgspec.Meta(max_length=ZONE_CHARS_MAX)] = "UTC"
    crawl: SubmittedCrawl | None = None
    inject: FedUrls | None = None
    overlap: Overlap = Overlap.SKIP
    missed: Missed = Missed.ONCE
    replace: bool = False
    keep: Annotated[int, msgspec.Meta(ge=0, le=KEEP_MAX)] = 0


def _steering(verb: str, summary: str, answer: Any = ScheduleAnswer) -> Operation:
    path = f"/v1/schedules/{{schedule}}/{verb}"
    return Operation(
        f"{verb}Schedule", "POST", path, summary, Rank.CHANGE, f"schedule-{verb}", (_SCHEDULE,), answer=answer
    )


OPERATIONS: Final = (
    Operation(
        "listSchedules",
        "GET",
        "/v1/schedules",
        "Lists all schedules, with their last runs",
        Rank.READ,
        "schedules",
        answer=SchedulesAnswer,
    ),
    Operation(
        "addSchedule",
        "POST",
        "/v1/schedules",
        "Makes a schedule: a crawl, or URLs for a job, on a calendar",
        Rank.CHANGE,
        "schedule-add",
        body=NewSchedule,
        answer=ScheduleAnswer,
    ),
    Operation(
        "getSchedule",
        "GET",
        "/v1/schedules/{schedule}",
        "Describes one schedule",
        Rank.READ,
        "schedule",
        (_SCHEDULE,),
        answer=ScheduleAnswer,
    ),
    Operation(
        "removeSchedule",
        "DELETE",
        "/v1/schedules/{schedule}",
        "Removes a schedule; the jobs that it has begun stay",
        Rank.CHANGE,
        "schedule-remove",
        (_SCHEDULE,),
        answer=ScheduleAnswer,
    ),
    _steering("pause", "Begins no run of a schedule until it is resumed"),
    _steering("resume", "Goes on with a schedule; what was due meanwhile is not made up for"),
    _steering("run", "Runs a schedule now, out of its turn", RunTold),
)
