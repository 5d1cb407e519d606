"""Tables that are there already, and what is told before a job is accepted: one line, without a password."""

from __future__ import annotations

import os
import stat

import pytest

from benchmarks.sinks.sql_servers import PASSWORD, USER
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.sink import SinkAway

from ..conftest import opened
from .conftest import brought, page, sql_sink

KEY = "_key VARCHAR(190) PRIMARY KEY, _visit INTEGER NOT NULL"


async def refusal(sink, kind=ConfigurationError):
    try:
        with pytest.raises(kind) as caught:
            await sink.open(None)
    finally:
        await sink.close()
    text = str(caught.value)
    assert "\n" not in text and PASSWORD not in text and "p%2Fss" not in text
    return text


async def test_table_that_is_there_is_used_as_it_is(database):
    database.ask(f"CREATE TABLE books (id INTEGER, name VARCHAR(20), stock INTEGER DEFAULT 7, {KEY}, url VARCHAR(100))")

    sink = database.sink()
    async with opened(sink):
        refused = await brought(sink, page(1, {"name": "a"}, {"name": "b", "stock": 1}, {"name": "d" * 21}, {"new": 1}))

    assert database.rows("name, stock, url") == [("a", 7, "http://books.example/1"), ("b", 1, "http://books.example/1")]
    assert [place for place, _ in refused] == [2, 3]


async def test_table_of_another_shape_is_refused_with_all_that_does_not_fit(database):
    database.ask("CREATE TABLE books (id INTEGER PRIMARY KEY, price DATE, name VARCHAR(20), must INTEGER NOT NULL)")

    told = await refusal(database.sink("columns=name:text,price:float,stock:integer"))

    for words in [
        "books does not fit",
        "no column _key",
        "no column _visit",
        "column price is DATE",
        "no column stock",
        "must",
    ]:
        assert words in told
    assert database.ask("SELECT * FROM books") == []


async def test_key_that_is_not_unique_is_refused(database):
    database.ask("CREATE TABLE books (_key VARCHAR(190), _visit INTEGER NOT NULL, name VARCHAR(20))")

    assert "_key must be the primary key, or unique" in await refusal(database.sink())


async def test_columns_are_added_where_that_is_wanted_and_only_there(database):
    database.ask(f"CREATE TABLE books (name VARCHAR(20), {KEY})")
    plain, adding = database.sink(), database.sink("add_columns=true")

    async with opened(plain, adding):
        refused = await brought(plain, page(1, {"name": "a", "stock": 1}))
        added = await brought(adding, page(2, {"name": "b", "stock": 2}), page(3, {"tags": ["x"]}))

    assert [(place, "add_columns" in reason) for place, reason in refused] == [(0, True)]
    assert added == []
    assert database.rows("name, stock") == [("b", 2), (None, None)]


async def test_two_masters_make_one_table_of_what_their_first_batches_bring(database):
    one, other = database.sink(), database.sink()
    async with opened(one, other):
        first = await brought(one, page(1, {"name": "a", "stock": 1}))
        second = await brought(other, page(2, {"name": "b", "price": 1.5}))

    assert first == second == []
    assert database.rows("name, stock, price") == [("a", 1, None), ("b", None, 1.5)]


async def test_field_of_an_item_keeps_its_name_beside_ours(database):
    sink = database.sink("columns=url:text,job:integer")
    fresh = sql_sink(database.url(table="others"))
    async with opened(sink, fresh):
        await brought(sink, page(1, {"url": "its own", "job": 5}))
        await brought(fresh, page(1, {"fetched_at": "its own"}))

    assert database.rows("url, job, _url") == [("its own", 5, "http://books.example/1")]
    assert database.ask("SELECT fetched_at, url FROM others") == [("its own", "http://books.example/1")]


async def test_table_without_a_name_is_called_like_the_spider(database):
    sink = sql_sink(database.url().replace("?table=books", ""))
    async with opened(sink):
        await brought(sink, page(1, {"name": "a"}))

    assert database.ask("SELECT name FROM the_spider") == [("a",)]


