"""The client asks the guard about every address that it connects to."""

from __future__ import annotations

import pytest

from p2pcrawl.fetch.guard import Blocked, Networks
from p2pcrawl.model.request import Request


@pytest.mark.parametrize("host", ["127.0.0.1", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "localhost"])
async def test_loopback_is_refused_by_every_spelling(serve, new_client, page, host):
    server = await serve(page())
    client = await new_client(networks=Networks())

    with pytest.raises(Blocked):
        await client.fetch(Request(f"http://{host}:{server.port}/"))

    assert server.connections == 0


async def test_metadata_is_refused_even_to_a_seed(new_client):
    client = await new_client(networks=Networks(["169.254.0.0/16"], allow_private=True))

    with pytest.raises(Blocked, match="metadata"):
        await client.fetch(Request("http://169.254.169.254/latest/meta-data/"), seed=True)


async def test_a_seed_may_enter_loopback(serve, new_client, page):
    server = await serve(page(b"mine"))
    client = await new_client(networks=Networks())

    assert (await client.fetch(Request(server.url), seed=True)).body == b"mine"


async def test_being_a_seed_does_not_rub_off_on_the_next_request(serve, new_client, page):
    first, second = await serve(page()), await serve(page())
    client = await new_client(networks=Networks())
    await client.fetch(Request(first.url), seed=True)

    with pytest.raises(Blocked):
        await client.fetch(Request(second.url))


async def test_a_peers_own_port_is_refused_even_where_loopback_is_open(serve, new_client, page):
    server = await serve(page())
    client = await new_client(networks=Networks(["127.0.0.0/8"], closed={("127.0.0.1", server.port)}))

    with pytest.raises(Blocked, match="peer"):
        await client.fetch(Request(server.url), seed=True)

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
