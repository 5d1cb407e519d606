"""Operations that watch the cluster at work."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from p2pcrawl.core.journal import KEPT
from p2pcrawl.peer.api.table.operation import Operation, Parameter, Rank, RequestPart
from p2pcrawl.peer.news.event_stream import EVENT_STREAM
from p2pcrawl.peer.news.events import EventsAnswer
from p2pcrawl.peer.watching.glance import HOSTS_MAX, JOBS_MAX
from p2pcrawl.peer.watching.overview import OverviewAnswer
from p2pcrawl.peer.watching.past import FINE_MINUTES, MINUTES_MAX, HistoryAnswer
from p2pcrawl.peer.watching.warning_lines import GIVEN_MAX, WarningsAnswer

METRICS_TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"
_JOBS = Parameter("jobs", Annotated[int, msgspec.Meta(ge=1, le=JOBS_MAX)], "how many jobs to show")
_EVENTS = Parameter("limit", Annotated[int, msgspec.Meta(ge=1, le=KEPT)], "how many events")
_AFTER = Parameter(
    "after",
    Annotated[str, msgspec.Meta(max_length=60_000, pattern=r"^[0-9a-f.-]*$")],
    "the id of the last event that was read",
)
_LAST_EVENT_ID = Parameter(
    "Last-Event-ID",
    Annotated[str, msgspec.Meta(max_length=8_000, pattern=r"^[0-9a-f.-]*$")],
    "the same, as browsers say it when they come again; it counts before `after`",
    RequestPart.HEADER,
    argument="after",
)
_MINUTES = Parameter(
    "minutes",
    Annotated[int, msgspec.Meta(ge=1, le=MINUTES_MAX)],
    f"how far back; up to {FINE_MINUTES} in steps of ten seconds, beyond that in minutes",
)
_LINES = Parameter("limit", Annotated[int, msgspec.Meta(ge=1, le=GIVEN_MAX)], "how many lines")
_HOSTS = Parameter("hosts", Annotated[int, msgspec.Meta(ge=1, le=HOSTS_MAX)], "how many hosts to show")

OPERATIONS: Final = (
    Operation(
        "getOverview",
        "GET",
        "/v1/overview",
        "Shows the whole cluster in one small answer, made to be asked for every second",
        Rank.READ,
        "overview",
        (_JOBS, _HOSTS),
        answer=OverviewAnswer,
    ),
    Operation(
        "streamEvents",
        "GET",
        "/v1/events",
        "Tells what happens as server-sent events, from a place on: what came while nobody listened included",
        Rank.READ,
        "events",
        (_AFTER, _LAST_EVENT_ID),
        stream=EVENT_STREAM,
    ),
    Operation(
        "listLatestEvents",
        "GET",
        "/v1/events/latest",
        "Lists the last events, the oldest first, or those after a place",
        Rank.READ,
        "events",
        (_AFTER, _EVENTS),
        answer=EventsAnswer,
    ),
    Operation(
        "getHistory",
        "GET",
        "/v1/history",
        "Tells the figures of the last minutes or hours over time, for charts, added up over all masters",
        Rank.READ,
        "history",
        (_MINUTES,),
        answer=HistoryAnswer,
    ),
    Operation(
        "listWarnings",
        "GET",
        "/v1/warnings",
        "Lists the last lines of the logs of all masters at WARNING and above, the oldest first",
        Rank.READ,
        "warnings",
        (_LINES,),
        answer=WarningsAnswer,
    ),
    Operation(
        "getMetrics",
        "GET",
        "/metrics",
        "Tells the figures of this peer alone, in the form that Prometheus reads",
        Rank.READ,
        "metrics",
        stream=METRICS_TEXT,
    ),
)
