"""The names of a page's parts: words in classes and ids."""

from __future__ import annotations

import pytest

from p2pcrawl.spiders.page_types.part_names import part_names


def test_words_count_in_whichever_way_names_are_written() -> None:
    names = part_names({"post-avatar": 2, "userName bold": 1, "POST_SIGNATURE": 1}, ["quoteBox"])

    assert names.threads == 3, "avatar, signature and quote; userName is two words"


def test_parts_of_many_are_counted_by_how_many_have_the_name() -> None:
    names = part_names({"card": 12, "product tile": 3}, ["category-list"])

    assert (names.cards, names.sorts) == (15, 1)


@pytest.mark.parametrize("name", ["post-12345", "p77", "comment_8", "div-comment-12", "msg3"])
def test_numbered_parts_are_posts(name: str) -> None:
    found = part_names({}, [name]).posts

    assert found == (not name.startswith("div"))


def test_nothing_named_says_nothing() -> None:
    assert part_names({}, []) == part_names({"x1": 3, "": 2}, ["main"])
