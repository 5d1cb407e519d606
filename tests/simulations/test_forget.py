"""Dead masters that a person has forgotten: nobody misses them, and one that lives after all is taken in again."""

from __future__ import annotations

import asyncio

import pytest

from p2pcrawl.model.errors import ConfigurationError
from simulations import Options, Plan, Simulation, Stage

OPTIONS = Options(masters=3, pages=60, hosts=10, seed=3)


async def one_is_buried_and_forgotten(stage: Stage) -> None:
    await stage.progress(0.3)
    one, gone, _ = stage.machines
    try:
        await one.tell("forget", {"peer": gone.id[:8]})
    except ConfigurationError as error:
        stage.figures["living"] = str(error)
    stage.bury([gone])
    await stage.agree()
    stage.figures["before"] = [sorted((await m.ask("status", {}))["missing"]) == [gone.id] for m in stage.up]
    stage.figures["answer"] = await one.tell("forget", {"peer": gone.id[:8]})
    stage.forget(gone)
    await asyncio.sleep(5.0)
    stage.figures["after"] = [dict((await m.ask("status", {}))["missing"]) for m in stage.up]
    other = stage.machines[2]
    # What was forgotten is not remembered by one that starts anew, either.
    stage.crash([other])
    await asyncio.sleep(1.0)
    stage.start(other)
    await stage.agree()
    stage.figures["restarted"] = dict((await other.ask("status", {}))["missing"])


async def one_that_stood_still_is_forgotten_and_wakes(stage: Stage) -> None:
    await stage.progress(0.3)
    one, asleep, _ = stage.machines
    stage.freeze([asleep])
    await stage.until(lambda: asleep.id not in one.members())
    await asyncio.sleep(2.0)
    await one.tell("forget", {"peer": asleep.id})
    await asyncio.sleep(5.0)
    stage.thaw([asleep])
    await stage.agree()


@pytest.mark.slow
def test_nobody_misses_a_dead_master_that_was_forgotten() -> None:
    report = Simulation(Plan(OPTIONS, faults=one_is_buried_and_forgotten)).run()

    figures = report.figures
    assert "is alive" in figures["living"]
    assert figures["before"] == [True, True] and figures["after"] == [{}, {}] and figures["restarted"] == {}
    assert figures["answer"]["not_whole"] == []
    assert report.violations == []


@pytest.mark.slow
def test_master_that_was_forgotten_and_lives_is_taken_in_again() -> None:
    report = Simulation(Plan(OPTIONS, faults=one_that_stood_still_is_forgotten_and_wakes)).run()

    assert report.violations == []
