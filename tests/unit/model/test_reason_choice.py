"""Reasons as people name them."""

from __future__ import annotations

import pytest

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.model.reason_choice import EVERY_REASON, ReasonChoice, pages_named, reasons_named


@pytest.mark.parametrize(
    ("text", "reasons", "status"),
    [
        ("tls", {"tls"}, 0),
        ("http-404", {"http-4xx"}, 404),
        ("http-429", {"http-429"}, 0),
        ("http-503", {"http-5xx"}, 503),
        ("http-304", {"http-other"}, 304),
        ("unknown-host", {"no-such-name", "dns", "robots-unknown-host"}, 0),
    ],
)
def test_reason_status_and_word_for_several_are_read(text: str, reasons: set[str], status: int) -> None:
    choice = reasons_named(text)

    assert (set(choice.reasons), choice.status) == (reasons, status)


def test_no_reason_is_every_one() -> None:
    assert reasons_named("") == EVERY_REASON
    assert EVERY_REASON.covers("anything", 7)


def test_choice_covers_its_reasons_with_its_status_alone() -> None:
    choice = ReasonChoice(("http-4xx",), 404)

    assert choice.covers("http-4xx", 404)
    assert not choice.covers("http-4xx", 410) and not choice.covers("http-5xx", 404)


def test_wrong_reason_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigurationError, match="did you mean no-such-name"):
        reasons_named("no-such-nam")


def test_filter_has_no_pages_and_what_was_seen_is_no_reason() -> None:
    with pytest.raises(ConfigurationError, match="leave no records"):
        pages_named("offsite")
    with pytest.raises(ConfigurationError, match="is not a reason"):
        reasons_named("seen")