async def test_wrong_password(served):
    told = await refusal(sql_sink(served.url(), "wrong p/ss"))

    assert USER in told and "wrong p/ss" not in told


async def test_unknown_database(served):
    assert "nowhere" in await refusal(sql_sink(served.server.url("nowhere")))


async def test_unknown_host():
    assert "no host of that name" in await refusal(sql_sink("postgresql://ada@nowhere.invalid/shop"))
    assert "no host of that name" in await refusal(sql_sink("mysql://ada@nowhere.invalid/shop"))


async def test_server_that_is_not_there_is_away():
    for scheme in ("postgresql", "mysql"):
        told = await refusal(sql_sink(f"{scheme}://ada@127.0.0.1:1/shop"), SinkAway)

        assert told.startswith("the database at 127.0.0.1:1: ")


async def test_user_who_may_only_read(served):
    sink = served.sink("columns=name:text")
    async with opened(sink):
        await brought(sink, page(1, {"name": "a"}))
    user = f"reader_{served.name[-8:]}"
    if served.family == "mysql":
        served.ask(f"CREATE USER {user} IDENTIFIED BY 'secret'")
        served.ask(f"GRANT SELECT ON {served.name}.* TO {user}")
    else:
        served.ask(f"CREATE ROLE {user} LOGIN PASSWORD 'secret'")
        served.ask(f"GRANT SELECT ON books TO {user}")

    told = await refusal(sql_sink(served.server.url(served.name, user=user), "secret"))
    no_table = await refusal(sql_sink(served.server.url(served.name, "others", user=user), "secret"))

    assert "denied" in told.lower() and "denied" in no_table.lower()


@pytest.mark.parametrize("option", ["colour=red", "port=many"])
async def test_option_that_the_driver_does_not_know_is_refused(served, option):
    with pytest.raises(ConfigurationError, match="does not take these options"):
        async with opened(served.sink(option)):
            pass


async def test_file_that_cannot_be_made_written_or_read_as_a_database(sqlite, tmp_path):
    (tmp_path / "text.db").write_text("no database at all" * 100)
    told = await refusal(sql_sink(f"sqlite:///{tmp_path}/no-such-folder/x.db"))
    other = await refusal(sql_sink(f"sqlite:///{tmp_path}/text.db"))

    assert "unable to open" in told and "not a database" in other
    if os.geteuid():
        async with opened(sqlite.sink("columns=name:text")):
            os.chmod(sqlite.name, stat.S_IRUSR)
            assert "readonly" in await refusal(sqlite.sink())


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql://ada@h", "names no database"),
        ("postgresql://ada@h:99999/d", "a port that there is not: 99999"),
        ("mysql:///shop", "names no host"),
        ("sqlite://", "names no file"),
        ("sqlite:///x.db?table=a.b", "no schemas"),
        ("sqlite:///x.db?colour=red", "does not take these options"),
        ("sqlite:///x.db?timeout=long", "does not take these options"),
        ("sqlite:///x.db?table=%0a", "no name of a table"),
        ("sqlite:///x.db?columns=name", "name:kind"),
        ("sqlite:///x.db?columns=name:varchar", "name:kind"),
        ("sqlite:///x.db?columns=a:text,A:text", "are one in most databases"),
        ("sqlite:///x.db?add_columns=maybe", "neither true nor false"),
        ("sqlite:///x.db?item=nowhere:Book", "cannot be imported"),
        ("sqlite:///x.db?item=Book", "module:Class"),
        ("sqlite:///x.db?item=json:JSONDecoder", "no type of items"),
        ("postgresql://h/d?sslpassword=x", "would be shown"),
        ("postgresql://ada:s3cret@h:port/d", "is no address"),
    ],
)
def test_address_that_cannot_work_is_refused_before_anything_is_asked(url, words):
    with pytest.raises(ConfigurationError) as caught:
        sql_sink(url)

    assert words in str(caught.value)
    assert "s3cret" not in str(caught.value)
