"""A schedule fires each minute, over ten minutes, while the master that begins its runs is killed as it does so.

Each minute whoever owns the schedule dies about the moment at which a run is due: before it has begun it, with the job
begun that nobody has been told of, or at once after that, with its disk or without. It comes back, and the next one is
killed. In the end there must be one job for each minute, and each of them must have crawled its pages once.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from typing import Any

from p2pcrawl.core.ring.rendezvous import bucket_of_hash, key_hash
from p2pcrawl.core.scheduling.schedule_order import run_number
from p2pcrawl.master.jobs.job import FINISHED
from p2pcrawl.model.cluster.schedule import Schedule
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.peer.answers.submission import submission_of

from ...kernel.life import NodeDown
from ...play.evidence import ScheduleKept
from ...play.scenario import Scenario
from ...play.spiders import Picker
from ...play.stage import Stage
from ...world.machines import Machine

NAME = "minutely"
MINUTES = 10
MINUTE_S = 60.0
PAGES = 3
EARLY_S = 0.2
NEAR_S = 0.02
"""About how long a run is on its way to the other masters."""
LOOK_S = 0.005
AWAY_S = 8.0
AGAIN_S = 1.0
ANSWER_S = 60.0
THROUGH_S = 200.0
"""For how long the last runs are waited for."""


async def faults(stage: Stage) -> None:
    began_s = stage.world.now
    await stage.progress(0.05)
    hosts = [host for host in stage.web.hosts.values() if not (host.dead or host.private)]
    urls = [f"http://{host.name}/file/scheduled" for host in hosts[:PAGES]]
    stage.asides.update(urls)
    await told(stage, "schedule-add", {"name": NAME, "cron": "* * * * *", "overlap": "allow", "crawl": crawl_of(urls)})
    since = known(stage).since
    first = since // 60_000 + 1
    ticks = [minute * 60_000 for minute in range(first, first + MINUTES)]
    for number, tick in enumerate(ticks):
        await one_dies(stage, tick, number)
    await asyncio.sleep(MINUTE_S / 2.0)
    await told(stage, "schedule-pause", {"schedule": NAME})
    numbers = {tick: run_number(known(stage), tick) for tick in ticks}
    with suppress(TimeoutError):
        async with asyncio.timeout(THROUGH_S):
            await stage.until(lambda: all(state_of(stage, number) for number in numbers.values()))
    await stage.sync()
    # All at once: where the way is long, and pages of results are small, one answer takes seconds.
    stage.kept.extend(await asyncio.gather(*(kept(stage, machine, numbers, urls) for machine in stage.up)))
    # Of other jobs nothing is asked for meanwhile that could not be of this one, such as a robots.txt.
    stage.injections.append((began_s, stage.world.now))


async def one_dies(stage: Stage, tick: int, number: int) -> None:
    """Kills the owner of the schedule about the moment of a run, and brings it back."""
    await asyncio.sleep(max(0.0, tick / 1_000 - stage.world.wall() - EARLY_S))
    if stage.spare <= 0 or len(stage.up) < 2 or not stage.whole():
        return
    owner = next((machine for machine in stage.up if owns(machine)), None)
    if owner is None:
        return
    job = run_number(known(stage), tick)
    if number % 3 == 0:
        # Before it has begun the run, or while it is about to.
        await asyncio.sleep(EARLY_S + stage.random.random())
    else:
        # With the job begun, and the others not told yet that it is; or told just now.
        for _ in range(int((2.0 + EARLY_S) / LOOK_S)):
            if stage.state(owner, job):
                break
            await asyncio.sleep(LOOK_S)
        await stage.pause(NEAR_S)
    if number % 4 == 2:
        stage.wipe([owner])
    else:
        stage.crash([owner], power=stage.random.random() < 0.5)
    await stage.pause(AWAY_S)
    stage.start(owner)
    await stage.agree()
    await stage.sync()


def owns(machine: Machine) -> bool:
    """Tells whether a master is the one that begins the runs."""
    return bucket_of_hash(key_hash(NAME)) in machine.served()[1]


def crawl_of(urls: list[str]) -> dict[str, Any]:
    """Makes what each run submits."""
    return submission_of(Picker, Settings(), {}, {"start_urls": " ".join(urls)}).plain()


def known(stage: Stage) -> Schedule:
    """Returns the schedule as one of those that are up knows it."""
    found = (machine.lead.cluster.schedules.of(NAME) for machine in stage.up if machine.lead is not None)
    return next(schedule for schedule in found if schedule is not None)


def state_of(stage: Stage, number: int) -> bool:
    """Tells whether all that are up say that a job is finished."""
    return all(stage.state(machine, number) == FINISHED for machine in stage.up)


async def told(stage: Stage, verb: str, arguments: dict[str, Any]) -> Any:
    """Gives an order; returns when somebody has answered."""
    while True:
        with suppress(NodeDown, P2PCrawlError):
            async with asyncio.timeout(ANSWER_S):
                return await stage.some(1)[0].tell(verb, arguments)
        await asyncio.sleep(AGAIN_S)


async def kept(stage: Stage, machine: Machine, numbers: dict[int, int], urls: list[str]) -> ScheduleKept:
    """Asks one master what has become of the runs."""
    assert machine.lead is not None
    jobs = {job.id: job.state for job in machine.lead.master.jobs.values() if job.spec.label == NAME}
    answer = await machine.ask("schedule", {"schedule": NAME})
    items = {number: Counter[str]() for number in jobs}
    for number in jobs:
        items[number].update(str(item.get("url")) for item in await machine.results(number))
    outcomes = {round(run["at"] * 1_000): (str(run["outcome"]), int(run["job"])) for run in answer["runs"]}
    fetched = Counter(visit.url for visit in stage.web.visits if visit.answered and visit.url in urls)
    return ScheduleKept(machine.name, numbers, urls, jobs, items, outcomes, fetched)


SCENARIO = Scenario(
    "a schedule fires each minute, and whoever begins its runs is killed as it does so",
    faults,
    replicas_min=2,
    masters_min=3,
    besides=("limits",),
    pages_max=60,
    share=0.03,
)
