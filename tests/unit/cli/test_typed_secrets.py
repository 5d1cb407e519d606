"""Passwords in what was typed leave the arguments of the process; the rest of these stays as it was."""

from __future__ import annotations

import pytest

from p2pcrawl.cli.typed_secrets import without_passwords


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("mongodb://ada:geheim@db.example/shop.books", "mongodb://ada:***@db.example/shop.books"),
        ("--output=postgresql://ada:ge@heim@db/shop?x=1", "--output=postgresql://ada:***@db/shop?x=1"),
        ("-os3://key:geheim@bucket/folder", "-os3://key:***@bucket/folder"),
        ('FEEDS={"mongodb://a:geheim@h/b.c": {}}', 'FEEDS={"mongodb://a:***@h/b.c": {}}'),
        ("http://:geheim@a.example/", "http://:***@a.example/"),
    ],
)
def test_password_is_taken_out_of_an_argument(typed: str, shown: str) -> None:
    assert without_passwords([typed]) == [shown]


@pytest.mark.parametrize(
    "typed",
    ["http://a.example:8080/who@where", "mongodb://ada@db.example/shop.books", "mail@a.example", "s3://bucket/a:b@c"],
)
def test_argument_without_a_password_stays_as_it_is(typed: str) -> None:
    assert without_passwords([typed]) == [typed]
