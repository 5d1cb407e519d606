"""Hosts that want to take memory, time or connections get an error with the right name."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import sys
import zlib

import pytest

from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.errors import FetchError
from p2pcrawl.model.outcome import Failure

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


def forever(start: bytes, piece: bytes):
    """Says ``start``, then ``piece`` until the other side has had enough."""

    async def talk(reader, writer, head):
        writer.write(start)
        with contextlib.suppress(OSError):
            while not reader.at_eof():
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0)

    return talk


def then_silence(start: bytes):
    async def talk(reader, writer, head):
        writer.write(start)
        await reader.read()

    return talk


def drop_by_drop(start: bytes, drop: bytes):
    """Sends one drop per turn of the loop's clock: always alive, never done."""

    async def talk(reader, writer, head):
        writer.write(start)
        with contextlib.suppress(OSError):
            while not reader.at_eof():
                writer.write(drop)
                await writer.drain()
                await asyncio.sleep(0.02)

    return talk


async def failure(client, url, **request) -> Failure:
    with pytest.raises(FetchError) as caught:
        await client.fetch(Request(url, **request))
    return caught.value.kind


@pytest.mark.parametrize(
    ("talk", "kind"),
    [
        (forever(OK + b"\r\n", b"x" * 65536), Failure.TOO_LARGE),
        (forever(CHUNKED, b"10000\r\n" + b"x" * 65536 + b"\r\n"), Failure.TOO_LARGE),
        (forever(CHUNKED, b"1\r\nx\r\n" * 1000), Failure.PROTOCOL),
        (then_silence(OK + b"Content-Length: 10000000000\r\n\r\n"), Failure.TOO_LARGE),
        (forever(OK + b"Content-Length: 10000000000\r\n\r\n", b"x" * 65536), Failure.TOO_LARGE),
        (forever(OK, b"X-A: bcdefghijklmnop\r\n" * 100), Failure.PROTOCOL),
        (forever(OK + b"X-A: ", b"b" * 65536), Failure.PROTOCOL),
        (forever(OK, b"b" * 65536), Failure.PROTOCOL),
        (forever(b"", b"b" * 65536), Failure.PROTOCOL),
        (forever(b"HTTP/1.1 200 ", b"b" * 65536), Failure.PROTOCOL),
        (forever(CHUNKED + b"5;x=", b"b" * 65536), Failure.PROTOCOL),
        (forever(CHUNKED + b"0\r\n", b"X-A: b\r\n" * 1000), Failure.PROTOCOL),
    ],
    ids=[
        "body",
        "chunked-body",
        "tiny-chunks",
        "announced-body",
        "announced-and-sent-body",
        "headers",
        "one-header",
        "header-without-colon",
        "status-line",
        "reason",
        "chunk-extension",
        "trailers",
    ],
)
async def test_what_never_ends_is_cut_off(serve, new_client, talk, kind):
    server = await serve(talk)
    client = await new_client(download_maxsize=1 << 20, download_timeout=10)

    assert await failure(client, server.url) is kind


async def test_headers_that_are_large_together_are_refused(serve, new_client, page):
    server = await serve(page(b"", *(f"X-{i}: {'v' * 900}" for i in range(100))))
    client = await new_client(header_maxsize=64 * 1024)

    assert await failure(client, server.url) is Failure.PROTOCOL


async def test_headers_within_the_limit_pass(serve, new_client, page):
    server = await serve(page(b"", *(f"X-{i}: {'v' * 900}" for i in range(60)), f"Y: {'v' * 9000}"))
    client = await new_client(header_maxsize=64 * 1024)

    assert (await client.fetch(Request(server.url))).status == 200


@pytest.mark.parametrize(
    ("talk", "settings", "kind"),
    [
        (then_silence(b""), {"first_byte_timeout": 0.1}, Failure.FIRST_BYTE_TIMEOUT),
        (then_silence(OK), {"first_byte_timeout": 0.1}, Failure.FIRST_BYTE_TIMEOUT),
        (drop_by_drop(OK, b"X: y\r\n"), {"first_byte_timeout": 0.2}, Failure.FIRST_BYTE_TIMEOUT),
        (drop_by_drop(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), {"first_byte_timeout": 0.2}, Failure.FIRST_BYTE_TIMEOUT),
        (then_silence(OK + b"Content-Length: 5\r\n\r\n"), {"download_timeout": 0.2}, Failure.TOTAL_TIMEOUT),
        (drop_by_drop(OK + b"Content-Length: 50000\r\n\r\n", b"x"), {"download_timeout": 0.2}, Failure.TOTAL_TIMEOUT),
        (drop_by_drop(CHUNKED, b"1\r\nx\r\n"), {"download_timeout": 0.2}, Failure.TOTAL_TIMEOUT),
        (drop_by_drop(CHUNKED + b"5;", b"x"), {"download_timeout": 0.2}, Failure.TOTAL_TIMEOUT),
    ],
    ids=["silence", "half-a-head", "slow-head", "slow-1xx", "no-body", "slow-body", "slow-chunks", "slow-extension"],
)
async def test_what_is_too_slow_times_out(serve, new_client, talk, settings, kind):
    server = await serve(talk)
    client = await new_client(**settings)

    assert await failure(client, server.url) is kind


