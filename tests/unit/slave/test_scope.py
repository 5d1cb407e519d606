"""The bounds of a job: which hosts it stays within, and what is told of them."""

from __future__ import annotations

import logging

import pytest

from p2pcrawl.slave.pages.scope import Scope, UnheardMeta


def test_scope_is_the_domains_and_what_is_below_them() -> None:
    scope = Scope(["example.com", ".Shop.test", "127.0.0.1"])

    assert [scope.allows(f"http://{host}/") for host in ("example.com", "a.b.example.com", "shop.test:81")] == [
        True
    ] * 3
    assert [scope.allows(f"http://{host}/") for host in ("notexample.com", "example.com.evil.test")] == [False] * 2
    assert scope.allows("http://127.0.0.1:8000/")
    assert Scope("a.test b.test").allows("http://b.test/")
    assert Scope(["a.test"], enabled=False).allows("http://b.test/")


def test_host_that_is_left_out_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    scope = Scope(["example.com"])

    with caplog.at_level(logging.DEBUG):
        for url in ("http://other.test/1", "http://other.test/2", "http://example.com/"):
            scope.allows(url)

    (message,) = caplog.messages
    assert "links to other.test are left out" in message
    assert "http://other.test/1" in message


def test_key_of_meta_that_does_nothing_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    unheard = UnheardMeta(logging.LoggerAdapter(logging.getLogger("shop"), {}))

    for _ in range(2):
        unheard.look({"download_slot": "x", "own": 1})
    unheard.look({"splash": {}})

    assert [message.partition(";")[0] for message in caplog.messages] == [
        "meta['download_slot'] has no effect",
        "meta['splash'] has no effect",
    ]
