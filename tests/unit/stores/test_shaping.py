"""The shape of what a sink is brought: fields, filter and batches, with keys that no filter shifts."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.address import parse_sink
from p2pcrawl.stores.kinds import SinkPlace, address_of, make_sink, read_sink
from p2pcrawl.stores.shaping import ShapedSink, check_options, fields_of, shaped
from p2pcrawl.stores.sink import BatchLimits, Position, RefusedItem, SinkPage, Written


class KeptPages:
    """A sink in memory, which refuses items that hold ``bad``."""

    def __init__(self) -> None:
        self.limits = BatchLimits()
        self.kept: dict[str, Any] = {}
        self.pages: list[SinkPage] = []
        self.told: list[str] = []

    async def open(self, position: Position | None) -> Position:
        self.told.append("open")
        return {"at": 7}

    async def write(self, pages: Sequence[SinkPage]) -> Written:
        refused = []
        for page in pages:
            self.pages.append(page)
            for place, item in enumerate(page.items):
                if b"bad" in item:
                    refused.append(RefusedItem(page, place, "it is bad"))
                else:
                    self.kept[page.key(place)] = json.loads(item)
        return Written({"at": 8}, refused)

    async def finish(self) -> None:
        self.told.append("finish")

    async def close(self) -> None:
        self.told.append("close")


def page_of(*items: Any, visit: int = 0) -> SinkPage:
    lines = [item if isinstance(item, bytes) else json.dumps(item).encode() for item in items]
    return SinkPage("j", "f", "http://a/", visit, 0, lines)


async def test_items_that_are_left_out_shift_no_keys() -> None:
    sink = KeptPages()

    await shaped(sink, {"where": "price > 10"}).write(
        [page_of({"price": 5}, {"price": 20}, {"price": 1}, {"price": 30})]
    )

    assert sink.kept == {"j-f-1": {"price": 20}, "j-f-3": {"price": 30}}


async def test_items_that_are_left_out_are_counted_apart_from_those_that_cannot_be_shaped() -> None:
    written = await shaped(KeptPages(), {"where": "price > 10"}).write(
        [page_of({"price": 5}, {"price": 20}, b"[1]", {"price": 30, "x": "bad"})]
    )

    assert (written.left_out, len(written.refused)) == (1, 2)


async def test_page_of_which_nothing_is_left_is_brought_all_the_same() -> None:
    sink = KeptPages()

    await shaped(sink, {"where": "price > 10"}).write([page_of({"price": 5}, visit=3)])

    assert [(list(page.items), page.visit) for page in sink.pages] == [([], 3)]


async def test_fields_come_in_their_order_under_their_names() -> None:
    sink = KeptPages()
    item = {"price": 5, "title": "A", "author": {"name": "Ada"}, "x": 1, "none": None}

    await shaped(sink, {"fields": "title:name, price,author.name:by,none,absent"}).write([page_of(item)])

    assert list(sink.kept["j-f-0"].items()) == [("name", "A"), ("price", 5), ("by", "Ada"), ("none", None)]


@pytest.mark.parametrize("item", [b'{"a": NaN, "b": "\\ud800", "c": 1}', b'{"c": 1, "b": "\\ud800"}'])
async def test_values_that_only_python_reads_are_shaped_too(item: bytes) -> None:
    sink = KeptPages()

    await shaped(sink, {"fields": "c,b", "where": "c = 1"}).write([page_of(item)])

    assert sink.kept == {"j-f-0": {"c": 1, "b": "\ud800"}}


async def test_refused_items_are_those_of_the_page_as_it_came() -> None:
    sink = KeptPages()
    page = page_of({"p": 1}, {"p": 20, "t": "bad"}, {"p": 30})

    written = await shaped(sink, {"where": "p > 10", "fields": "t"}).write([page])

    assert written.position == {"at": 8}
    assert [(r.page is page, r.place, r.reason) for r in written.refused] == [(True, 1, "it is bad")]


async def test_parts_of_a_page_may_be_brought_as_two() -> None:
    sink = KeptPages()
    first, second = (replace(page_of({"p": 20, "t": word}), numbers=[n]) for n, word in ((3, "bad"), (7, "bad")))

    written = await shaped(sink, {"where": "p > 10"}).write([first, second])

    assert [(r.page is page, r.place) for r, page in zip(written.refused, (first, second), strict=True)] == [
        (True, 0)
    ] * 2


async def test_table_has_the_keys_of_the_items_that_pass(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/shop.db?table=books&fields=price:cost&where=price > 10"
    sink = make_sink(address_of(read_sink(address)), SinkPlace("shop"))
    await sink.open(None)

    await sink.write([page_of({"price": 5}, {"price": 20}, {"price": 1}, {"price": 30})])
    await sink.close()

    with closing(sqlite3.connect(tmp_path / "shop.db")) as database:
        rows = database.execute("SELECT _key, cost FROM books ORDER BY _key").fetchall()
    assert rows == [("j-f-1", 20), ("j-f-3", 30)]


async def test_shapes_may_stand_behind_each_other() -> None:
    sink = KeptPages()
    page = page_of({"p": 1}, {"p": 20}, {"p": 30, "t": "bad"}, {"p": 40})

    both = shaped(shaped(sink, {"where": "p > 20"}), {"where": "p > 10"})
    written = await both.write([page])

    assert sink.kept == {"j-f-3": {"p": 40}}
    assert [(r.page is page, r.place) for r in written.refused] == [(True, 2)]


@pytest.mark.parametrize("item", [b"[1]", b"nonsense", b"[" * 100_000])
async def test_what_is_no_object_is_refused_and_holds_nothing_up(item: bytes) -> None:
    sink = KeptPages()

    written = await shaped(sink, {"where": "p"}).write([page_of({"p": 1}, item, {"p": 2})])

    assert sink.kept == {"j-f-0": {"p": 1}, "j-f-2": {"p": 2}}
    assert [r.place for r in written.refused] == [1]


async def test_everything_else_reaches_the_sink() -> None:
    sink = KeptPages()
    outer = shaped(sink, {"batch": "5"})

    assert await outer.open(None) == {"at": 7}
    await outer.finish()
    await outer.close()

    assert sink.told == ["open", "finish", "close"]
    assert isinstance(outer, ShapedSink)
    assert shaped(sink, {"mode": "history"}) is sink


def test_batch_sizes_are_those_of_the_options_and_else_of_the_sink() -> None:
    sink = KeptPages()
    sink.limits = BatchLimits(10, 1000, 2.0)

    assert shaped(sink, {"batch": "5", "linger": "0.25"}).limits == BatchLimits(5, 1000, 0.25)
    assert shaped(sink, {"batch_bytes": "77"}).limits == BatchLimits(10, 77, 2.0)


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("mode=replace", "?mode= is upsert or history, not 'replace'"),
        ("batch=0", "?batch= is a whole number from 1 to 100000, not '0'"),
        ("batch=many", "not 'many'"),
        ("batch_bytes=1e6", "?batch_bytes= is a whole number"),
        ("linger=-1", "?linger= is a number of seconds from 0 to 3600"),
        ("linger=nan", "?linger="),
        ("fields=a,b,a", "'a' is given twice"),
        ("fields=[1]", "names, or a mapping"),
        ("fields=[", "?fields= is no JSON"),
        ("fields=,", "from 1 to 1000 fields, not 0"),
        ("where=price >", "?where=price > cannot be read at its end"),
        (
            "feilds=a",
            "no option 'feilds': did you mean fields? (an option of the destination is written %66eilds)",
        ),
        ("Mode=history", "did you mean mode?"),
        ("where=price > 5 && stock", "no option: '& stock' (a filter says and"),
        ("where=price>5&&stock", "no option: '&stock'"),
        ("where=price>5&stock > 1", "no option: '&stock > 1'"),
        ("batchbytes=5", "did you mean batch_bytes?"),
    ],
)
def test_option_that_cannot_be_meant_so_is_one_line(query: str, told: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        check_options(parse_sink(f"mongodb://h/a.b?{query}"))

    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "query", ["authSource=admin&replicaSet=rs0&w=1&tls=true", "%66eilds=a", "mode=history&batch=5", "appName=x"]
)
def test_options_of_the_destination_are_left_alone(query: str) -> None:
    check_options(parse_sink(f"mongodb://h/a.b?{query}"))


def test_option_that_stays_in_the_address_is_known_and_a_misspelt_one_is_told() -> None:
    check_options(parse_sink("sqlite:///a.db?table=books"), kept=frozenset({"table"}))

    with pytest.raises(ConfigurationError, match="no option 'tabel': did you mean table"):
        check_options(parse_sink("sqlite:///a.db?tabel=books"), kept=frozenset({"table"}))


def test_fields_are_read_in_the_words_of_feeds() -> None:
    assert fields_of(["a", "b"]) == [("a", "a"), ("b", "b")]
    assert fields_of({"a": "A"}) == [("a", "A")]
    assert fields_of('{"a,b": "c:d"}') == [("a,b", "c:d")]
    assert fields_of('["x"]') == [("x", "x")]


async def test_much_that_is_shaped_lets_others_have_their_turn() -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    await shaped(KeptPages(), {"where": "absent"}).write([page_of({"text": "x" * 100_000}) for _ in range(100)])
    counting.cancel()

    assert turns > 10
