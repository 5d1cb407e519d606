"""Changes of a job's boards: which counts, wherever and in whatever order they are heard of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pcrawl.core.board_versions import merged_boards, with_board
from p2pcrawl.model.boards.job_board import BOARDS_MAX, REMOVED, TEXTS_MAX, JobBoard
from p2pcrawl.model.errors import ConfigurationError

VERSIONS = st.builds(
    JobBoard, st.integers(1, 4), st.sampled_from(["one", "two"]), st.just(()), st.sampled_from(["", REMOVED])
)
BOARDS = st.dictionaries(st.sampled_from(["press", "wine", "sports"]), VERSIONS)


@given(BOARDS, BOARDS, BOARDS)
def test_masters_come_to_the_same_in_whatever_order_they_hear(one: dict, two: dict, three: dict) -> None:
    merged = merged_boards(merged_boards(one, two), three)

    assert merged == merged_boards(three, merged_boards(two, one))
    assert merged == merged_boards(merged, one)


@given(BOARDS, BOARDS)
def test_of_a_board_one_version_counts_as_a_whole(one: dict, two: dict) -> None:
    for name, board in merged_boards(one, two).items():
        assert board in (one.get(name), two.get(name))


def test_later_change_wins_also_where_it_was_made_by_somebody_who_had_not_heard_of_the_other() -> None:
    before = {"press": JobBoard(1, "text")}

    early = with_board(before, "press", JobBoard(1, "zz early"), now_ms=1_000)
    late = with_board(before, "press", JobBoard(1, "aa late"), now_ms=2_000)

    assert merged_boards(early, late)["press"].text == "aa late"


def test_change_counts_though_a_clock_was_set_back() -> None:
    before = {"press": JobBoard(5_000, "text")}

    after = with_board(before, "press", JobBoard(1, "other"), now_ms=1_000)

    assert (after["press"].text, after["press"].version) == ("other", 5_001)


def test_job_has_no_more_boards_than_can_travel() -> None:
    many = {f"board{n}": JobBoard(1, "text") for n in range(BOARDS_MAX)}

    with pytest.raises(ConfigurationError, match=f"at most {BOARDS_MAX} boards"):
        with_board(many, "press", JobBoard(1, "text"), now_ms=1)
    with pytest.raises(ConfigurationError, match="4 MB of text together"):
        with_board(
            {f"board{n}": JobBoard(1, "x" * (TEXTS_MAX // 4)) for n in range(4)}, "press", JobBoard(1, "x"), now_ms=1
        )
    with pytest.raises(ConfigurationError, match="no name of a board"):
        with_board({}, "a\nb", JobBoard(1, "text"), now_ms=1)
