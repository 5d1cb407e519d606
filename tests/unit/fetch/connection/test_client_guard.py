"""The client asks the guard about every address that it connects to."""

from __future__ import annotations

import socket

import pytest
from aiohttp.abc import ResolveResult

from p2pcrawl.fetch.connection.guard import Blocked, Networks
from p2pcrawl.fetch.connection.names import Names
from p2pcrawl.model.crawl.request import Request


@pytest.mark.parametrize("host", ["127.0.0.1", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "localhost"])
async def test_loopback_is_refused_by_every_spelling(serve, new_client, page, host):
    server = await serve(page())
    client = await new_client(networks=Networks())

    with pytest.raises(Blocked):
        await client.fetch(Request(f"http://{host}:{server.port}/"))

    assert server.connections == 0


async def test_metadata_is_refused_whatever_is_open(new_client):
    client = await new_client(networks=Networks(["169.254.169.254"], ["169.254.0.0/16"]))

    with pytest.raises(Blocked, match="metadata"):
        await client.fetch(Request("http://169.254.169.254/latest/meta-data/"))


async def test_what_a_start_url_names_is_open_at_every_port(serve, new_client, page):
    first, second = await serve(page(b"mine")), await serve(page(b"mine, too"))
    client = await new_client(networks=Networks(["127.0.0.1"]))

    assert [(await client.fetch(Request(each.url))).body for each in (first, second)] == [b"mine", b"mine, too"]


async def test_a_public_name_that_resolves_to_this_machine_is_refused(serve, new_client, page, monkeypatch):
    """Whoever answers for a name decides where it leads: also where that is open to the job."""
    server = await serve(page(b"secret"))
    client = await new_client(networks=Networks(["127.0.0.1", "10.1.2.3"]))
    known = {"metrics.evil.example": "127.0.0.1", "intranet.evil.example": "10.1.2.3"}

    async def resolve(self: Names, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        return [ResolveResult(hostname=host, host=known[host], port=port, family=socket.AF_INET, proto=0, flags=0)]

    monkeypatch.setattr(Names, "resolve", resolve)

    for name in known:
        with pytest.raises(Blocked, match="leads to"):
            await client.fetch(Request(f"http://{name}:{server.port}/"))
    assert server.connections == 0
    assert (await client.fetch(Request(server.url))).body == b"secret"


async def test_a_name_that_the_user_allows_may_lead_here(serve, new_client, page, monkeypatch):
    server = await serve(page(b"mine"))
    client = await new_client(networks=Networks((), ["intranet.example"]))

    async def resolve(self: Names, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        return [ResolveResult(hostname=host, host="127.0.0.1", port=port, family=socket.AF_INET, proto=0, flags=0)]

    monkeypatch.setattr(Names, "resolve", resolve)

    assert (await client.fetch(Request(f"http://intranet.example:{server.port}/"))).body == b"mine"


async def test_an_open_connection_to_one_name_is_not_used_for_another(serve, new_client, page):
    server = await serve(page(b"mine"), page(b"not yours"))
    client = await new_client(networks=Networks(["127.0.0.1"]))
    await client.fetch(Request(server.url))

    with pytest.raises(Blocked):
        await client.fetch(Request(f"http://localhost:{server.port}/"))

    assert server.connections == 1


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "127.0.0.2"])
async def test_a_peers_port_is_refused_by_every_spelling_even_where_loopback_is_open(serve, new_client, page, host):
    server = await serve(page())
    client = await new_client(networks=Networks([], True, closed={("127.0.0.1", server.port)}))

    with pytest.raises(Blocked, match="peer"):
        await client.fetch(Request(f"http://{host}:{server.port}/"))

    assert server.connections == 0


@pytest.mark.parametrize("host", ["10.0.0.1", "169.254.169.254", "[::ffff:127.0.0.1]", "localhost"])
async def test_a_proxy_is_not_asked_to_go_where_we_may_not(serve, new_client, page, host):
    proxy = await serve(page())
    client = await new_client(networks=Networks())

    with pytest.raises(Blocked):
        await client.fetch(Request(f"http://{host}/", meta={"proxy": proxy.url}))

    assert proxy.connections == 0


async def test_a_name_only_the_proxy_knows_is_left_to_the_proxy(serve, new_client, page):
    proxy = await serve(page(b"found"))
    client = await new_client(networks=Networks())

    answer = await client.fetch(Request("http://no-such-host.invalid/", meta={"proxy": proxy.url}))

    assert answer.body == b"found"


async def test_legacy_spellings_of_an_address_are_refused(new_client):
    client = await new_client(networks=Networks())

    for host in ("2130706433", "0x7f000001", "127.1", "0177.0.0.1"):
        with pytest.raises(Exception, match=r"canonical|loopback|address|getaddrinfo|resolve|known"):
            await client.fetch(Request(f"http://{host}:1/"))
