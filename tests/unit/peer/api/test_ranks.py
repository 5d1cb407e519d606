"""The two tokens: what is free, what is read with one of them, and what only one of them changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from p2pcrawl.client.peer_access import TOKEN_VARIABLE
from p2pcrawl.client.remote import Remote
from p2pcrawl.model.cluster.node import Address
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.peer.api.routes import Api
from p2pcrawl.peer.api.table.every_operation import OPERATIONS
from p2pcrawl.peer.api.table.operation import Rank
from p2pcrawl.peer.api.tokens import authorization, load_or_make_tokens
from tests.unit.peer.api.test_api import TOKEN, Desk
from tests.unit.peer.api.test_openapi import filled

READ_TOKEN = "2a" * 32


@asynccontextmanager
async def listening(host: str) -> AsyncIterator[tuple[Desk, aiohttp.ClientSession, Address]]:
    desk = Desk()
    made = Api(desk, TOKEN, Path("/where/token"), read_token=READ_TOKEN)
    await made.open(host, [0])
    address = Address(f"127.0.0.1:{made.address.rpartition(':')[2]}")
    try:
        async with aiohttp.ClientSession(f"http://{address}") as session:
            yield desk, session, address
    finally:
        await made.close()


def said(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.parametrize("headers", [{}, said(""), said("0" * 64), said(READ_TOKEN.upper()), {"Authorization": TOKEN}])
async def test_api_that_listens_elsewhere_tells_nothing_without_a_token(headers: dict[str, str]) -> None:
    async with listening("0.0.0.0") as (_, session, _):
        for each in (each for each in OPERATIONS if each.rank is not Rank.OPEN):
            async with session.request(each.method, filled(each.path), headers=headers) as answer:
                assert answer.status == 401, each.path
                assert answer.headers["WWW-Authenticate"] == "Bearer"


async def test_what_is_open_is_told_to_everybody() -> None:
    async with listening("0.0.0.0") as (_, session, _):
        for path in ("/v1/nonce", "/openapi.json", "/docs"):
            async with session.get(path) as answer:
                assert answer.status == 200


@pytest.mark.parametrize("token", [TOKEN, READ_TOKEN])
async def test_either_token_reads(token: str) -> None:
    async with listening("0.0.0.0") as (_, session, _):
        for path in ("/v1/status", "/v1/jobs/3/items"):
            async with session.get(path, headers=said(token)) as answer:
                assert answer.status == 200


async def test_token_for_reading_changes_nothing() -> None:
    async with listening("127.0.0.1") as (desk, session, _):
        for each in (each for each in OPERATIONS if each.rank is Rank.CHANGE):
            async with session.request(each.method, filled(each.path), headers=said(READ_TOKEN)) as answer:
                assert answer.status == 403
                assert "/where/token" in (await answer.json())["error"]
        assert not desk.told


async def test_signature_by_a_token_for_reading_changes_nothing() -> None:
    async with listening("127.0.0.1") as (desk, session, _):
        async with session.get("/v1/nonce") as answer:
            nonce = (await answer.json())["nonce"]
        headers = {"Authorization": authorization(READ_TOKEN, nonce, "POST", "/v1/drain", b"")}
        async with session.post("/v1/drain", headers=headers) as answer:
            assert answer.status == 403
        assert not desk.told


async def test_token_that_is_wrong_is_refused_where_none_is_needed() -> None:
    async with listening("127.0.0.1") as (_, session, _):
        async with session.get("/v1/status") as answer:
            assert answer.status == 200
        async with session.get("/v1/status", headers=said("0" * 64)) as answer:
            assert answer.status == 401


@pytest.mark.parametrize("token", [TOKEN, READ_TOKEN])
async def test_command_line_signs_its_questions_where_that_is_wanted(
    token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, token)
    async with listening("0.0.0.0") as (_, _, address):
        remote = Remote(address)
        for _ in range(2):
            told = await asyncio.to_thread(remote.get, "/v1/urls/owner", url="http://a.example/?a=b c")
            assert told["url"] == "http://a.example/?a=b c"
        lines = await asyncio.to_thread(lambda: list(Remote(address).lines("/v1/jobs/3/items")))

    assert sum(map(len, lines)) == 3


async def test_command_line_without_a_token_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(TOKEN_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    async with listening("0.0.0.0") as (_, _, address):
        with pytest.raises(ConfigurationError, match=r"none that you run on this machine.*--token-file"):
            await asyncio.to_thread(Remote(address).get, "/v1/status")


async def test_command_line_with_a_token_for_reading_is_told_that_it_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, READ_TOKEN)
    async with listening("127.0.0.1") as (desk, _, address):
        with pytest.raises(ConfigurationError, match="this token is for reading only"):
            await asyncio.to_thread(Remote(address).post, "/v1/drain", {})
        assert not desk.told


def test_both_tokens_are_for_their_owner_alone_and_differ(tmp_path: Path) -> None:
    token, read_token = load_or_make_tokens(tmp_path)

    assert token != read_token
    assert load_or_make_tokens(tmp_path) == (token, read_token)
    assert {(tmp_path / name).stat().st_mode & 0o777 for name in ("token", "token-read")} == {0o600}


def test_peer_does_not_start_where_both_tokens_are_the_same(tmp_path: Path) -> None:
    load_or_make_tokens(tmp_path)
    (tmp_path / "token-read").write_bytes((tmp_path / "token").read_bytes())

    with pytest.raises(ConfigurationError, match=r"token-read has the token of token: remove it"):
        load_or_make_tokens(tmp_path)


@pytest.mark.parametrize("read_token", ["", " ", "0" * 63, "not a token"])
def test_nothing_but_a_token_opens_reading(read_token: str) -> None:
    with pytest.raises(ValueError, match="64 hex digits"):
        Api(Desk(), TOKEN, Path("/where/token"), read_token=read_token)
