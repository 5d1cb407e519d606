"""What people change of a job while its masters die or cannot reach each other holds everywhere in the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import pairwise

import pytest

from p2pcrawl.core import retuning
from p2pcrawl.core.retuning import Tuned
from p2pcrawl.master.jobs import job as job_module
from simulations import Options, Plan, Simulation, Stage
from simulations.scenarios.strain import host_changes
from simulations.world.web import Web, WebPlan

DELAY_S, PAGES = 1.25, 100_000


def settings_at_all(stage: Stage) -> set[tuple[float | None, int]]:
    found = set()
    for machine in stage.up:
        assert machine.lead is not None
        settings = machine.lead.master.jobs[stage.job].settings
        found.add((settings.download_delay, settings.closespider_pagecount))
    return found


async def both_sides_of_a_partition_change_something(stage: Stage) -> None:
    """One side changes one setting twice, the other one another; then somebody who knows of both dies."""
    await stage.progress(0.2)
    one, *others = stage.machines
    stage.split([one], others)
    await asyncio.sleep(2.0)
    for delay in (9.0, DELAY_S):
        await one.tell("set", {"job": stage.job, "settings": {"DOWNLOAD_DELAY": delay}})
    await others[0].tell("set", {"job": stage.job, "settings": {"CLOSESPIDER_PAGECOUNT": PAGES}})
    await asyncio.sleep(5.0)
    stage.join()
    await stage.agree()
    await asyncio.sleep(5.0)
    stage.crash([one])
    await asyncio.sleep(10.0)
    stage.start(one)
    await stage.agree()
    await asyncio.sleep(5.0)
    stage.figures["settings"] = settings_at_all(stage)


def run() -> tuple[set[tuple[float | None, int]], list[object]]:
    plan = Plan(Options(masters=3, pages=60, hosts=10, seed=5), faults=both_sides_of_a_partition_change_something)
    report = Simulation(plan).run()
    return report.figures["settings"], list(report.violations)


@pytest.mark.slow
def test_settings_that_both_sides_of_a_partition_change_hold_everywhere_when_it_heals() -> None:
    settings, violations = run()

    assert settings == {(DELAY_S, PAGES)} and violations == []


def overwritten(one: Tuned, other: Tuned) -> dict[str, tuple[int, object]]:
    return dict(other) if other else dict(one)


def first_heard(one: Tuned, other: Tuned) -> dict[str, tuple[int, object]]:
    return {**other, **one}


@pytest.mark.slow
@pytest.mark.parametrize("broken", [overwritten, first_heard])
def test_mistake_in_what_counts_shows(broken: Callable[..., object], monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (retuning, job_module):
        monkeypatch.setattr(module, "merged_tuning", broken)

    settings, _ = run()

    assert settings != {(DELAY_S, PAGES)}


FAST_S = 0.25


async def a_host_is_made_faster_and_its_owner_dies(stage: Stage) -> None:
    await stage.progress(0.05)
    willing = [host for host in stage.web.hosts.values() if not (host.delay_s or host.dead or host.private)]
    host = max(willing, key=lambda host: len(host.pages))
    (owner,) = stage.owners_of(f"http://{host.name}/")
    await host_changes.changed(stage, host, {"delay_s": FAST_S})
    said_s = stage.world.now
    await asyncio.sleep(4.0)
    stage.crash([owner])
    died_s = stage.world.now
    await stage.agree()
    await asyncio.sleep(15.0)
    begun = [visit.began_s for visit in stage.web.visits if visit.host == host.name]
    stage.figures["gaps"] = [
        min((later - earlier for earlier, later in pairwise(begun) if since_s <= earlier < until_s), default=9.0)
        for since_s, until_s in ((said_s + 1.0, died_s), (died_s + 6.0, stage.world.now))
    ]


@pytest.mark.slow
def test_host_that_is_made_faster_is_asked_so_by_its_owner_and_by_the_next_one() -> None:
    web = WebPlan(pages=200, hosts=5, zipf=1.5, delayed_hosts=0.0, dead_hosts=0.0, flaky=0.0, failing=0.0)
    options = Options(masters=3, seed=4)

    report = Simulation(Plan(options, faults=a_host_is_made_faster_and_its_owner_dies, web=web)).run()

    assert report.violations == []
    assert all(FAST_S <= gap < 0.9 for gap in report.figures["gaps"]), report.figures["gaps"]


def test_where_one_host_answers_no_other_one_is_changed() -> None:
    plan = WebPlan(pages=20, hosts=3, dead_hosts=0.0, private=0.0)
    web = Web(1, plan)
    (only,) = Web(1, WebPlan(pages=20, hosts=1)).hosts.values()

    all_of_them = host_changes.hosts_of(web)
    web.hosts = {only.name: only}

    assert {host.name for host in all_of_them} == {host.name for host in Web(1, plan).hosts.values()}
    assert host_changes.hosts_of(web) == [only]
