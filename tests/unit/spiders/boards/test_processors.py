"""What is made of texts."""

from __future__ import annotations

from typing import Any

import pytest

from p2pcrawl.spiders.boards.processors import PROCESSORS


@pytest.mark.parametrize(
    ("name", "value", "made"),
    [
        ("strip", " a b ", "a b"),
        ("collapse", " a \n b ", "a b"),
        ("lower", "Ab", "ab"),
        ("upper", "Ab", "AB"),
        ("text", "<p>a &amp; <b>b</b></p>", "a & b"),
        ("float", "EUR 1,234.50 only", 1234.5),
        ("float", "1.234,50 €", 1234.5),
        ("float", "1,5", 1.5),
        ("float", "1,500", 1500.0),
        ("float", "1 500,25", 1500.25),
        ("float", "1.234.567", 1234567.0),
        ("float", "-3.", -3.0),
        ("int", "12 items", 12),
        ("date", "2026-11-19T10:00:00Z", "2026-11-19"),
        ("date", "Thu, 19 Nov 2026 10:00:00 GMT", "2026-11-19"),
        ("url", "../c?d", "https://press.example/c?d"),
    ],
)
def test_value_is_made_of_a_text(name: str, value: str, made: Any) -> None:
    assert PROCESSORS[name](value, "https://press.example/a/b") == made


@pytest.mark.parametrize(("name", "value"), [("float", "none"), ("date", "soon"), ("url", "javascript:x()")])
def test_text_that_cannot_be_read_is_an_error(name: str, value: str) -> None:
    with pytest.raises(ValueError):
        PROCESSORS[name](value, "https://press.example/")
