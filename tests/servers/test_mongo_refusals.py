"""Items that MongoDB cannot hold go by themselves; the others of their batch are there."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .conftest import opened, page

pytestmark = pytest.mark.slow


def nested(depth: int, inner: bytes = b"1") -> bytes:
    return b'{"a":' * depth + inner + b"}" * depth


HOSTILE = {
    "no JSON": (b"{", "cannot be read"),
    "no object": (b"[1]", "cannot be read"),
    "no UTF-8": (b'{"a":"\xff"}', "cannot be read"),
    "number without end": (b'{"a":' + b"9" * 5000 + b"}", "cannot be read"),
    "number beyond 64 bits": (b'{"a":[1,9223372036854775808]}', "8-byte ints"),
    "NUL in a name": (b'{"b":{"a\\u0000c":1}}', "NULL byte"),
    "17 MB": (b'{"a":"' + b"x" * 17_000_000 + b'"}', "17,000,"),
    "16 MiB and a little": (b'{"a":"' + b"x" * (16 * 1024 * 1024 + 100) + b'"}', "too large|larger than|16,777,216"),
    "49 MB": (b'{"a":"' + b"x" * 49_000_000 + b'"}', "49,000,"),
    "nested 190": (nested(190), "180"),
    "nested 300": (nested(300), "180"),
    "lists nested 300": (b'{"a":' + b"[" * 300 + b"]" * 300 + b"}", "180"),
    "nested 50,000": (nested(50_000), "recursion"),
    "field of ours": (b'{"_crawl":1}', "_crawl"),
}
HELD = [b'{"$a":1}', b'{"a.b":{"$c":[{"d.e":1}]}}', b'{"":{"$ref":1}}', b'{"a":"x\\u0000y"}', nested(170)]


@pytest.mark.parametrize("visit", [0, 1])
@pytest.mark.parametrize("name", HOSTILE)
async def test_hostile_item_is_refused_alone(shop, name, visit):
    raw, reason = HOSTILE[name]
    sink = shop.sink()
    pages = [page(1, {"n": 1}, raw, {"n": 2}, visit=visit), page(2, *HELD, visit=visit), page(3, {"n": 3})]

    async with opened(sink):
        written = await sink.write(pages)

    (refused,) = written.refused
    assert (refused.page, refused.place) == (pages[0], 1)
    assert re.search(reason, refused.reason)
    assert len(refused.reason.splitlines()) == 1 and len(refused.reason) < 400
    assert len(shop.documents()) == 3 + len(HELD)


async def test_many_hostile_items_of_all_kinds_leave_the_others_alone(shop):
    hostile = [raw for raw, _ in HOSTILE.values() if len(raw) < 1_000_000]
    sink = shop.sink()
    pages = [page(number, {"n": number}, *hostile) for number in range(20)]

    async with opened(sink):
        written = await sink.write(pages)

    assert len(written.refused) == 20 * len(hostile)
    assert len(shop.documents()) == 20


async def test_document_that_the_collection_is_not_to_have_is_refused_with_its_word(shop):
    shop.collection.create_index("isbn", unique=True, partialFilterExpression={"isbn": {"$exists": True}})
    shop.client[shop.name].command("collMod", "books", validator={"price": {"$not": {"$lt": 0}}})
    sink = shop.sink()
    pages = [page(1, {"isbn": 7}, {"price": -1}), page(2, {"isbn": 7}), page(3, {"isbn": 8})]

    async with opened(sink):
        first = await sink.write(pages)
        again = await sink.write(pages)

    assert [(one.page, one.place) for one in first.refused] == [(pages[0], 1), (pages[1], 0)]
    assert "validation" in first.refused[0].reason
    assert "isbn_1" in first.refused[1].reason
    assert again == first
    assert [found["isbn"] for found in shop.documents()] == [7, 8]


async def test_later_visit_that_is_refused_leaves_no_earlier_one_behind(shop):
    sink = shop.sink()

    async with opened(sink):
        await sink.write([page(1, {"n": 1}, {"n": 2})])
        written = await sink.write([page(1, HOSTILE["NUL in a name"][0], {"n": 3}, visit=1)])

    assert [one.place for one in written.refused] == [0]
    assert [found["n"] for found in shop.documents()] == [3]


texts = st.text(st.characters(codec="utf-8"), max_size=8)
names = st.one_of(texts, st.sampled_from(["_id", "_crawl", "url", "job", "$set", "a.b", "", "fetched_at", "\0"]))
plain = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False), texts
)
values = st.recursive(plain, lambda one: st.lists(one, max_size=3) | st.dictionaries(names, one, max_size=3))
items = st.dictionaries(names, values, max_size=5)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=st.lists(items, min_size=1, max_size=6), visit=st.integers(0, 1))
async def test_any_item_is_there_as_it_was_or_refused(shop, drawn, visit):
    sink = shop.sink()
    shop.collection.delete_many({})
    shop.client[shop.name]["books.visits"].delete_many({})
    brought = page(1, *drawn, visit=visit)

    async with opened(sink):
        written = await sink.write([brought])

    refused = {one.place for one in written.refused}
    assert refused == {place for place, item in enumerate(drawn) if "_crawl" in item or not can_be_held(item)}
    raw = {found["_id"]: found for found in shop.collection.find()}
    assert set(raw) == {brought.key(place) for place in range(len(drawn)) if place not in refused}
    for place, item in enumerate(drawn):
        if place not in refused:
            kept = {name: value for name, value in raw[brought.key(place)].items() if name in item and name != "_id"}
            assert json.loads(json.dumps(kept)) == {name: value for name, value in item.items() if name != "_id"}


def can_be_held(value: object) -> bool:
    """Tells whether MongoDB has a form for a value, by what its manual says."""
    if isinstance(value, dict):
        return all("\0" not in name and can_be_held(one) for name, one in value.items())
    if isinstance(value, list):
        return all(map(can_be_held, value))
    return not isinstance(value, int) or -(2**63) <= value < 2**63
