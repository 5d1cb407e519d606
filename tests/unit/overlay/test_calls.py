"""Calls over links on loopback: refusals, limits, and streams of strangers."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from functools import partial
from random import Random

import pytest

from p2pcrawl.model.cluster.node import parse_address
from p2pcrawl.model.errors import ConfigurationError, LinkError, NotNow, NotThere, P2PCrawlError
from p2pcrawl.overlay import calls
from p2pcrawl.overlay.calls import Caller
from p2pcrawl.overlay.link import PeerLink
from p2pcrawl.wire.messages import codec
from p2pcrawl.wire.messages.ask import Answered
from p2pcrawl.wire.messages.peer_messages import Query
from p2pcrawl.wire.sealed.handshake import MAGIC
from p2pcrawl.wire.sealed.keys import generate_key
from tests.unit.overlay.nodes import Seen, credentials, node, until


def answering_after(stuck: asyncio.Event) -> Seen:
    """Answers nothing before that."""
    seen = Seen()

    async def wait() -> Answered:
        await stuck.wait()
        return Answered(0, b"late")

    seen.answer = lambda request: wait()
    return seen


@pytest.mark.parametrize(
    ("other", "text"),
    [
        (lambda: credentials(key=generate_key()), "another cluster key"),
        (lambda: credentials(cluster="elsewhere"), "another cluster"),
    ],
)
async def test_wrong_key_or_name_is_told_in_one_clear_message(other, text: str) -> None:
    async with node() as one:
        caller = Caller(other().client)
        with pytest.raises(LinkError) as error:
            await caller.query(one.address, "ask:members")
        caller.close()

        assert text in str(error.value)
        assert "\n" not in str(error.value)


async def test_other_protocol_version_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async with node() as one:
        host, port = parse_address(one.address)
        reader, writer = await asyncio.open_connection(host, port)
        stranger = credentials().client()
        hello = bytearray(stranger.begin())
        hello[len(MAGIC)] += 1
        writer.write(bytes(hello))
        async with asyncio.timeout(5):
            answer = await reader.read(1000)
        with pytest.raises(LinkError, match="protocol version"):
            stranger.receive(answer)
        writer.close()
        assert one.members()[0].id == one.me


async def test_hostile_streams_end_their_connection_and_nothing_else() -> None:
    dice = Random(4)
    async with node() as one:
        host, port = parse_address(one.address)
        hello = credentials().client().begin()
        for data in (
            b"", b"GET / HTTP/1.1\r\n\r\n", dice.randbytes(5000), hello[:20], hello + dice.randbytes(100_000),
            b"\xff" * 70_000, hello + hello, bytes(_flipped(hello, dice)),
        ):  # fmt: skip
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(data)
            if writer.can_write_eof():
                writer.write_eof()
            async with asyncio.timeout(5):
                with contextlib.suppress(ConnectionError):
                    assert len(await reader.read(10_000)) < 1000
            writer.close()
        await until(lambda: one.counters()["links"]["open"] == 0)

        caller = Caller(credentials().client)
        assert await caller.query(one.address, "ask:anything") == b"{}"
        caller.close()


async def test_member_that_asks_too_much_at_once_loses_its_link_and_leaves_no_task() -> None:
    stuck = asyncio.Event()
    seen = answering_after(stuck)
    async with node(seen=seen) as one:
        caller = Caller(credentials().client)
        asked = [asyncio.create_task(caller.query(one.address, "x")) for _ in range(calls.OPEN_MAX + 10)]
        done = await asyncio.gather(*asked, return_exceptions=True)

        assert all(isinstance(e, LinkError) for e in done)
        assert len(seen.requests) <= calls.OPEN_MAX
        await until(lambda: one.counters()["links"]["open"] == 0)
        caller.close()


async def test_first_message_that_is_no_introduction_ends_the_link() -> None:
    async with node() as one:
        lost = asyncio.get_running_loop().create_future()
        make_link = partial(PeerLink, lambda message: None, lost.set_result, credentials().client())
        _, link = await asyncio.get_running_loop().create_connection(make_link, *parse_address(one.address))
        link.send(Query(1, "x"))

        async with asyncio.timeout(5):
            await lost
        assert one.seen.requests == []


async def test_nobody_at_the_address_is_a_link_error_that_names_it() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
        caller = Caller(credentials().client)
        with pytest.raises(LinkError, match=address):
            await caller.query(address, "ask:members")
        caller.close()


async def test_call_that_is_given_up_while_the_link_opens_leaves_nothing_behind() -> None:
    loop, complaints = asyncio.get_running_loop(), []
    loop.set_exception_handler(lambda _, context: complaints.append(context))
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(0)
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        caller = Caller(credentials().client)
        with pytest.raises(LinkError, match="did not answer"):
            await caller.query(address, "x", timeout_s=0.05)
        assert caller.counters()["calls"] == 0
        caller.close()
        await asyncio.sleep(0.02)
        import gc

        gc.collect()
        await asyncio.sleep(0)
    assert not complaints


async def test_answer_of_the_other_is_its_own_words() -> None:
    seen = Seen()

    def refuse(request: object) -> Answered:
        raise P2PCrawlError("not today")

    seen.answer = refuse
    async with node(seen=seen) as one:
        caller = Caller(credentials().client)
        with pytest.raises(P2PCrawlError, match="not today"):
            await caller.query(one.address, "x")
        caller.close()


@pytest.mark.parametrize("kind", [ConfigurationError, NotThere, NotNow])
async def test_error_of_whoever_asked_is_of_its_kind_at_the_other_end(kind: type[P2PCrawlError]) -> None:
    seen = Seen()

    def refuse(request: object) -> Answered:
        raise kind("not so")

    seen.answer = refuse
    async with node(seen=seen) as one:
        caller = Caller(credentials().client)
        with pytest.raises(kind, match="not so") as error:
            await caller.query(one.address, "x")
        assert type(error.value) is kind
        caller.close()


async def test_failing_request_says_so_without_its_insides(caplog: pytest.LogCaptureFixture) -> None:
    seen = Seen()

    def fail(request: object) -> Answered:
        raise RuntimeError("secret insides")

    seen.answer = fail
    async with node(seen=seen) as one:
        caller = Caller(credentials().client)
        with pytest.raises(P2PCrawlError) as error:
            await caller.query(one.address, "x")
        assert "secret" not in str(error.value)
        caller.close()


def _flipped(data: bytes, dice: Random) -> bytearray:
    changed = bytearray(data)
    for _ in range(dice.randint(1, 4)):
        changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
    return changed


async def test_link_on_which_nothing_comes_is_given_up_and_the_next_call_opens_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(calls, "SILENT_S", 0.05)
    stuck = asyncio.Event()
    seen = answering_after(stuck)
    async with node(seen=seen) as one:
        caller = Caller(credentials().client)
        with pytest.raises(LinkError, match="did not answer"):
            await caller.query(one.address, "ask:anything", timeout_s=0.1)
        lines = caller.counters()["open"]
        stuck.set()

        assert lines == 0
        assert await caller.query(one.address, "ask:anything") == b"late"
        caller.close()


async def test_request_that_is_too_long_fails_alone_though_it_waited_for_the_link(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with node() as one:
        caller = Caller(credentials().client)
        monkeypatch.setattr(codec, "FRAME_MAX", 1_000)

        long, short = await asyncio.gather(
            caller.query(one.address, "ask:anything", bytes(2_000)),
            caller.query(one.address, "ask:anything"),
            return_exceptions=True,
        )

        assert isinstance(long, LinkError)
        assert "over the limit" in str(long)
        assert short == b"{}"
        assert caller.counters()["calls"] == 0
        caller.close()


async def test_call_that_may_take_less_time_ends_before_one_that_began_earlier() -> None:
    stuck = asyncio.Event()
    async with node(seen=answering_after(stuck)) as one:
        caller = Caller(credentials().client)
        patient = asyncio.create_task(caller.query(one.address, "ask:anything", timeout_s=30.0))
        await asyncio.sleep(0)

        with pytest.raises(LinkError, match="did not answer"):
            await caller.query(one.address, "ask:anything", timeout_s=0.05)

        assert not patient.done()
        stuck.set()
        assert await patient == b"late"
        assert caller.counters()["calls"] == 0
        caller.close()


async def test_calls_that_have_waited_in_vain_fail_when_their_peer_shows_that_it_lives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stuck = asyncio.Event()
    seen = answering_after(stuck)
    async with node(seen=seen) as one:
        caller = Caller(credentials().client)
        waiting = asyncio.create_task(caller.query(one.address, "ask:anything"))
        await until(lambda: len(seen.requests) == 1)

        caller.renew(one.address)
        await asyncio.sleep(0)
        assert not waiting.done()

        monkeypatch.setattr(calls, "SILENT_S", 1e-9)
        caller.renew(one.address)
        with pytest.raises(LinkError, match="closed"):
            await waiting

        stuck.set()
        assert await caller.query(one.address, "ask:anything") == b"late"
        caller.renew(one.address)
        assert caller.counters()["open"] == 1
        caller.close()
