"""Items that wait for files at other hosts, over masters and slaves that die: each comes out once, politely."""

from __future__ import annotations

from typing import Any

import pytest

from p2pcrawl.slave.pages.item_passage import ItemPassage
from simulations import Options, Plan, Simulation, Stage
from simulations.play.spiders import Collector
from simulations.whole.outcome import Report
from simulations.world.web import WebPlan

pytestmark = pytest.mark.slow


def run(scenario: str, seed: int = 1, slaves: int = 0) -> Report:
    options = Options(scenario=scenario, seed=seed, masters=4, slaves=slaves, pages=40, hosts=12)
    web = WebPlan(pages=40, hosts=12, dead_hosts=0.15, across=0.6)
    return Simulation(Plan(options, spider=Collector, web=web)).run()


@pytest.mark.parametrize(("scenario", "slaves"), [("churn", 0), ("massacre", 0), ("wiped", 0), ("slaves-die", 2)])
def test_items_come_out_once_with_their_files_whoever_dies(scenario: str, slaves: int) -> None:
    report = run(scenario, slaves=slaves)

    assert report.violations == []
    assert sum(len(item["files"]) for item in report.items) > len(report.items)


async def hosts_of_files_die(stage: Stage) -> None:
    await stage.progress(0.15)
    for host in list(stage.web.hosts.values())[1:4]:
        host.dead = True
    await stage.progress(1.0)


def test_items_whose_files_were_at_hosts_that_went_down_go_on_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Collector, "custom_settings", {**(Collector.custom_settings or {}), "HOST_DOWN_AFTER": 10})
    web = WebPlan(pages=90, hosts=8, dead_hosts=0.0, across=0.9, links=8)
    plan = Plan(Options(masters=2, pages=90, hosts=8), faults=hosts_of_files_die, spider=Collector, web=web)

    report = Simulation(plan).run()

    assert report.violations == []
    assert any(len(item["files"]) < len(item["file_urls"]) for item in report.items)


def test_checker_notices_items_that_are_lost_on_their_way(monkeypatch: pytest.MonkeyPatch) -> None:
    async def forward(self: ItemPassage, parked: Any, harvest: Any, *, bounded: bool) -> None:
        return

    monkeypatch.setattr(ItemPassage, "forward", forward)

    assert {violation.checker for violation in run("steady").violations} == {"items"}
