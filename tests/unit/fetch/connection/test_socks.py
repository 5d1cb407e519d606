"""SOCKS proxies, written byte by byte, and what must not get through them."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from p2pcrawl.fetch.connection.guard import Blocked, Networks
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.errors import FetchError
from p2pcrawl.model.outcome import Failure
from tests.certificates import Authority


class SocksServer:
    """Speaks SOCKS 4, 4a and 5; leads every connection to ``target``. ``asked`` are the hosts that it was told."""

    def __init__(self, target: int, reply: int = 0, password: bytes = b"") -> None:
        self.target, self.reply, self.password = target, reply, password
        self.asked: list[str] = []
        self.port = 0

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            version = (await reader.readexactly(1))[0]
            await (self._five(reader, writer) if version == 5 else self._four(reader, writer))
            if self.reply:
                return
            there, back = await asyncio.open_connection("127.0.0.1", self.target)
            await asyncio.gather(_pass(reader, back), _pass(there, writer))
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _five(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly((await reader.readexactly(1))[0])
        writer.write(b"\x05\x02" if self.password else b"\x05\x00")
        if self.password:
            await reader.readexactly(1)
            user = await reader.readexactly((await reader.readexactly(1))[0])
            given = await reader.readexactly((await reader.readexactly(1))[0])
            writer.write(b"\x01\x00" if (user, given) == (b"ada", self.password) else b"\x01\x01")
        kind = (await reader.readexactly(4))[3]
        if kind == 3:
            self.asked.append((await reader.readexactly((await reader.readexactly(1))[0])).decode())
        else:
            self.asked.append(socket.inet_ntoa(await reader.readexactly(4)))
        await reader.readexactly(2)
        writer.write(bytes([5, self.reply, 0, 1, 0, 0, 0, 0, 0, 0]))

    async def _four(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        address = (await reader.readexactly(7))[3:]
        await reader.readuntil(b"\0")
        if address[:3] == b"\0\0\0":
            self.asked.append((await reader.readuntil(b"\0"))[:-1].decode())
        else:
            self.asked.append(socket.inet_ntoa(address))
        writer.write(bytes([0, 91 if self.reply else 90, 0, 0, 0, 0, 0, 0]))


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(1 << 16):
        writer.write(piece)
    writer.close()


Start = Callable[..., Awaitable[SocksServer]]


@pytest.fixture
async def socks() -> AsyncIterator[Start]:
    listening = []

    async def start(target: int, **options: object) -> SocksServer:
        server = SocksServer(target, **options)  # type: ignore[arg-type]
        listening.append(await asyncio.start_server(server.talk, "127.0.0.1", 0))
        server.port = listening[-1].sockets[0].getsockname()[1]
        return server

    yield start
    for each in listening:
        each.close()


def through(server: SocksServer, scheme: str, url: str, user: str = "") -> Request:
    return Request(url, meta={"proxy": f"{scheme}://{user}127.0.0.1:{server.port}"})


@pytest.mark.parametrize(
    ("scheme", "host"),
    [("socks5", "localhost"), ("socks5h", "localhost"), ("socks4a", "localhost"), ("socks4", "127.0.0.1")],
)
async def test_page_comes_through_and_the_proxy_is_told_what_its_kind_can_hear(
    serve, new_client, page, socks, scheme, host
):
    server = await serve(page(b"here"))
    proxy = await socks(server.port)
    client = await new_client(Networks(["localhost"], ["127.0.0.0/8"]))

    answer = await client.fetch(through(proxy, scheme, f"http://localhost:{server.port}/x"))

    assert (answer.body, proxy.asked) == (b"here", [host])
    assert server.heads[0].startswith(b"GET /x HTTP/1.1")


async def test_connections_through_two_proxies_are_kept_apart(serve, new_client, page, socks):
    server = await serve(page(b"here"))
    one, two = await socks(server.port), await socks(server.port)
    client = await new_client()

    for proxy in (one, two, one, two):
        await client.fetch(through(proxy, "socks5", server.url))
    await client.fetch(Request(server.url))

    assert (one.asked, two.asked) == (["127.0.0.1"], ["127.0.0.1"])
    assert server.connections == 3


@pytest.mark.parametrize("password", ["right", "wrong"])
async def test_password_is_told_to_the_proxy_alone(serve, new_client, page, socks, password):
    server = await serve(page(b"here"))
    proxy = await socks(server.port, password=b"right")
    client = await new_client()
    request = through(proxy, "socks5", server.url, f"ada:{password}@")

    if password == "right":
        await client.fetch(request)
        assert b"ada" not in server.heads[0]
    else:
        with pytest.raises(FetchError) as failed:
            await client.fetch(request)
        assert failed.value.kind is Failure.PROXY
        assert "wrong" not in str(failed.value)


@pytest.mark.parametrize("scheme", ["socks5", "socks4"])
async def test_proxy_that_refuses_is_no_fault_of_the_host(serve, new_client, page, socks, scheme):
    server = await serve(page())
    proxy = await socks(server.port, reply=4)
    client = await new_client()

    with pytest.raises(FetchError) as failed:
        await client.fetch(through(proxy, scheme, server.url))

    assert failed.value.kind is Failure.PROXY


@pytest.mark.parametrize("scheme", ["socks5", "socks4"])
async def test_proxy_that_is_not_there_is_no_fault_of_the_host(new_client, unused_tcp_port, scheme):
    client = await new_client()

    with pytest.raises(FetchError) as failed:
        await client.fetch(Request("http://93.184.216.34/", meta={"proxy": f"{scheme}://127.0.0.1:{unused_tcp_port}"}))

    assert failed.value.kind is Failure.PROXY


async def test_name_without_an_address_is_not_asked_of_a_proxy_that_knows_no_names(new_client, socks):
    proxy = await socks(9)
    client = await new_client()

    with pytest.raises(FetchError) as failed:
        await client.fetch(through(proxy, "socks4", "http://no-such-name.invalid/"))

    assert (failed.value.kind, proxy.asked) == (Failure.PROXY, [])


@pytest.mark.parametrize("scheme", ["socks4", "socks4a", "socks5", "socks5h"])
@pytest.mark.parametrize("url", ["http://10.0.0.1/", "http://169.254.169.254/", "http://localhost/", "http://[::1]/"])
async def test_no_socks_proxy_is_asked_for_what_is_out_of_bounds(new_client, socks, scheme, url):
    proxy = await socks(9)
    client = await new_client(Networks())

    with pytest.raises(Blocked):
        await client.fetch(through(proxy, scheme, url))

    assert proxy.asked == []


async def test_certificate_of_a_host_is_checked_behind_a_socks_proxy_too(tmp_path, new_client, socks):
    files = Authority(tmp_path).files("localhost")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(files.cert, files.key)
    client = await new_client(Networks(["localhost"], ["127.0.0.0/8"]))

    async with await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0, ssl=context) as listening:
        port = listening.sockets[0].getsockname()[1]
        proxy = await socks(port)
        with pytest.raises(FetchError) as failed:
            await client.fetch(through(proxy, "socks5", f"https://localhost:{port}/"))

    assert failed.value.kind is Failure.TLS
