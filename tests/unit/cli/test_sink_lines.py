"""What a crawl says of its sinks, without passwords and without what a terminal obeys."""

from __future__ import annotations

import time
from typing import Any

from p2pcrawl.cli.screen.sinks import away_lines, sink_lines, slow_lines
from p2pcrawl.cli.screen.summary import CrawlEnd, summary
from p2pcrawl.master.jobs.delivery import SinkState
from p2pcrawl.model.crawl.job import START_URL

WHY = "no \x1b[31manswer from mongodb://ada:geheim@db"
AWAY = SinkState("mongodb://ada@db/x.y", 5, 1234, 2, time.time() - 60, WHY)
SLOW = SinkState("http://h.example/x", 5, 3, 0)
DONE = SinkState("-", 8, 0, 0)


def test_each_sink_has_a_line_that_says_what_it_has_and_what_it_has_not() -> None:
    away, slow, done = sink_lines([AWAY, SLOW, DONE])

    assert away.startswith("mongodb://ada@db/x.y: 5 items, 1,234 not delivered yet (since ")
    assert away.endswith(", 2 refused")
    assert slow == "http://h.example/x: 5 items, 3 not delivered yet"
    assert done == "standard output: 8 items"


def test_sink_that_is_away_is_told_apart_from_one_that_is_slow() -> None:
    [away], [slow] = away_lines([AWAY, SLOW, DONE]), slow_lines([AWAY, SLOW, DONE])

    assert away.startswith("waiting for mongodb://ada@db/x.y since ") and ": 1,234 items (" in away
    assert slow == "3 items on the way to http://h.example/x"


def test_reason_is_told_without_a_password_and_without_what_a_terminal_obeys() -> None:
    said = " ".join(sink_lines([AWAY]) + away_lines([AWAY]))

    assert "geheim" not in said and "\x1b" not in said and "ada:***@db" in said


def ended(**said: Any) -> dict[str, Any]:
    counts = dict.fromkeys(("discovered", "done", "failed", "dropped", "queued", "leased", "redirects"), 0)
    rest = {
        "items_dropped": 0,
        "slave_losses": 0,
        "failed_by_reason": {},
        "dropped_by_reason": {},
        "retries_by_reason": {},
        "filtered_links": {"seen": 7, "offsite": 1200, "depth": 3},
    }
    told = {"name": "x", "state": "finished", "reason": "", "pages": 1, "items": 9, "verified": True}
    sink = {"sink": AWAY.sink, "delivered": 5, "waiting": 4, "refused": 2, "away_since": None, "why": ""}
    return {**counts, **rest, **told, "sinks": [sink], **said}


def test_summary_names_the_folder_in_which_what_is_left_is_kept() -> None:
    ending = CrawlEnd([ended()], 1.0, 1, interrupted=True, resumable="", kept_in="/tmp/kept")

    lines = summary(ending)

    assert "  links left out: offsite 1,200, depth 3" in lines
    assert any("/tmp/kept/dead-letters/items.jsonl" in line and "--data /tmp/kept" in line for line in lines)
    assert lines[-1] == "run the same command with --data /tmp/kept to deliver the rest, which is kept there"
    assert (ending.exit_code, ending.as_json()["data"]) == (130, "/tmp/kept")


def test_summary_calls_the_start_of_a_spider_by_its_name() -> None:
    failed = [(f"{START_URL}1", "callback", "ValueError: no"), ("http://a.example/", "dns", "")]

    lines = summary(CrawlEnd([ended()], 1.0, 1, interrupted=False, resumable="", troubles=failed))

    assert "  e.g. callback: the spider's start (ValueError: no)" in lines
    assert "  e.g. dns: http://a.example/" in lines
