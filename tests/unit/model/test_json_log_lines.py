"""Lines of the log for machines: one object each, whatever is in it."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from p2pcrawl.model.json_log_lines import TEXT_MAX, JsonLogLines


def line_of(text: str, *values: object, lines: JsonLogLines | None = None, **more: Any) -> str:
    record = logging.LogRecord("p2pcrawl.here", logging.WARNING, "here.py", 1, text, values, more.pop("error", None))
    vars(record).update(more)
    return (lines or JsonLogLines()).format(record)


def test_line_says_when_how_grave_and_whose_it_is() -> None:
    lines = JsonLogLines()
    lines.peer = "1a2b"

    told = json.loads(line_of("%d pages failed", 3, lines=lines, created=0.25))

    assert told == {
        "time": "1970-01-01T00:00:00.250+00:00",
        "level": "WARNING",
        "logger": "p2pcrawl.here",
        "event": "",
        "job": None,
        "host": "",
        "peer": "1a2b",
        "text": "3 pages failed",
    }


def test_event_is_told_with_its_fields() -> None:
    told = json.loads(line_of("down", event="host-down", fields={"job": 7, "host": "a.example", "unnoted": 0}))

    assert (told["event"], told["job"], told["host"]) == ("host-down", 7, "a.example")
    assert told["fields"]["unnoted"] == 0


@pytest.mark.parametrize(
    "hostile", ["a\nb", '"}\n{"event":"member-dead"}', "\x1b]0;title\x07", "\u2028", "\ud800", "\0"]
)
def test_text_of_others_stays_in_its_line(hostile: str) -> None:
    line = line_of("%s", hostile)

    assert line.isascii() and line.isprintable()
    assert json.loads(line)["text"] == hostile


def test_passwords_are_left_out_and_the_line_stays_an_object() -> None:
    told = json.loads(line_of("%s is away", "postgresql://ada:secret@db/shop", event="sink-away", fields={"job": 1}))

    assert told["text"] == "postgresql://ada:***@db/shop is away"


def test_error_comes_with_its_traceback() -> None:
    try:
        raise LookupError("gone")
    except LookupError as error:
        told = json.loads(line_of("failed", error=(LookupError, error, error.__traceback__)))

    assert told["traceback"].endswith("LookupError: gone")


def test_text_is_bounded() -> None:
    assert len(json.loads(line_of("x" * 10 * TEXT_MAX))["text"]) == TEXT_MAX
