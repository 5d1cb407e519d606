"""Limits that a loop which stood still does not use up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from p2pcrawl.fetch.connection.client import HttpClient
from p2pcrawl.fetch.connection.guard import Networks
from p2pcrawl.fetch.connection.patience import Patience, Standstill
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings

LIMIT_S = 0.15


def block(seconds: float) -> None:
    """Holds up the loop, as a callback does."""
    time.sleep(seconds)


@pytest.fixture
async def clock() -> Standstill:
    clock = Standstill()
    clock.start()
    return clock


async def some_turns() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


async def test_what_takes_too_long_is_given_up(clock: Standstill) -> None:
    with pytest.raises(TimeoutError), Patience(clock, 0.01):
        await asyncio.get_running_loop().create_future()

    assert not asyncio.current_task().cancelling()  # type: ignore[union-attr]


async def test_time_in_which_the_loop_stood_still_does_not_count(clock: Standstill) -> None:
    with Patience(clock, LIMIT_S):
        block(2 * LIMIT_S)
        await some_turns()


async def test_limit_holds_when_the_loop_goes_on(clock: Standstill) -> None:
    with pytest.raises(TimeoutError), Patience(clock, LIMIT_S):
        block(2 * LIMIT_S)
        await asyncio.get_running_loop().create_future()


async def test_cancelling_from_outside_is_not_taken_for_a_limit(clock: Standstill) -> None:
    async def work() -> None:
        with Patience(clock, 60.0):
            await asyncio.get_running_loop().create_future()

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


class _Slow(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        time.sleep(LIMIT_S / 3)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture
def port() -> Iterator[int]:
    """A server that is not held up with the loop."""
    with HTTPServer(("127.0.0.1", 0), _Slow) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server.server_port
        server.shutdown()


@pytest.mark.parametrize("limit", ["download_timeout", "first_byte_timeout", "connect_timeout"])
async def test_answer_that_came_while_the_loop_stood_still_is_taken(port: int, limit: str) -> None:
    settings = Settings(**{limit: LIMIT_S})
    async with HttpClient(settings, Networks(["127.0.0.1"])) as client:
        fetching = asyncio.create_task(client.fetch(Request(f"http://127.0.0.1:{port}/")))
        await asyncio.sleep(0)
        block(4 * LIMIT_S)
        answer = await fetching

    assert answer.body == b"ok"
    assert answer.latency_s < 2 * LIMIT_S, "the host was not that slow"
