"""Other jobs, what people ask for, and aims come to any scenario, are judged, and are the same in each process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simulations.draws.beside import drawn_beside
from simulations.play.aims import Aim
from simulations.play.faults import Fault
from simulations.play.options import Options
from simulations.play.stage import Stage
from simulations.shrink.case import case_of, text_of
from simulations.verbs.run import drawn
from simulations.whole.outcome import Report
from simulations.whole.plan import Plan
from simulations.whole.plan_file import read_plan
from simulations.whole.simulation import Simulation

ROOT = Path(__file__).parents[2]
SMALL = Options(scenario="steady", masters=3, replicas=2, pages=24, hosts=4, seed=5)
SUBMIT = Fault(place="b", do="submit", at_share=0.1, who=("m1",), change={"job": "b", "key": "url", "pages": 0})


def played(*beside: Fault | Aim, options: Options = SMALL) -> tuple[Report, Stage]:
    """A run with these besides, and its stage."""
    seen: list[Stage] = []

    async def look(stage: Stage) -> None:
        seen.append(stage)

    return Simulation(Plan(options, faults=look, beside=beside)).run(), seen[0]


@pytest.mark.slow
def test_another_job_over_the_same_pages_is_crawled_as_well_and_judged() -> None:
    report, stage = played(SUBMIT)

    by_job = {job: {v.url for v in stage.web.visits if v.job == job and v.answered} for job in ("", "b")}
    assert report.violations == []
    assert {url for url in by_job["b"] if not url.endswith("/robots.txt")} == {
        url for url in by_job[""] if not url.endswith("/robots.txt")
    }


@pytest.mark.slow
def test_another_job_may_be_of_some_pages_only() -> None:
    few = replace(SUBMIT, change={"job": "b", "key": "host", "pages": 3})

    report, stage = played(few)

    asked = Counter(visit.url for visit in stage.web.visits if visit.job == "b" and not visit.is_robots)
    assert report.violations == []
    assert set(asked) >= set(stage.others["b"].crawl.starts)


@pytest.mark.slow
def test_a_job_that_rests_goes_on_though_whoever_was_asked_dies_at_once() -> None:
    rest = Fault(place="rest", do="pause-job", at_share=0.2, for_s=3.0, who=("m1",), change={"job": ""})
    dies = Aim(kind="verb pause", phase="told", do="crash", for_s=5.0)

    report, stage = played(rest, dies)

    verbs = [asked.verb for asked in stage.asked if not asked.error]
    assert report.violations == []
    # Who is asked to let it go on may not have heard that it rests: then it is asked once more.
    assert verbs[0] == "pause" and set(verbs[1:]) == {"resume"}
    assert len(report.figures["aims"]) == 1


@pytest.mark.slow
def test_an_order_about_a_host_a_retry_and_pages_put_in_change_nothing_of_what_is_found() -> None:
    said = [
        Fault(place="host", do="set-host", at_share=0.1, for_s=4.0, who=("m0",), change={"host": 1, "delay": 2.0}),
        Fault(place="anew", do="retry-job", at_share=0.6, who=("m2",), change={"job": ""}),
        Fault(place="put in", do="inject", at_share=0.3, who=("m1",), change={"job": "", "pages": 4}),
        Fault(place="depth", do="set-job", at_share=0.4, who=("m1",), change={"job": "", "depth": 99}),
        Fault(place="items", do="results", at_share=0.5, who=("m2",), change={"job": ""}),
    ]

    report, stage = played(*said)

    assert report.violations == []
    assert Counter(asked.verb for asked in stage.asked) == {
        "set-host": 2, "retry": 1, "inject": 1, "set": 1, "results": 1,
    }  # fmt: skip


@pytest.mark.slow
def test_a_job_that_was_cancelled_and_deleted_leaves_nothing() -> None:
    over = [
        Fault(place="end", do="cancel-job", at_share=0.4, who=("m1",), change={"job": "b"}),
        Fault(place="away", do="delete-job", at_share=0.6, who=("m2",), change={"job": "b"}),
    ]

    report, stage = played(SUBMIT, *over)

    assert report.violations == []
    assert stage.deleted == [stage.others["b"].number]


def test_only_what_the_options_name_is_drawn_and_the_same_each_time() -> None:
    seeds = [replace(drawn(seed), draws=("aims", "verbs", "jobs")) for seed in range(40)]

    assert [drawn_beside(each) for each in seeds] == [drawn_beside(each) for each in seeds]
    assert not any(drawn_beside(replace(each, draws=("limits",))) for each in seeds)
    assert {type(part) for each in seeds for part in drawn_beside(each)} == {Fault, Aim}


@pytest.mark.slow
@pytest.mark.parametrize("what", [("aims",), ("jobs", "verbs")])
def test_the_same_run_is_played_in_another_process(what: tuple[str, ...]) -> None:
    code = (
        "import sys, json; from simulations import Options, Simulation;"
        "print(json.dumps(Simulation(Options(**json.loads(sys.argv[1]))).run().plain()))"
    )
    given = {"masters": 3, "pages": 20, "hosts": 3, "seed": 4, "key": "url", "draws": what}
    told: list[dict[str, Any]] = []
    for hash_seed in ("0", "77"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", code, json.dumps(given)]
        told.append(json.loads(subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout))

    assert told[0]["trace"] == told[1]["trace"]
    assert told[0]["beside"] == told[1]["beside"] != []


def test_a_plan_may_come_beside_what_a_scenario_does_by_its_own_code(tmp_path: Path) -> None:
    options = replace(SMALL, scenario="rolling", draws=("limits", "jobs"))
    case = replace(case_of(Plan(options)), own=True, parts=drawn_beside(options))
    path = tmp_path / "beside.toml"

    path.write_text(text_of(case), encoding="utf-8")

    again = read_plan(path)
    assert (again.options.scenario, again.faults, again.limits) == ("rolling", None, case.limits)
    assert [str(part) for part in again.beside or ()] == [str(part) for part in case.parts]


def test_what_is_drawn_can_be_taken_apart_and_written_as_a_plan(tmp_path: Path) -> None:
    options = replace(SMALL, scenario="aimed", draws=("limits", "aims", "verbs", "jobs"))
    case = case_of(Plan(options))
    path = tmp_path / "least.toml"

    path.write_text(text_of(case), encoding="utf-8")

    again = read_plan(path)
    assert again.limits == case.limits != {}
    assert again.faults is not None
    assert [str(part) for part in case_of(again).parts] == [
        str(part) for part in sorted(case.parts, key=lambda part: isinstance(part, Aim))
    ]
