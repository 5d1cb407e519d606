"""Simulations from Python: a user's own spider, own web and own faults, and what comes back."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

import simulations
from p2pcrawl import Spider
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.page.response import Response
from simulations import Law, MachinePlan, Options, Plan, Progress, Simulation, Stage, WebPlan
from simulations.__main__ import main
from simulations.verbs import swarm as swarms
from simulations.world.web import Web

ROOT = Path(__file__).parents[2]
SMALL = Options(masters=3, pages=40, hosts=6)
WEB = WebPlan(pages=40, hosts=6, delayed_hosts=0.0)


class Starts(Spider):
    """Takes the front page of each host and goes no deeper."""

    name = "starts"

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        if response.url.count("/") == 3 and response.url.endswith("/"):
            yield {"host": response.url}
        yield response.follow_all(match=r"^http://[^/]+/$")


class Hasty(Spider):
    """Takes all that it may, and leaves hosts alone that are in less of a hurry."""

    name = "hasty"
    custom_settings = {"CRAWL_DELAY_MAX": 1.0}  # noqa: RUF012

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        yield {"url": response.url}
        yield response.follow_all()


async def one_stands_still(stage: Stage) -> None:
    await stage.progress(0.2)
    hit = stage.some(1)
    stage.freeze(hit)
    await asyncio.sleep(2.0)
    stage.thaw(hit)


def test_all_that_is_offered_is_there_and_nothing_else() -> None:
    assert all(hasattr(simulations, name) for name in simulations.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Simulator'"):
        simulations.Simulator  # noqa: B018


@pytest.mark.parametrize(("delayed_hosts", "hosts"), [(0.0, 4), (1.0, 1)])
def test_a_crawl_ends_without_the_hosts_that_want_longer_pauses_than_it_has_patience(
    delayed_hosts: float, hosts: int
) -> None:
    web = WebPlan(pages=40, hosts=4, delayed_hosts=delayed_hosts, dead_hosts=0.0)

    report = Simulation(Plan(Options(masters=2, pages=40, hosts=4), web=web, spider=Hasty)).run()

    assert not report.violations
    assert len({item["url"].split("/")[2] for item in report.items}) == hosts


def test_a_scenario_that_there_is_not_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="there is no scenario 'chrun'; there are aimed, alone, blackout,"):
        Plan(Options(scenario="chrun"))


@pytest.mark.parametrize("name", ["latency_s", "limit_s", "rate"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0])
def test_what_is_no_length_of_time_and_no_rate_is_refused(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=r"the (latency|time limit|rate) must be"):
        Options(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("make", [Law, WebPlan, partial(MachinePlan, "m0")])
def test_parts_of_a_plan_want_finite_numbers(make: Callable[..., object]) -> None:
    name = "disk_delay_s" if isinstance(make, partial) else "latency_s"

    for value in float("nan"), float("inf"):
        with pytest.raises(ValueError, match=name):
            make(**{name: value})


def test_a_large_web_has_more_hosts_and_more_time_than_a_small_one() -> None:
    small, large = Options(pages=500), Options(pages=20_000)

    assert (small.hosts_of_web, large.hosts_of_web) == (41, 1666)
    assert Options(pages=20_000, hosts=7).hosts_of_web == 7
    assert Web(1, WebPlan(pages=20_000, hosts=1666)).least_s > 10 * Web(1, WebPlan(pages=500, hosts=41)).least_s


def test_a_scenario_with_fewer_slaves_than_it_needs_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="slaves-die needs slave machines, 2 per master at least"):
        Plan(Options(scenario="slaves-die", slaves=1))


def test_options_of_a_completed_plan_say_what_its_parts_are() -> None:
    plan = Plan(Options(masters=2), web=WEB, machines=(MachinePlan("m1", weight=4),)).completed()

    assert (plan.options.pages, plan.options.hosts) == (40, 6)
    assert [plan.weight(number) for number in range(2)] == [1, 4]


def test_a_command_is_named_only_if_it_runs_the_same() -> None:
    assert Plan(SMALL).command == "python -m simulations run steady --seed 1 --masters 3 --pages 40 --hosts 6"
    assert Plan(SMALL, faults=one_stands_still).command == ""
    assert Plan(SMALL, spider=Starts).command == ""


@pytest.mark.slow
def test_own_faults_happen_and_are_told_as_the_run_goes_on() -> None:
    told: list[Progress] = []

    report = Simulation(Plan(SMALL, faults=one_stands_still, web=WEB), told.append).run()

    assert [incident.what for incident in report.incidents] == ["pause"]
    assert not report.violations
    whats = [progress.what for progress in told if progress.what]
    assert whats[0] == "the job begins" and whats[-1] == "nothing is left to do"
    assert f"pause of {next(iter(report.incidents[0].nodes))}" in whats
    assert [progress.share for progress in told] == sorted(progress.share for progress in told)


@pytest.mark.slow
def test_the_series_ends_with_what_the_figures_say() -> None:
    report = Simulation(Plan(SMALL, web=WEB)).run()

    last = report.series.samples[-1]
    assert last.requests == report.figures["requests"]
    assert last.bytes == report.figures["bytes"]
    assert sum(last.pages) == report.figures["answered"] + report.figures["refetched"]
    assert last.share == pytest.approx(report.figures["answered"] / report.figures["reachable"])
    assert len(report.items) == report.figures["items"]


@pytest.mark.slow
def test_an_own_spider_crawls_the_web_and_its_items_come_back() -> None:
    report = Simulation(Plan(SMALL, spider=Starts, web=WEB)).run()

    assert not report.violations
    hosts = {item["host"] for item in report.items}
    assert len(hosts) == len(report.items) > 1
    assert report.figures["answered"] < 40


@pytest.mark.slow
def test_what_own_faults_raise_is_raised() -> None:
    async def stumble(stage: Stage) -> None:
        await stage.progress(0.1)
        raise RuntimeError("as written")

    with pytest.raises(RuntimeError, match="as written"):
        Simulation(Plan(SMALL, faults=stumble)).run()


@pytest.mark.slow
def test_the_log_names_machines_and_marks_what_matters() -> None:
    log = StringIO()

    Simulation(Plan(SMALL, faults=one_stands_still, web=WEB), narrate_to=log).run()

    lines = log.getvalue().splitlines()
    assert {line[:2] for line in lines} == {"  ", "!!", "++", ">>", "=="}
    marked = [line for line in lines if line.startswith(("!!", "=="))]
    assert [re.sub(r"m\d|[\d.]+", "#", line[2:]).split() for line in marked][:2] == [
        ["#", "scenario", "--", "the", "job", "begins:", "#%", "of", "the", "pages"],
        ["#", "#", "pauses"],
    ]
    assert sum(line.endswith("-- the job is finished") for line in lines) == 3
    assert any(re.search(r"m\d +http://h\d.web.test/robots.txt: 200 after", line) for line in lines)
    assert not any(re.search(r"10\.0\.0\.\d:7117", line) for line in lines)


@pytest.mark.slow
def test_the_example_of_the_page_runs_as_it_is(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "simulation.md").read_text()
    scripts = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(scripts) == 2

    for number, script in enumerate(scripts):
        path = tmp_path / f"example_{number}.py"
        path.write_text(script)
        done = subprocess.run(
            [sys.executable, str(path)], capture_output=True, text=True, cwd=tmp_path, timeout=240,
            env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert "the job begins" in done.stdout


# -- a swarm from the command line ------------------------------------------------------------


def test_a_seed_that_breaks_is_told_with_its_command_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Broken:
        def __init__(self, options: Options) -> None:
            self.seed = options.seed

        def run(self) -> None:
            raise ValueError(f"seed {self.seed} is broken")

    monkeypatch.setattr(swarms, "Simulation", Broken)

    assert main(["swarm", "--seeds", "2", "--from", "5"]) == 1

    told = capsys.readouterr()
    assert told.out.startswith("python -m simulations swarm --from 5 --seeds 2\n")
    assert "[1/2] python -m simulations replay 5" in told.out and "[2/2] python -m simulations replay 6" in told.out
    assert "ValueError: seed 5 is broken" in told.out
    assert told.err == "2 seeds, 2 with something amiss\n  raised: 2 in 2 seeds: 5, 6\n"


@pytest.mark.parametrize("option", ["--seeds", "--jobs"])
def test_a_swarm_of_nothing_is_refused(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["swarm", option, "0"])

    assert f"argument {option}: must be at least 1" in capsys.readouterr().err


def stopped(arguments: list[str], when: str, number: int, folder: Path) -> tuple[int, str]:
    """The exit status and the errors of a command that gets a signal, twice, when it has said this."""
    process = subprocess.Popen(
        [sys.executable, "-m", "simulations", *arguments], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, env={**os.environ, "TMPDIR": str(folder)}, start_new_session=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert any(when in line for line in process.stdout)
        # A terminal sends Ctrl-C to all processes of a command.
        for _ in range(2):
            os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
        # Its pipes are closed when the last process has gone that had them.
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    return process.returncode, errors


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "when"),
    [
        (["run", "steady", "--pages", "2000"], "the job begins"),
        (["swarm", "--from", "9015", "--seeds", "300", "--jobs", "2"], " 1/300]"),
    ],
    ids=["run", "swarm"],
)
@pytest.mark.parametrize(
    ("number", "status", "told"),
    [(signal.SIGINT, 130, "simulations: interrupted\n"), (signal.SIGTERM, 143, "")],
    ids=["Ctrl-C", "SIGTERM"],
)
def test_what_is_stopped_ends_in_one_line_and_leaves_nothing(
    arguments: list[str], when: str, number: int, status: int, told: str, tmp_path: Path
) -> None:
    assert stopped(arguments, when, number, tmp_path) == (status, told)
    assert list(tmp_path.iterdir()) == []
