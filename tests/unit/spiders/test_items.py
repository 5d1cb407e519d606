"""encode_item and is_item."""

from __future__ import annotations

import enum
import json
from collections import ChainMap, OrderedDict
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import attrs
import parsel
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2pcrawl.model.crawl.request import Request
from p2pcrawl.spiders.items.item_json import encode_item, is_item


@dataclass
class Book:
    title: str
    tags: list[str] = field(default_factory=list)
    _shelf: int = 0


@attrs.define
class Author:
    name: str
    _born: int = 0


class Price(pydantic.BaseModel):
    amount: Decimal
    seen: datetime | None = None


class Colour(enum.Enum):
    RED = "red"


class Text(str):
    """A subclass of text, as lxml's results are."""


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"a": 1, "é": "ü"}, {"a": 1, "é": "ü"}),
        (Book("t", ["x"], 3), {"title": "t", "tags": ["x"], "_shelf": 3}),
        (Author("n", 1900), {"name": "n", "_born": 1900}),
        (Price(amount=Decimal("1.50")), {"amount": "1.50", "seen": None}),
        ({"book": Book("t"), "price": Price(amount=Decimal(2))}, None),
        (OrderedDict(a=1), {"a": 1}),
        (ChainMap({"a": 1}, {"b": 2}), {"a": 1, "b": 2}),
        ({"when": datetime(2024, 1, 2, tzinfo=UTC), "day": date(2024, 1, 2)}, None),
        ({"raw": b"\xff", "set": {1}, "id": UUID(int=1), "colour": Colour.RED}, None),
        ({1: "a", None: "b", (1, 2): "c"}, {"1": "a", "None": "b", "(1, 2)": "c"}),
        ({"s": Text("x"), "lone": "a\ud800"}, {"s": "x", "lone": "a\ufffd"}),
        ({"big": 2**80, "nan": float("nan")}, {"big": 2**80, "nan": None}),
    ],
    ids=str,
)
def test_item_becomes_one_json_object(item: Any, expected: Any) -> None:
    data = encode_item(item)

    assert is_item(item)
    assert b"\n" not in data
    assert isinstance(json.loads(data), dict)
    if expected is not None:
        assert json.loads(data) == expected


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=()), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.text(max_size=5), JSON, max_size=4))
def test_plain_data_survives_as_utf8(item: dict[str, Any]) -> None:
    json.loads(encode_item(item).decode("utf-8"))


@pytest.mark.parametrize("thing", ["text", b"bytes", 3, None, [1], (x for x in ()), Request("http://h/"), object()])
def test_other_things_are_no_items(thing: Any) -> None:
    assert not is_item(thing)
    with pytest.raises(TypeError):
        encode_item(thing)


def test_selector_in_an_item_is_named_with_the_cure() -> None:
    with pytest.raises(TypeError, match=r"'a.b' holds a selector: add \.get\(\)"):
        encode_item({"a": {"b": parsel.Selector("<p>").css("p")}})


def test_value_without_json_form_is_named() -> None:
    with pytest.raises(TypeError, match="'a' holds a object"):
        encode_item({"a": object()})


def test_item_that_holds_itself_is_refused() -> None:
    item: dict[str, Any] = {}
    item["self"] = item

    with pytest.raises(TypeError, match="nested too deeply"):
        encode_item(item)