async def test_meta_overrides_the_time_of_a_fetch(serve, new_client):
    server = await serve(then_silence(OK + b"Content-Length: 5\r\n\r\n"))
    client = await new_client()

    assert await failure(client, server.url, meta={"download_timeout": 0.1}) is Failure.TOTAL_TIMEOUT


async def test_a_flood_of_interim_answers_is_cut_off_and_others_are_served_meanwhile(serve, new_client, page):
    flood = await serve(forever(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 2000))
    other = await serve(page(b"fine"))
    client = await new_client(first_byte_timeout=10)

    kind, answer = await asyncio.gather(failure(client, flood.url), client.fetch(Request(other.url)))

    assert kind is Failure.PROTOCOL
    assert answer.body == b"fine"


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (b"nonsense\r\n\r\n", Failure.PROTOCOL),
        (b"SSH-2.0-OpenSSH_9.2\r\n", Failure.PROTOCOL),
        (b"HTTP/1.1 two hundred\r\n\r\n", Failure.PROTOCOL),
        (OK + b"Content-Length: -5\r\n\r\n", Failure.PROTOCOL),
        (OK + b"Content-Length: 5x\r\n\r\nhello", Failure.PROTOCOL),
        (OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", Failure.PROTOCOL),
        (OK + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n", Failure.PROTOCOL),
        (OK + b"Bad Header\r\n\r\n", Failure.PROTOCOL),
        (OK + b"X: a\0b\r\n\r\n", Failure.PROTOCOL),
        (CHUNKED + b"zz\r\nhello", Failure.PROTOCOL),
        (CHUNKED + b"-1\r\nhello", Failure.PROTOCOL),
        (CHUNKED + b"5\r\nhelloXX", Failure.PROTOCOL),
        (CHUNKED + b"ffffffffffffffffffff\r\nhello", Failure.PROTOCOL),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nblah", Failure.PROTOCOL),
        (OK + b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello", Failure.BAD_ENCODING),
        (OK + b"Content-Encoding: made-up\r\nContent-Length: 5\r\n\r\nhello", Failure.BAD_ENCODING),
    ],
)
async def test_what_is_not_http_is_a_named_failure(serve, new_client, answer, kind):
    server = await serve(then_silence(answer))
    client = await new_client(download_timeout=5)

    assert await failure(client, server.url) is kind


@pytest.mark.parametrize(
    "start", [b"", b"HTTP/1.1 2", OK + b"X: y", OK + b"Content-Length: 9\r\n\r\nhello", CHUNKED + b"5\r\nhel"]
)
async def test_an_answer_that_breaks_off_is_a_lost_connection(serve, new_client, start):
    async def talk(reader, writer, head):
        writer.write(start)

    server = await serve(talk)
    client = await new_client()

    assert await failure(client, server.url) is Failure.LOST_CONNECTION


async def test_a_connection_that_is_reset_is_a_lost_connection(serve, new_client):
    async def talk(reader, writer, head):
        writer.write(OK + b"Content-Length: 9\r\n\r\nhello")
        await writer.drain()
        writer.transport.abort()

    server = await serve(talk)
    client = await new_client()

    assert await failure(client, server.url) is Failure.LOST_CONNECTION


async def test_what_follows_a_complete_answer_is_not_taken_for_the_next_one(serve, new_client, page):
    smuggled = page(b"evil", status="200 Evil")
    server = await serve(page(b"first") + smuggled, page(b"second"))
    client = await new_client()

    bodies = [(await client.fetch(Request(server.url))).body for _ in range(2)]

    assert bodies == [b"first", b"second"]
    assert server.connections == 2


async def test_a_bomb_from_the_network_leaves_the_connection_usable(serve, new_client, page):
    packer = zlib.compressobj(1, wbits=-15)
    block = packer.compress(bytes(16 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    bomb = b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + block * 70
    server = await serve(page(bomb, "Content-Encoding: gzip"), page(b"calm"))
    client = await new_client()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    kind = await failure(client, server.url)
    answer = await client.fetch(Request(server.url))

    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert kind is Failure.INFLATE_LIMIT
    assert (answer.body, server.connections) == (b"calm", 1)
    assert grown < (150 << 20 if sys.platform == "darwin" else 150 << 10)


async def test_a_body_over_the_limit_closes_its_connection_and_the_next_one_works(serve, new_client, page):
    server = await serve(forever(OK + b"\r\n", b"x" * 65536), page(b"fine"))
    client = await new_client(download_maxsize=1 << 16)

    assert await failure(client, server.url) is Failure.TOO_LARGE
    assert (await client.fetch(Request(server.url))).body == b"fine"
    assert server.connections == 2
