"""Masters die again and again and come back with their disks, after sessions and absences of random length.

Each machine stays for a while and is away for a while, all drawn from one law: the exponential one, under which nobody
grows old, or Weibull's of shape 1/2, as it is measured in real peer-to-peer networks: most sessions are short, and most
of the time belongs to long ones. The mean session is what makes the wanted share of the masters die in a minute.

What it guarantees: R-1 masters die, at most, between two moments at which everything was whole, as the cluster promises
to bear; with one copy it is one. A death that comes too early waits for its turn. The figures tell how many were due,
how many came about, and what share of the masters a minute that was.

It ends when most of the web has answered, or nothing new has for a while: more of it may fail, or be beyond the depth
that somebody has set. Where deaths wait for their turn the next one comes as soon as all is whole, and the masters
never have the time to agree that such a job is finished.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import gamma
from random import Random

from ...play.scenario import Scenario
from ...play.stage import Stage
from ...world.machines import Machine

DEATHS_PER_MINUTE = 4.0
"""Of all masters together, where no rate is asked for."""
MOST = 0.9
"""So much of the web answers while masters come and go."""
AWAY_S = 20.0
"""The mean time until one is back: some before anybody missed them, some long after."""
SHAPE = 0.5
"""Of Weibull's law."""
STILL_S = 120.0
"""Where nothing new has answered for so long, nothing may be left to ask for."""


class Churn:
    """The coming and going on one stage."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._length = _lengths(stage.options.law, stage.random)
        self._turn = asyncio.Lock()
        self._began_s = stage.world.now
        self._wanted = stage.options.rate or min(1.0, DEATHS_PER_MINUTE / len(stage.machines))
        self._due = self._died = 0
        self._share = 0.0
        """How much of the web has answered,"""
        self._since_s = self._began_s
        """and since when it is as much."""

    async def run(self) -> None:
        """Lets masters come and go until most of the web has answered, or nothing more does. Whoever is away then is
        still to come back.
        """
        comings = [asyncio.create_task(self._come_and_go(machine)) for machine in self._stage.machines]
        try:
            await self._stage.until(lambda: self._stage.ended or self._share_grown() >= MOST or self._is_still())
        finally:
            for task in comings:
                task.cancel()
            await asyncio.gather(*comings, return_exceptions=True)
            self._stage.figures |= self._figures()

    def _share_grown(self) -> float:
        """Returns how much of the web has answered by now."""
        if (share := self._stage.share()) > self._share:
            self._share, self._since_s = share, self._stage.world.now
        return self._share

    def _is_still(self) -> bool:
        """Tells whether nothing new has answered for long."""
        return self._stage.world.now > self._since_s + STILL_S

    async def _come_and_go(self, machine: Machine) -> None:
        while True:
            await asyncio.sleep(self._length(60.0 / self._wanted))
            self._due += 1
            async with self._turn:
                await self._stage.until(lambda: self._stage.spare > 0 and len(self._stage.up) > 1)
                self._died += 1
                self._stage.crash([machine], power=self._stage.random.random() < 0.5)
            await asyncio.sleep(self._length(AWAY_S))
            self._stage.start(machine)

    def _figures(self) -> dict[str, float]:
        minutes = (self._stage.world.now - self._began_s) / 60.0
        return {
            "deaths_due": self._due,
            "deaths": self._died,
            "rate_wanted": round(self._wanted, 3),
            "rate_reached": round(self._died / len(self._stage.machines) / minutes, 3) if minutes else 0.0,
        }


def _lengths(law: str, dice: Random) -> Callable[[float], float]:
    """Draws times of a mean."""
    if law == "weibull":
        return lambda mean_s: dice.weibullvariate(mean_s / gamma(1.0 + 1.0 / SHAPE), SHAPE)
    return lambda mean_s: dice.expovariate(1.0 / mean_s)


async def faults(stage: Stage) -> None:
    await Churn(stage).run()


SCENARIO = Scenario("masters die and come back with their disks, again and again", faults)
