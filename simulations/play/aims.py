"""Aims: faults that strike at a named moment of a run, such as when the second ``Taken`` has left.

An aim waits for its moments from the beginning of the job, counts them, and strikes once: on the spot, in the middle of
the code that runs there. What the cluster promises to bear is kept: when it cannot bear a blow, the aim waits for the
next moment of its kind at which it can, unless the aim goes beyond that on purpose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, Final

from ..kernel.life import outside
from ..kernel.moments import Moment
from ..world.machines import Machine, PeerMachine
from .stage import Stage

NODE, PEER, BOTH = SIDES = ("node", "peer", "both")
"""Whose code runs at the moment, who is at the other end of its link, or the two of them."""
BLOWS: Final = ("crash", "power-loss", "wipe", "freeze", "split")
"""The words of a plan's faults that can be aimed."""
ELSEWHERE: Final = 0.25
"""The share of drawn aims that strike somebody else than those at their moment."""
FOR_S: Final = 10.0
"""For how long an aim's fault lasts, where it is not said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """A fault that strikes at the n-th moment of one kind and phase."""

    kind: str
    """The kind of the moment: a message's type, the method that writes into a store, or a verb."""
    phase: str
    do: str
    """One of BLOWS."""
    nth: int = 1
    """Counted from the beginning of the job; a later one, if the cluster cannot bear the blow then."""
    side: str = NODE
    peer_do: str = ""
    """What the other end gets, where both get something; nothing: the same."""
    apart_s: float = 0.0
    """How much later the other end gets it."""
    for_s: float = FOR_S
    """After which time it is undone."""
    of: str = ""
    """Only moments of this node count; nothing: those of all."""
    who: str = ""
    """Who is struck at the moment, wherever that is; nothing: whom ``side`` says."""
    beyond: bool = False
    """It strikes whether the cluster promises to bear that or not."""
    place: str = ""
    """Where it is written, for a person."""

    def __str__(self) -> str:
        at = f"when {self.kind} {self.phase} for the {self.nth}. time" + (f" at {self.of}" if self.of else "")
        what = self.do if not self.peer_do else f"{self.do} and {self.peer_do}"
        later = f", {self.apart_s * 1000:g} ms apart" if self.apart_s else ""
        return f"{what} of {self.who or self.side} {at}{later}"


def elsewhere(dice: Random, masters: int, slaves: int) -> str:
    """Draws who is struck by an aim in place of those at its moment; "" for most."""
    names = [f"m{number}" for number in range(masters)] + [f"s{number}" for number in range(masters * slaves)]
    return dice.choice(names) if dice.random() < ELSEWHERE else ""


