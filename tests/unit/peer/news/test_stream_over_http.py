"""The stream of events through the API: what is asked for it, and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from p2pcrawl.peer.api.routes import Api

PLACE = "aaaaaaaa.01010101.7"
LIMIT_S = 10.0


class Endless:
    """A peer whose events never end."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.ended = asyncio.Event()

    async def ask(self, what: str, arguments: dict[str, Any]) -> Any:
        return {}

    async def tell(self, what: str, arguments: dict[str, Any]) -> Any:
        return {}

    async def stream(self, what: str, arguments: dict[str, Any]) -> AsyncIterator[bytes]:
        self.asked.append(arguments)
        try:
            yield b"id: x\n\n"
            await asyncio.Event().wait()
        finally:
            self.ended.set()


async def listening(
    api: Api, session: aiohttp.ClientSession, query: str = "", **headers: str
) -> aiohttp.ClientResponse:
    answer = await session.get(f"http://{api.address}/v1/events{query}", headers=headers)
    assert await answer.content.readany() == b"id: x\n\n"
    return answer


async def test_peer_that_ends_does_not_wait_for_its_listeners() -> None:
    peer = Endless()
    api = Api(peer, "5e" * 32, Path("/where/it/is"))
    await api.open("127.0.0.1", [0])
    async with aiohttp.ClientSession() as session:
        answer = await listening(api, session)
        assert answer.content_type == "text/event-stream"

        async with asyncio.timeout(LIMIT_S):
            await api.close()
            await peer.ended.wait()
        answer.close()


@pytest.mark.parametrize(
    ("query", "headers", "after"),
    [
        ("", {}, {}),
        (f"?after={PLACE}", {}, {"after": PLACE}),
        ("", {"Last-Event-ID": PLACE}, {"after": PLACE}),
        ("?after=bbbbbbbb.01010101.1", {"Last-Event-ID": PLACE}, {"after": PLACE}),
    ],
)
async def test_place_is_taken_from_the_header_before_the_query(
    query: str, headers: dict[str, str], after: dict[str, str]
) -> None:
    peer = Endless()
    api = Api(peer, "5e" * 32, Path("/where/it/is"))
    await api.open("127.0.0.1", [0])
    try:
        async with aiohttp.ClientSession() as session:
            (await listening(api, session, query, **headers)).close()
    finally:
        await api.close()

    assert peer.asked == [after]


async def test_listener_that_goes_is_noticed_when_it_is_told_something() -> None:
    class Talking(Endless):
        async def stream(self, what: str, arguments: dict[str, Any]) -> AsyncIterator[bytes]:
            try:
                while True:
                    yield b"id: x\n\n"
                    await asyncio.sleep(0.001)
            finally:
                self.ended.set()

    peer = Talking()
    api = Api(peer, "5e" * 32, Path("/where/it/is"))
    await api.open("127.0.0.1", [0])
    try:
        async with aiohttp.ClientSession() as session:
            answer = await session.get(f"http://{api.address}/v1/events")
            await answer.content.readany()
            answer.close()
        async with asyncio.timeout(LIMIT_S):
            await peer.ended.wait()
    finally:
        await api.close()
