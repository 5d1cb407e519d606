"""The verb ``schedule`` as people type it, and what it says of schedules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from p2pcrawl.cli.schedules.schedule_told import schedule_words, scheduled_urls, schedules_words
from p2pcrawl.model.errors import ConfigurationError
from tests.cli.conftest import Run
from tests.cli.peers import Cluster

AT = 1_795_000_000.0


def told(**changes: Any) -> dict[str, Any]:
    run = {"at": AT, "outcome": "started", "job": 7, "state": "finished", "why": "", "by_hand": False}
    refused = {**run, "at": AT + 60, "outcome": "refused", "job": 0, "state": "", "why": "too\nlong", "by_hand": True}
    return {
        "name": "news", "state": "active", "does": "links http://a.example/", "cron": "* * * * *", "zone": "UTC",
        "overlap": "skip", "missed": "once", "keep": 0, "since": AT, "owner": "ab" * 20, "next": [AT + 120],
        "missing": [], "runs": [run, refused],
    } | changes  # fmt: skip


def test_schedule_is_told_with_its_runs_the_last_one_first() -> None:
    assert list(schedule_words(told())) == [
        "schedule news (active): links http://a.example/, * * * * * UTC",
        "  overlap skip, missed once, all jobs stay; master abababab sees to it",
        "  next: 2026-11-18 11:08:40 UTC",
        "  2026-11-18 11:07:40 UTC refused, by hand: too\\nlong",
        "  2026-11-18 11:06:40 UTC started, job 7 finished",
    ]


def test_schedule_that_keeps_few_jobs_says_how_many() -> None:
    said = list(schedule_words(told(keep=30)))

    assert said[1] == "  overlap skip, missed once, the jobs of the last 30 runs stay; master abababab sees to it"


def test_paused_schedule_without_a_run_says_so() -> None:
    said = list(schedule_words(told(state="paused", next=[], runs=[])))

    assert said[0].startswith("schedule news (paused)") and said[-1] == "  no run yet"


def test_list_has_a_line_for_each_and_says_how_to_make_one() -> None:
    head, line = schedules_words({"schedules": [told()]})
    (none,) = schedules_words({"schedules": []})

    assert "next" in head and line.startswith("news") and "2026-11-18 11:08:40 UTC" in line
    assert "p2pcrawl schedule add NAME CRON TARGET" in none


def test_urls_are_typed_or_lie_in_files(tmp_path: Path) -> None:
    file = tmp_path / "urls.txt"
    file.write_text("# of news\nhttp://a.example/1\n\nhttp://a.example/2\n")

    found = scheduled_urls("news", [str(file), "http://b.example/"])

    assert found == {
        "inject": {"job": "news", "urls": ["http://a.example/1", "http://a.example/2", "http://b.example/"]}
    }
    file.write_text("# none\n")
    with pytest.raises(ConfigurationError, match="no URL in"):
        scheduled_urls("news", [str(file)])


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["news", "* * * * *"], "either a TARGET to submit, or --inject JOB"),
        (["news", "* * * * *", "http://a.example/", "--inject", "x"], "either a TARGET to submit, or --inject JOB"),
        (["news", "* * * * *", "--inject", "x"], "go together"),
        (["news", "* * * * *", "--inject", "x", "--urls", "http://a.example/", "-s", "DEPTH_LIMIT=1"], "that job's"),
        (["news", "* * * * *", "http://a.example/", "-o", "a.csv"], "with `p2pcrawl results NAME"),
        (["news", "* * * * *", "http://a.example/", "--overlap", "both"], "'both' is not one of"),
        (["news"], "Missing argument 'CRON'"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anybody_is_asked(run: Run, typed: list[str], said: str) -> None:
    done = run("schedule", "add", *typed)

    assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.slow
def test_schedule_is_made_run_and_removed(tmp_path: Path) -> None:
    spider = tmp_path / "none.py"
    spider.write_text(
        "from p2pcrawl import Spider\n"
        "class Nothing(Spider):\n"
        "    name = 'nothing'\n"
        "    async def start(self):\n"
        "        yield {'made': 'up'}\n"
    )

    with Cluster(tmp_path) as running:
        running.start("--role", "master", "--slaves", 0, "--data", "node")
        made = running.run("schedule", "add", "nightly", "0 3 * * *", spider, "--tz", "Europe/Berlin")
        again = running.run("schedule", "add", "nightly", "0 3 * * *", spider)
        job = json.loads(running.run("schedule", "run-now", "nightly", "--json").stdout)["job"]
        paused = running.run("schedule", "pause", "nightly")
        listed = json.loads(running.run("schedule", "list", "--json").stdout)["schedules"]
        removed = running.run("schedule", "remove", "nightly")
        gone = running.run("schedule", "show", "nightly")

    assert made.returncode == 0 and "schedule nightly: nothing, 0 3 * * * Europe/Berlin, next at" in made.stdout
    assert again.returncode == 2 and "--replace takes its place" in again.stderr
    assert paused.stdout == "schedule nightly is paused\n"
    assert [(each["name"], each["state"], each["runs"][0]["job"]) for each in listed] == [("nightly", "paused", job)]
    assert removed.stdout == "schedule nightly is removed\n"
    assert gone.returncode == 2 and "there is no schedule 'nightly'" in gone.stderr
