"""What masters had counted that are gone: it is in the sums of those that are left, and nothing of it twice."""

from __future__ import annotations

import asyncio

import pytest

from simulations import Options, Plan, Simulation, Stage
from simulations.world.machines import Machine

OPTIONS = Options(masters=3, pages=60, hosts=10, seed=3)


async def one_rests_and_is_buried(stage: Stage) -> None:
    await stage.progress(0.3)
    one, gone, _ = stage.machines
    await one.tell("pause", {"job": stage.job})
    # What is being fetched ends, and is counted.
    await asyncio.sleep(10.0)
    stage.figures["before"] = await _told_by(stage, one)
    stage.figures["own"] = _fetches_of(stage, gone.name)
    stage.bury([gone])
    await stage.agree()
    stage.figures["after"] = await _told_by(stage, one)
    await one.tell("resume", {"job": stage.job})


async def one_leaves_and_comes_back(stage: Stage) -> None:
    await stage.progress(0.3)
    one, away, _ = stage.machines
    await one.tell("pause", {"job": stage.job})
    await asyncio.sleep(10.0)
    told = [await _told_by(stage, one)]
    for _ in range(2):
        stage.crash([away])
        await stage.agree()
        told.append(await _told_by(stage, one))
        stage.start(away)
        await stage.agree()
        told.append(await _told_by(stage, one))
    stage.figures["told"] = told
    await one.tell("resume", {"job": stage.job})


async def _told_by(stage: Stage, one: Machine) -> list[int]:
    """Returns how many fetches a master says that there were: in its counts of the job, and in its statistics, which
    add up to that by day and by hour; and how many pages its hosts have, by day and by host.
    """
    by = {by: await one.ask("statistics", {"job": stage.job, "by": by}) for by in ("day", "hour", "host")}
    told = [(await one.ask("job", {"job": stage.job}))["fetches"], by["day"]["total"]["fetches"]]
    told += [sum(row["fetches"] for row in by[each]["rows"]) for each in ("day", "hour")]
    assert len(set(told)) == 1, told
    pages = {each: sum(row["pages"] for row in by[each]["rows"]) for each in ("day", "host")}
    assert pages["day"] == pages["host"], pages
    return [*told, pages["host"]]


def _fetches_of(stage: Stage, name: str) -> int:
    return [ledger for ledger in stage.observer.ledgers.by_disk.values() if ledger.machine == name][-1].fetches[-1]


@pytest.mark.slow
def test_what_a_master_had_counted_and_told_outlives_it_to_the_last_fetch() -> None:
    report = Simulation(Plan(OPTIONS, faults=one_rests_and_is_buried)).run()

    assert report.violations == []
    assert report.figures["own"] > 0
    assert report.figures["after"] == report.figures["before"]


@pytest.mark.slow
def test_master_that_goes_and_comes_back_with_its_disk_is_counted_once_all_along() -> None:
    report = Simulation(Plan(OPTIONS, faults=one_leaves_and_comes_back)).run()

    assert report.violations == []
    assert len({tuple(told) for told in report.figures["told"]}) == 1
