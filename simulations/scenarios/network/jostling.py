"""Moments of trouble that run into each other: nothing waits until what happened before is mended.

The network falls apart for less time than anybody needs to notice, or for just a little longer; and while those that
have met again share out what they have, one leaves, another comes, a third restarts within a moment or stands still,
and for a while all takes its time on the way. What somebody asks for in one view is answered in the next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import replace

from ...play.scenario import Scenario
from ...play.stage import Stage
from ...world.machines import Machine
from .partition import CUTS

STEPS = 18
WAITS_S = (0.05, 0.2, 0.5, 1.0, 2.0, 4.0, 9.0)
"""Between two steps, of which each takes its own time."""
CUT_S = (0.3, 3.0, 8.0, 12.0, 20.0, 20.0)
STAYS = 0.7
"""The share of cuts that do not end because of another one."""
STILL_S = (0.3, 3.0, 5.2, 8.0, 14.0)
AWAY_S = (0.2, 1.0, 3.0, 8.0)
FAR_S = (0.12, 0.25, 0.4)
"""One way: with the last of these nobody is heard directly in time, and others are asked to try."""
DISK_S = (0.02, 0.1, 0.3)
LASTS_S = (2.0, 6.0, 12.0, 20.0)
LEFT_SHARE = 0.5
HEIRS = 2
"""So many stay where one leaves: of these one may have begun a moment ago, of which it has not heard yet."""


class Jostling:
    """The moments on one stage."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._dice = stage.random
        self._under_way: set[asyncio.Task[None]] = set()
        self._leaving: set[Machine] = set()
        self._cut_until_s = 0.0

    async def run(self) -> None:
        """Plays all; then the network is one and as it was, and all are back, or all but one, which has left."""
        await self._stage.progress(0.05)
        steps = [self._cut, self._cut, self._cut, self._leave, self._swap, self._restart, self._stand_still]
        steps += [self._far, self._slow, self._slow]
        kinds: dict[str, int] = {}
        for number in range(STEPS):
            if self._stage.ended:
                break
            step = self._dice.choice(steps)
            name = step.__name__.strip("_")
            kinds[name] = kinds.get(name, 0) + 1
            self._stage.world.note(f"step {number + 1}: {name}")
            self._begin(step())
            await asyncio.sleep(self._dice.choice(WAITS_S))
        await asyncio.gather(*self._under_way)
        self._stage.heal()
        self._stage.figures["steps"] = kinds
        await self._stage.agree()
        if self._dice.random() < LEFT_SHARE:
            await self._end_without_one()

    def _begin(self, step: Awaitable[None]) -> None:
        task = asyncio.ensure_future(step)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    def _steady(self, but: int = 1) -> list[Machine]:
        """Returns a machine, drawn of those that run and do not leave; none, where there are no more than so many."""
        steady = [machine for machine in self._stage.up if machine not in self._leaving]
        return [self._dice.choice(steady)] if len(steady) > but else []

    async def _end_without_one(self) -> None:
        """Lets the job end while one is away that has left in order: nobody misses it, or waits for it."""
        for machine in () if self._stage.ended else self._steady(HEIRS):
            await self._go(machine)
            await self._stage.until(lambda: self._stage.ended)

    # -- steps --------------------------------------------------------------------------------

    async def _cut(self) -> None:
        """Cuts the network, and heals it after a moment, unless it was cut otherwise meanwhile."""
        now_s = self._stage.world.now
        if now_s < self._cut_until_s and self._dice.random() < STAYS:
            return
        self._stage.join()
        length_s = self._dice.choice(CUT_S)
        self._cut_until_s = until_s = now_s + length_s
        machines = self._dice.sample(self._stage.machines, len(self._stage.machines))
        if len(machines) > 3 and self._dice.random() < 0.25:
            self._stage.silence(machines[:1], machines[1 : 1 + self._dice.randint(1, 2)])
        else:
            self._dice.choice([cut for cut in CUTS if len(machines) > 2 or cut is CUTS[0]])(self._stage, machines)
        await asyncio.sleep(length_s)
        if until_s == self._cut_until_s:
            self._stage.join()

    async def _leave(self) -> None:
        """Lets one leave in order, whatever happens meanwhile, and come back after a moment."""
        for machine in self._steady(HEIRS):
            await self._go(machine)
            await asyncio.sleep(self._dice.choice(AWAY_S))
            self._stage.start(machine)

    async def _swap(self) -> None:
        """Lets one come back at the very moment at which another one begins to leave."""
        for machine in self._steady(HEIRS):
            await self._go(machine)
            for other in self._steady(HEIRS):
                leaving = asyncio.ensure_future(self._go(other))
                self._stage.start(machine)
                await leaving
                await asyncio.sleep(self._dice.choice(AWAY_S))
                self._stage.start(other)

    async def _go(self, machine: Machine) -> None:
        self._leaving.add(machine)
        try:
            await self._stage.leave(machine)
        finally:
            self._leaving.discard(machine)

    async def _restart(self) -> None:
        """Kills one that comes back with its disk, mostly before anybody has missed it."""
        for machine in self._steady() if self._stage.spare > 0 else ():
            self._stage.crash([machine], power=self._dice.random() < 0.5)
            await asyncio.sleep(self._dice.choice(AWAY_S))
            self._stage.start(machine)

    async def _stand_still(self) -> None:
        for machine in self._steady():
            self._stage.freeze([machine])
            await asyncio.sleep(self._dice.choice(STILL_S))
            self._stage.thaw([machine])

    async def _far(self) -> None:
        """Lets everything take its time on the way, for a while."""
        usual = self._stage.world.network.law
        self._stage.degrade(replace(usual, latency_s=self._dice.choice(FAR_S), jitter_s=0.1))
        await asyncio.sleep(self._dice.choice(LASTS_S))
        self._stage.restore()

    async def _slow(self) -> None:
        """Makes some disks slow for a while: a view changes while what is done in the last one is stored."""
        machines = self._stage.some(self._dice.randint(1, len(self._stage.machines)))
        self._stage.slow(machines, self._dice.choice(DISK_S))
        await asyncio.sleep(self._dice.choice(LASTS_S))
        self._stage.quicken(machines)


async def faults(stage: Stage) -> None:
    await Jostling(stage).run()


SCENARIO = Scenario(
    "cuts of moments, pauses, leaves, restarts and long ways, each before the last is mended",
    faults,
    replicas_min=2,
    masters_min=3,
    pages_max=120,
    hosts_max=5,
    share=0.02,
)
