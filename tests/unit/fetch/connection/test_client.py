"""One fetch: what comes back, what is sent, and what is kept open."""

from __future__ import annotations

import asyncio
import gzip
import resource
import socket

import pytest

from p2pcrawl.fetch.connection.guard import Networks
from p2pcrawl.fetch.connection.patience import Patience
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.errors import FetchError
from p2pcrawl.model.outcome import Failure


async def test_an_answer_tells_status_headers_body_peer_and_cookies(serve, new_client, page):
    server = await serve(page(b"<p>hi", "Content-Type: text/html", "Set-Cookie: a=1", "Set-Cookie: b=2"))
    client = await new_client()

    answer = await client.fetch(Request(server.url + "/x"))

    assert (answer.url, answer.status, answer.body) == (server.url + "/x", 200, b"<p>hi")
    assert answer.headers["content-TYPE"] == "text/html"
    assert answer.set_cookies == ("a=1", "b=2")
    assert answer.ip == "127.0.0.1"
    assert answer.latency_s > 0


async def test_a_connection_is_kept_for_the_next_request(serve, new_client, page):
    server = await serve(page(b"one"), page(b"", status="404 Not Found"), page(b"two"))
    client = await new_client()

    statuses = [(await client.fetch(Request(server.url))).status for _ in range(3)]

    assert statuses == [200, 404, 200]
    assert server.connections == 1


async def test_a_redirect_is_not_followed(serve, new_client, page):
    server = await serve(page(b"", "Location: /there", status="302 Found"))
    client = await new_client()

    answer = await client.fetch(Request(server.url))

    assert answer.status == 302
    assert len(server.heads) == 1


async def test_the_url_is_sent_as_it_was_found(serve, new_client, page):
    server = await serve(page())
    client = await new_client()
    path = "/%7Ea/b%2fc/%41;x?q=%20+&&=%C3%A9|{}"

    await client.fetch(Request(server.url + path))

    assert server.path_of(0) == path


async def test_a_url_with_odd_characters_cannot_smuggle_a_header(serve, new_client, page):
    server = await serve(page())
    client = await new_client()

    await client.fetch(Request(server.url + "/é x\r\nX-Evil: 1"))

    assert b"\r\nX-Evil" not in server.heads[0]
    assert server.path_of(0).startswith("/%C3%A9%20x")


async def test_header_of_several_values_is_sent_with_all_of_them(serve, new_client, page):
    server = await serve(page())
    client = await new_client()

    await client.fetch(Request(server.url, headers={b"X-A": [b"1", "2"]}))

    assert b"\r\nX-A: 1\r\nX-A: 2\r\n" in server.heads[0]


async def test_a_body_is_posted_with_its_headers(serve, new_client, page):
    bodies: list[bytes] = []

    async def take(reader, writer, head):
        bodies.append(await reader.readexactly(5))
        writer.write(page(b"ok"))

    server = await serve(take)
    client = await new_client()

    answer = await client.fetch(Request(server.url, method="POST", body="a=b&c", headers={"Content-Type": "x/y"}))

    assert (answer.body, bodies) == (b"ok", [b"a=b&c"])
    assert b"content-type: x/y\r\n" in server.heads[0].lower()


@pytest.mark.parametrize(
    ("method", "head"),
    [
        ("HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nContent-Encoding: gzip\r\n\r\n"),
        ("GET", b"HTTP/1.1 204 No Content\r\n\r\n"),
        ("GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 1000\r\n\r\n"),
    ],
)
async def test_answers_without_a_body_keep_their_connection(serve, new_client, method, head):
    server = await serve(head)
    client = await new_client()

    answers = [await client.fetch(Request(server.url, method=method)) for _ in range(2)]

    assert [answer.body for answer in answers] == [b"", b""]
    assert server.connections == 1


