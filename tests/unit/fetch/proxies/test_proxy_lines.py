"""Proxies as people and lists write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pcrawl.fetch.proxies.proxy_lines import SCHEMES, proxy_of


@pytest.mark.parametrize(
    ("line", "proxy"),
    [
        ("1.2.3.4:8080", "http://1.2.3.4:8080"),
        ("http://1.2.3.4:8080/", "http://1.2.3.4:8080"),
        ("http://p.example", "http://p.example:80"),
        ("https://p.example", "https://p.example:443"),
        ("user:pass@p.example:3128", "http://user:pass@p.example:3128"),
        ("1.2.3.4:8080:user:p@ss", ""),
        ("1.2.3.4:8080:user:pass", "http://user:pass@1.2.3.4:8080"),
        ("socks5://user:pass@1.2.3.4:1080", "socks5://user:pass@1.2.3.4:1080"),
        ("socks5://[2001:db8::1]:1080", "socks5://[2001:db8::1]:1080"),
        ("1.2.3.4:8080  # fast", "http://1.2.3.4:8080"),
        ("socks5://1.2.3.4", ""),
        ("1.2.3.4", ""),
        ("proxies.txt", ""),
        ("HTTP://P.Example:80", "http://p.example:80"),
        ("ftp://1.2.3.4:21", ""),
        ("http://p.example:80/path", ""),
        ("http://p.example:99999", ""),
        ("# all of it", ""),
        ("", ""),
        ("x" * 10_000, ""),
    ],
)
def test_line_is_read_as_its_writer_means_it(line: str, proxy: str) -> None:
    assert proxy_of(line) == proxy


@given(st.text(max_size=60))
def test_no_line_is_an_error(line: str) -> None:
    proxy = proxy_of(line)

    assert proxy == "" or proxy.partition("://")[0] in SCHEMES
