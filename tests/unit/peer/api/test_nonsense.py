"""What strangers try by hand: paths that lead elsewhere, what is too large, doubled, or of another kind. Each is
refused in JSON, with a status that the document has.
"""

from __future__ import annotations

import asyncio
import json

import pytest

from p2pcrawl.model.cluster.node import parse_address
from tests.unit.peer.api.test_api import TOKEN, api

AUTHORIZED = f"Host: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n"


async def answered(address: str, line: bytes, head: str = AUTHORIZED, body: bytes = b"") -> tuple[int, dict]:
    """Sends a request as it is written here, and returns the status and the answer."""
    reader, writer = await asyncio.open_connection(*parse_address(address))
    try:
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        writer.write(line + b" HTTP/1.1\r\n" + (head + length).encode() + b"\r\n" + body)
        async with asyncio.timeout(20):
            said = await reader.read()
    finally:
        writer.close()
    first, _, rest = said.partition(b"\r\n\r\n")
    return int(first.split()[1]), json.loads(rest)


@pytest.mark.parametrize(
    "path",
    [
        "/v1/jobs/../status",
        "/v1/jobs/%2e%2e/%2e%2e/etc/passwd",
        "/v1/%2e%2e/v1/status",
        "/v1//status",
        "//v1/status",
        "/v1/status/",
        "/V1/STATUS",
        "/v1/status%00",
        "/v1/status%2f",
        "/v1/jobs/%2f%2f/../pause",
        "/static/../token",
        "/static/..%2f..%2ftoken",
        "/static/%2e%2e/__init__.py",
        "/static//etc/passwd",
        "/docs/../token",
        "/docs/__init__.py",
        "/v1/members/a/b/forget",
        "*",
        "/%ff%fe",
        "/v1/jobs/" + "a/" * 2_000,
        "/" + "a" * 100_000,
    ],
    ids=lambda path: path[:40],
)
async def test_path_that_leads_elsewhere_leads_nowhere(path: str) -> None:
    async with api() as (desk, _):
        for method in (b"GET", b"POST"):
            status, answer = await answered(desk.address, method + b" " + path.encode())
            assert status in (400, 404, 405), answer
            assert set(answer) == {"error"}
        assert not desk.told


@pytest.mark.parametrize("job", ["a%00b", "..", "%2e%2e", "a%2fb", "%", "a" * 200, "%ff", "{job}", "$(id)", "'; --"])
async def test_name_of_a_job_is_a_name_and_nothing_else(job: str) -> None:
    async with api() as (desk, _):
        status, answer = await answered(desk.address, f"POST /v1/jobs/{job}/pause".encode())

        assert status in (200, 400, 404), answer
        assert all(set(arguments) == {"job"} for _, arguments in desk.told)


@pytest.mark.parametrize(
    "target",
    [
        "/v1/overview?jobs=1&jobs=2",
        "/v1/overview?jobs=1&hosts=2&jobs=1",
        "/v1/urls/owner?url=http://a.example/&url=http://b.example/",
        "/v1/overview?jobs=0",
        "/v1/overview?jobs=-1",
        "/v1/overview?jobs=201",
        "/v1/overview?jobs=" + "9" * 5_000,
        "/v1/overview?jobs=1e999",
        "/v1/overview?jobs=nan",
        "/v1/overview?jobs=1.5",
        "/v1/overview?jobs=",
        "/v1/overview?jobs=%00",
        "/v1/overview?jobs[]=1",
        "/v1/overview?unknown=1",
        "/v1/status?x",
        "/v1/urls/owner",
        "/v1/urls/owner?url=",
        "/v1/urls/owner?url=" + "a" * 5_001,
        "/v1/hosts?sort=everything",
        "/v1/hosts?changed=maybe",
        "/v1/events/latest?after=../../etc",
    ],
    ids=lambda target: target[:50],
)
async def test_parameter_that_is_none_is_refused_by_name(target: str) -> None:
    async with api() as (desk, _):
        status, answer = await answered(desk.address, b"GET " + target.encode())

        assert status == 400
        assert 0 < len(answer["error"]) < 400


@pytest.mark.parametrize(
    "body",
    [
        b'{"settings": 1}',
        b'{"settings": {}, "more": 1}',
        b"{}",
        b"null",
        b'{"settings": {"\\ud800": 1}}',
        b'{"settings": {"A": ' + b"9" * 5_000 + b"}}",
        b'{"settings": ' + b'{"a":' * 100_000,
        b"settings=1",
        b"--x\r\nContent-Disposition: form-data\r\n\r\n1\r\n--x--",
        b"\x00",
        b"\xef\xbb\xbf{}",
    ],
    ids=lambda body: repr(body[:30]),
)
@pytest.mark.parametrize("kind", ["application/json", "application/x-www-form-urlencoded", "text/plain", "nonsense"])
async def test_body_that_is_none_is_refused_whatever_it_is_called(body: bytes, kind: str) -> None:
    async with api() as (desk, _):
        head = f"{AUTHORIZED}Content-Type: {kind}\r\n"
        status, answer = await answered(desk.address, b"PATCH /v1/jobs/1/settings", head, body)

        assert status == 400, answer
        assert len(answer["error"]) < 400
        assert not desk.told


async def test_body_that_is_too_large_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("p2pcrawl.peer.api.routes.BODY_MAX", 10_000)
    async with api() as (desk, _):
        status, answer = await answered(desk.address, b"POST /v1/jobs", body=b" " * 20_000)

        assert status == 413
        assert "large" in answer["error"] or "size" in answer["error"]
        assert not desk.told


async def test_body_where_none_belongs_is_refused() -> None:
    async with api() as (desk, _):
        status, _ = await answered(desk.address, b"POST /v1/jobs/1/pause", body=b'{"force": true}')

        assert status == 400
        assert not desk.told


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "PUT", "TRACE", "CONNECT", "BREW"])
async def test_method_that_there_is_not_is_refused(method: str) -> None:
    async with api() as (desk, session), session.request(method, "/v1/jobs") as answer:
        assert answer.status in (400, 404, 405)
        assert not desk.told
