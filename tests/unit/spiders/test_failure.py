"""Failures as errbacks ask them."""

from __future__ import annotations

import pytest

from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.errors import FetchError, IgnoreRequest
from p2pcrawl.model.outcome import Failure
from p2pcrawl.spiders.failure import PageFailure


def test_failure_tells_its_kind_in_the_words_of_twisted() -> None:
    failure = PageFailure(Request("http://a.example/"), FetchError(Failure.TLS, "no name server answered"))

    assert failure.type is type(failure.value)
    assert failure.check(IgnoreRequest, FetchError) is failure.trap(FetchError) is FetchError
    assert failure.check(IgnoreRequest) is None
    assert failure.getErrorMessage() == "no name server answered"
    assert str(failure) == f"{failure.type.__name__}: no name server answered"
    assert failure.getTraceback().endswith("Error: no name server answered\n")


def test_failure_of_another_kind_is_raised_by_trap() -> None:
    failure = PageFailure(Request("http://a.example/"), FetchError(Failure.DNS, "no name server answered"))

    with pytest.raises(FetchError, match="no name server"):
        failure.trap(IgnoreRequest)


def test_failure_is_known_by_the_error_of_twisted_that_stands_for_it() -> None:
    dns = type("DNSLookupError", (OSError,), {"__module__": "twisted.internet.error"})
    timeout = type("TimeoutError", (OSError,), {"__module__": "twisted.internet.error"})

    failure = PageFailure(Request("http://a.example/"), FetchError(Failure.DNS, "no name server answered"))

    assert failure.check(timeout, dns) is dns
    assert failure.check(timeout) is None
