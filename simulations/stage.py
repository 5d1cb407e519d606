"""What a scenario acts on: machines, their network and the progress of their job, with faults said in words.

Every fault goes through here, so that it is known afterwards what was done to whom and when.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from itertools import combinations
from math import inf
from random import Random

from p2pcrawl.master.job import FINISHED, RUNNING
from simulations.folders import Print, ended_in
from simulations.incidents import Incident
from simulations.machines import Machine
from simulations.options import Options
from simulations.web import Web
from simulations.world import World

LOOK_S = 0.5
PATIENCE_S = 300.0


class NotSettled(Exception):
    """The machines did not agree within the time that they were given."""


class Stage:
    """See the module."""

    def __init__(self, options: Options, world: World, web: Web, machines: list[Machine]) -> None:
        self.options = options
        self.world = world
        self.web = web
        self.machines = machines
        self.gone: set[Machine] = set()
        """Those that never come back."""
        self.incidents: list[Incident] = []
        self.job = 0
        self.claims: list[tuple[float, str, bool]] = []
        """When somebody said that the job is finished, and whether all machines were then up and in touch."""
        self.doubles: list[str] = []
        """Buckets that two masters of one view would grant from at once."""
        self._reachable = len(web.reachable())
        self._looked = 0
        self._answered: set[str] = set()

    @property
    def random(self) -> Random:
        """The scenario's dice."""
        return self.world.random

    # -- who is there -------------------------------------------------------------------------

    @property
    def staying(self) -> list[Machine]:
        """All that are to be there in the end."""
        return [m for m in self.machines if m not in self.gone]

    @property
    def up(self) -> list[Machine]:
        """Those that run, paused ones left out."""
        return [m for m in self.machines if m.node.up and not m.node.paused]

    def some(self, count: int) -> list[Machine]:
        """That many of those that run, at random."""
        return self.random.sample(self.up, min(count, len(self.up)))

    # -- waiting ------------------------------------------------------------------------------

    @property
    def ended(self) -> bool:
        """Whether all that are up say that nothing of the job is left to do, be it finished or incomplete."""
        return bool(self.up) and all(self.state(m) not in ("", RUNNING) for m in self.up)

    @property
    def finished(self) -> bool:
        """Whether all that are up say that the job is finished."""
        return bool(self.up) and all(self.state(m) == FINISHED for m in self.up)

    def state(self, machine: Machine) -> str:
        """How the job stands at one master; "" when that does not know it."""
        lead = machine.lead
        job = lead.master.jobs.get(self.job) if lead is not None else None
        return job.state if job is not None else ""

    def share(self) -> float:
        """How much of the web has answered."""
        visits = self.web.visits
        while self._looked < len(visits):
            visit = visits[self._looked]
            self._looked += 1
            if visit.answered and not visit.is_robots:
                self._answered.add(visit.url)
        return len(self._answered) / self._reachable

    async def until(self, condition: Callable[[], bool]) -> None:
        """Looks again and again: virtual time costs nothing, and nobody who is simulated notices."""
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(LOOK_S)

    async def progress(self, share: float) -> None:
        """Until so much of the web has answered, or the job has ended."""
        await self.until(lambda: self.share() >= share or self.ended)

    async def pause(self, mean_s: float) -> None:
        """A while of random length."""
        await asyncio.sleep(self.random.expovariate(1.0 / mean_s))

    async def agree(self, patience_s: float = PATIENCE_S) -> None:
        """Until all that are up count each other and have what is theirs. Raises NotSettled."""
        try:
            async with asyncio.timeout(patience_s):
                await self.until(self._agreed)
        except TimeoutError:
            raise NotSettled(f"no agreement after {patience_s:g} s: {self._disagreement()}") from None

    # -- faults -------------------------------------------------------------------------------

    def crash(self, machines: Iterable[Machine], *, power: bool = False) -> None:
        """Kills these at the same moment; their disks keep what was committed."""
        hit = [m for m in machines if m.node.up]
        if not hit:
            return
        names = frozenset(m.name for m in hit)
        now = self.world.now
        through = self._through(names)
        alone = self._ended_at(hit) - through
        self.incidents.append(Incident("power loss" if power else "crash", names, now, now, through, alone))
        for machine in hit:
            if power:
                machine.node.lose_power()
            else:
                machine.node.crash()

    def wipe(self, machines: Iterable[Machine]) -> None:
        """Kills these and takes their disks away."""
        hit = list(machines)
        self.crash(hit, power=True)
        for machine in hit:
            machine.wipe()
            self.world.log.add(self.world.now, machine.name, "loses its disk")

    def bury(self, machines: Iterable[Machine]) -> None:
        """Kills these for good."""
        hit = list(machines)
        self.wipe(hit)
        self.gone.update(hit)

    def start(self, machine: Machine) -> None:
        """A new life, joined through all other machines that there are."""
        machine.start([m.address for m in self.staying if m is not machine])

    async def leave(self, machine: Machine) -> None:
        """Lets one go in order."""
        await machine.leave()

    def freeze(self, machines: Iterable[Machine]) -> None:
        """Stops these in their tracks."""
        hit = list(machines)
        self._begin("pause", hit, self._through(frozenset(m.name for m in hit)))
        for machine in hit:
            machine.node.pause()

    def thaw(self, machines: Iterable[Machine]) -> None:
        for machine in machines:
            machine.node.resume()
            self._end("pause", machine.name)

    def split(self, *groups: Iterable[Machine]) -> None:
        """Nothing gets through between these groups."""
        sides = [list(group) for group in groups]
        known = [self._ended_at(side) for side in sides]
        through = frozenset.intersection(*known) if known else frozenset()
        self._begin("partition", [m for side in sides for m in side], through, everywhere=True)
        self.world.network.partition(*([m.node for m in side] for side in sides))

    def silence(self, sources: Iterable[Machine], targets: Iterable[Machine]) -> None:
        """Nothing gets from these sources to these targets; the other way it does."""
        ends = [list(sources), list(targets)]
        known = [self._ended_at([m]) for m in self.up]
        through = frozenset.intersection(*known) if known else frozenset()
        self._begin("partition", [m for end in ends for m in end], through, everywhere=True)
        for source in ends[0]:
            for target in ends[1]:
                self.world.network.cut(source.node, target.node)

    def join(self) -> None:
        """Lets everything through again."""
        self.world.network.heal()
        self._end("partition", None)

    def heal(self) -> None:
        """Everything that is not gone is up, awake and in touch."""
        self.join()
        self.thaw([m for m in self.staying if m.node.paused])
        for machine in self.staying:
            if not machine.node.up:
                self.start(machine)

    # -- watching -----------------------------------------------------------------------------

    async def watch(self) -> None:
        """Looks for what must never be, for as long as it runs."""
        said: set[str] = set()
        while True:
            await asyncio.sleep(LOOK_S)
            for machine in self.up:
                if self.state(machine) == FINISHED and machine.name not in said:
                    said.add(machine.name)
                    self.claims.append((self.world.now, machine.name, self._untroubled()))
            if self._agreed():
                for incident in self.incidents:
                    if not incident.open:
                        incident.settled_s = min(incident.settled_s, self.world.now)
            self._look_for_doubles()

    def _look_for_doubles(self) -> None:
        by_view: dict[int, list[tuple[Machine, frozenset[int]]]] = {}
        for machine in self.up:
            view, served = machine.served()
            by_view.setdefault(view, []).append((machine, served))
        for those in by_view.values():
            for (one, left), (other, right) in combinations(those, 2):
                if both := left & right:
                    text = f"{one.name} and {other.name} both serve {len(both)} buckets, such as {min(both)}"
                    self.doubles.append(f"at {self.world.now:.2f} s {text}")

    def _untroubled(self) -> bool:
        return all(m in self.up for m in self.staying) and not any(i.open for i in self.incidents)

    def _agreed(self) -> bool:
        ids = frozenset(m.id for m in self.up)
        return all(
            m.lead is not None and m.members() == ids and m.lead.cluster.ownership.complete
            and len(m.lead.cluster.ownership.table) > 0
            for m in self.up
        )  # fmt: skip

    def _disagreement(self) -> str:
        return "; ".join(
            f"{m.name} counts {len(m.members())}" + (f", {m.lead.cluster.ownership.syncing} to come" if m.lead else "")
            for m in self.up
        )

    # -- incidents ----------------------------------------------------------------------------

    def _through(self, names: frozenset[str]) -> frozenset[Print]:
        """What the disks of others say."""
        return self._ended_at([m for m in self.staying if m.name not in names])

    def _ended_at(self, machines: Iterable[Machine]) -> frozenset[Print]:
        if not self.job:
            return frozenset()
        return frozenset(key for m in machines for key in ended_in(m.folder, self.job))

    def _begin(
        self, what: str, machines: Iterable[Machine], through: frozenset[Print], *, everywhere: bool = False
    ) -> None:
        names = frozenset(m.name for m in machines)
        alone = self._ended_at([m for m in self.machines if m.name in names]) - through
        self.incidents.append(Incident(what, names, self.world.now, inf, through, alone, everywhere))

    def _end(self, what: str, name: str | None) -> None:
        for incident in self.incidents:
            if incident.open and incident.what == what and (name is None or name in incident.nodes):
                incident.ended_s = self.world.now
