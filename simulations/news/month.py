"""A month of the news: a cluster that reads it on the virtual clock, and dies now and then, one master or all.

A second of a master's monotonic clock takes ``slow`` of the world's here: beats, patience, looks at what is due and
pauses between requests are that much longer, all alike, so that a month of idle talk can be afforded. The clock on the
wall, by which pages are due, is right.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import ExitStack, chdir
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.peer.answers.submission import submission_of

from ..world.disks import folder_for_disks
from ..world.fetcher import fetchers
from ..world.machines import Machine
from ..world.world import World
from .reader import NewsReader
from .site import DAY_S, HOUR_S, MINUTE_S, LivingWeb, SitePlan

LOOK_S = 60.0
PATIENCE_S = 6 * HOUR_S
BREATH_S = 4 * HOUR_S
"""At least between two deaths."""
AWAY_S = (10 * MINUTE_S, 4 * HOUR_S)
ALL_AWAY_S = 30 * MINUTE_S
DELAY_S = 1.0
"""Between two requests of a host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthPlan:
    """A month to be played: what is crawled how, and who dies. Raises ValueError for what cannot be."""

    seed: int = 1
    web: SitePlan = field(default_factory=SitePlan)
    masters: int = 3
    period: str = "adaptive"
    """Of front pages: seconds, or ``adaptive``."""
    budget: int = 120
    """Visits of known pages per host and hour; 0: none."""
    kills: float = 18.0
    """In 30 days; every sixth time, from the third on, all masters die at once."""
    slow: float = 30.0
    """How many seconds one takes by the masters' clocks."""

    def __post_init__(self) -> None:
        if self.masters < 2 or self.budget < 0 or self.kills < 0:
            raise ValueError("there must be two masters at least, and budget and kills must not be negative")
        if self.slow < 1:
            raise ValueError("a second takes one at least")
        if self.web.days > 30:
            raise ValueError("articles are asked again after 30 days: that many at most")


@dataclass(frozen=True, slots=True)
class Death:
    """A time in which some were away."""

    names: tuple[str, ...]
    from_s: float
    until_s: float


@dataclass(slots=True)
class Month:
    """A month that was played."""

    plan: MonthPlan
    web: LivingWeb
    deaths: list[Death] = field(default_factory=list)
    items: list[dict[str, Any]] = field(default_factory=list)
    told: dict[str, Any] = field(default_factory=dict)
    """The word of a master on the job, in the end."""
    failures: list[str] = field(default_factory=list)
    cpu_s: float = 0.0


class _Cluster:
    """The masters, and what is done to them."""

    def __init__(self, world: World, machines: list[Machine], month: Month) -> None:
        self.world, self.machines, self.month = world, machines, month
        self.dice = Random(f"{month.plan.seed}/deaths")

    @property
    def up(self) -> list[Machine]:
        return [machine for machine in self.machines if machine.lead is not None]

    @property
    def is_whole(self) -> bool:
        """True if all are there, count each other, and have all copies that they are to have."""
        ids = frozenset(machine.id for machine in self.machines)
        return all(
            machine.lead is not None
            and machine.members() == ids
            and machine.lead.cluster.ownership.complete
            and not machine.lead.cluster.takeover.unclaimed
            and not machine.lead.cluster.copying.lacking()
            for machine in self.machines
        )

    async def whole(self) -> None:
        until_s = self.world.now + PATIENCE_S
        while not self.is_whole:
            if self.world.now > until_s:
                raise TimeoutError(f"the masters were not whole within {PATIENCE_S:,.0f} s")
            await asyncio.sleep(LOOK_S)

    async def kill(self, victims: list[Machine], away_s: float) -> None:
        """Kills these, and starts them again after a while."""
        began_s = self.world.now
        for machine in victims:
            machine.node.crash()
        await asyncio.sleep(away_s)
        for machine in victims:
            machine.start([other.address for other in self.machines if other is not machine])
        self.month.deaths.append(Death(tuple(machine.name for machine in victims), began_s, self.world.now))
        await self.whole()

    async def die(self, until_s: float) -> None:
        """Lets masters die again and again, as the plan says."""
        plan, number = self.month.plan, 0
        while plan.kills:
            mean_s = max(0.0, 30 * DAY_S / plan.kills - BREATH_S)
            wait_s = BREATH_S + mean_s * (0.5 + self.dice.random())
            if self.world.now + wait_s + AWAY_S[1] > until_s:
                break
            await asyncio.sleep(wait_s)
            number += 1
            if number % 6 == 3:
                await self.kill(self.machines, ALL_AWAY_S)
            else:
                await self.kill([self.dice.choice(self.machines)], self.dice.uniform(*AWAY_S))


def lived(plan: MonthPlan, tell: Callable[[str], None] = lambda _: None) -> Month:
    """Plays a month. ``tell`` is called with a line each virtual day."""
    month = Month(plan, LivingWeb(plan.seed, plan.web))
    began_s = _cpu_s()
    settings = {
        "revisit_index": plan.period,
        "revisit_detail": 30 * DAY_S,
        "revisit_host_budget": round(plan.budget * plan.slow),
        "download_delay": DELAY_S / plan.slow,
    }
    submission = submission_of(NewsReader, Settings(), settings, {"start_urls": " ".join(month.web.homes)}, [])
    with ExitStack() as stack:
        stack.enter_context(chdir(stack.enter_context(folder_for_disks("p2pcrawl-news-"))))
        world = stack.enter_context(World(plan.seed))
        fetcher = fetchers(month.web, world.loop)
        machines = [Machine(world, f"m{number}", Path(), 2, fetcher) for number in range(plan.masters)]
        for machine in machines:
            machine.node.slow_down(plan.slow)
        cluster = _Cluster(world, machines, month)
        world.run(_played(cluster, submission.plain(), tell), plan.web.days * DAY_S + 2 * PATIENCE_S)
        month.failures = [f"{each.node}: {each.message}: {each.exception!r}" for each in world.mishaps]
        month.failures += [f"{machine.name} gave up: {each}" for machine in machines for each in machine.failures]
    month.cpu_s = _cpu_s() - began_s
    return month


async def _played(cluster: _Cluster, submission: dict[str, Any], tell: Callable[[str], None]) -> None:
    month, world = cluster.month, cluster.world
    first, *others = cluster.machines
    first.start([])
    for machine in others:
        machine.start([first.address])
    await cluster.whole()
    job = (await first.tell("submit", submission))["job"]
    until_s = month.plan.web.days * DAY_S
    aside = [asyncio.create_task(cluster.die(until_s)), asyncio.create_task(_days(cluster, tell))]
    try:
        await asyncio.sleep(until_s - world.now)
        for task in aside:
            if task.done() and (error := task.exception()) is not None:
                raise error
    finally:
        for task in aside:
            task.cancel()
        await asyncio.gather(*aside, return_exceptions=True)
    for machine in cluster.machines:
        if not machine.node.up:
            machine.start([other.address for other in cluster.machines if other is not machine])
    await cluster.whole()
    month.items = await first.results(job)
    month.told = await first.ask("job", {"job": job})


async def _days(cluster: _Cluster, tell: Callable[[str], None]) -> None:
    day = 0
    while True:
        await asyncio.sleep(DAY_S)
        day += 1
        tell(f"day {day}: {len(cluster.month.web.visits):,} requests, {len(cluster.month.deaths)} deaths")


def _cpu_s() -> float:
    times = os.times()
    return times.user + times.system
