"""Settings that are changed while a job runs: what counts when masters tell different ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pcrawl.core.retuning import TUNABLE, check_tuned, merged_tuning, read_changes, retuned, values_of
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import ConfigurationError

TUNINGS = st.dictionaries(
    st.sampled_from(sorted(TUNABLE)), st.tuples(st.integers(1, 5), st.none() | st.floats(0, 9) | st.booleans())
)


@given(TUNINGS, TUNINGS, TUNINGS)
def test_merging_is_commutative_associative_and_idempotent(one: dict, two: dict, three: dict) -> None:
    assert merged_tuning(one, two) == merged_tuning(two, one)
    assert merged_tuning(merged_tuning(one, two), three) == merged_tuning(one, merged_tuning(two, three))
    assert merged_tuning(one, one) == one


def test_later_change_counts_wherever_it_was_made() -> None:
    first = retuned({}, {"download_delay": 5.0})
    second = retuned(first, {"download_delay": 1.0})

    assert values_of(merged_tuning(second, first)) == {"download_delay": 1.0}


def test_changes_of_different_settings_on_both_sides_of_a_partition_both_count() -> None:
    here = retuned({}, {"download_delay": 5.0})
    there = retuned({}, {"closespider_pagecount": 9})

    assert values_of(merged_tuning(here, there)) == {"closespider_pagecount": 9, "download_delay": 5.0}


def test_typed_changes_are_read_by_the_type_of_their_setting() -> None:
    assert read_changes({"DOWNLOAD_DELAY": "2", "autothrottle_enabled": "true"}) == {
        "download_delay": 2.0,
        "autothrottle_enabled": True,
    }


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"USER_AGENT": "x"}, "USER_AGENT cannot be changed while a job runs; these can: .*DOWNLOAD_DELAY"),
        ({"DOWNLOAD_DELAY": "fast"}, "DOWNLOAD_DELAY"),
        ({"DOWNLOAD_DELAY": "-1"}, "DOWNLOAD_DELAY"),
        ({}, "say what to change"),
    ],
)
def test_change_that_cannot_be_is_one_clear_line(typed: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as caught:
        read_changes(typed)

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "tuned",
    [{"log_file": (1, "/etc/passwd")}, {"download_delay": (0, 1.0)}, {"download_delay": (1 << 63, 1.0)},
     {"download_delay": (1, "never")}, {"download_delay": (1, [])}],
)  # fmt: skip
def test_what_no_master_can_have_changed_so_is_refused(tuned: dict) -> None:
    with pytest.raises(ConfigurationError):
        check_tuned(tuned)


def test_every_setting_that_can_be_changed_is_one() -> None:
    assert all(hasattr(Settings(), name) for name in TUNABLE)
