"""Operations that watch the cluster at work."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from p2pcrawl.peer.api.table.operation import Operation, Parameter, Rank
from p2pcrawl.peer.watching.glance import HOSTS_MAX, JOBS_MAX
from p2pcrawl.peer.watching.overview import OverviewAnswer

_JOBS = Parameter("jobs", Annotated[int, msgspec.Meta(ge=1, le=JOBS_MAX)], "how many jobs to show")
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
)
