"""Columns have the types of what comes first, and hold what they can hold as it is."""

from __future__ import annotations

from typing import Any

import pytest

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.tables.column_types import (
    COLUMNS_MAX,
    ColumnsSeen,
    Unfit,
    decode_columns,
    decoded_item,
    encode_columns,
    fitted,
    read_types,
)


def with_columns_of(known: Any, items: list[dict[str, Any]]) -> Any:
    seen = ColumnsSeen(known)
    for item in items:
        seen.see(item)
    return seen.columns


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2], "integer"),
        ([1, None, 2.5], "number"),
        ([1.0], "number"),
        ([True, False], "boolean"),
        ([True, 1], "text"),
        (["a", 1], "text"),
        ([["a"], {"b": 1}], "text"),
        ([1 << 60], "integer"),
        ([1 << 60, 1], "integer"),
        ([1 << 60, 0.5], "text"),
        ([1 << 70], "text"),
    ],
)
def test_column_has_a_type_that_holds_all_that_came(values: list[Any], kind: str) -> None:
    assert with_columns_of({}, [{"x": value} for value in values]) == {"x": kind}


def test_column_that_is_known_stays_as_it_is() -> None:
    assert with_columns_of({"x": "integer"}, [{"y": 1}, {"x": "a"}]) == {"x": "integer", "y": "integer"}


def test_column_without_any_value_waits_for_one() -> None:
    assert with_columns_of({}, [{"x": None}]) == {}


def test_pages_cannot_make_columns_without_end() -> None:
    columns = with_columns_of({}, [{f"field {number}": 1} for number in range(2 * COLUMNS_MAX)])

    assert len(columns) == COLUMNS_MAX
    with pytest.raises(Unfit, match="none for its field 'field 1500'"):
        fitted({"field 1500": 1}, columns)


@pytest.mark.parametrize(
    ("value", "kind", "held"),
    [
        (7, "integer", 7),
        (7.0, "integer", 7),
        (7, "number", 7.0),
        ("a", "text", "a"),
        (7, "text", "7"),
        (["a", 1], "text", '["a",1]'),
        (True, "text", "true"),
        (False, "boolean", False),
    ],
)
def test_value_is_held_as_it_is_or_as_json_text(value: Any, kind: Any, held: Any) -> None:
    assert fitted({"x": value, "y": None}, {"x": kind}) == {"x": held}


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (7.5, "integer"),
        (1 << 63, "integer"),
        (True, "integer"),
        ("7", "integer"),
        ((1 << 53) + 1, "number"),
        (1, "boolean"),
    ],
)
def test_value_that_would_become_another_one_is_unfit(value: Any, kind: Any) -> None:
    with pytest.raises(Unfit, match=f"its x is .*, and the column is {kind}"):
        fitted({"x": value}, {"x": kind})


@pytest.mark.parametrize("item", [b"[1]", b"{", b'"text"'])
def test_what_is_no_object_is_unfit(item: bytes) -> None:
    with pytest.raises(Unfit):
        decoded_item(item)


def test_half_a_surrogate_pair_is_replaced() -> None:
    assert decoded_item(b'{"x": "a\\ud800"}') == {"x": "a?"}


def test_columns_are_read_back() -> None:
    columns = read_types("price:number,odd:name:text")

    assert decode_columns(encode_columns(columns), "here") == {"price": "number", "odd:name": "text"}


@pytest.mark.parametrize("option", ["price", "price:decimal", ":text"])
def test_types_that_cannot_be_read_are_refused(option: str) -> None:
    with pytest.raises(ConfigurationError, match=r"boolean, integer, number, text"):
        read_types(option)
