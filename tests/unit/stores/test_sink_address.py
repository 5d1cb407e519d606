"""Addresses of sinks as they are typed: what they name, their options, and their passwords apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.address import PASSWORD_VARIABLE, SinkAddress, parse_sink


@pytest.fixture(autouse=True)
def no_password_around(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PASSWORD_VARIABLE, raising=False)


@pytest.mark.parametrize("path", ["out.jsonl", "a:b@c.csv", "-", "/tmp/what?mode=history.json", "C:\\x.json"])
def test_text_without_a_scheme_is_a_path_whatever_it_holds(path: str) -> None:
    assert parse_sink(path) == SinkAddress(path)


@pytest.mark.parametrize(
    ("typed", "url", "secret"),
    [
        ("mongodb://ada:sesame@db/shop.books", "mongodb://ada@db/shop.books", "sesame"),
        ("mongodb://ada:s%40e%2Fs%3Aame@db/shop.books", "mongodb://ada@db/shop.books", "s@e/s:ame"),
        ("mongodb://ada:se@same@db/shop.books", "mongodb://ada@db/shop.books", "se@same"),
        ("mongodb://ada:a:b@db/shop.books", "mongodb://ada@db/shop.books", "a:b"),
        ("mongodb://ada:@db/shop.books", "mongodb://ada@db/shop.books", ""),
        ("mongodb://:sesame@db/shop.books", "mongodb://db/shop.books", "sesame"),
        ("MongoDB://ada:sesame@DB/x.y?tls=true", "mongodb://ada@DB/x.y?tls=true", "sesame"),
        ("mongodb://ada:sesame@h1:27017,h2:27018/x.y", "mongodb://ada@h1:27017,h2:27018/x.y", "sesame"),
        ("mongodb://[::1]:27017/x.y", "mongodb://[::1]:27017/x.y", ""),
        ("mongodb://h1:27017,h2:27018/x.y?note=a@b", "mongodb://h1:27017,h2:27018/x.y?note=a@b", ""),
        ("http://h:8080/a@b?c=d@e", "http://h:8080/a@b?c=d@e", ""),
    ],
)
def test_password_is_kept_apart_from_the_address(typed: str, url: str, secret: str) -> None:
    address = parse_sink(typed)

    assert (address.url, address.secret) == (url, secret)
    assert not secret or secret not in repr(address)


@pytest.mark.parametrize("typed", ["mongodb://ada:ses/ame@db/x.y", "mongodb://ada:ses?ame@db/x.y", "s3://a:b#c@d/e"])
def test_password_with_a_mark_that_ends_an_address_is_refused_and_not_shown(typed: str) -> None:
    with pytest.raises(ConfigurationError, match="%2F") as caught:
        parse_sink(typed)

    assert "ses" not in str(caught.value)


@pytest.mark.parametrize("secret", ["sesame", "a@b", "a/b?c#d", "ä:ö", "%41", " "])
def test_driver_is_given_the_password_that_was_typed(secret: str) -> None:
    address = SinkAddress("mongodb://ada@db/shop.books", secret=secret)

    again = parse_sink(address.with_secret())

    assert (again.url, again.secret) == (address.url, secret)


def test_our_options_are_taken_out_of_the_query_and_others_stay() -> None:
    typed = "mongodb://db/x.y?mode=history&tls=true&batch=5&where=a%20%3E%201&types=b"

    address = parse_sink(typed, frozenset({"types"}))

    assert address.url == "mongodb://db/x.y?tls=true"
    assert address.options == {"mode": "history", "batch": "5", "where": "a > 1", "types": "b"}


def test_password_comes_from_the_environment_of_its_own_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SECRET", "sesame")

    address = parse_sink("mongodb://ada@db/x.y?password_env=MY_SECRET")

    assert (address.url, address.options, address.secret) == ("mongodb://ada@db/x.y", {}, "sesame")


def test_password_comes_from_the_environment_for_whoever_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSWORD_VARIABLE, "sesame")

    assert parse_sink("mongodb://ada@db/x.y").secret == "sesame"
    assert parse_sink("mongodb://db/x.y").secret == ""
    assert parse_sink("mongodb://ada:typed@db/x.y").secret == "typed"


def test_password_comes_from_a_file_without_its_last_end_of_line(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("sesame\n")
    file.chmod(0o600)

    address = parse_sink(f"mongodb://ada@db/x.y?password_file={file}")

    assert (address.url, address.options, address.secret) == ("mongodb://ada@db/x.y", {}, "sesame")


@pytest.mark.parametrize(
    ("option", "said"),
    [("password_env=NOT_THERE", "NOT_THERE, which is not set"), ("password_file=/not/there", "/not/there")],
)
def test_password_that_is_not_where_it_should_be_is_one_line(option: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        parse_sink(f"mongodb://ada@db/x.y?{option}")
