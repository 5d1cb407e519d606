"""Each item is one row, however often it is brought, by whom, and in which order."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ..conftest import opened
from .conftest import brought, key, page


async def test_item_is_a_row_under_its_key_with_what_is_told_beside_it(database):
    sink = database.sink()
    async with opened(sink):
        refused = await brought(sink, page(7, {"name": "Alpha", "stock": 3}, {"name": "Beta", "stock": None}))

    assert refused == []
    assert database.rows("_key, name, stock, url, _visit") == [
        (key(7, 0), "Alpha", 3, "http://books.example/7", 0),
        (key(7, 1), "Beta", None, "http://books.example/7", 0),
    ]
    moment = database.rows("fetched_at")[0]
    when = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    assert when.replace(tzinfo=UTC) == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


async def test_item_brought_again_is_there_once_and_as_it_was(database):
    sink, heir = database.sink(), database.sink()
    async with opened(sink, heir):
        await brought(sink, page(1, {"name": "a"}, {"name": "b"}), page(2, {"name": "c"}))

        await brought(sink, page(1, {"name": "a"}, {"name": "b"}), page(2, {"name": "c"}))
        await brought(heir, page(2, {"name": "c"}), page(3, {"name": "d"}))

    assert database.rows() == ["a", "b", "c", "d"]


async def test_later_visit_replaces_what_earlier_ones_gave_also_where_it_is_less(database):
    sink = database.sink()
    async with opened(sink):
        await brought(sink, page(1, {"name": "a", "stock": 1}, {"name": "b", "stock": 2}, {"name": "c", "stock": 3}))
        await brought(sink, page(2, {"name": "gone", "stock": 9}), page(3, {"name": "stays", "stock": 1}))

        refused = await brought(sink, page(1, {"name": "A"}, {"name": "B", "stock": 5}, visit=1), page(2, visit=1))

    assert refused == []
    assert database.rows("name, stock, _visit") == [("A", None, 1), ("B", 5, 1), ("stays", 1, 0)]


async def test_late_delivery_of_an_earlier_visit_replaces_nothing_and_adds_nothing(database):
    sink, other = database.sink(), database.sink()
    async with opened(sink, other):
        await brought(sink, page(1, {"name": "new"}, visit=2))

        await brought(other, page(1, {"name": "old"}, {"name": "older"}, {"name": "oldest"}, visit=0))
        await brought(other, page(1, {"name": "old"}, {"name": "older"}, visit=1), page(2, {"name": "else"}))

    assert database.rows("name, _visit") == [("new", 2), ("else", 0)]


async def test_several_visits_in_one_batch_leave_the_latest_one(database):
    sink = database.sink()
    async with opened(sink):
        await brought(
            sink,
            page(1, {"name": "0"}, {"name": "00"}),
            page(1, {"name": "2"}, visit=2),
            page(1, {"name": "1"}, visit=1),
        )

    assert database.rows("name, _visit") == [("2", 2)]


async def test_history_keeps_the_items_of_each_visit(database):
    sink = database.sink("mode=history")
    async with opened(sink):
        await brought(sink, page(1, {"name": "0"}, {"name": "00"}), page(1, {"name": "1"}, visit=1))
        await brought(sink, page(1, {"name": "0"}, {"name": "00"}), page(1, {"name": "1"}, visit=1))

    assert database.rows("_key, name") == [(key(1, 0, 0), "0"), (key(1, 0, 1), "1"), (key(1, 1, 0), "00")]


async def test_item_that_a_column_cannot_hold_is_refused_alone_with_its_reason(database):
    sink = database.sink("columns=name:text(5)!,stock:integer,price:decimal(6.2)")
    async with opened(sink):
        refused = await brought(
            sink,
            page(
                1, {"name": "fits"}, {"name": "too long"}, {"name": "n", "stock": 2**63}, {"name": "s", "stock": "many"}
            ),
            page(2, {"name": "p", "price": "1.999"}, {"stock": 1}, {"name": "x", "what": 1}, b"[1]", {"name": "fits!"}),
        )

    assert database.rows() == ["fits", "fits!"]
    assert [place for place, _ in refused] == [1, 2, 3, 0, 1, 2, 3]
    for (_, reason), words in zip(
        refused, ["5 characters", "out of the range", '"many"', "2 digits", "no value", "what", "JSON"], strict=True
    ):
        assert words in reason and "\n" not in reason


async def test_item_that_only_the_database_can_refuse_is_refused_alone(database):
    sink = database.sink("columns=name:text(20),stock:integer")
    async with opened(sink):
        await brought(sink, page(0, {"name": "first", "stock": 1}))
    database.ask("CREATE UNIQUE INDEX one_name ON books (name)")

    async with opened(sink):
        pages = [page(n, {"name": f"n{n}"}, {"name": "first" if n == 5 else f"m{n}"}) for n in range(1, 9)]
        refused = await brought(sink, *pages)
        again = await brought(sink, *pages)

    assert len(refused) == len(again) == 1
    assert len(database.rows()) == 16
    assert database.rows("stock", "name")[0] == 1


async def test_value_is_what_it_was_in_the_item(database):
    columns = "t:text,i:integer,f:float,d:decimal(20.4),b:boolean,m:datetime,day:date,raw:bytes,j:json"
    item = {
        "t": "Käse 🧀 'quoted' \\ \"x\" %s {} :a\n",
        "i": -(2**63),
        "f": 0.1,
        "d": "12345678901.1",
        "b": True,
        "m": "2026-11-19T08:30:00.25+02:00",
        "day": "2026-02-28",
        "raw": "AP9h",
        "j": {"a": [1, "ü", None]},
    }
    sink = database.sink(f"columns={columns}")
    async with opened(sink):
        refused = await brought(sink, page(1, item), page(2, dict.fromkeys(item)), page(3, {}))

    assert refused == []
    t, i, f, d, b, m, day, raw = database.rows("t, i, f, d, b, m, day, raw")[0]
    assert (t, i, f, float(d), bool(b), bytes(raw)) == (item["t"], -(2**63), 0.1, 12345678901.1, True, b"\0\xffa")
    assert str(m)[:22] == "2026-11-19 06:30:00.25" and str(day) == "2026-02-28"
    assert [row for row in database.rows("t, i, f, d, b, m, day, raw, j")[1:] if set(row) != {None}] == []


async def test_names_of_fields_are_only_names(database):
    names = ['a"b', "100%", "%s", "x; DROP TABLE books", "select", ":p", "ü", "$1", "?", "a b", "(x) VALUES (%s)"]
    sink = database.sink()
    async with opened(sink):
        first = await brought(sink, page(1, {name: 1 for name in names}, {"select": 2}))
        second = await brought(sink, page(2, {name: 3 for name in names}))
        third = await brought(sink, page(2, {name: 4 for name in names}, visit=1))

    assert first == second == third == []
    quote = "`" if database.family == "mysql" else '"'
    assert database.rows(f"{quote}select{quote}") == [1, 2, 4]
    assert len(database.ask("SELECT * FROM books")[0]) == len(names) + 5


async def test_replacing_removes_what_earlier_jobs_left_and_nothing_of_this_one(database):
    earlier = database.sink()
    async with opened(earlier):
        await brought(earlier, page(1, {"name": "old"}, job="aa" * 16), page(1, {"name": "older"}, job="cc" * 16))

    sink, second_master = database.sink(replace=True), database.sink(replace=True)
    async with opened(sink):
        assert database.rows() == ["old", "older"]
        written = await sink.write([page(1, {"name": "new"})])
    async with opened(second_master):
        await brought(second_master, page(2, {"name": "newer"}))
    await second_master.open(written.position)
    await brought(second_master, page(3, {"name": "newest"}))
    await second_master.close()

    assert database.rows() == ["new", "newer", "newest"]


async def test_replacing_by_a_job_without_items_leaves_none(database):
    earlier, sink = database.sink(), database.sink(replace=True)
    async with opened(earlier, sink):
        await brought(earlier, page(1, {"name": "old"}))

        await sink.finish()

    assert database.rows("_key") == []


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["postgres", "postgresql+asyncpg"])
async def test_other_words_for_postgresql(postgresql, scheme):
    from .conftest import sql_sink

    sink = sql_sink(postgresql.url().replace("postgresql:", f"{scheme}:"))
    async with opened(sink):
        await brought(sink, page(1, {"name": "a"}))

    assert postgresql.rows() == ["a"]


@pytest.mark.slow
async def test_mariadb_by_its_name(mariadb):
    from .conftest import sql_sink

    sink = sql_sink(mariadb.url().replace("mysql:", "mariadb:"))
    async with opened(sink):
        await brought(sink, page(1, {"name": "a"}))

    assert mariadb.rows() == ["a"]
