"""Operations on the cluster and its peers, and on who has which URL."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from p2pcrawl.peer.answers.cluster_parts import BucketsAnswer, GroupsAnswer
from p2pcrawl.peer.api.table.answer_shapes import (
    ForgottenMaster,
    FreshNonce,
    HealthAnswer,
    LeavingPeer,
    MembersAnswer,
    OwnerAnswer,
    ReadKeys,
    StatusAnswer,
    WhyAnswer,
)
from p2pcrawl.peer.api.table.operation import Operation, Parameter, Rank, RequestPart
from p2pcrawl.peer.watching.readiness import ReadinessAnswer

URL_MAX: Final = 5_000
"""Characters, each of which may take twelve in a request's line."""

_URL = Parameter("url", Annotated[str, msgspec.Meta(min_length=1, max_length=URL_MAX)], "the URL", required=True)
_MASTER = Parameter(
    "master",
    Annotated[str, msgspec.Meta(min_length=1, max_length=200)],
    "the id of a master, or how it begins, or its address",
    RequestPart.PATH,
    required=True,
    argument="peer",
)
_KEY = Parameter("key", str, "by what a job spreads its URLs: host (the default), domain or url")

OPERATIONS: Final = (
    Operation("getDocument", "GET", "/openapi.json", "Describes this API, by OpenAPI 3.1", Rank.OPEN),
    Operation("getHealth", "GET", "/healthz", "Tells that the peer lives", Rank.OPEN, answer=HealthAnswer),
    Operation(
        "getReadiness",
        "GET",
        "/readyz",
        "Tells whether the peer does its part of the work now, or why not",
        Rank.OPEN,
        "ready",
        answer=ReadinessAnswer,
        unready=True,
    ),
    Operation("getNonce", "GET", "/v1/nonce", "Makes a nonce to sign a call with", Rank.OPEN, answer=FreshNonce),
    Operation(
        "getStatus",
        "GET",
        "/v1/status",
        "Describes the cluster as the asked peer sees it",
        Rank.READ,
        "status",
        answer=StatusAnswer,
    ),
    Operation(
        "listMembers", "GET", "/v1/members", "Lists the masters that count", Rank.READ, "members", answer=MembersAnswer
    ),
    Operation(
        "listGroups",
        "GET",
        "/v1/groups",
        "Lists the masters with the slaves that each leads",
        Rank.READ,
        "groups",
        answer=GroupsAnswer,
    ),
    Operation(
        "getBuckets",
        "GET",
        "/v1/buckets",
        "Tells which masters have which buckets, and what is moving",
        Rank.READ,
        "buckets",
        answer=BucketsAnswer,
    ),
    Operation(
        "forgetMember",
        "POST",
        "/v1/members/{master}/forget",
        "Lets nobody miss a master that does not come back",
        Rank.CHANGE,
        "forget",
        (_MASTER,),
        answer=ForgottenMaster,
    ),
    Operation(
        "drainPeer",
        "POST",
        "/v1/drain",
        "Lets the asked peer leave the cluster",
        Rank.CHANGE,
        "drain",
        answer=LeavingPeer,
    ),
    Operation(
        "reloadKeys",
        "POST",
        "/v1/keys",
        "Lets the asked peer read its file of cluster keys again",
        Rank.CHANGE,
        "keys",
        answer=ReadKeys,
    ),
    Operation(
        "getOwner",
        "GET",
        "/v1/urls/owner",
        "Tells who owns a URL, and why",
        Rank.READ,
        "owner",
        (_URL, _KEY),
        answer=OwnerAnswer,
    ),
    Operation(
        "explainUrl",
        "GET",
        "/v1/urls/why",
        "Tells what became of a URL, and why",
        Rank.READ,
        "why",
        (_URL,),
        answer=WhyAnswer,
    ),
)
