"""The words of titles."""

from __future__ import annotations

import pytest

from p2pcrawl.spiders.page_types.title_words import names_a_list, small_words, words_in


def test_words_are_counted_where_a_script_parts_them_and_where_not() -> None:
    counts = [
        words_in(title)
        for title in ("", "Ferries are late again", "Пароходы снова опаздывают", "渡轮再次晚点乘客滞留码头")
    ]

    assert counts[:3] == [0, 4, 3] and counts[3] >= 3


@pytest.mark.parametrize(
    ("title", "least"),
    [("How to mend a boat", 2), ("Wie man ein Boot repariert ist nicht schwer", 4), ("Boat parts", 0), ("Bateaux", 0)],
)
def test_sentences_have_small_words_and_names_have_none(title: str, least: int) -> None:
    count = small_words(title)

    assert count >= least and (count > 0) == (least > 0)


@pytest.mark.parametrize("title", ["List of ferries", "Archives", "Ferry directory", "Category: Boats"])
def test_title_of_a_list_says_so(title: str) -> None:
    assert names_a_list(title)


@pytest.mark.parametrize(
    "title", ["A ferry listed to port, the captain says", "How the archives burnt down", "The island and its archive"]
)
def test_title_of_one_thing_names_no_list(title: str) -> None:
    assert not names_a_list(title)
