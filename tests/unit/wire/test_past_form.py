"""The past of a page on its way."""

from __future__ import annotations

from math import inf, nan

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pcrawl.core.revisits.periods import Came, Periods
from p2pcrawl.model.page_past import PAST_MAX, PagePast
from p2pcrawl.wire.messages.past_form import packed_past, past_in

FIELDS = ['"e"', "Thu, 19 Nov 2026 10:00:00 GMT", b"digest!!", -1, 1_800_000_000, 600, 3.0, 1.0, 1_800.0, 0]


def test_past_comes_back_as_it_was() -> None:
    past = PagePast(*FIELDS)

    assert past_in(packed_past(past)) == past
    assert packed_past(PagePast()) == b"" and past_in(b"") == PagePast()


def test_validators_that_are_too_long_are_left_out_and_the_rest_is_kept() -> None:
    packed = packed_past(PagePast("e" * 501, "m" * 500, b"d", asked=7))

    assert len(packed) <= PAST_MAX
    assert past_in(packed) == PagePast("", "m" * 500, b"d", asked=7)


@pytest.mark.parametrize(
    "place, value",
    [(3, -2), (4, -1), (4, 1 << 62), (5, 1 << 60), (6, nan), (6, -1.0), (7, inf), (7, 4.0), (8, nan), (9, -1)],
)
def test_past_that_cannot_be_is_none(place: int, value: float) -> None:
    fields = list(FIELDS)
    fields[place] = value

    assert past_in(msgspec.msgpack.encode(fields)) == PagePast()


@given(st.binary(max_size=200))
def test_whatever_a_slave_tells_has_a_next_visit_in_time(packed: bytes) -> None:
    periods = Periods(-1, 600, 300, 86_400, 0)

    for came in Came:
        _, due = periods.after("index", past_in(packed), came, 3, 1_800_000_000)
        assert 1_800_000_000 < due <= 1_800_000_000 + 86_400
