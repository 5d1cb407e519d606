"""Slaves on machines of their own: they find masters and lose them, die, lie; what they fetch is told apart."""

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

from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.wire.messages.slave_messages import Grant, Outcome, Page, Report, Task
from simulations.checkers import Evidence
from simulations.checkers.cluster import balance
from simulations.observe.incidents import Incident
from simulations.observe.tables import Table
from simulations.play.options import Options
from simulations.play.stage import Stage
from simulations.whole.outcome import Report as Told
from simulations.whole.plan import Faults, Plan
from simulations.whole.simulation import Simulation
from simulations.world.liars import LIES, Liar
from simulations.world.web import Visit, Web, WebPlan
from tests.unit.overlay.nodes import credentials

ROOT = Path(__file__).parents[2]
SMALL = Options(masters=2, slaves=1, pages=40, hosts=6, limit_s=600.0)


def visit(node: str, master: str) -> Visit:
    return Visit("http://h.test/", "h.test", node, 1, 1.0, 2.0, 200, "", master=master)


def incident(*nodes: str) -> Incident:
    return Incident("crash", frozenset(nodes), 3.0, 3.0, frozenset())


def played(faults: Faults, **more: Any) -> Told:
    """A small run in which this happens."""
    return Simulation(Plan(replace(SMALL, **more), faults=faults)).run()


# -- whose fetch it was -----------------------------------------------------------------------


def test_what_happens_to_a_slave_or_to_its_master_excuses_what_it_fetched() -> None:
    assert incident("s0").covers(visit("s0", "m0"))
    assert incident("m0").covers(visit("s0", "m0"))


def test_what_happens_to_others_excuses_nothing() -> None:
    assert not incident("s1", "m1").covers(visit("s0", "m0"))
    assert not incident("s0").covers(visit("m0", "m0"))


@pytest.mark.slow
def test_each_slave_fetches_for_its_master_and_masters_for_themselves() -> None:
    seen: dict[str, set[str]] = {}

    async def look(stage: Stage) -> None:
        await stage.progress(1.0)
        for each in stage.web.visits:
            seen.setdefault(each.node, set()).add(each.master)

    report = played(look)

    assert not report.violations
    assert all(masters == {node} for node, masters in seen.items() if node in ("m0", "m1"))
    assert (seen["s0"], seen["s1"]) in [({"m0"}, {"m1"}), ({"m1"}, {"m0"})]


@pytest.mark.slow
def test_an_orphaned_slave_goes_to_another_master_and_one_that_leaves_costs_no_refetch() -> None:
    went: list[tuple[str, str]] = []

    async def orphan(stage: Stage) -> None:
        await stage.progress(0.2)
        slave = stage.up_slaves[0]
        before = slave.works_for
        stage.crash([machine for machine in stage.machines if machine.name == before])
        await stage.until(lambda: slave.works_for not in ("", before))
        went.append((before, slave.works_for))
        await stage.leave(stage.up_slaves[1])

    report = played(orphan)

    assert not report.violations
    assert sorted(went[0]) == ["m0", "m1"]


@pytest.mark.slow
def test_slaves_of_a_master_beyond_a_cut_stay_with_it() -> None:
    apart: dict[str, str] = {}

    async def cut(stage: Stage) -> None:
        await stage.until(lambda: all(slave.works_for for slave in stage.slaves))
        before = {slave.name: slave.works_for for slave in stage.slaves}
        stage.split(stage.machines[:1], stage.machines[1:])
        await stage.pause(20.0)
        apart.update({slave.name: slave.works_for for slave in stage.slaves if slave.works_for == before[slave.name]})
        stage.join()
        await stage.agree()

    report = played(cut)

    assert not report.violations
    assert set(apart) == {"s0", "s1"}


# -- the scenarios ----------------------------------------------------------------------------


def begin(scenario: str, hash_seed: int) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "simulations", "run", scenario, "--seed", "2", "--json"]
    size = ["--masters", "2", "--slaves", "2", "--pages", "40", "--hosts", "6"]
    return subprocess.Popen(
        [*command, *size], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT
    )


def end(process: subprocess.Popen[str]) -> dict[str, Any]:
    printed, _ = process.communicate(timeout=120)
    told: dict[str, Any] = json.loads(printed)
    del told["real_s"]
    return told


@pytest.mark.slow
def test_same_seed_has_the_same_trace_in_other_processes_under_other_hash_seeds() -> None:
    one, other = [end(process) for process in [begin("slaves-die", hash_seed) for hash_seed in (0, 4242)]]

    assert one == other
    assert one["violations"] == []


async def test_what_a_liar_says_again_of_a_page_that_it_told_in_parts_is_all_of_it() -> None:
    async def no_web(*_: Any, **__: Any) -> Any:
        raise AssertionError

    liar = Liar(credentials(), no_web, lambda lie: None)
    liar.hears(Grant([Task(1, 7, 3, Link("http://h.test/", bytes(16)), 1)]))

    liar.adds(Report(1, [Page(1, 7, 3, items=[b"1"])]))
    liar.adds(Report(2, [Page(1, 7, 3, items=[b"2"], outcome=Outcome(Phase.DONE))]))

    assert [orphan.page.items for orphan in liar.past] == [[b"1", b"2"]]


@pytest.mark.slow
def test_liars_tell_many_kinds_of_lies_and_the_crawl_ends_right() -> None:
    report = Simulation(replace(SMALL, scenario="slaves-lie", slaves=3, pages=120, seed=5)).run()

    assert not report.violations
    assert len(report.figures["lies"]) > len(LIES) / 2


@pytest.mark.slow
def test_buckets_follow_weights() -> None:
    report = Simulation(replace(SMALL, scenario="mixed-weights", masters=4)).run()

    load = [(each["weight"], each["buckets"]) for each in report.figures["load"].values()]
    assert not report.violations
    assert [weight for weight, _ in load] == [1, 2, 4, 8]
    assert sum(buckets for _, buckets in load) == 4096
    assert [buckets for _, buckets in load] == sorted(buckets for _, buckets in load)


def test_a_master_that_serves_more_than_its_weight_is_a_violation() -> None:
    def found(*owners: str) -> list[str]:
        table = Table(1.0, {"a": 1, "b": 3}, owners, [[]] * len(owners))
        web = Web(1, WebPlan(pages=1, hosts=1))
        evidence = Evidence(SMALL, web, {}, Counter(), [], [], [], [], {}, tables=[table], names={"a": "m0", "b": "m1"})
        return list(balance.check(evidence))

    assert found(*["a"] * 1024, *["b"] * 3072) == []
    assert [text.split(" served ")[0] for text in found(*["a"] * 2048, *["b"] * 2048)] == [
        "at 1.00 s m0",
        "at 1.00 s m1",
    ]


# -- options ----------------------------------------------------------------------------------


def test_the_command_names_the_slaves() -> None:
    command = Options(scenario="slaves-die", slaves=3).command()

    assert command == "python -m simulations run slaves-die --seed 1 --slaves 3"


def test_fewer_slaves_than_none_are_refused() -> None:
    with pytest.raises(ValueError, match="must not be negative"):
        Options(slaves=-1)
