"""The filter of a sink: what passes, what is refused, and where the line that says so points to."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.item_filter import LENGTH_MAX, item_test

BOOK = {
    "title": "A Light in the Attic",
    "price": 51.77,
    "typed": "51.77",
    "stock": 0,
    "sold": False,
    "isbn": "0012",
    "tags": ["Poetry", "sale"],
    "cover": None,
    "note": "",
    "author": {"name": "Shel Silverstein", "born": 1930},
    "images": [{"url": "https://example.com/a.jpg"}],
    "unit price": 3,
    "a.b": "dotted",
}


@pytest.mark.parametrize(
    "text",
    [
        "price > 10",
        "price>10",
        "price >= 51.77",
        "typed > 10",
        "typed = 51.770",
        "isbn = 12",
        "isbn = '0012'",
        'title = "A Light in the Attic"',
        "title ~ ATTIC",
        "title contains attic",
        "tags ~ SALE",
        "author ~ name",
        "author.name ~ silver",
        "author.born < 2000",
        "images.0.url ~ .jpg",
        "a.b = dotted",
        '"unit price" = 3',
        "sold = false",
        "stock = 0",
        "cover = null",
        "absent = null",
        "absent != 5",
        "not absent",
        "not cover",
        "not note",
        "stock",
        "sold",
        "price > 100 or stock = 0",
        "price > 10 and (tags ~ sale or sold = true)",
        "not (price > 100) AND NOT absent",
        "price > 100 and stock or title",
        "title > A and title < B",
        r'title != "a \" b"',
    ],
)
def test_item_passes(text: str) -> None:
    assert item_test(text)(BOOK)


@pytest.mark.parametrize(
    "text",
    [
        "price > 51.77",
        "price < 51.77",
        "title > 10",
        "price > ten",
        "typed > '9'",
        "isbn = '12'",
        "sold = 0",
        "stock = false",
        "sold < 5",
        "absent",
        "absent > 0",
        "absent < 0",
        "images.7.url ~ jpg",
        "images.x",
        "title.x = 1",
        "tags ~ sal",
        "price ~ 5",
        "cover",
    ],
)
def test_item_is_left_out(text: str) -> None:
    assert not item_test(text)(BOOK)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "at its end (character 1): the name of a field"),
        ("price >", "at its end (character 8): a value"),
        ("price >> 10", "at '> 10' (character 8): a value"),
        ("price > 10 stock", "at 'stock' (character 12): and, or, or the end"),
        ("(price > 10", "at its end (character 12): a ) is expected"),
        ("and price", "at 'and price' (character 1): the name of a field"),
        ("title = 'a", 'at "\'a" (character 9): a quote without its end'),
        ("title ! a", "at '! a' (character 7): no such sign"),
        ("> 5", "at '> 5' (character 1): the name of a field"),
        ("(" * 30 + "a" + ")" * 30, "20 levels at most"),
        (" or ".join(["a"] * 51), "50 comparisons at most"),
        ("a" * (LENGTH_MAX + 1), "2000 at most"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_place(text: str, told: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        item_test(text)

    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_numbers_of_any_length_are_compared_or_are_texts() -> None:
    huge = "9" * 5000

    assert not item_test("n > 5")({"n": huge})
    assert item_test(f"n < {'9' * 300}")({"n": 5.5})
    assert item_test("n < 1e400")({"n": 5})


_words = st.sampled_from(
    [*"()=<>~'\"", "!=", "<=", "and", "or", "not", "contains", "a", "a.b", "5", "-1e9", "null", "é", "\\", " "]
)
_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=6,
)


@given(
    st.lists(_words, max_size=12).map(" ".join) | st.text(max_size=30), st.dictionaries(st.sampled_from("ab"), _values)
)
def test_any_text_is_a_filter_of_any_item_or_is_told(text: str, item: dict[str, Any]) -> None:
    try:
        test = item_test(text)
    except ConfigurationError as error:
        assert "cannot be read" in str(error) or "at most" in str(error)
        return

    assert test(item) in (True, False)
