"""The document and the server against each other: whatever is drawn from the document, fitting or not, is answered as
it says, by a cluster that is really there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from p2pcrawl.peer.api.openapi import openapi_document
from p2pcrawl.peer.api.table.every_operation import OPERATIONS
from p2pcrawl.peer.api.table.operation import Operation, RequestPart
from tests.unit.peer.api.live import LiveCluster, live_cluster

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]

SCHEMA = schemathesis.openapi.from_dict(openapi_document(OPERATIONS))
ENDLESS = {"streamEvents"}
ENDS_THE_PEER = {"drainPeer"}
TRIED = [each for each in OPERATIONS if each.id not in ENDLESS | ENDS_THE_PEER]
SAID = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
EXAMPLES = settings(
    max_examples=8, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    with live_cluster(tmp_path_factory.mktemp("live")) as live:
        yield live


@pytest.fixture(scope="module")
def session(cluster: LiveCluster) -> Iterator[requests.Session]:
    with requests.Session() as made:
        made.trust_env = False
        made.headers["Authorization"] = f"Bearer {cluster.one.token}"
        yield made


def cases(operation: Operation, mode: GenerationMode, **fixed: Any) -> st.SearchStrategy[Any]:
    return SCHEMA[operation.path][operation.method].as_strategy(generation_mode=mode, **fixed)


@pytest.mark.parametrize("operation", TRIED, ids=lambda operation: operation.id)
def test_what_fits_the_document_is_answered_as_it_says(
    operation: Operation, cluster: LiveCluster, session: requests.Session
) -> None:
    @EXAMPLES
    @given(cases(operation, GenerationMode.POSITIVE))
    def ask(case: Any) -> None:
        case.call_and_validate(base_url=f"http://{cluster.one.api}", session=session, checks=SAID)

    ask()


@pytest.mark.parametrize(
    "operation", [each for each in TRIED if "{job}" in each.path and each.id != "deleteJob"], ids=lambda each: each.id
)
def test_jobs_that_are_there_are_answered_as_the_document_says(
    operation: Operation, cluster: LiveCluster, session: requests.Session
) -> None:
    @EXAMPLES
    @given(st.data())
    def ask(data: st.DataObject) -> None:
        called = data.draw(st.sampled_from([str(cluster.finished), str(cluster.paused), "resting", "small", "last"]))
        case = data.draw(cases(operation, GenerationMode.POSITIVE, path_parameters={"job": called}))
        case.call_and_validate(base_url=f"http://{cluster.two.api}", session=other, checks=SAID)

    with requests.Session() as other:
        other.trust_env = False
        other.headers["Authorization"] = f"Bearer {cluster.two.token}"
        ask()


@pytest.mark.parametrize(
    "operation",
    # Of a path alone hardly anything does not fit, and drawing that takes minutes: `test_nonsense` has it by hand.
    [each for each in TRIED if each.body or any(p.part is RequestPart.QUERY for p in each.parameters)],
    ids=lambda operation: operation.id,
)
def test_what_does_not_fit_the_document_is_refused_as_it_says(
    operation: Operation, cluster: LiveCluster, session: requests.Session
) -> None:
    @EXAMPLES
    @given(cases(operation, GenerationMode.NEGATIVE))
    def ask(case: Any) -> None:
        case.call_and_validate(
            base_url=f"http://{cluster.one.api}", session=session, checks=[*SAID, negative_data_rejection]
        )

    ask()


def test_cluster_works_as_before(cluster: LiveCluster) -> None:
    async def look() -> dict[str, Any]:
        return dict(await asyncio.wait_for(cluster.two.ask("status", {}), 20))

    assert {each["state"] for each in cluster.do(look())["members"]} == {"alive"}
    assert cluster.do(cluster.one.ask("ready", {}))["ready"]
