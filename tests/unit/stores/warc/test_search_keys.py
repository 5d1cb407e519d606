"""Keys of an index are those by which the tools for replay look a URL up; all here were made by ``surt`` 0.3.1."""

from __future__ import annotations

import pytest

from p2pcrawl.stores.warc.cdxj import search_key


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://example.com", "com,example)/"),
        ("http://www.Example.com:80/a/b/", "com,example)/a/b"),
        ("https://www12.example.com:443/A/../b//c/./d/", "com,example)/b/c/d"),
        ("http://example.com:8080/x?b=2&a=1&a", "com,example:8080)/x?a&a=1&b=2"),
        ("http://example.com/x?", "com,example)/x"),
        ("http://example.com/x?A=%2541&b", "com,example)/x?a=a&b"),
        ("http://127.0.0.1:8080/x/", "1,0,0,127:8080)/x"),
        ("http://[::1]:8080/x", "::1:8080)/x"),
        ("http://user:pw@example.com/x", "com,example)/x"),
        ("http://example.com/a%20b%C3%A9?q=%C3%A9+x#frag", "com,example)/a%20b%c3%a9?q=%c3%a9+x"),
        ("http://bücher.example/ü?ü=1", "example,xn--bcher-kva)/%c3%bc?%c3%bc=1"),
        ("http://example.com/x?PHPSESSID=0123456789abcdef0123456789abcdef&b=1", "com,example)/x?b=1"),
        ("http://example.com/x?b=1&sid=0123456789abcdef0123456789abcdef", "com,example)/x?&b=1"),
        ("http://example.com/(S(abcdefghijklmnopqrstuvwx))/p.aspx?x=1", "com,example)/p.aspx?x=1"),
        ("http://example.com/..", "com,example)/.."),
        ("http://example.com/a/..", "com,example)/"),
        ("http://example.com//", "com,example)/"),
        ("http://example.com?x=1", "com,example)/?x=1"),
        ("http://example.com/%23a%3Fb", "com,example)/%23a?b"),
        ("http://example.com/x?cfid=1&cftoken=2&z=1", "com,example)/x?z=1"),
    ],
)
def test_key_is_that_of_the_tools_for_replay(url: str, key: str) -> None:
    assert search_key(url) == key
