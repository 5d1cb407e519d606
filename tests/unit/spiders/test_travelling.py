"""Items on their way to another process, and what is refused there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from types import ModuleType
from typing import Any
from uuid import UUID

import attrs
import msgspec
import pydantic
import pytest
from msgspec.msgpack import Ext

from p2pcrawl import Field, Item
from p2pcrawl.spiders.items.travelling import HOME, packed_plainly, unpacked_plainly


class Book(Item):
    title = Field()
    tags = Field()


class Strange(Item):
    title = Field()

    def __init__(self, shelf: int) -> None:
        raise AssertionError("people's code is not called")


@dataclass(frozen=True, slots=True)
class Price:
    amount: Decimal
    seen: datetime
    _where: str = ""


@dataclass
class Counting:
    made: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.made += 1


@attrs.define
class Author:
    name: str


class Shop(pydantic.BaseModel):
    name: str
    since: date


class Row(msgspec.Struct):
    cells: list[int]


@pytest.fixture(autouse=True)
def home() -> Iterator[None]:
    token = HOME.set(__name__)
    yield
    HOME.reset(token)


def there_and_back(thing: Any) -> Any:
    return unpacked_plainly(packed_plainly({"it": thing}, "meta of the request"))["it"]


@pytest.mark.parametrize(
    "thing",
    [
        Book(title="Ulysses", tags=["a", {"b": 1}]),
        Book(title=Book(title="in it")),
        [Price(Decimal("1.50"), datetime(2026, 1, 1, tzinfo=UTC), "here")],
        {"deep": [Author("Joyce"), Shop(name="s", since=date(2026, 1, 1)), Row([1, 2])]},
        {
            "set": {1, 2},
            "frozen": frozenset({"a"}),
            "day": date(2026, 1, 2),
            "hour": time(3, 4),
            "long": timedelta(1, 2),
        },
        {"id": UUID(int=7), "naive": datetime(2026, 1, 1, 2, 3)},
    ],
    ids=str,
)
def test_thing_arrives_as_what_it_was(thing: Any) -> None:
    arrived = there_and_back(thing)

    assert arrived == thing and type(arrived) is type(thing)


def test_no_code_of_people_is_called() -> None:
    strange = Strange.__new__(Strange)
    Item.__init__(strange, title="t")
    counted = Counting()

    assert dict(there_and_back(strange)) == {"title": "t"}
    assert there_and_back(counted).made == counted.made == 1


def test_class_of_the_spiders_module_is_found_where_that_has_another_name() -> None:
    sent = packed_plainly({"it": Book(title="t")}, "meta")
    elsewhere = ModuleType("p2pcrawl_user_1234_spider")
    elsewhere.Book = type("Book", (Item,), {"title": Field()})  # type: ignore[attr-defined]
    sys.modules[elsewhere.__name__] = elsewhere

    try:
        HOME.set(elsewhere.__name__)
        arrived = unpacked_plainly(sent)["it"]
    finally:
        del sys.modules[elsewhere.__name__]

    assert type(arrived) is elsewhere.Book and arrived["title"] == "t"


def test_what_cannot_be_found_elsewhere_is_refused_where_it_leaves() -> None:
    class Local(Item):
        pass

    with pytest.raises(TypeError, match=r"meta\['it'\] holds a Local, whose class is made in a function"):
        packed_plainly({"it": Local()}, "meta")
    HOME.set("p2pcrawl_user_1234_spider")
    Book.__module__, module = "__main__", Book.__module__
    try:
        with pytest.raises(TypeError, match="which another process cannot find"):
            packed_plainly({"it": Book()}, "meta")
    finally:
        Book.__module__ = module


def test_what_is_no_item_is_refused_where_it_leaves() -> None:
    with pytest.raises(TypeError, match="field 'tags' holds a object, which cannot travel"):
        packed_plainly({"it": Book(tags=object())}, "meta")


def message(module: str, qualname: str, values: list[Any] | None = None) -> bytes:
    inner = msgspec.msgpack.encode([[module, qualname], values or []])
    return msgspec.msgpack.encode({"it": Ext(1, inner)})


@pytest.mark.parametrize(
    "sent",
    [
        message("os", "system"),
        message("subprocess", "Popen"),
        message("this", "d"),
        message("pathlib", "Path"),
        message("", "Missing"),
        message("", "pytest.Item"),
        msgspec.msgpack.encode({"it": Ext(1, b"\xc1")}),
        msgspec.msgpack.encode({"it": Ext(2, msgspec.msgpack.encode(["eval", "1"]))}),
        msgspec.msgpack.encode({"it": Ext(2, msgspec.msgpack.encode(["decimal", "x"]))}),
        msgspec.msgpack.encode({"it": Ext(9, b"")}),
        msgspec.msgpack.encode([1]),
        b"",
    ],
    ids=str,
)
def test_hostile_message_makes_nothing_but_an_error(sent: bytes) -> None:
    with pytest.raises(ValueError):
        unpacked_plainly(sent)

    assert "this" not in sys.modules


def test_item_in_an_item_without_end_is_an_error() -> None:
    sent = b"\x00"
    for _ in range(5_000):
        sent = msgspec.msgpack.encode(Ext(2, msgspec.msgpack.encode(["set", [1]])[:-1] + sent))

    with pytest.raises(ValueError):
        unpacked_plainly(msgspec.msgpack.encode({"it": 0})[:-1] + sent)


def test_fields_that_the_class_does_not_have_are_left_out() -> None:
    assert unpacked_plainly(message("", "Book", [["title", "t"], ["_values", 1]]))["it"] == {"title": "t"}
    assert unpacked_plainly(message("", "Counting", [["made", 2], ["__class__", 1]]))["it"].made == 2
