"""The moments of cron expressions, also where clocks are changed: none is lost, and none comes twice."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pcrawl.core.scheduling.calendar import Calendar
from p2pcrawl.model.errors import ConfigurationError

BERLIN = ZoneInfo("Europe/Berlin")
HOUR = 3_600_000


def moment(*numbers: int, fold: int = 0) -> int:
    """A moment by the clocks of Berlin, which leave out 2 to 3 h on 29 March 2026, and have it twice on 25 October."""
    return int(datetime(*numbers, tzinfo=BERLIN, fold=fold).timestamp()) * 1_000  # type: ignore[arg-type, misc]


def test_moments_follow_each_other_in_the_zone() -> None:
    calendar = Calendar("0 8 * * 1-5", "Europe/Berlin")

    found = calendar.between(moment(2026, 7, 10, 8), moment(2026, 7, 15), 10)

    assert found == [moment(2026, 7, 13, 8), moment(2026, 7, 14, 8)]
    assert calendar.after(moment(2026, 7, 10, 8)) == found[0]
    assert calendar.last(found[1]) == found[1]
    assert calendar.last(found[1] - 1) == found[0]


def test_fixed_time_that_is_left_out_is_due_at_the_end_of_that_hour_and_once() -> None:
    calendar = Calendar("15,45 2 * * *", "Europe/Berlin")

    found = calendar.between(moment(2026, 3, 28, 12), moment(2026, 3, 30, 12), 10)

    assert found == [moment(2026, 3, 29, 3), moment(2026, 3, 30, 2, 15), moment(2026, 3, 30, 2, 45)]
    assert calendar.last(moment(2026, 3, 29, 12)) == moment(2026, 3, 29, 3)


@pytest.mark.parametrize("fold", [0, 1])
def test_fixed_time_that_comes_twice_is_due_once(fold: int) -> None:
    calendar = Calendar("30 2 * * *", "Europe/Berlin")

    after = calendar.between(moment(2026, 10, 25, 2, 40, fold=fold), moment(2026, 10, 26, 12), 10)
    last = calendar.last(moment(2026, 10, 25, 2, 20, fold=1))

    assert after == [moment(2026, 10, 26, 2, 30)]
    assert last == moment(2026, 10, 25, 2, 30)


def test_every_half_hour_is_due_by_the_time_that_passes() -> None:
    calendar = Calendar("*/30 * * * *", "Europe/Berlin")

    found = calendar.between(moment(2026, 10, 25, 0), moment(2026, 10, 25, 5), 50)

    assert len(found) == 12
    assert {b - a for a, b in pairwise(found)} == {HOUR // 2}


def test_six_fields_begin_with_seconds() -> None:
    calendar = Calendar("*/20 * * * * *", "UTC")

    assert calendar.between(0, 60_000, 10) == [20_000, 40_000, 60_000]
    assert calendar.between(0, 60_000, 2) == [20_000, 40_000]


def test_shorthand_is_what_it_says() -> None:
    assert Calendar("@daily", "Europe/Berlin").after(moment(2026, 7, 1, 5)) == moment(2026, 7, 2)


@given(
    st.sampled_from(["30 2 * * *", "0,30 1-3 * * *", "*/7 * * * *", "5 */2 * * *", "0 0 1 * *", "*/20 15 2 * * *"]),
    st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC"]),
    st.datetimes(datetime(2025, 1, 1), datetime(2027, 1, 1)),
    st.timedeltas(timedelta(0), timedelta(days=3)),
)
def test_last_moment_is_the_last_of_those_between(cron: str, zone: str, begin: datetime, length: timedelta) -> None:
    calendar, start = Calendar(cron, zone), int(begin.timestamp()) * 1_000
    until = start + int(length.total_seconds()) * 1_000

    between = calendar.between(start, until, 100_000)

    assert between == sorted(set(between))
    assert all(start < each <= until for each in between)
    if between:
        assert calendar.last(until) == between[-1]
        assert calendar.between(between[0], until, 100_000) == between[1:]


@pytest.mark.parametrize(
    ("cron", "zone", "said"),
    [
        ("soon", "UTC", "'soon' is no cron expression"),
        ("61 * * * *", "UTC", "Bad minute"),
        ("0 0 31 2 *", "UTC", "no cron expression"),
        ("* " * 150, "UTC", "at most 200 characters"),
        ("* * * * *", "Europe/Atlantis", "no time zone 'Europe/Atlantis'"),
        ("* * * * *", "../../etc/passwd", "no time zone"),
        ("* * * * *", "", "no time zone"),
        ("* * * * *", "localtime", "no time zone"),
    ],
)
def test_what_is_no_calendar_is_refused_in_one_line(cron: str, zone: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as caught:
        Calendar(cron, zone)

    assert "\n" not in str(caught.value)
