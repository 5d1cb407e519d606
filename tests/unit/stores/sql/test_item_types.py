"""Columns from the types of items, and the text in which they travel with a job."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, NewType, Optional, TypedDict
from uuid import UUID

import attrs
import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.kinds import read_sink
from p2pcrawl.stores.sql.item_columns import ColumnKind, ItemColumn, columns_as_text, columns_from_text, columns_seen
from p2pcrawl.stores.sql.item_types import columns_of_type

Isbn = NewType("Isbn", str)


class Cover(Enum):
    SOFT = "soft"
    HARD = "hard"


class Publisher(pydantic.BaseModel):
    name: str


@dataclass
class PlainBook:
    isbn: Isbn
    name: str
    pages: int
    weight: float
    price: Decimal | None
    sold: bool
    at: datetime
    day: Optional[date]  # noqa: UP045
    picture: bytes
    tags: list[str] = field(default_factory=list)
    more: dict[str, Any] | None = None
    cover: Cover = Cover.SOFT
    shelf: Literal["a", "b", None] = None
    size: int | float = 0
    mixed: int | str = 0
    number: UUID | None = None
    anything: Any = None


class ModelBook(pydantic.BaseModel):
    name: str = pydantic.Field(max_length=200)
    price: Annotated[Decimal, pydantic.Field(max_digits=10, decimal_places=2)]
    old_price: Decimal | None = pydantic.Field(default=None, max_digits=12, decimal_places=2)
    publisher: Publisher


@attrs.define
class AttrsBook:
    name: str
    stock: int | None = None


class StructBook(msgspec.Struct):
    name: Annotated[str, msgspec.Meta(max_length=30)]
    tags: set[str]


class DictBook(TypedDict):
    name: str
    stock: int | None


def text_of(item_type: type) -> str:
    return columns_as_text(columns_of_type(item_type))


def test_dataclass_with_every_kind_of_field():
    assert text_of(PlainBook).split(",") == [
        "isbn:text!", "name:text!", "pages:integer!", "weight:float!", "price:decimal", "sold:boolean!", "at:datetime!",
        "day:date", "picture:bytes!", "tags:json!", "more:json", "cover:text!", "shelf:text", "size:float!",
        "mixed:json!", "number:text", "anything:json",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("item_type", "columns"),
    [
        (ModelBook, "name:text(200)!,price:decimal(10.2)!,old_price:decimal(12.2),publisher:json!"),
        (AttrsBook, "name:text!,stock:integer"),
        (StructBook, "name:text(30)!,tags:json!"),
        (DictBook, "name:text!,stock:integer"),
    ],
)
def test_model_attrs_class_struct_and_typed_dict(item_type, columns):
    assert text_of(item_type) == columns


def test_type_is_asked_where_its_name_was_typed_and_only_its_columns_travel(tmp_path, monkeypatch):
    (tmp_path / "books.py").write_text(
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass Book:\n    name: str\n    price: float | None = None\n"
    )
    monkeypatch.chdir(tmp_path)
    loaded = set(sys.modules)

    spec = read_sink("sqlite:///books.db?item=books.py:Book&table=books")

    assert spec.options == {"columns": "name:text!,price:float"}
    assert spec.url == f"sqlite:///{tmp_path}/books.db?table=books"
    for name in set(sys.modules) - loaded:
        if name.startswith("p2pcrawl_item"):
            del sys.modules[name]


def test_type_of_a_module_is_found_by_its_name():
    columns = read_sink("postgresql://h/shop?item=msgspec.inspect:Field").options["columns"]

    assert columns.startswith("name:text!,encode_name:text!,")


@pytest.mark.parametrize("item_type", [int, object, Cover])
def test_type_that_is_none_of_items_is_refused(item_type):
    with pytest.raises(ConfigurationError, match="no type of items"):
        columns_of_type(item_type)


names = st.text(st.characters(exclude_categories=("C", "Z"), exclude_characters="`"), min_size=1, max_size=15)


@given(
    st.lists(
        st.builds(
            ItemColumn,
            names,
            st.sampled_from([kind for kind in ColumnKind if kind not in (ColumnKind.TEXT, ColumnKind.DECIMAL)]),
            st.booleans(),
        )
        | st.builds(ItemColumn, names, st.just(ColumnKind.TEXT), st.booleans(), st.integers(1, 16_000) | st.none())
        | st.builds(
            ItemColumn, names, st.just(ColumnKind.DECIMAL), st.booleans(), st.integers(30, 65), st.integers(0, 30)
        ),
        min_size=1,
        unique_by=lambda column: column.name.lower(),
    )
)
def test_columns_are_the_same_after_they_travelled_as_text(columns):
    assert list(columns_from_text(columns_as_text(columns))) == columns


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, None, 2], "integer"),
        ([1, 2.5], "float"),
        ([True, 1], "text"),
        (["a", 1], "text"),
        (["a", ["b"]], "json"),
        ([{}, None], "json"),
        ([None], "text"),
        ([2**70], "text"),
    ],
)
def test_column_is_wide_enough_for_all_that_was_seen(values, kind):
    assert columns_seen([{"a": value} for value in values]) == (ItemColumn("a", ColumnKind(kind)),)
