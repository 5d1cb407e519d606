"""What a collection holds after pages were brought to it, in whatever order and however often."""

from __future__ import annotations

import asyncio
import datetime
import itertools

import pytest

from p2pcrawl.stores.mongo.mongo_visits import LatestVisits
from p2pcrawl.stores.sink import Written

from .conftest import JOB, opened, page

pytestmark = pytest.mark.slow


@pytest.fixture(params=["motor", "pymongo"])
def driver(request):
    return f"driver={request.param}"


async def test_item_is_a_document_with_what_one_would_ask_for_beside_it(shop, driver):
    sink = shop.sink(driver)

    async with opened(sink):
        written = await sink.write(
            [page(1, {"name": "Ulysses", "price": 9.5, "tags": ["a", None]}), page(2), page(3, {})]
        )

    assert written == Written()
    first, second = shop.documents()
    assert first == {
        "_id": f"{JOB}-{1:032x}-0",
        "name": "Ulysses",
        "price": 9.5,
        "tags": ["a", None],
        "url": "http://books.example/1",
        "job": JOB,
        "fetched_at": datetime.datetime(2023, 11, 14, 22, 13, 20),
        "_crawl": {"spider": "books", "page": f"{1:032x}", "visit": 0},
    }
    assert second["url"] == "http://books.example/3"


async def test_field_of_the_item_is_kept_where_ours_has_its_name(shop):
    sink = shop.sink()

    async with opened(sink):
        await sink.write([page(1, {"url": "http://other.example", "job": "sailor", "_id": 7})])

    (found,) = shop.documents()
    assert (found["url"], found["job"]) == ("http://other.example", "sailor")
    assert found["_id"] == f"{JOB}-{1:032x}-0"
    assert found["_crawl"] == {
        "spider": "books",
        "page": f"{1:032x}",
        "visit": 0,
        "id": 7,
        "url": "http://books.example/1",
        "job": JOB,
    }


async def test_indexes_are_made_once_and_those_of_others_are_kept(shop):
    shop.collection.create_index("url", unique=True, name="mine")
    sink, again = shop.sink(), shop.sink()

    async with opened(sink, again):
        pass

    keys = {name: index["key"][0][0] for name, index in shop.collection.index_information().items()}
    assert keys == {"_id_": "_id", "mine": "url", "job_1": "job", "fetched_at_1": "fetched_at"}


async def test_what_is_brought_again_changes_nothing(shop, driver):
    sink, other = shop.sink(driver), shop.sink(driver)
    pages = [page(number, {"n": number}, {"n": -number}) for number in range(50)]

    async with opened(sink, other):
        await sink.write(pages[:30])
        shop.collection.update_one({"n": 7}, {"$set": {"read": True}})  # by somebody else
        once = await sink.write(pages)
        await asyncio.gather(other.write(pages), sink.write(pages))

    assert once == Written()
    assert len(shop.documents()) == 100
    assert shop.collection.find_one({"n": 7})["read"] is True


async def test_later_visit_replaces_what_earlier_ones_gave_also_where_it_gives_less(shop, driver):
    sink = shop.sink(driver)

    async with opened(sink):
        await sink.write([page(1, {"n": 1}, {"n": 2}, {"n": 3}), page(2, {"n": 4}), page(3, {"n": 5}, {"n": 6})])
        await sink.write([page(1, {"$n": 10}, {"n": 20}, visit=1), page(2, visit=2)])
        await sink.write([page(1, {"$n": 10}, {"n": 20}, visit=1), page(2, visit=2)])

    assert [(found["_crawl"]["visit"], found.get("n", found.get("$n"))) for found in shop.documents()] == [
        (1, 10),
        (1, 20),
        (0, 5),
        (0, 6),
    ]


VISITS = [
    page(1, {"v": 0}, {"v": 0}, {"v": 0}),
    page(1, {"v": 1}, {"v": 1}, visit=1),
    page(1, {"v": 2}, visit=2),
]


@pytest.mark.parametrize("order", list(itertools.permutations(VISITS)), ids=lambda o: "".join(str(p.visit) for p in o))
async def test_latest_visit_is_there_in_whatever_order_they_come(shop, order):
    sink, other = shop.sink(), shop.sink()

    async with opened(sink, other):
        for each, one in zip((sink, other, sink), order, strict=True):
            await each.write([one, page(2, {"v": 0})])

    assert [found["v"] for found in shop.documents()] == [2, 0]


async def test_late_visit_would_be_noticed_if_nobody_looked_at_the_notes(shop, monkeypatch):
    """A negative control: without the look afterwards, an earlier visit stands beside the latest one."""

    async def look_at_nothing(self, pages):
        pass

    monkeypatch.setattr(LatestVisits, "clear", look_at_nothing)
    sink = shop.sink()

    async with opened(sink):
        await sink.write([VISITS[2]])
        await sink.write([VISITS[0]])

    assert [found["v"] for found in shop.documents()] == [2, 0, 0]


async def test_visits_of_one_page_may_come_at_once(shop):
    sinks = [shop.sink() for _ in VISITS]

    async with opened(*sinks):
        for number in range(10):
            those = [page(number, *one.items, visit=one.visit) for one in VISITS]
            await asyncio.gather(*(sink.write([one]) for sink, one in zip(sinks, those, strict=True)))
        await sinks[0].write([page(99, *one.items, visit=one.visit) for one in VISITS])

    assert [found["v"] for found in shop.documents()] == [2] * 11


async def test_history_keeps_visits_beside_each_other(shop):
    sink = shop.sink("mode=history")

    async with opened(sink):
        await sink.write([page(1, {"n": 1}, {"n": 2}), page(1, {"n": 3}, visit=1)])
        await sink.write([page(1, {"n": 3}, visit=1), page(1, visit=2)])

    found = [(each["_id"].rpartition("-")[0][-1], each["_crawl"]["visit"], each["n"]) for each in shop.documents()]
    assert found == [("0", 0, 1), ("0", 1, 3), ("1", 0, 2)]
    assert shop.client[shop.name].list_collection_names() == ["books"]


async def test_replacing_sink_clears_away_other_jobs_once_and_what_is_not_ours_never(shop):
    older, sink = shop.sink(), shop.sink(replace=True)
    shop.collection.insert_one({"_id": "mine", "n": 0})
    async with opened(older):
        await older.write([page(1, {"n": 1}, job="cd" * 16), page(1, {"n": 2}, job="cd" * 16, visit=1)])

    async with opened(sink):
        written = await sink.write([page(1, {"n": 3})])
    assert [found["n"] for found in shop.documents()] == [3, 0]
    async with opened(older):
        await older.write([page(2, {"n": 4}, job="ef" * 16)])
    after = shop.sink(replace=True)
    await after.open(written.position)
    await after.write([page(3, {"n": 5})])
    await after.close()

    assert sorted(found["n"] for found in shop.documents()) == [0, 3, 4, 5]


async def test_batch_may_be_greater_than_a_message(shop):
    sink = shop.sink()

    async with opened(sink):
        written = await sink.write([page(number, {"text": "x" * 12_000_000}) for number in range(5)])

    assert written == Written()
    assert shop.collection.count_documents({}) == 5


async def test_closing_twice_and_finishing_do_no_harm(shop):
    sink = shop.sink()

    await sink.close()
    position = await sink.open(None)
    await sink.finish()
    await sink.close()
    await sink.close()
    assert await sink.open(position) == position
    await sink.write([page(1, {"n": 1})])
    await sink.close()

    assert len(shop.documents()) == 1
