"""What a cluster really answers is what the document says, field by field, from whichever peer."""

from __future__ import annotations

import gzip
import json
import typing
import urllib.request
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote

import msgspec
import pytest

from p2pcrawl.peer.api.table.every_operation import OPERATIONS
from p2pcrawl.peer.api.table.operation import Operation
from tests.unit.peer.api.live import SCHEDULE, LiveCluster, live_cluster

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCluster]:
    with live_cluster(tmp_path_factory.mktemp("live")) as live:
        yield live


def called(live: LiveCluster, operation: Operation, api: str, token: str, **given: str) -> tuple[int, bytes]:
    values = {"job": str(live.finished), "master": "nobody", "host": "127.0.0.8", "url": live.site.url(7)}
    values |= {"schedule": SCHEDULE, "board": "nobody", **given}
    path, query = operation.path, []
    for each in operation.parameters:
        if f"{{{each.name}}}" in path:
            path = path.replace(f"{{{each.name}}}", quote(values[each.name], safe=""))
        elif each.required:
            query.append(f"{each.name}={quote(values[each.name], safe='')}")
    url = f"http://{api}{path}" + ("?" + "&".join(query) if query else "")
    request = urllib.request.Request(url, method=operation.method, headers={"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read()
    except HTTPError as error:
        with error:
            return error.status or 0, error.read()


def undeclared(value: Any, kind: Any, where: str = "") -> Iterator[str]:
    """Yields the fields of an answer that its type does not name."""
    if isinstance(kind, typing.TypeAliasType if hasattr(typing, "TypeAliasType") else ()):
        kind = kind.__value__
    origin = typing.get_origin(kind)
    if origin in (typing.Annotated, typing.NotRequired, typing.Required):
        yield from undeclared(value, typing.get_args(kind)[0], where)
    elif typing.is_typeddict(kind):
        hints = typing.get_type_hints(kind, include_extras=True)
        for name, each in value.items():
            if name not in hints:
                yield f"{where}.{name}"
            else:
                yield from undeclared(each, hints[name], f"{where}.{name}")
    elif origin is list:
        for each in value:
            yield from undeclared(each, typing.get_args(kind)[0], f"{where}[]")
    elif isinstance(value, dict) and (fitting := [k for k in typing.get_args(kind) if typing.is_typeddict(k)]):
        yield from undeclared(value, fitting[0], where)


QUESTIONS = [each for each in OPERATIONS if not each.changes and not each.stream]


@pytest.mark.parametrize("operation", QUESTIONS, ids=lambda operation: operation.id)
@pytest.mark.parametrize("asked", ["one", "two"])
def test_answer_is_what_the_document_says(cluster: LiveCluster, operation: Operation, asked: str) -> None:
    status, body = called(cluster, operation, getattr(cluster, asked).api, getattr(cluster, asked).token)

    assert status == 200, body
    answer = json.loads(body)
    if typing.is_typeddict(operation.answer):
        msgspec.convert(answer, operation.answer)
        assert set(undeclared(answer, operation.answer)) == set()


def test_buckets_have_one_owner_each_and_all_copies(cluster: LiveCluster) -> None:
    told = cluster.do(cluster.one.ask("buckets", {}))

    for name in ("owner_of", "copies_of"):
        assert sum(length for _, length in told[name]) == told["buckets"]
    assert sorted(told["owners"]) == sorted([cluster.one.id, cluster.two.id])
    assert all(len(holders) == 2 for holders, _ in told["copies_of"])
    assert told["moving"] == told["missing"] == []


def test_groups_have_the_slaves_of_all_masters(cluster: LiveCluster) -> None:
    told = cluster.do(cluster.two.ask("groups", {}))

    assert [each["master"] for each in told["groups"]] == sorted([cluster.one.id, cluster.two.id])
    assert all(len(each["slaves"]) == 1 for each in told["groups"])


def test_job_that_has_no_certificate_yet_is_told_so(cluster: LiveCluster) -> None:
    [operation] = [each for each in OPERATIONS if each.id == "getCertificate"]

    status, body = called(cluster, operation, cluster.two.api, cluster.two.token, job="resting")

    assert status == 409
    assert b"it has no certificate" in body


def test_nothing_that_is_not_there_is_found(cluster: LiveCluster) -> None:
    for each in (each for each in OPERATIONS if "{job}" in each.path and each.body is None):
        status, body = called(cluster, each, cluster.one.api, cluster.one.token, job="no such")
        assert status == 404, (each.id, body)


def test_ring_is_small_for_those_who_take_it_compressed(cluster: LiveCluster) -> None:
    url = f"http://{cluster.one.api}/v1/buckets"
    with urllib.request.urlopen(url, timeout=30) as plain:
        told = plain.read()
    with urllib.request.urlopen(
        urllib.request.Request(url, headers={"Accept-Encoding": "gzip"}), timeout=30
    ) as compressed:
        small = compressed.read()

    assert gzip.decompress(small) == told
    assert len(small) < 20_000 < len(told)
