"""Addresses of MongoDB collections: what they name, and what is refused before any server is asked."""

from __future__ import annotations

import pytest

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.address import parse_sink
from p2pcrawl.stores.kinds import SinkPlace, make_sink
from p2pcrawl.stores.mongo.mongo_place import read_mongo_place

SECRET = "p/ss:w@rd%"


@pytest.fixture(autouse=True)
def _password(monkeypatch):
    monkeypatch.setenv("P2PCRAWL_SINK_PASSWORD", SECRET)


def place_of(typed):
    return read_mongo_place(parse_sink(typed))


@pytest.mark.parametrize(
    ("typed", "names", "for_the_driver"),
    [
        ("mongodb://db.example/shop.books", ("shop", "books"), "mongodb://db.example/shop?"),
        ("mongodb://db/shop.books.new", ("shop", "books.new"), "mongodb://db/shop?"),
        (
            "mongodb://ada@a,b:27018/shop.books?replicaSet=rs&mode=history&tls=true",
            ("shop", "books"),
            "mongodb://ada:p%2Fss%3Aw%40rd%25@a,b:27018/shop?replicaSet=rs&tls=true",
        ),
        ("mongodb://ada@[::1]:7/s.b%C3%BCcher", ("s", "bücher"), "mongodb://ada:p%2Fss%3Aw%40rd%25@[::1]:7/s?"),
        ("mongodb+srv://x%40y@c.example/s.b", ("s", "b"), "mongodb+srv://x%40y:p%2Fss%3Aw%40rd%25@c.example/s?"),
    ],
)
def test_address_names_a_collection(typed, names, for_the_driver):
    place = place_of(typed)

    assert (place.database, place.collection) == names
    assert place.driver_address.with_secret() == for_the_driver
    assert place.history == ("history" in typed)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("mongodb://db/shop", "write mongodb://user@host/database.collection"),
        ("mongodb://db/shop/books", "write mongodb://user@host/database.collection"),
        ("mongodb://db/shop.books/new", "write mongodb://user@host/database.collection"),
        ("mongodb://db", "write mongodb://user@host/database.collection"),
        ("mongodb:///shop.books", "write mongodb://user@host/database.collection"),
        ("mongodb://db/.books", "no name of a database"),
        ("mongodb://db/sh%24op.books", "no name of a database"),
        ("mongodb://db/" + "s" * 64 + ".books", "no name of a database"),
        ("mongodb://db/shop.", "no name of a collection"),
        ("mongodb://db/shop.a$b", "no name of a collection"),
        ("mongodb://db/shop.a..b", "no name of a collection"),
        ("mongodb://db/shop.system.users", "no name of a collection"),
        ("mongodb://db/shop." + "b" * 250, "longer than MongoDB takes"),
        ("mongodb://db/shop.books?mode=both", "is upsert or history"),
        ("mongodb://db/shop.books?driver=mongo", "it is motor or pymongo"),
        ("mongodb://db/shop.books?item=shop.py:Book", "item= is for tables"),
        ("mongodb://db/shop.books?w=1", "leave w out"),
        ("mongodb://db/shop.books?journal=false", "leave journal out"),
        ("mongodb://db/shop.books?retryWrites=false", "leave retryWrites out"),
        ("mongodb://db/shop.books?replicaset1=x", "Unknown option: replicaset1"),
        ("mongodb://db/shop.books?connectTimeoutMS=soon", "connectTimeoutMS"),
        ("mongodb://db:99999/shop.books", "Port must be"),
        ("mongodb://db/shop.books?tls=true&tlsCAFile=/nowhere", "/nowhere"),
    ],
)
def test_address_that_cannot_work_is_one_line(typed, said):
    with pytest.raises(ConfigurationError) as caught:
        make_sink(parse_sink(typed), SinkPlace("books"))

    assert said in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    "option", ["tlsCertificateKeyFilePassword=geheim", "authMechanismProperties=AWS_SESSION_TOKEN:geheim"]
)
def test_secret_among_the_options_is_refused_and_not_shown(option):
    with pytest.raises(ConfigurationError, match="it would be shown") as caught:
        place_of(f"mongodb://db/shop.books?{option}")

    assert "geheim" not in str(caught.value)


def test_user_without_a_password_is_told_where_to_put_it(monkeypatch):
    monkeypatch.delenv("P2PCRAWL_SINK_PASSWORD")

    with pytest.raises(ConfigurationError, match="set P2PCRAWL_SINK_PASSWORD"):
        place_of("mongodb://ada@db/shop.books")


def test_name_that_only_sounds_secret_is_none():
    place = place_of("mongodb://db/shop.books?replicaSet=secret-token-rs")

    assert place.shown.endswith("replicaSet=secret-token-rs")


def test_password_is_in_no_form_of_the_place():
    place = place_of("mongodb://ada@db/shop.books?tls=true")

    assert SECRET not in f"{place!r} {place.shown}" and "p%2Fss" not in repr(place)