class Aimer:
    """The aims of one run: hears of its moments, and strikes."""

    def __init__(self, stage: Stage, aims: Sequence[Aim]) -> None:
        self._stage = stage
        self._loop = stage.world.loop
        everybody: list[PeerMachine] = [*stage.machines, *stage.slaves]
        self._machines = {machine.name: machine for machine in everybody}
        self._waiting = list(aims)
        self._seen = [0] * len(aims)
        self._under_way = 0
        """Blows that are to come, or to be undone."""

    async def run(self) -> None:
        """Lets all aims strike; returns when each has, and is undone, or the job has ended."""
        stage = self._stage
        stop = stage.world.moments.listen(self._hear)
        try:
            await stage.until(lambda: stage.ended or not (self._waiting or self._under_way))
        finally:
            stop()
            never = [aim.place or str(aim) for aim in self._waiting]
            self._waiting.clear()
            if never:
                stage.figures["aims_never_came"] = never

    def _hear(self, moment: Moment) -> None:
        due: list[Aim] = []
        for place, aim in enumerate(self._waiting):
            if aim.kind == moment.kind and aim.phase == moment.phase and aim.of in ("", moment.node):
                self._seen[place] += 1
                if self._seen[place] >= aim.nth:
                    due.append(aim)
        for aim in due:
            hit = self._hit(aim, moment)
            with outside():
                if hit and self._may(aim, hit):
                    place = self._waiting.index(aim)
                    del self._waiting[place], self._seen[place]
                    self._strike_all(aim, hit, moment)

    def _hit(self, aim: Aim, moment: Moment) -> list[PeerMachine]:
        """Returns whom it would befall: nobody, unless all that are named are there, and are not the same."""
        sides = {NODE: (moment.node,), PEER: (moment.peer,), BOTH: (moment.node, moment.peer)}
        names = (aim.who,) if aim.who else sides[aim.side]
        found = [self._machines[name] for name in dict.fromkeys(names) if name in self._machines]
        there = [m for m in found if m.node.up and not m.node.paused]
        if len(there) < len(names) or (aim.side == PEER and moment.peer == moment.node):
            return []
        needs = {"wipe", "split"} & {aim.do, aim.peer_do}
        return [] if needs and not all(isinstance(m, Machine) for m in there) else there

    def _may(self, aim: Aim, hit: Sequence[PeerMachine]) -> bool:
        """Tells whether the cluster promises to bear this now.

        Who loses its disk must be the only one to whom anything happened since all copies were whole: who stood still
        or was out of touch may lack what was written meanwhile. Of cuts there is one at a time.
        """
        stage, blows = self._stage, {aim.do, aim.peer_do} - {""}
        apart = any(i.what == "partition" and i.open for i in stage.incidents)
        if "split" in blows and apart:
            return False
        if aim.beyond:
            return True
        if "split" in blows:
            return stage.wiped_s < stage.whole_s
        struck = sum(isinstance(machine, Machine) for machine in hit)
        if struck > stage.spare or len(stage.up) <= struck:
            return False
        if "wipe" in blows:
            return stage.options.replicas > 1 and stage.unharmed
        return True

    def _strike_all(self, aim: Aim, hit: Sequence[PeerMachine], moment: Moment) -> None:
        stage = self._stage
        names = " and ".join(machine.name for machine in hit)
        stage.world.note(f"aim {aim.place}: {aim}: {names}")
        told: dict[str, Any] = {"aim": str(aim), "at_s": round(moment.at, 3), "hit": [machine.name for machine in hit]}
        stage.figures.setdefault("aims", []).append(told)
        if aim.do == "split":
            self._under_way += 1
            self._strike("split", hit, aim.for_s)
            return
        self._under_way += len(hit)
        self._strike(aim.do, hit[:1], aim.for_s)
        for other in hit[1:]:
            then = partial(self._strike, aim.peer_do or aim.do, [other], aim.for_s)
            if aim.apart_s:
                self._loop.world_at(moment.at + aim.apart_s, then)
            else:
                then()

    def _strike(self, do: str, hit: Sequence[PeerMachine], for_s: float) -> None:
        stage, there = self._stage, [machine for machine in hit if machine.node.up]
        masters = [machine for machine in there if isinstance(machine, Machine)]
        match do:
            case "crash" | "power-loss":
                stage.crash(there, power=do == "power-loss")
            case "wipe":
                stage.wipe(masters)
            case "freeze":
                stage.freeze(there)
            case "split" if len(masters) > 1:
                stage.split(*([machine] for machine in masters))
            case "split":
                stage.split(masters, [machine for machine in stage.staying if machine not in masters])
        self._loop.world_at(stage.world.now + for_s, self._undo, do, list(hit))

    def _undo(self, do: str, hit: Sequence[PeerMachine]) -> None:
        stage = self._stage
        self._under_way -= 1
        match do:
            case "freeze":
                stage.thaw([machine for machine in hit if machine.node.paused])
            case "split":
                stage.join()
            case _:
                for machine in hit:
                    if not machine.node.up and machine not in stage.gone:
                        stage.start(machine)


async def strike(stage: Stage, aims: Sequence[Aim]) -> None:
    """Lets all these aims strike, each at its moment; returns when all are over, or the job has ended."""
    if aims:
        await Aimer(stage, aims).run()
