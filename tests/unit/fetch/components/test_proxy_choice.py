"""Which proxy a request goes through, that names none itself."""

from __future__ import annotations

import pytest

from p2pcrawl.fetch.components.proxy_choice import Proxy, ProxyChoice
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings

BOTH = {"http_proxy": "http://plain.proxy:1", "HTTPS_PROXY": "http://tls.proxy:2", "no_proxy": "inside.example,.corp"}


@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        ("http://a.example/", "http://plain.proxy:1"),
        ("https://a.example/", "http://tls.proxy:2"),
        ("http://inside.example/", ""),
        ("http://x.inside.example:8080/", ""),
        ("http://x.corp/", ""),
        ("http://localhost/", ""),
        ("http://x.localhost:8000/", ""),
        ("http://127.1.2.3/", ""),
        ("http://[::1]/", ""),
        ("http://2130706433/", ""),
        ("http://10.0.0.1/", "http://plain.proxy:1"),
    ],
)
def test_environment_chooses_by_scheme_for_other_machines(url, proxy):
    assert ProxyChoice(Settings(), BOTH).proxy_for(url) == proxy


@pytest.mark.parametrize(
    ("settings", "environment", "proxy"),
    [
        (Settings(http_proxy="http://mine:3"), BOTH, "http://mine:3"),
        (Settings(httpproxy_enabled=False), BOTH, ""),
        (Settings(httpproxy_enabled=False, http_proxy="http://mine:3"), BOTH, "http://mine:3"),
        (Settings(), {"http_proxy": "plain.proxy:1"}, "http://plain.proxy:1"),
        (Settings(), {"http_proxy": "socks5://plain.proxy:1"}, "socks5://plain.proxy:1"),
        (Settings(), {"http_proxy": "ftp://plain.proxy:1"}, ""),
        (Settings(), {"https_proxy": "http://tls.proxy:2"}, ""),
        (Settings(), {**BOTH, "no_proxy": "*"}, ""),
        (Settings(), {}, ""),
    ],
)
def test_setting_comes_before_the_environment(settings, environment, proxy):
    assert ProxyChoice(settings, environment).proxy_for("http://a.example/") == proxy


@pytest.mark.parametrize(
    ("meta", "proxy"), [({}, "http://plain.proxy:1"), ({"proxy": "http://own:4"}, "http://own:4"), ({"proxy": ""}, "")]
)
def test_request_that_names_a_proxy_keeps_it(meta, proxy):
    request = Request("http://a.example/", meta=meta)

    Proxy(ProxyChoice(Settings(), BOTH)).process_request(request)

    assert request.meta["proxy"] == proxy
