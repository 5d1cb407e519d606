"""Sequences of cuts, leaves and returns, drawn at random, of a cluster of which only the greater part goes on.

What happens next does not wait for what happened before to be mended: networks fall apart while masters leave or come
back, in the smaller part as in the greater one, and come and go in spells around the time after which others give them
up. Deaths, and disks that are lost, happen where copies allow for them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from p2pcrawl.peer.config import Partition

from ...play.scenario import Scenario
from ...play.stage import Stage
from ...world.machines import Machine
from .partition import CUTS

STEPS = 14
WAITS_S = (0.3, 1.0, 3.0, 5.0, 6.5, 8.0, 12.0, 20.0)
SPELLS_S = (0.3, 1.0, 2.5, 3.9, 5.0, 6.5, 8.0)
STILL_S = (3.0, 5.0, 6.5, 9.0, 22.0)


class Sequence:
    """One sequence on one stage."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._dice = stage.random
        self._leaving: dict[Machine, asyncio.Task[None]] = {}
        self._kinds: dict[str, int] = {}

    async def run(self) -> None:
        """Plays all steps; then the network is one, nobody leaves any more, and all come back."""
        await self._stage.progress(0.05)
        for _ in range(STEPS):
            if self._stage.ended:
                break
            await self._take(self._dice.choice(self._steps()))
            await asyncio.sleep(self._dice.choice(WAITS_S))
        self._stage.join()
        await asyncio.gather(*self._leaving.values())
        await self._come_back()
        parts = self._stage.observer.parts
        self._stage.figures |= {"steps": self._kinds, "granted": round(parts.granted_s / (parts.looked_s or 1.0), 3)}

    def _steps(self) -> list[Callable[[], Awaitable[None]]]:
        often = [self._cut, self._leave, self._come_back]
        return [*often, *often, self._flap, self._one_way, self._heal, self._crash, self._stand_still, self._wipe]

    async def _take(self, step: Callable[[], Awaitable[None]]) -> None:
        name = step.__name__.strip("_")
        self._kinds[name] = self._kinds.get(name, 0) + 1
        self._stage.world.note(f"step {sum(self._kinds.values())}: {name}")
        await step()

    @property
    def _steady(self) -> list[Machine]:
        """The machines that run and do not leave."""
        return [machine for machine in self._stage.up if machine not in self._leaving]

    def _shuffled(self) -> list[Machine]:
        return self._dice.sample(self._stage.machines, len(self._stage.machines))

    async def _cut(self) -> None:
        self._stage.join()
        self._dice.choice(CUTS)(self._stage, self._shuffled())

    async def _flap(self) -> None:
        """Cuts the network into two parts and joins it, the same two again and again."""
        machines = self._shuffled()
        edge = self._dice.randint(1, len(machines) // 2)
        for _ in range(self._dice.randint(2, 6)):
            self._stage.split(machines[:edge], machines[edge:])
            await asyncio.sleep(self._dice.choice(SPELLS_S))
            self._stage.join()
            await asyncio.sleep(self._dice.choice(SPELLS_S))

    async def _one_way(self) -> None:
        self._stage.join()
        machine, *others = self._shuffled()
        some = others[: self._dice.randint(1, len(others))]
        if self._dice.random() < 0.5:
            self._stage.silence([machine], some)
        else:
            self._stage.silence(some, [machine])

    async def _heal(self) -> None:
        self._stage.join()

    async def _leave(self) -> None:
        """Lets one begin to leave in order, whatever part it is in."""
        if len(self._steady) > 1:
            machine = self._dice.choice(self._steady)
            self._leaving[machine] = asyncio.create_task(self._go(machine))

    async def _go(self, machine: Machine) -> None:
        try:
            await self._stage.leave(machine)
        finally:
            self._leaving.pop(machine, None)

    async def _come_back(self) -> None:
        """Starts all that are down, in whatever part they are."""
        for machine in self._stage.staying:
            if not machine.node.up:
                self._stage.start(machine)

    async def _crash(self) -> None:
        if self._stage.spare > 0 and len(self._steady) > 1:
            self._stage.crash([self._dice.choice(self._steady)], power=self._dice.random() < 0.5)

    async def _stand_still(self) -> None:
        if len(self._steady) > 1:
            machine = self._dice.choice(self._steady)
            self._stage.freeze([machine])
            await asyncio.sleep(self._dice.choice(STILL_S))
            self._stage.thaw([machine])

    async def _wipe(self) -> None:
        """Takes one's disk, and starts it without: only where everything is whole, and all have a vote. Who loses the
        disks of most voters has to begin anew.
        """
        if self._stage.whole() and self._stage.spare > 0 and len(self._steady) > 2 and self._all_vote():
            machine = self._dice.choice(self._steady)
            self._stage.wipe([machine])
            await asyncio.sleep(self._dice.choice(WAITS_S))
            self._stage.start(machine)

    def _all_vote(self) -> bool:
        leads = [machine.lead for machine in self._stage.up if machine.lead is not None]
        votes = [lead.cluster.mandate.votes for lead in leads]
        return not self._leaving and all(votes)


async def faults(stage: Stage) -> None:
    await Sequence(stage).run()


SCENARIO = Scenario(
    "cuts, leaves and returns in any order; only the part with most of the masters goes on",
    faults,
    replicas_min=2,
    masters_min=3,
    partition=Partition.MAJORITY,
    pages_max=120,
    hosts_max=5,
)