async def test_a_body_without_length_ends_with_its_connection(serve, new_client):
    server = await serve(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall of it")
    client = await new_client()

    assert (await client.fetch(Request(server.url))).body == b"all of it"


async def test_a_chunked_body_is_put_together(serve, new_client):
    server = await serve(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n")
    client = await new_client()

    assert (await client.fetch(Request(server.url))).body == b"abcde"


async def test_a_compressed_body_comes_inflated(serve, new_client, page):
    server = await serve(page(gzip.compress(b"text" * 100), "Content-Encoding: gzip"))
    client = await new_client()

    answer = await client.fetch(Request(server.url))

    assert answer.body == b"text" * 100
    assert "Content-Encoding" not in answer.headers and "Content-Length" in answer.headers
    assert b"accept-encoding: gzip, deflate, br, zstd\r\n" in server.heads[0].lower()


async def test_codings_in_several_header_lines_are_one_list(serve, new_client, page):
    twice = gzip.compress(gzip.compress(b"text"))
    server = await serve(page(twice, "Content-Encoding: gzip", "Content-Encoding: gzip"))
    client = await new_client()

    assert (await client.fetch(Request(server.url))).body == b"text"


async def test_compression_is_not_asked_for_when_switched_off(serve, new_client, page):
    server = await serve(page())
    client = await new_client(compression_enabled=False)

    await client.fetch(Request(server.url))

    assert b"accept-encoding: identity\r\n" in server.heads[0].lower()


async def test_a_kept_connection_that_the_host_closed_is_replaced(serve, new_client, page):
    async def once(reader, writer, head):
        writer.write(page(b"x"))
        await writer.drain()
        await reader.readuntil(b"\r\n\r\n")

    server = await serve(once)
    client = await new_client()

    answers = [(await client.fetch(Request(server.url))).body for _ in range(2)]

    assert answers == [b"x", b"x"]
    assert server.connections == 2


async def test_a_new_connection_that_is_closed_is_not_asked_again(serve, new_client):
    async def hang_up(reader, writer, head):
        return

    server = await serve(hang_up)
    client = await new_client()

    with pytest.raises(FetchError) as caught:
        await client.fetch(Request(server.url))

    assert caught.value.kind is Failure.LOST_CONNECTION
    assert len(server.heads) == 1


async def test_cancelling_a_fetch_closes_its_connection(serve, new_client):
    asked, closed = asyncio.Event(), asyncio.Event()

    async def wait(reader, writer, head):
        asked.set()
        await reader.read()
        closed.set()

    server = await serve(wait)
    client = await new_client()
    task = asyncio.ensure_future(client.fetch(Request(server.url)))
    await asked.wait()

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(closed.wait(), 5)


async def test_meta_overrides_the_limit_of_a_body(serve, new_client, page):
    server = await serve(page(b"x" * 100))
    client = await new_client(download_maxsize=10)

    answer = await client.fetch(Request(server.url, meta={"download_maxsize": 100}))

    assert len(answer.body) == 100


async def test_a_cut_body_is_no_failure(serve, new_client, page):
    server = await serve(page(b"0123456789" * 100_000))
    client = await new_client(download_maxsize=10)

    assert (await client.fetch(Request(server.url), cut=15)).body == b"012345678901234"


async def test_a_refused_connection_is_a_connect_failure(serve, new_client, unused_tcp_port):
    client = await new_client()

    with pytest.raises(FetchError) as caught:
        await client.fetch(Request(f"http://127.0.0.1:{unused_tcp_port}/"))

    assert caught.value.kind is Failure.CONNECT


def no_such_name(*_: object) -> None:
    raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")


async def test_a_name_that_does_not_exist_is_told_as_such(new_client, monkeypatch):
    monkeypatch.setattr("p2pcrawl.fetch.connection.names.socket.getaddrinfo", no_such_name)
    client = await new_client()

    with pytest.raises(FetchError) as caught:
        await client.fetch(Request("http://no-such-host.invalid/"))

    assert caught.value.kind is Failure.NO_NAME


@pytest.mark.parametrize("code", [socket.EAI_AGAIN, socket.EAI_FAIL])
async def test_a_name_server_that_cannot_tell_is_a_dns_failure(new_client, monkeypatch, code):
    def cannot_tell(*_: object) -> None:
        raise socket.gaierror(code, "cannot tell")

    monkeypatch.setattr("p2pcrawl.fetch.connection.names.socket.getaddrinfo", cannot_tell)
    client = await new_client()

    with pytest.raises(FetchError) as caught:
        await client.fetch(Request("http://some-host.example/"))

    assert caught.value.kind is Failure.DNS


async def test_tls_with_a_server_that_speaks_none_is_a_tls_failure(new_client):
    async def babble(reader, writer):
        writer.write(b"plain text\r\n\r\n")
        await reader.read()
        writer.close()
        await writer.wait_closed()

    client = await new_client(download_timeout=5)
    async with await asyncio.start_server(babble, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        with pytest.raises(FetchError) as caught:
            await client.fetch(Request(f"https://127.0.0.1:{port}/"))

    assert caught.value.kind is Failure.TLS


async def test_when_many_connections_are_open_new_ones_are_not_kept(serve, new_client, page, monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda what: (2, 2))
    servers = [await serve(page(b"x")) for _ in range(3)]
    client = await new_client()

    for server in servers + servers:
        await client.fetch(Request(server.url))

    assert [server.connections for server in servers] == [1, 2, 2]


async def test_a_proxy_gets_the_whole_url_and_its_own_credentials(serve, new_client, page):
    proxy = await serve(page(b"by proxy"))
    client = await new_client(networks=Networks())
    at = proxy.url.replace("//", "//user:pass@")

    answer = await client.fetch(Request("http://8.8.8.8/x", meta={"proxy": at}))

    assert answer.body == b"by proxy"
    assert proxy.heads[0].startswith(b"GET http://8.8.8.8/x HTTP/1.1\r\n")
    assert b"Proxy-Authorization: Basic dXNlcjpwYXNz\r\n" in proxy.heads[0]


async def test_a_proxy_that_is_away_is_a_proxy_failure(new_client, unused_tcp_port):
    client = await new_client()

    with pytest.raises(FetchError) as caught:
        await client.fetch(Request("http://8.8.8.8/", meta={"proxy": f"http://127.0.0.1:{unused_tcp_port}"}))

    assert caught.value.kind is Failure.PROXY


async def test_an_https_request_goes_through_a_tunnel_which_the_proxy_may_refuse(serve, new_client, page):
    proxy = await serve(page(b"no", status="403 Forbidden"))
    client = await new_client()

    with pytest.raises(FetchError) as caught:
        await client.fetch(Request("https://8.8.8.8/", meta={"proxy": proxy.url}))

    assert caught.value.kind is Failure.PROXY
    assert proxy.heads[0].startswith(b"CONNECT 8.8.8.8:443 HTTP/1.1\r\n")


@pytest.mark.parametrize(("retries", "first_s"), [(2, 0.1), (0, 0.3)])
async def test_first_connection_to_a_host_is_given_up_early_where_it_can_be_tried_again(
    serve, new_client, monkeypatch, retries, first_s
):
    monkeypatch.setattr("p2pcrawl.fetch.connection.dial.FIRST_CONNECT_S", 0.1)
    patience: list[float] = []

    class Noted(Patience):
        def __init__(self, clock, seconds):
            super().__init__(clock, seconds)
            patience.append(seconds)

    monkeypatch.setattr("p2pcrawl.fetch.connection.dial.Patience", Noted)
    client = await new_client(connect_timeout=0.3, retry_times=retries)
    server = await serve(b"")
    for host in ("127.0.0.1", "127.0.0.1", "localhost"):
        with pytest.raises(FetchError):
            await client.fetch(Request(server.url.replace("http://127.0.0.1", f"https://{host}")))

    assert patience == [first_s, 0.3, first_s]


async def test_a_tls_handshake_that_goes_nowhere_is_a_connect_timeout(serve, new_client):
    server = await serve(b"")
    client = await new_client(connect_timeout=0.2)

    with pytest.raises(FetchError) as caught:
        await client.fetch(Request(server.url.replace("http:", "https:")))

    assert caught.value.kind is Failure.CONNECT_TIMEOUT


async def test_a_closed_client_says_so(new_client):
    client = await new_client()
    await client.close()

    with pytest.raises(RuntimeError, match="not open"):
        await client.fetch(Request("http://127.0.0.1/"))
