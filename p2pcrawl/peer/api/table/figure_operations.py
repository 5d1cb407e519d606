"""Operations on the figures of jobs and hosts: what failed, what came last, which hosts are slow, and why."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from p2pcrawl.model.cluster.host_order import DELAY_MAX_S, HOST_CHARS_MAX
from p2pcrawl.peer.api.table.operation import JOB, NDJSON, Operation, Parameter, Rank, RequestPart
from p2pcrawl.peer.figures.host_changes import SET_HOST, HostChanged
from p2pcrawl.peer.figures.hosts_told import HostAnswer, HostsAnswer
from p2pcrawl.peer.figures.newest import ITEMS_MAX, LatestAnswer
from p2pcrawl.peer.figures.reasons_told import ReasonsAnswer
from p2pcrawl.peer.figures.standings_of_hosts import FOUND_MAX
from p2pcrawl.peer.figures.statistics_told import ROWS_MAX, StatisticsAnswer
from p2pcrawl.peer.figures.troubles import EXAMPLES_MAX, ErrorsAnswer

_EXAMPLES = Parameter("limit", Annotated[int, msgspec.Meta(ge=1, le=EXAMPLES_MAX)], "how many examples of each kind")
_KIND = Parameter("kind", Annotated[str, msgspec.Meta(max_length=100)], "the only kind to tell of")
_ITEMS = Parameter("limit", Annotated[int, msgspec.Meta(ge=1, le=ITEMS_MAX)], "how many items")

_REASON = Parameter(
    "reason",
    Annotated[str, msgspec.Meta(max_length=40)],
    "a reason, as http-4xx; one of its statuses, as http-404; or a word for several, as unknown-host",
)
_FIND = Parameter("find", Annotated[str, msgspec.Meta(max_length=HOST_CHARS_MAX)], "what the names of hosts hold")
_SORT = Parameter("sort", Literal["depth", "late", "name"], "which come first: the deepest, the latest, or by name")
_CHANGED = Parameter("changed", bool, "only those that a person has changed")
_HOSTS = Parameter("limit", Annotated[int, msgspec.Meta(ge=1, le=FOUND_MAX)], "how many hosts")
_BY = Parameter("by", Literal["hour", "day", "host", "error"], "what the rows stand for")
_ROWS = Parameter("limit", Annotated[int, msgspec.Meta(ge=1, le=ROWS_MAX)], "how many rows")
_HOST = Parameter(
    "host",
    Annotated[str, msgspec.Meta(min_length=1, max_length=HOST_CHARS_MAX)],
    "the host's name, as example.org",
    RequestPart.PATH,
    required=True,
)


class HostChange(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A change of a host: seconds between two requests, or null for what its jobs have; whether it is asked at all."""

    delay_s: Annotated[float, msgspec.Meta(ge=0.0, le=DELAY_MAX_S)] | msgspec.UnsetType | None = msgspec.UNSET
    paused: bool | msgspec.UnsetType = msgspec.UNSET


OPERATIONS: Final = (
    Operation(
        "listHosts",
        "GET",
        "/v1/hosts",
        "Lists the first hosts of all jobs: what is queued, who owns each, and why it is slow",
        Rank.READ,
        "hosts",
        (_HOSTS, _SORT, _FIND, _CHANGED),
        answer=HostsAnswer,
    ),
    Operation(
        "listHostsOfJob",
        "GET",
        "/v1/jobs/{job}/hosts",
        "Lists the first hosts of a job",
        Rank.READ,
        "hosts",
        (JOB, _HOSTS, _SORT, _FIND, _CHANGED),
        answer=HostsAnswer,
    ),
    Operation(
        "getStatistics",
        "GET",
        "/v1/statistics",
        "Adds up the work on all jobs, by hour, day, host, or kind of failure",
        Rank.READ,
        "statistics",
        (_BY, _ROWS),
        answer=StatisticsAnswer,
    ),
    Operation(
        "getStatisticsOfJob",
        "GET",
        "/v1/jobs/{job}/statistics",
        "Adds up the work on a job",
        Rank.READ,
        "statistics",
        (JOB, _BY, _ROWS),
        answer=StatisticsAnswer,
    ),
    Operation(
        "getHost",
        "GET",
        "/v1/hosts/{host}",
        "Describes one host in detail",
        Rank.READ,
        "host",
        (_HOST,),
        answer=HostAnswer,
    ),
    Operation(
        "changeHost",
        "PATCH",
        "/v1/hosts/{host}",
        "Changes how far apart requests to a host are, or pauses it, in all jobs and at all masters",
        Rank.CHANGE,
        SET_HOST,
        (_HOST,),
        HostChange,
        answer=HostChanged,
    ),
    Operation(
        "listErrors",
        "GET",
        "/v1/jobs/{job}/errors",
        "Tells what failed of a job, by kind, with examples, over all masters",
        Rank.READ,
        "errors",
        (JOB, _EXAMPLES, _KIND),
        answer=ErrorsAnswer,
    ),
    Operation(
        "listReasons",
        "GET",
        "/v1/reasons",
        "Tells why pages and links of all jobs are not among the results: counts and examples, over all masters",
        Rank.READ,
        "reasons",
        (_EXAMPLES, _REASON),
        answer=ReasonsAnswer,
    ),
    Operation(
        "listReasonsOfJob",
        "GET",
        "/v1/jobs/{job}/reasons",
        "Tells why pages and links of a job are not among its results",
        Rank.READ,
        "reasons",
        (JOB, _EXAMPLES, _REASON),
        answer=ReasonsAnswer,
    ),
    Operation(
        "streamUrls",
        "GET",
        "/v1/jobs/{job}/urls",
        "Streams the pages of a job that failed or were dropped, for a reason or for any, a line each",
        Rank.READ,
        "outside",
        (JOB, _REASON),
        stream=NDJSON,
    ),
    Operation(
        "listLatestItems",
        "GET",
        "/v1/jobs/{job}/latest",
        "Lists the latest items of a job, the newest first, from all masters",
        Rank.READ,
        "latest",
        (JOB, _ITEMS),
        answer=LatestAnswer,
    ),
)
