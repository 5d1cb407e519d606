"""What people change of a job while its masters die or cannot reach each other holds everywhere in the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from p2pcrawl.core import retuning
from p2pcrawl.core.retuning import Tuned
from p2pcrawl.master.jobs import job as job_module
from simulations import Options, Plan, Simulation, Stage

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
