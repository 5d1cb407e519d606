"""allowed_domains, whatever people write there."""

from __future__ import annotations

from typing import Any

import pytest

from p2pcrawl.model.crawl.domains import is_within, read_domains


@pytest.mark.parametrize(
    ("given", "hosts", "complaints"),
    [
        (["example.com", "Sub.Example.COM.", ".lead.test", "127.0.0.1", "::1", "localhost"], 6, 0),
        ("a.test, b.test c.test", 3, 0),
        (["exämple.com"], 1, 0),
        (["https://example.com/path?q", "https://user:pw@other.test:8443/"], 2, 2),
        (["example.com:8080", "example.com"], 1, 1),
        (["*.example.com", "shop.test/"], 2, 2),
        ([None, "", 5, "a b", "http://"], 0, 5),
        (None, 0, 0),
        ((), 0, 0),
        (7, 0, 1),
    ],
)
def test_hosts_are_read_from_what_is_written(given: Any, hosts: int, complaints: int) -> None:
    found, told = read_domains(given)

    assert (len(found), len(told)) == (hosts, complaints)


def test_host_of_a_url_is_taken_and_that_is_said() -> None:
    hosts, complaints = read_domains(["https://Example.com:81/x", "exämple.com"])

    assert hosts == ["example.com", "xn--exmple-cua.com"]
    assert complaints == ["'https://Example.com:81/x' in allowed_domains is no plain domain: example.com is taken"]


def test_host_is_within_its_domain_and_those_above() -> None:
    assert is_within("a.b.test", {"b.test"})
    assert is_within("[::1]", {"::1"})
    assert not is_within("ab.test", {"b.test"})
