"""Which hosts get what may be a secret."""

from __future__ import annotations

import logging

import pytest

from p2pcrawl.fetch.components.chain import Chain, Redirected
from p2pcrawl.fetch.components.own_headers import Home, OwnHeaders
from p2pcrawl.fetch.components.standard import DefaultHeaders, HttpAuth, default_components
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import FetchError

SECRETS = {"X-Api-Key": "k", "Authorization": "Basic x", "Cookie": "a=b", "X-Made-Up": "1"}


def headers_for(url: str, home: Home, settings: Settings | None = None, **meta: object) -> dict[str, str]:
    settings = settings or Settings().updated({"DEFAULT_REQUEST_HEADERS": {**SECRETS, "Accept": "x"}})
    request = Request(url, meta=meta)
    own = OwnHeaders(settings.cross_origin_headers)
    DefaultHeaders(settings.default_request_headers, own, home).process_request(request)
    return request.headers


@pytest.mark.parametrize(
    ("url", "meant"),
    [
        ("https://a.example/x", True),
        ("https://b.example/x", False),
        ("https://sub.a.example/x", False),
        ("https://shop.example/x", True),
        ("https://www.shop.example/x", True),
        ("https://notshop.example/x", False),
        ("https://shop.example.evil.example/", False),
        ("https://shop.example@evil.example/", False),
        ("http://a.example/x", False),
        ("http://shop.example/x", False),
    ],
)
def test_default_headers_that_may_be_secrets_go_to_the_jobs_hosts_only(url: str, meant: bool) -> None:
    home = Home(["shop.example"], ["https://a.example/start"])

    assert headers_for(url, home) == ({"Accept": "x"} | SECRETS if meant else {"Accept": "x"})


def test_a_host_that_was_named_in_the_clear_gets_them_in_the_clear_but_not_by_a_downgrade() -> None:
    home = Home((), ["http://a.example/"])

    assert "X-Api-Key" in headers_for("http://a.example/x", home)
    assert "X-Api-Key" in headers_for("https://a.example/x", home)
    assert "X-Api-Key" not in headers_for("http://a.example/x", home, redirect_urls=["https://a.example/"])


def test_a_start_request_makes_its_host_one_of_the_jobs() -> None:
    home = Home()
    before = headers_for("https://a.example/x", home)

    home.welcome("https://a.example/start")

    assert "X-Api-Key" not in before
    assert "X-Api-Key" in headers_for("https://a.example/x", home)


def test_what_is_named_goes_anywhere() -> None:
    settings = Settings().updated(
        {"DEFAULT_REQUEST_HEADERS": SECRETS, "CROSS_ORIGIN_HEADERS": "X-Made-Up,authorization"}
    )

    assert set(headers_for("http://b.example/", Home(), settings)) == {"X-Made-Up", "Authorization"}


def test_it_is_told_once_that_a_header_was_kept_back(caplog: pytest.LogCaptureFixture) -> None:
    component = DefaultHeaders({"X-Api-Key": "secret"}, OwnHeaders(), Home())

    with caplog.at_level(logging.INFO):
        for _ in range(3):
            component.process_request(Request("http://b.example/"))

    assert len(caplog.records) == 1
    assert "X-Api-Key" in caplog.text and "secret" not in caplog.text


def test_http_auth_does_not_go_to_its_own_domain_by_a_downgrade() -> None:
    request = Request("http://a.example/", meta={"redirect_urls": ["https://a.example/"]})

    HttpAuth("u", "p", "a.example").process_request(request)

    assert request.headers == {}


@pytest.mark.parametrize("proxied", [False, True])
async def test_what_is_for_the_proxy_is_not_for_the_host(serve, new_client, page, proxied: bool) -> None:
    server = await serve(page(b"x"))
    client = await new_client()
    url = "http://8.8.8.8/" if proxied else server.url
    request = Request(url, headers={"proxy-authorization": "Basic x", "X-A": "1"})
    if proxied:
        request.meta["proxy"] = server.url

    await client.fetch(request)

    assert (b"Basic x" in server.heads[0], b"X-A: 1" in server.heads[0]) == (proxied, True)


async def test_a_tunnel_takes_what_is_for_the_proxy_out_of_the_request(serve, new_client, page) -> None:
    proxy = await serve(page(b"no", status="403 Forbidden"))
    client = await new_client()

    with pytest.raises(FetchError, match="Forbidden"):
        await client.fetch(
            Request(
                "https://8.8.8.8/",
                headers={"Proxy-Authorization": "Basic x"},
                meta={"proxy": proxy.url},
            )
        )

    assert proxy.heads[0].startswith(b"CONNECT ")
    assert b"Basic x" in proxy.heads[0]


async def test_secrets_of_a_crawl_do_not_follow_a_redirect_to_another_host(serve, new_client, page) -> None:
    """All together: the other host gets nothing of what was meant for the first."""
    other = await serve(page(b"evil"), host="127.0.0.2")
    first = await serve(page(b"", f"Location: {other.url}/x", status="302 Found"))
    client = await new_client(
        default_request_headers={"X-Api-Key": "secret1"}, http_user="secret2", http_auth_domain="127.0.0.1"
    )
    home = Home((), [first.url])
    chain = Chain(default_components(client.settings, lambda origin: None, home=home), client.fetch)
    request = Request(
        first.url + "/p?secret3",
        headers={"X-Token": "secret4", "Referer": first.url + "/?secret5"},
        cookies={"c": "secret6"},
    )

    with pytest.raises(Redirected) as caught:
        await chain.run(request)
    await chain.run(caught.value.request)

    assert first.heads[0].count(b"secret") == 5
    assert b"Authorization: Basic c2VjcmV0Mjo=" in first.heads[0]
    assert b"secret" not in other.heads[0] and b"Authorization" not in other.heads[0]
    assert f"Referer: {first.url}/\r\n".encode() in other.heads[0]
