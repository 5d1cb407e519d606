"""Raw pages: what was sent and what came, byte by byte, whatever became of it."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import brotli
import pytest

from p2pcrawl.fetch.connection.client import HttpClient
from p2pcrawl.fetch.connection.guard import Networks
from p2pcrawl.model.crawl.raw_page import RawPage
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import DiskFullError, FetchError, StorageError

TEXT = b"<p>a page of some words</p>" * 200


class Kept(list[RawPage]):
    """Keeps pages in memory; with ``failure`` it cannot."""

    failure: StorageError | None = None

    async def keep(self, page: RawPage) -> None:
        if self.failure is not None:
            raise self.failure
        self.append(page)


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
async def new_client(kept: Kept) -> AsyncIterator[Callable[..., Awaitable[HttpClient]]]:
    """``await new_client(setting=value, ...)``: an open client whose raw pages are in ``kept``."""
    async with AsyncExitStack() as stack:

        async def start(**settings: object) -> HttpClient:
            networks = Networks((), ["127.0.0.0/8"])
            return await stack.enter_async_context(HttpClient(Settings().updated(settings), networks, raw_pages=kept))

        yield start


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\n<p>hi",
        b"HTTP/1.1 404 Not There\r\nContent-Length: 4\r\n\r\nnope",
        b"HTTP/1.1 204\r\nServer:x\r\nX-Much:   a  b  \r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX-Folded: one\r\n two\r\nContent-Length: 2\r\n\r\n\n\n",
        b"HTTP/1.1 503 \r\ncontent-length: 0\r\nRETRY-after: 7\r\n\r\n",
        b"HTTP/1.1 301 Moved\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nX-Latin: caf\xe9\r\nset-cookie: b=2\r\nContent-Length: 1\r\n\r\n\xff",
        b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 256\r\n\r\n" + bytes(range(256)),
        b"HTTP/1.0 200 OK\r\nConnection: close\r\n\r\nuntil it is closed",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(gzip.compress(TEXT, mtime=0))
        + gzip.compress(TEXT, mtime=0),
        b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: %d\r\n\r\n" % len(brotli.compress(TEXT))
        + brotli.compress(TEXT),
        b"HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\nContent-Length: %d\r\n\r\n" % len(zlib.compress(TEXT))
        + zlib.compress(TEXT),
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 8\r\n\r\nno gzip!",
    ],
)
async def test_answer_is_kept_as_it_was_sent(serve, new_client, kept, answer):
    server = await serve(answer)
    client = await new_client()

    try:
        await client.fetch(Request(server.url + "/x?y=1"))
    except FetchError:
        assert b"no gzip" in answer

    (page,) = kept
    assert page.head + page.body == answer
    assert (page.url, page.method, page.ip, page.truncated) == (server.url + "/x?y=1", "GET", "127.0.0.1", "")


async def test_request_is_kept_as_it_was_sent(serve, new_client, kept, page):
    server = await serve(page())
    client = await new_client()

    await client.fetch(Request(server.url + "/a?b=c", headers={"Cookie": "id=7", "X-Own": "1"}))

    assert kept[0].request_head == server.heads[0]
    assert b"Cookie: id=7" in server.heads[0]


async def test_what_a_proxy_was_asked_is_kept_without_the_address_of_the_proxy(serve, new_client, kept, page):
    proxy = await serve(page(b"<p>far"))
    client = await new_client()

    await client.fetch(Request("http://127.0.0.1:9/x", meta={"proxy": proxy.url}))

    assert kept[0].request_head == proxy.heads[0]
    assert proxy.heads[0].startswith(b"GET http://127.0.0.1:9/x HTTP/1.1\r\n")
    assert (kept[0].url, kept[0].ip, kept[0].body) == ("http://127.0.0.1:9/x", "", b"<p>far")


async def test_body_of_a_request_is_kept(serve, new_client, kept, page):
    bodies = []

    async def answer(reader, writer, head):
        bodies.append(await reader.readexactly(7))
        writer.write(page())
        await writer.drain()

    server = await serve(answer)
    client = await new_client()

    await client.fetch(Request(server.url, method="POST", body=b"q=1&r=2"))

    assert bodies == [kept[0].request_body] == [b"q=1&r=2"]
    assert kept[0].request_head == server.heads[0]
    assert kept[0].method == "POST"


async def test_framing_of_chunks_is_taken_away_with_the_header_that_announces_it(serve, new_client, kept):
    server = await serve(
        b"HTTP/1.1 200 OK\r\nX-A: 1\r\ntransfer-Encoding: chunked\r\nX-B: 2\r\n\r\n"
        b"5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"
    )
    client = await new_client()

    await client.fetch(Request(server.url))

    assert kept[0].head == b"HTTP/1.1 200 OK\r\nX-A: 1\r\nX-Crawler-Transfer-Encoding: chunked\r\nX-B: 2\r\n\r\n"
    assert kept[0].body == b"hello world"


async def test_head_that_comes_byte_by_byte_is_kept(serve, new_client, kept):
    answer = b"HTTP/1.1 100 Go\r\nX: 1\r\n\r\nHTTP/1.1 200 OK\r\nX-A:b\r\nContent-Length: 4\r\n\r\n\r\n\r\n"

    async def slowly(reader, writer, head):
        for byte in answer:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0)

    server = await serve(slowly)
    client = await new_client()

    await client.fetch(Request(server.url))

    assert kept[0].head + kept[0].body == answer.partition(b"\r\n\r\n")[2]


async def test_answers_on_one_connection_keep_their_own_heads(serve, new_client, kept, page):
    server = await serve(page(b"one", "X-N: 1"), page(b"", "X-N: 2"), page(b"three", "X-N:3"))
    client = await new_client()

    for _ in range(3):
        await client.fetch(Request(server.url))

    assert server.connections == 1
    assert [raw.head.partition(b"X-N:")[2].strip() for raw in kept] == [b"1", b"2", b"3"]


@pytest.mark.parametrize("end", [b"\r\n", b"\n"])
async def test_head_whose_lines_end_otherwise_is_kept(serve, new_client, kept, end):
    answer = end.join([b"HTTP/1.1 200 OK", b"Content-Length: 2", b"", b"hi"])
    server = await serve(answer)
    client = await new_client()

    await client.fetch(Request(server.url))

    assert kept[0].head + kept[0].body == answer


async def test_head_that_is_none_to_others_is_put_together_from_what_was_made_of_it(serve, new_client, kept):
    async def odd(reader, writer, head):
        writer.write(b"HTTP/1.1 200 OK\r\n \r\n" + b"no empty line" * 100)
        await writer.drain()

    server = await serve(odd)
    client = await new_client()

    answer = await client.fetch(Request(server.url))

    assert (kept[0].head, kept[0].body) == (b"HTTP/1.1 200 OK\r\n\r\n", answer.body)


async def test_interim_answer_is_no_part_of_the_page(serve, new_client, kept, page):
    server = await serve(b"HTTP/1.1 103 Early Hints\r\nLink: </s.css>\r\n\r\n" + page(b"<p>"))
    client = await new_client()

    await client.fetch(Request(server.url))

    assert [page.head + page.body for page in kept] == [b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n<p>"]


async def test_body_that_breaks_off_is_kept_as_far_as_it_came(serve, new_client, kept):
    async def half(reader, writer, head):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        await writer.drain()

    server = await serve(half)
    client = await new_client()

    with pytest.raises(FetchError):
        await client.fetch(Request(server.url))

    assert (kept[0].body, kept[0].truncated) == (b"half", "disconnect")


async def test_body_that_takes_too_long_is_kept_as_far_as_it_came(serve, new_client, kept):
    async def slow(reader, writer, head):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nslow")
        await writer.drain()
        await reader.read()

    server = await serve(slow)
    client = await new_client(download_timeout=0.3)

    with pytest.raises(FetchError):
        await client.fetch(Request(server.url))

    assert (kept[0].body, kept[0].truncated) == (b"slow", "time")


@pytest.mark.parametrize("announced", [True, False])
async def test_body_over_the_limit_is_marked(serve, new_client, kept, announced):
    head = b"Content-Length: 3000" if announced else b"Connection: close"
    server = await serve(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n\r\n" + bytes(3000))
    client = await new_client(download_maxsize=1000)

    with pytest.raises(FetchError):
        await client.fetch(Request(server.url))

    assert kept[0].truncated == "length"
    assert len(kept[0].body) in range(3001)


async def test_body_that_is_cut_on_purpose_is_marked(serve, new_client, kept, page):
    server = await serve(page(bytes(200_000)))
    client = await new_client()

    answer = await client.fetch(Request(server.url), cut=100)

    assert len(answer.body) == 100
    assert kept[0].truncated == "length"


async def test_page_that_cannot_be_kept_does_not_count_as_fetched(serve, new_client, kept, page):
    server = await serve(page(b"<p>"))
    kept.failure = DiskFullError("no room left")
    client = await new_client()

    with pytest.raises(DiskFullError):
        await client.fetch(Request(server.url))


async def test_host_that_says_nothing_leaves_no_page(serve, new_client, kept):
    async def silent(reader, writer, head):
        await asyncio.sleep(0)

    server = await serve(silent)
    client = await new_client()

    with pytest.raises(FetchError):
        await client.fetch(Request(server.url))

    assert kept == []
