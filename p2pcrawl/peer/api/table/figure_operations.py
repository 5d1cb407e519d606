"""Operations on the figures of jobs: what failed, what came last."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from p2pcrawl.peer.api.table.operation import JOB, Operation, Parameter, Rank
from p2pcrawl.peer.figures.newest import ITEMS_MAX
from p2pcrawl.peer.figures.troubles import EXAMPLES_MAX

_EXAMPLES = Parameter("limit", Annotated[int, msgspec.Meta(ge=1, le=EXAMPLES_MAX)], "how many examples of each kind")
_KIND = Parameter("kind", Annotated[str, msgspec.Meta(max_length=100)], "the only kind to tell of")
_ITEMS = Parameter("limit", Annotated[int, msgspec.Meta(ge=1, le=ITEMS_MAX)], "how many items")

OPERATIONS: Final = (
    Operation(
        "listErrors",
        "GET",
        "/v1/jobs/{job}/errors",
        "Tells what failed of a job, by kind, with examples, over all masters",
        Rank.READ,
        "errors",
        (JOB, _EXAMPLES, _KIND),
    ),
    Operation(
        "listLatestItems",
        "GET",
        "/v1/jobs/{job}/latest",
        "Lists the latest items of a job, the newest first, from all masters",
        Rank.READ,
        "latest",
        (JOB, _ITEMS),
    ),
)
