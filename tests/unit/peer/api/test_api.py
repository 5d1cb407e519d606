"""The HTTP API: who may ask, who may change, and what nonsense comes to."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from p2pcrawl.fetch.signing.bot_key import BotKey
from p2pcrawl.fetch.signing.key_directory import MEDIA_TYPE, KeyDirectory
from p2pcrawl.fetch.signing.key_directory import PATH as DIRECTORY_PATH
from p2pcrawl.model.cluster.node import parse_address
from p2pcrawl.model.errors import ConfigurationError, P2PCrawlError
from p2pcrawl.peer.api.routes import Api

TOKEN = "5e" * 32


class Desk:
    def __init__(self) -> None:
        self.told: list[tuple[str, dict]] = []
        self.error: Exception | None = None
        self.address = ""
        """Of the API that stands before it."""

    async def ask(self, what: str, arguments: dict[str, Any]) -> Any:
        if self.error is not None:
            raise self.error
        return {"what": what, **arguments}

    async def tell(self, what: str, arguments: dict[str, Any]) -> Any:
        if self.error is not None:
            raise self.error
        self.told.append((what, arguments))
        return {"did": what}

    async def stream(self, what: str, arguments: dict[str, Any]) -> AsyncIterator[bytes]:
        if self.error is not None:
            raise self.error
        line = b'{"n":%d}\n' if what == "items" else b'{"page":"%d","items":[]}\n'
        for n in range(int(arguments["job"])):
            yield line % n


@asynccontextmanager
async def api():
    desk = Desk()
    made = Api(desk, TOKEN, Path("/where/it/is"))
    await made.open("127.0.0.1", [0])
    try:
        async with aiohttp.ClientSession(f"http://{made.address}") as session:
            desk.address = made.address
            yield desk, session
    finally:
        await made.close()


async def test_questions_need_no_token_on_this_machine() -> None:
    async with api() as (_, session), session.get("/v1/status") as answer:
        assert answer.status == 200
        assert (await answer.json())["what"] == "status"


@pytest.mark.parametrize(
    "headers",
    [{}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"}, {"Authorization": TOKEN},
     {"Authorization": "Bearer "}, {"Authorization": "Bearer \u00fc"}],
)  # fmt: skip
async def test_changes_need_the_token(headers: dict) -> None:
    async with api() as (desk, session), session.post("/v1/drain", headers=headers) as answer:
        assert answer.status == 401
        assert "/where/it/is" in (await answer.json())["error"]
        assert not desk.told


async def test_change_with_the_token_is_made() -> None:
    headers = {"Authorization": f"bearer {TOKEN}"}
    crawl = {"name": "x", "urls": ["http://127.0.0.1/"]}
    async with api() as (desk, session), session.post("/v1/jobs", json=crawl, headers=headers) as answer:
        assert answer.status == 200
        assert desk.told == [("submit", crawl)]


@pytest.mark.parametrize("verb", ["pause", "resume", "cancel", "retry"])
async def test_job_to_steer_is_named_in_the_path_and_nowhere_else(verb: str) -> None:
    headers = {"Authorization": f"bearer {TOKEN}"}
    async with api() as (desk, session):
        async with session.post(f"/v1/jobs/7/{verb}", headers=headers) as answer:
            assert answer.status == 200
        async with session.post(f"/v1/jobs/7/{verb}?job=8", headers=headers) as answer:
            assert answer.status == 400
        async with session.post(f"/v1/jobs/7/{verb}", json={"job": 8}, headers=headers) as answer:
            assert answer.status == 400
        async with session.get(f"/v1/jobs/7/{verb}", headers=headers) as answer:
            assert answer.status == 405
            assert answer.headers["Allow"] == "POST"

        assert desk.told == [(verb, {"job": "7"})]


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example"]
)
async def test_name_that_somebody_else_made_resolve_here_is_refused(host: str) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}", "Host": host}
    async with api() as (desk, session):
        async with session.get("/v1/status", headers=headers) as answer:
            assert answer.status == 403
        async with session.post("/v1/drain", headers=headers) as answer:
            assert answer.status == 403
        assert not desk.told


@pytest.mark.parametrize("body", [b"{", b"[1]", b"5", b"\xff\xff", b'"x"', b"[" * 100_000, b'{"a": NaN}'])
async def test_body_that_is_no_object_is_one_clear_line(body: bytes) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with api() as (desk, session), session.post("/v1/jobs", data=body, headers=headers) as answer:
        assert answer.status == 400
        assert "JSON" in (await answer.json())["error"]
        assert not desk.told


@pytest.mark.parametrize(
    ("error", "status"),
    [(ConfigurationError("this is wrong"), 400), (P2PCrawlError("not now"), 503), (RuntimeError("insides"), 500)],
)
async def test_errors_are_told_by_who_can_act(error: Exception, status: int) -> None:
    async with api() as (desk, session):
        desk.error = error
        async with session.get("/v1/jobs") as answer:
            assert answer.status == status
            assert "insides" not in (await answer.json())["error"]
        async with session.get("/v1/jobs/3/items") as answer:
            assert answer.status == status


async def test_pages_stream_as_lines_beside_the_items() -> None:
    async with api() as (_, session), session.get("/v1/jobs/2/pages") as answer:
        assert [json.loads(line)["page"] for line in (await answer.read()).splitlines()] == ["0", "1"]


async def test_items_stream_as_lines_and_none_is_an_empty_answer() -> None:
    async with api() as (_, session):
        async with session.get("/v1/jobs/3/items") as answer:
            assert (await answer.text()).count("\n") == 3
        async with session.get("/v1/jobs/0/items") as answer:
            assert answer.status == 200
            assert await answer.text() == ""


@pytest.mark.parametrize("path", ["/nothing", "/v1", "/v1/jobs//items", "/v1/jobs/1/nothing", "/status", "/v1/drain"])
async def test_paths_that_mean_nothing_are_refused_in_json(path: str) -> None:
    async with api() as (_, session), session.get(path) as answer:
        assert answer.status in (400, 404, 405)
        assert answer.content_type == "application/json"


@pytest.mark.parametrize(
    "rubbish",
    [
        b"GET / HTTP/1.1\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
        b"POST /v1/jobs HTTP/1.1\r\nContent-Length: " + b"9" * 40 + b"\r\n\r\n",
        b"GET \x00\xff HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
async def test_rubbish_of_strangers_does_not_fill_the_log(rubbish: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async with api() as (desk, session), asyncio.timeout(10):
        host, port = parse_address(desk.address)
        for _ in range(2):
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(b"GET /v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" + rubbish)
            writer.write_eof()
            await reader.read()
            writer.close()

        async with session.get("/v1/status") as answer:
            assert answer.status == 200

    assert not [record for record in caplog.records if record.exc_info or record.levelname == "ERROR"]


async def answer_to(made: str, request: bytes) -> bytes:
    """Returns what comes back for these bytes, until the peer closes or has answered."""
    host, port = made.rsplit(":", 1)
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        body = await reader.read(4096)
    except asyncio.IncompleteReadError as error:
        return error.partial
    finally:
        writer.close()
    return head + body


AUTHORIZED = f"POST /v1/drain HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n".encode()


@pytest.mark.parametrize(
    "rest",
    [
        b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /v1/jobs HTTP/1.1\r\n\r\n",
        b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ",
        b"Content-Length: +2\r\n\r\n{}",
        b"Content-Length: 2, 2\r\n\r\n{}",
        b"Transfer-Encoding: xchunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n-1\r\n{}\r\n0\r\n\r\n",
        b"X-A: 1\r\n Host: evil.example\r\nContent-Length: 2\r\n\r\n{}",
        b"Content-Length : 2\r\n\r\n{}",
        b"Host: evil.example\r\nContent-Length: 2\r\n\r\n{}",
    ],
    ids=["both lengths", "two lengths", "sign", "list", "coding", "chunk", "folded", "space", "two hosts"],
)
async def test_request_whose_length_or_host_can_be_read_in_two_ways_is_refused(rest: bytes) -> None:
    async with api() as (desk, _), asyncio.timeout(10):
        answer = await answer_to(desk.address, AUTHORIZED + rest)

        assert b" 400 " in answer.split(b"\r\n")[0]
        assert not desk.told


@pytest.mark.parametrize(
    "head",
    [
        b"GET /v1/status HTTP/1.1\r\nHost:\r\n\r\n",
        b"GET /v1/status HTTP/1.1\r\nHost: []\r\n\r\n",
        b"GET /v1/status HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\n\r\n",
        b"GET /v1/status HTTP/1.1\r\nHost: localhost.evil.example:80\r\n\r\n",
        b"GET /v1/status HTTP/1.1\r\nHost: 127.0.0.1@evil.example\r\n\r\n",
        b"GET http://evil.example/v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    ],
)
async def test_host_that_is_no_address_is_refused_however_it_is_written(head: bytes) -> None:
    async with api() as (desk, _), asyncio.timeout(10):
        answer = await answer_to(desk.address, head)

    assert answer.split(b" ")[1] in (b"400", b"403")


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://{host}"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
async def test_page_of_another_site_is_told_nothing(headers: dict) -> None:
    # By its address, so that the Host header is right; the browser adds from where the page is.
    async with api() as (desk, session):
        sent = {name: text.replace("{host}", desk.address) for name, text in headers.items()}
        for path in ("/v1/nonce", "/v1/status", "/v1/jobs/1/items"):
            async with session.get(path, headers=sent) as answer:
                assert answer.status == 403
                assert "Access-Control-Allow-Origin" not in answer.headers
        async with session.post("/v1/drain", headers={**sent, "Authorization": f"Bearer {TOKEN}"}) as answer:
            assert answer.status == 403
        assert not desk.told


async def test_page_of_the_peer_itself_is_answered() -> None:
    async with api() as (desk, session):
        own = {"Origin": f"http://{desk.address}", "Sec-Fetch-Site": "same-origin"}
        async with session.get("/v1/status", headers=own) as answer:
            assert answer.status == 200


@pytest.mark.parametrize("digits", [201, 4000, 6000])
async def test_what_no_job_can_be_called_is_refused(digits: int, caplog: pytest.LogCaptureFixture) -> None:
    async with api() as (_, session), session.get(f"/v1/jobs/{'9' * digits}/items") as answer:
        assert answer.status == 400
        assert len(await answer.text()) < 200
    assert not caplog.records


async def test_whoever_goes_away_in_the_middle_does_not_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async with api() as (desk, session), asyncio.timeout(20):
        for request in (
            b"GET /v1/jobs/99999999/items HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
            AUTHORIZED + b"Content-Length: 9\r\n\r\n",
        ):
            reader, writer = await asyncio.open_connection(*parse_address(desk.address))
            writer.write(request)
            await asyncio.wait_for(reader.read(1), 0.3) if request.startswith(b"GET") else await asyncio.sleep(0)
            writer.transport.abort()
        for _ in range(3):
            async with session.get("/v1/status") as answer:
                assert answer.status == 200

    assert not [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")]


async def test_body_is_not_inflated_whoever_sends_it() -> None:
    # Nobody who belongs here compresses what he asks, and a bomb would be inflated even after it was refused.
    headers = {"Content-Encoding": "gzip", "Authorization": f"Bearer {TOKEN}"}
    async with api() as (desk, session):
        async with session.post("/v1/jobs", data=gzip.compress(b"{}"), headers=headers) as answer:
            assert answer.status == 400
        assert not desk.told


async def test_directory_of_bot_keys_is_for_everybody_under_any_name() -> None:
    key = BotKey.generate()
    made = Api(Desk(), TOKEN, Path("/where/it/is"), KeyDirectory([key], "https://bot.example"))
    await made.open("127.0.0.1", [0])
    try:
        async with aiohttp.ClientSession(f"http://{made.address}", headers={"Host": "bot.example"}) as session:
            async with session.get(DIRECTORY_PATH) as answer:
                served = await answer.json(content_type=MEDIA_TYPE)
                signed = answer.headers["Signature-Input"]
            async with session.post(DIRECTORY_PATH) as refused, session.get("/v1/status") as closed:
                statuses = refused.status, closed.status
    finally:
        await made.close()

    assert [each["kid"] for each in served["keys"]] == [key.thumbprint]
    assert '("@authority";req "content-digest")' in signed
    assert statuses == (403, 403)


async def test_peer_without_bot_keys_has_no_directory() -> None:
    async with api() as (_, session), session.get(DIRECTORY_PATH) as answer:
        assert answer.status == 404
