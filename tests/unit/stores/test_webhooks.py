"""Webhooks against receivers on loopback: each item is taken once by its key, whatever the receiver does."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import runpy
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.address import parse_sink
from p2pcrawl.stores.kinds import SinkPlace, address_of, make_sink, read_sink
from p2pcrawl.stores.sink import SinkAway, SinkPage
from p2pcrawl.stores.webhooks.webhook_sink import WebhookSink

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "webhook_receiver.py"
SECRET = "whsec_" + base64.b64encode(b"k" * 32).decode()
Answer = Callable[[web.Request, dict[str, Any]], Awaitable[web.StreamResponse]]


class TakingReceiver:
    """A receiver that keeps what it takes by key, as the docs tell people to write one. ``answers`` come first, one for
    each message; then everything is taken.
    """

    def __init__(self) -> None:
        self.kept: dict[str, dict[str, Any]] = {}
        self.messages: list[tuple[dict[str, str], bytes]] = []
        self.answers: list[Answer] = []
        self.always: Answer | None = None
        self.url = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        self.messages.append((dict(request.headers), raw))
        message = json.loads(raw)
        if message["type"] != "ping" and self.answers:
            return await self.answers.pop(0)(request, message)
        return await self.always(request, message) if self.always else self.taken(message)

    def taken(self, message: dict[str, Any]) -> web.Response:
        for entry in message["data"]:
            self.kept[entry["key"]] = entry
        return web.Response(status=204)

    @property
    def items(self) -> dict[str, Any]:
        return {key: entry["item"] for key, entry in self.kept.items()}

    def sent(self) -> list[dict[str, Any]]:
        """Returns the messages with items, as they came."""
        return [found for _, raw in self.messages if (found := json.loads(raw))["type"] != "ping"]


@pytest.fixture
async def receiver() -> AsyncIterator[TakingReceiver]:
    async with receiving() as found:
        yield found


@asynccontextmanager
async def receiving() -> AsyncIterator[TakingReceiver]:
    found = TakingReceiver()
    app = web.Application(client_max_size=1 << 24)
    app.router.add_post("/hook", found.handle)
    app.router.add_post("/old", moved)
    async with serving(app) as url:
        found.url = f"{url}/hook"
        yield found


@asynccontextmanager
async def serving(app: web.Application) -> AsyncIterator[str]:
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def moved(request: web.Request) -> web.Response:
    raise web.HTTPPermanentRedirect("/hook")


def answering(status: int, text: str = "", **headers: str) -> Answer:
    async def answer(request: web.Request, message: dict[str, Any]) -> web.Response:
        return web.Response(status=status, text=text, headers={n.replace("_", "-"): v for n, v in headers.items()})

    return answer


def receiver_takes(receiver: TakingReceiver) -> Answer:
    async def answer(request: web.Request, message: dict[str, Any]) -> web.Response:
        return receiver.taken(message)

    return answer


@asynccontextmanager
async def sink_to(
    typed: str, *, answer_s: float = 10.0, clock: Callable[[], float] = time.monotonic
) -> AsyncIterator[Any]:
    sink = WebhookSink(parse_sink(typed, frozenset({"auth"})), SinkPlace("books"), answer_s=answer_s, clock=clock)
    try:
        await sink.open(None)
        yield sink
    finally:
        await sink.close()


def page_with(*items: Any, name: str = "f", visit: int = 0) -> SinkPage:
    return SinkPage("j", name, f"http://a/{name}", visit, 1700000000, [json.dumps(item).encode() for item in items])


def pages_with_items(count: int) -> Iterator[SinkPage]:
    for number in range(count):
        yield page_with({"n": number}, name=f"p{number}")


async def test_items_come_with_their_keys_and_where_they_are_from(receiver: TakingReceiver) -> None:
    async with sink_to(receiver.url) as sink:
        await sink.write([page_with({"a": 1}, {"a": "ä"}), page_with({"b": 2}, name="g")])

    assert receiver.items == {"j-f-0": {"a": 1}, "j-f-1": {"a": "ä"}, "j-g-0": {"b": 2}}
    assert receiver.kept["j-g-0"] == {
        "key": "j-g-0", "page": "g", "visit": 0, "url": "http://a/g", "fetched_at": 1700000000, "item": {"b": 2},
    }  # fmt: skip
    (message,) = receiver.sent()
    assert (message["type"], message["job"], message["spider"], message["replaced"]) == ("items", "j", "books", [])


async def test_messages_are_signed_as_standard_webhooks_are(receiver: TakingReceiver) -> None:
    async with sink_to(receiver.url.replace("://", f"://:{SECRET.replace('=', '%3D')}@")) as sink:
        await sink.write([page_with({"a": 1})])

    assert [json.loads(raw)["type"] for _, raw in receiver.messages] == ["ping", "items"]
    for headers, raw in receiver.messages:
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + raw
        expected = base64.b64encode(hmac.new(b"k" * 32, signed, hashlib.sha256).digest()).decode()
        assert headers["webhook-signature"] == f"v1,{expected}"
        assert abs(int(headers["webhook-timestamp"]) - time.time()) < 300
        assert "Authorization" not in headers


async def test_two_secrets_sign_both(receiver: TakingReceiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK", f"{SECRET} plain")

    async with sink_to(f"{receiver.url}?password_env=HOOK"):
        pass

    assert len(receiver.messages[0][0]["webhook-signature"].split()) == 2


@pytest.mark.parametrize(("way", "header"), [("basic", "Basic YWRhOnM="), ("bearer", "Bearer s")])
async def test_password_goes_as_the_receiver_wants_it(receiver: TakingReceiver, way: str, header: str) -> None:
    async with sink_to(receiver.url.replace("://", "://ada:s@") + f"?auth={way}"):
        pass

    headers = receiver.messages[0][0]
    assert headers["Authorization"] == header
    assert "webhook-signature" not in headers


async def test_message_that_is_sent_again_is_the_same_to_the_byte(receiver: TakingReceiver) -> None:
    receiver.answers = [answering(500)]
    async with sink_to(receiver.url) as sink:
        pages = [page_with({"a": 1}, {"a": 2})]
        with pytest.raises(SinkAway):
            await sink.write(pages)

        await sink.write(pages)

    first, second = receiver.messages[1:]
    assert first[1] == second[1]
    for name in ("webhook-id", "Idempotency-Key"):
        assert first[0][name] == second[0][name]


async def test_one_item_each_has_its_own_key_as_idempotency_key(receiver: TakingReceiver) -> None:
    async with sink_to(f"{receiver.url}?batch=1") as sink:
        await sink.write([page_with({"a": 1}, {"a": 2})])

    assert sorted(h["Idempotency-Key"] for h, _ in receiver.messages[1:]) == ["j-f-0-0", "j-f-1-0"]


async def test_messages_are_no_larger_than_was_asked_for(receiver: TakingReceiver) -> None:
    async with sink_to(f"{receiver.url}?batch=7&batch_bytes=1000") as sink:
        await sink.write([*pages_with_items(20), page_with({"big": "x" * 5000}, name="big")])

    sizes = [len(message["data"]) for message in receiver.sent()]
    assert len(receiver.items) == 21
    assert max(sizes) <= 7
    assert sum(sizes) == 21


async def test_later_visit_says_what_it_replaces_and_history_replaces_nothing(receiver: TakingReceiver) -> None:
    async with sink_to(receiver.url) as sink:
        await sink.write([page_with({"a": 1}, visit=2), page_with(name="empty", visit=1)])
    async with sink_to(f"{receiver.url}?mode=history") as sink:
        await sink.write([page_with({"a": 1}, visit=2)])

    upserted, kept = receiver.sent()
    assert upserted["replaced"] == [{"page": "f", "visit": 2}, {"page": "empty", "visit": 1}]
    assert kept["replaced"] == []
    assert [message["data"][0]["key"] for message in (upserted, kept)] == ["j-f-0", "j-f-0-2"]


# -- receivers that do not take everything --------------------------------------------------------


@pytest.mark.parametrize("status", [400, 409, 413, 422])
async def test_one_bad_item_does_not_cost_the_others_their_way(receiver: TakingReceiver, status: int) -> None:
    async def answer(request: web.Request, message: dict[str, Any]) -> web.StreamResponse:
        if any(entry["item"].get("n") == 13 for entry in message["data"]):
            return web.json_response({"message": "n is\nunlucky"}, status=status)
        return receiver.taken(message)

    receiver.always = answer
    async with sink_to(receiver.url) as sink:
        written = await sink.write(list(pages_with_items(40)))

    assert len(receiver.items) == 39
    assert [(r.page.fingerprint, r.place) for r in written.refused] == [("p13", 0)]
    assert written.refused[0].reason.startswith(str(status))
    assert written.refused[0].reason.endswith(": n is unlucky")


@pytest.mark.parametrize("status", [408, 425, 429, 500, 503])
async def test_receiver_that_cannot_now_is_away_and_gets_each_item_once_by_key(
    receiver: TakingReceiver, status: int
) -> None:
    receiver.answers = [receiver_takes(receiver), answering(status)]
    async with sink_to(f"{receiver.url}?batch=5") as sink:
        pages = list(pages_with_items(20))
        with pytest.raises(SinkAway, match=str(status)):
            await sink.write(pages)

        await sink.open({})
        await sink.write(pages)

    assert len(receiver.items) == 20


async def test_retry_after_is_obeyed_without_a_further_call(receiver: TakingReceiver) -> None:
    now = [100.0]
    receiver.answers = [answering(429, Retry_After="50")]
    async with sink_to(receiver.url, clock=lambda: now[0]) as sink:
        with pytest.raises(SinkAway):
            await sink.write([page_with({"a": 1})])
        calls = len(receiver.messages)
        now[0] = 149.0
        for again in (sink.open({}), sink.write([page_with({"a": 1})])):
            with pytest.raises(SinkAway, match="left alone for 1 s more"):
                await again
        assert len(receiver.messages) == calls

        now[0] = 151.0
        await sink.open({})
        await sink.write([page_with({"a": 1})])

    assert receiver.items == {"j-f-0": {"a": 1}}


@pytest.mark.parametrize("status", [401, 403, 404, 405, 410])
async def test_receiver_that_lets_nobody_in_is_told_before_the_job_and_is_away_later(
    receiver: TakingReceiver, status: int
) -> None:
    async with sink_to(receiver.url) as sink:
        receiver.always = answering(status)

        with pytest.raises(ConfigurationError, match=f"/hook answers {status}"):
            async with sink_to(receiver.url):
                pass
        with pytest.raises(SinkAway):
            await sink.write([page_with({"a": 1})])
        with pytest.raises(SinkAway):
            await sink.open({})


async def test_receiver_that_knows_no_pings_may_refuse_them(receiver: TakingReceiver) -> None:
    async def answer(request: web.Request, message: dict[str, Any]) -> web.StreamResponse:
        return web.Response(status=422) if message["type"] == "ping" else receiver.taken(message)

    receiver.always = answer
    async with sink_to(receiver.url) as sink:
        await sink.write([page_with({"a": 1})])

    assert receiver.items == {"j-f-0": {"a": 1}}


async def test_receiver_of_the_examples_keeps_each_item_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK", "hush")
    monkeypatch.setenv("WRONG", "hash")
    kept = str(tmp_path / "items.db")
    app = runpy.run_path(str(EXAMPLE))["application"](kept, "hush")
    async with serving(app) as url:
        async with sink_to(f"{url}/items?password_env=HOOK&batch=3") as sink:
            for visit in (0, 1, 0):
                await sink.write([page_with(*({"n": n, "visit": visit} for n in range(5 - visit)), visit=visit)])
                await sink.write([page_with({"n": 9}, name="g")])
        with pytest.raises(ConfigurationError, match="answers 401"):
            async with sink_to(f"{url}/items?password_env=WRONG"):
                pass

    with closing(sqlite3.connect(kept)) as database:
        rows = database.execute("SELECT key, visit FROM items ORDER BY key").fetchall()
    assert rows == [("j-f-0", 1), ("j-f-1", 1), ("j-f-2", 1), ("j-f-3", 1), ("j-g-0", 0)]


# -- hostile receivers ----------------------------------------------------------------------------


async def test_redirect_is_not_followed(receiver: TakingReceiver) -> None:
    with pytest.raises(ConfigurationError, match="308 Permanent Redirect: redirects are not followed"):
        async with sink_to(receiver.url.replace("/hook", "/old")):
            pass

    assert receiver.messages == []


async def test_receiver_that_never_answers_is_away(receiver: TakingReceiver) -> None:
    ended = asyncio.Event()

    async def answer(request: web.Request, message: dict[str, Any]) -> web.StreamResponse:
        await ended.wait()
        return web.Response()

    async with sink_to(receiver.url, answer_s=0.2) as sink:
        receiver.answers = [answer]

        with pytest.raises(SinkAway, match=r"does not answer within 0\.2 s"):
            await sink.write([page_with({"a": 1})])

        await sink.write([page_with({"a": 1})])
        ended.set()

    assert receiver.items == {"j-f-0": {"a": 1}}


@pytest.mark.parametrize("status", [200, 422])
async def test_answer_without_an_end_is_read_to_a_bound(receiver: TakingReceiver, status: int) -> None:
    parts = 0

    async def answer(request: web.Request, message: dict[str, Any]) -> web.StreamResponse:
        nonlocal parts
        response = web.StreamResponse(status=status)
        await response.prepare(request)
        while parts < 100_000:
            await response.write(b"x" * 65536)
            parts += 1
        return response

    async with sink_to(receiver.url) as sink:
        receiver.answers = [answer]
        written = await sink.write([page_with({"a": 1})])

    assert len(written.refused) == (status == 422)
    assert all(len(refused.reason) < 300 for refused in written.refused)
    assert parts < 1000


async def test_taken_is_taken_though_the_connection_breaks_behind_the_status(receiver: TakingReceiver) -> None:
    async def answer(request: web.Request, message: dict[str, Any]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "100"})
        await response.prepare(request)
        assert request.transport is not None
        request.transport.abort()
        return response

    async with sink_to(receiver.url) as sink:
        receiver.answers = [answer]

        written = await sink.write([page_with({"a": 1})])

    assert written.refused == []


async def test_what_speaks_no_http_is_away() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 ftp.example\x1b[31m ready\r\n")
        writer.close()

    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(await asyncio.start_server(talk, "127.0.0.1", 0))
        port = server.sockets[0].getsockname()[1]

        with pytest.raises(SinkAway) as caught:
            async with sink_to(f"http://127.0.0.1:{port}/x?token=hidden"):
                pass

    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert "hidden" not in str(caught.value)


async def test_nobody_at_a_port_is_away_and_a_name_that_nobody_has_is_told(receiver: TakingReceiver) -> None:
    async with receiving() as gone:
        pass

    with pytest.raises(SinkAway, match="/hook cannot be reached: "):
        async with sink_to(gone.url):
            pass
    with pytest.raises(ConfigurationError, match="there is no host of this name"):
        async with sink_to("http://nobody.invalid/hook"):
            pass


# -- addresses ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("http:///hook", "names no host"),
        ("http://h:99999/hook", "no URL"),
        ("http://:whsec_%21@h/", "not base64"),
        ("http://h/?auth=digest", "sign, basic or bearer, not 'digest'"),
        ("http://h/?auth=bearer", "needs a password"),
        ("http://h/?bacth=5", "did you mean batch?"),
        ("http://h/?auht=basic", "did you mean auth?"),
    ],
)
def test_address_that_cannot_work_is_one_line(typed: str, told: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        make_sink(address_of(read_sink(typed)), SinkPlace("books"))

    assert told in str(caught.value)


def test_webhook_cannot_be_emptied() -> None:
    with pytest.raises(ConfigurationError, match="with -o, not with -O"):
        make_sink(address_of(read_sink("http://h/hook")), SinkPlace("books", replace=True))


async def test_secret_is_in_nothing_that_is_shown(receiver: TakingReceiver) -> None:
    spec = read_sink(receiver.url.replace("://", "://ada:hidden@"))

    sink = make_sink(address_of(spec), SinkPlace("books"))

    assert "hidden" not in repr(spec) + repr(sink) + spec.url
    assert "hidden" not in str(vars(sink))
    await sink.close()


def test_several_messages_may_be_on_their_way_where_one_item_each_is_asked_for() -> None:
    sink = make_sink(address_of(read_sink("http://h/hook?batch=1&where=a&linger=2")), SinkPlace("books"))

    assert sink.limits.items > 1
    assert sink.limits.linger_s == 2
