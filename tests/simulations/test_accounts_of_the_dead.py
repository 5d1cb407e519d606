"""What masters had counted that are gone: it is in the sums of those that are left, and nothing of it twice."""

from __future__ import annotations

import asyncio

from simulations import Options, Plan, Simulation, Stage

OPTIONS = Options(masters=3, pages=60, hosts=10, seed=3)


async def one_rests_and_is_buried(stage: Stage) -> None:
    await stage.progress(0.3)
    one, gone, _ = stage.machines
    await one.tell("pause", {"job": stage.job})
    # What is being fetched ends, and is counted.
    await asyncio.sleep(10.0)
    stage.figures["before"] = (await one.ask("job", {"job": stage.job}))["fetches"]
    stage.figures["own"] = _fetches_of(stage, gone.name)
    stage.bury([gone])
    await stage.agree()
    stage.figures["after"] = (await one.ask("job", {"job": stage.job}))["fetches"]
    await one.tell("resume", {"job": stage.job})


async def one_leaves_and_comes_back(stage: Stage) -> None:
    await stage.progress(0.3)
    one, away, _ = stage.machines
    await one.tell("pause", {"job": stage.job})
    await asyncio.sleep(10.0)
    told = [(await one.ask("job", {"job": stage.job}))["fetches"]]
    for _ in range(2):
        stage.crash([away])
        await stage.agree()
        told.append((await one.ask("job", {"job": stage.job}))["fetches"])
        stage.start(away)
        await stage.agree()
        told.append((await one.ask("job", {"job": stage.job}))["fetches"])
    stage.figures["told"] = told
    await one.tell("resume", {"job": stage.job})


def _fetches_of(stage: Stage, name: str) -> int:
    return [ledger for ledger in stage.observer.ledgers.by_disk.values() if ledger.machine == name][-1].fetches[-1]


def test_what_a_master_had_counted_and_told_outlives_it_to_the_last_fetch() -> None:
    report = Simulation(Plan(OPTIONS, faults=one_rests_and_is_buried)).run()

    assert report.violations == []
    assert report.figures["own"] > 0
    assert report.figures["after"] == report.figures["before"]


def test_master_that_goes_and_comes_back_with_its_disk_is_counted_once_all_along() -> None:
    report = Simulation(Plan(OPTIONS, faults=one_leaves_and_comes_back)).run()

    assert report.violations == []
    assert len(set(report.figures["told"])) == 1
