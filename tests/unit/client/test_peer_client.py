"""The client for scripts: what it signs, what its errors are, and how it listens."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from p2pcrawl import Client
from p2pcrawl.client import peer_client
from p2pcrawl.client.peer_access import TOKEN_VARIABLE
from p2pcrawl.model.errors import ConfigurationError, NotNow, NotThere, P2PCrawlError
from tests.unit.peer.api.test_api import TOKEN
from tests.unit.peer.api.test_ranks import READ_TOKEN, listening


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in (TOKEN_VARIABLE, "P2PCRAWL_PEER"):
        monkeypatch.delenv(name, raising=False)


@asynccontextmanager
async def serving(handler: Callable[[web.Request], object]) -> AsyncIterator[str]:
    """Answers whatever is asked by this handler."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)  # type: ignore[arg-type]
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@pytest.mark.parametrize("token", [TOKEN, READ_TOKEN])
async def test_questions_are_signed_where_that_is_wanted(token: str) -> None:
    async with listening("0.0.0.0") as (_, _, address), Client(address, token=token) as cluster:
        for _ in range(2):
            assert (await cluster.owner("http://a.example/?q=a b&c=ü"))["url"] == "http://a.example/?q=a b&c=ü"
        assert [item["n"] async for item in cluster.job(3).items()] == [0, 1, 2]


async def test_token_is_signed_with_and_never_sent() -> None:
    heard: list[str] = []

    async def note(request: web.Request) -> web.Response:
        heard.append(f"{request.rel_url}{dict(request.headers)}{await request.text()}")
        return web.json_response({"nonce": "0" * 80, "token_file": "/x"})

    async with serving(note) as address, Client(address, token=TOKEN) as cluster:
        await cluster.job("news").pause()

    assert len(heard) == 2
    assert TOKEN not in "".join(heard)
    assert "P2PCrawl " in heard[-1]


async def test_job_is_steered_by_whatever_it_is_called() -> None:
    async with listening("127.0.0.1") as (desk, _, address), Client(address, token=TOKEN) as cluster:
        job = cluster.job("a/b ü")
        for call in (job.pause(), job.resume(), job.cancel(), job.delete(force=True)):
            await call
        await job.inject(["http://a.example/"])
        await job.set({"DOWNLOAD_DELAY": "2"})
        await job.retry(dead_letters=True)
        await cluster.change_host("a.example", paused=True)

    named = {"job": "a/b ü"}
    assert desk.told == [
        ("pause", named),
        ("resume", named),
        ("cancel", named),
        ("delete", {**named, "force": True}),
        ("inject", {**named, "urls": ["http://a.example/"]}),
        ("set", {**named, "settings": {"DOWNLOAD_DELAY": "2"}}),
        ("retry", {**named, "dead_letters": True}),
        ("set-host", {"host": "a.example", "paused": True}),
    ]


async def test_token_for_reading_changes_nothing_and_is_told_so() -> None:
    async with listening("127.0.0.1") as (desk, _, address), Client(address, token=READ_TOKEN) as cluster:
        with pytest.raises(ConfigurationError, match="for reading only"):
            await cluster.job(1).cancel()
        assert not desk.told


@pytest.mark.parametrize("error", [NotThere("no such"), NotNow("not so"), ConfigurationError("no"), P2PCrawlError("x")])
async def test_errors_of_the_cluster_are_those_of_the_client(error: P2PCrawlError) -> None:
    async with listening("127.0.0.1") as (desk, _, address), Client(address, token=TOKEN) as cluster:
        desk.error = error
        for call in (cluster.status(), cluster.job(1).pause(), anext(cluster.job(1).items())):
            with pytest.raises(type(error), match=str(error)) as raised:
                await call
            assert type(raised.value) is type(error)


async def test_nobody_there_is_one_clear_line() -> None:
    async with Client("127.0.0.1:1") as cluster:
        with pytest.raises(P2PCrawlError, match=r"no peer answers at 127\.0\.0\.1:1 .*is it running"):
            await cluster.status()


async def test_silence_is_not_waited_for_longer_than_one_wants() -> None:
    enough = asyncio.Event()

    async def wait(request: web.Request) -> web.Response:
        await enough.wait()
        return web.Response()

    async with serving(wait) as address, Client(address, patience_s=0.05) as cluster:
        with pytest.raises(P2PCrawlError, match=r"did not answer in 0\.05 s"):
            await cluster.status()
        enough.set()


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"null", b"[" * 100_000])
async def test_whatever_a_web_server_answers_is_no_peer(body: bytes) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=body)

    async with serving(answer) as address, Client(address, token=TOKEN) as cluster:
        for call in (cluster.status(), cluster.job(1).pause()):
            with pytest.raises(ConfigurationError, match="no peer's API"):
                await call


async def test_answer_without_end_is_not_read_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer_client, "ANSWER_MAX", 1 << 20)

    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=bytes(1 << 23))

    async with serving(answer) as address, Client(address) as cluster:
        for call in (cluster.status(), anext(cluster.job(1).items())):
            with pytest.raises(ConfigurationError, match="no peer's API"):
                await call


async def test_items_that_are_cut_short_are_told_so() -> None:
    async def cut(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b'{"n":1}\n{"n":')
        assert request.transport is not None
        request.transport.close()
        return response

    async with serving(cut) as address, Client(address) as cluster:
        items = cluster.job(1).items()
        assert await anext(items) == {"n": 1}
        with pytest.raises(P2PCrawlError, match="cut short"):
            await anext(items)


async def test_client_that_was_not_entered_says_how_to() -> None:
    with pytest.raises(ConfigurationError, match="async with Client"):
        cluster = Client("127.0.0.1:1")
        async with cluster:
            pass
        await cluster.status()


async def test_peer_in_the_environment_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    async with listening("127.0.0.1") as (_, _, address):
        monkeypatch.setenv("P2PCRAWL_PEER", address)
        async with Client() as cluster:
            assert cluster.address == address
            assert await cluster.status()


async def test_events_go_on_where_they_were_when_the_connection_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer_client, "AGAIN_S", 0.0)
    asked: list[str] = []

    async def tell(request: web.Request) -> web.StreamResponse:
        asked.append(request.headers.get("Last-Event-ID", ""))
        response = web.StreamResponse()
        await response.prepare(request)
        number = len(asked)
        await response.write(b"id: place\n\n: nothing\n\n" if number == 1 else b"")
        told = f'id: e{number}\nevent: takeover\ndata: {{"kind": "takeover", "n": {number}}}\n\nid: half'
        await response.write(told.encode())
        with contextlib.suppress(ConnectionError):
            assert request.transport is not None
            request.transport.close()
        return response

    async with serving(tell) as address, Client(address) as cluster:
        events = cluster.events()
        heard = [await anext(events) for _ in range(3)]
        await events.aclose()  # type: ignore[attr-defined]

    assert heard == [{"id": f"e{n}", "kind": "takeover", "n": n} for n in (1, 2, 3)]
    assert asked[:3] == ["", "e1", "e2"]


async def test_events_of_nobody_are_an_error() -> None:
    async with Client("127.0.0.1:1") as cluster:
        with pytest.raises(P2PCrawlError, match="no peer answers"):
            await anext(cluster.events())
