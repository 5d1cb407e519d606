"""Aims: faults that strike at a named moment of a run, such as when the second ``Taken`` has left.

An aim waits for its moments from the beginning of the job, counts them, and strikes once: on the spot, in the middle of
the code that runs there. What the cluster promises to bear is kept: when it cannot bear a blow, the aim waits for the
next moment of its kind at which it can, unless the aim goes beyond that on purpose.

An aim may also hold up what happens at its moment, and nothing else of that node: a *stall*. Whatever waits for that
waits for long then, and somebody else may be struck meanwhile.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, Final

from ..kernel.life import outside
from ..kernel.moments import CAME, COMES, COMMITS, COMMITTED, LEAVES, LEFT, Moment
from ..observe.incidents import LEAVE
from ..world.machines import Machine, PeerMachine
from .evidence import Coming
from .stage import Stage

NODE, PEER, BOTH = SIDES = ("node", "peer", "both")
"""Whose code runs at the moment, who is at the other end of its link, or the two of them."""
BLOWS: Final = ("crash", "power-loss", "wipe", "freeze", "split")
"""The words of a plan's faults that can be aimed."""
STALL: Final = "stall"
"""What happens at the moment is held up: as a message leaves or has left, that message and all behind it; as it comes
or came, the answer, likewise; as something is stored, the word that it is, and what is stored behind it."""
STALLED: Final = (LEAVES, LEFT, COMES, CAME, COMMITS, COMMITTED)
"""The phases at which something can be held up."""
MEANWHILE: Final = (*BLOWS, "leave", "start")
"""The words for what may happen to somebody while something is held up; who is to start is one that is down."""
AGAIN_S: Final = 0.25
"""What the cluster cannot bear yet is tried again after this time, for as long as something is held up."""
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
    """One of BLOWS, or STALL."""
    nth: int = 1
    """Counted from the beginning of the job; a later one, if the cluster cannot bear the blow then."""
    side: str = NODE
    peer_do: str = ""
    """What the other end gets, where both get something; nothing: the same."""
    apart_s: float = 0.0
    """How much later the other end gets it."""
    for_s: float = FOR_S
    """After which time it is undone."""
    after_s: float = 0.0
    """Only moments that come so long after the beginning of the job count."""
    of: str = ""
    """Only moments of this node count; nothing: those of all."""
    who: str = ""
    """Who is struck at the moment, wherever that is; nothing: whom ``side`` says."""
    then: str = ""
    """While something is held up, what strikes those whom ``side`` or ``who`` names, ``apart_s`` later, or as soon as
    the cluster can bear it: one of MEANWHILE."""
    then_for_s: float = FOR_S
    """After which time that is undone."""
    beyond: bool = False
    """It strikes whether the cluster promises to bear that or not."""
    place: str = ""
    """Where it is written, for a person."""

    def __str__(self) -> str:
        at = f"when {self.kind} {self.phase} for the {self.nth}. time" + (f" at {self.of}" if self.of else "")
        at += f" after {self.after_s:g} s" if self.after_s else ""
        if self.do == STALL:
            later = f" and {self.then} of {self.who or self.side} {self.apart_s:g} s later" if self.then else ""
            return f"stall for {self.for_s:g} s{later} {at}"
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
        self._began_s = stage.world.now
        self._waiting = list(aims)
        self._seen = [0] * len(aims)
        self._instant_s = 0.0
        self._in_it: Counter[tuple[str, str, str]] = Counter()
        """The moments of this instant, by kind, phase and node."""
        self._under_way = 0
        """Blows that are to come, or to be undone."""
        self._leaving: list[asyncio.Future[None]] = []
        """Those that leave in order."""
        self._is_over = False
        """All is healed from now on, and nobody is struck any more."""

    async def run(self) -> None:
        """Lets all aims strike; returns when each has, and is undone, or the job has ended."""
        stage = self._stage
        stop = stage.world.moments.listen(self._hear)
        try:
            await stage.until(lambda: stage.ended or not (self._waiting or self._under_way))
            await asyncio.gather(*self._leaving)
        finally:
            self._is_over = True
            for leaving in self._leaving:
                leaving.cancel()
            stop()
            never = [aim.place or str(aim) for aim in self._waiting]
            self._waiting.clear()
            if never:
                stage.figures["aims_never_came"] = never

    def _hear(self, moment: Moment) -> None:
        if moment.at != self._instant_s:
            self._instant_s = moment.at
            self._in_it.clear()
        self._in_it[moment.kind, moment.phase, moment.node] += 1
        due: list[Aim] = []
        for place, aim in enumerate(self._waiting):
            if aim.kind != moment.kind or aim.phase != moment.phase or aim.of not in ("", moment.node):
                continue
            if moment.at >= self._began_s + aim.after_s:
                self._seen[place] += 1
                if self._seen[place] >= aim.nth:
                    due.append(aim)
        for aim in due:
            with outside():
                if self._stall(aim, moment) if aim.do == STALL else self._try(aim, moment):
                    self._stage.came.append(
                        Coming(aim, moment.at, moment.node, self._in_it[aim.kind, aim.phase, moment.node])
                    )
                    place = self._waiting.index(aim)
                    del self._waiting[place], self._seen[place]

    def _try(self, aim: Aim, moment: Moment) -> bool:
        """Strikes, if those are there whom it would befall, and the cluster promises to bear it."""
        hit = self._hit(aim, moment)
        if not hit or not self._may({aim.do, aim.peer_do} - {""}, hit, beyond=aim.beyond):
            return False
        self._strike_all(aim, hit, moment)
        return True

    def _stall(self, aim: Aim, moment: Moment) -> bool:
        """Holds up what happens at this moment, if that can be."""
        stage, concerned, for_s = self._stage, [moment.node], aim.for_s
        if moment.phase in (COMMITS, COMMITTED):
            if not (for_s := self._loop.hold_up(aim.for_s)):
                return False
        else:
            if moment.end is None or moment.peer not in self._machines or moment.peer == moment.node:
                return False
            moment.end.out.hold_up(moment.at + aim.for_s)
            concerned.append(moment.peer)
        there = [self._machines[name] for name in concerned]
        told = self._told(aim, there, moment)
        stage.stall(aim.kind, there, for_s)
        self._begin(moment.at + aim.for_s, self._end)
        if aim.then:
            self._begin(moment.at + aim.apart_s, self._strike_meanwhile, aim, moment, told)
        return True

    def _begin(self, when: float, act: Callable[..., object], *args: Any) -> None:
        """Has something done that is waited for."""
        self._under_way += 1
        self._loop.world_at(when, act, *args)

    def _end(self) -> None:
        self._under_way -= 1

    def _strike_meanwhile(self, aim: Aim, moment: Moment, told: dict[str, Any]) -> None:
        """Strikes while something is held up, as soon as the cluster promises to bear that."""
        if self._is_over:
            return
        hit = self._down() if aim.then == "start" else self._hit(aim, moment)
        if not hit or not self._may({aim.then}, hit, beyond=aim.beyond):
            again_s = self._stage.world.now + AGAIN_S
            if again_s < moment.at + aim.for_s:
                self._loop.world_at(again_s, self._strike_meanwhile, aim, moment, told)
            else:
                self._end()
            return
        told["meanwhile"] = [machine.name for machine in hit]
        self._stage.world.note(f"aim {aim.place}: {aim.then} of {' and '.join(told['meanwhile'])}, meanwhile")
        self._strike(aim.then, hit, aim.then_for_s)

    def _down(self) -> list[PeerMachine]:
        """Returns one that is down and is to come back, if there is any."""
        down: list[PeerMachine] = [machine for machine in self._stage.staying if not machine.node.up]
        return down[:1]

    def _hit(self, aim: Aim, moment: Moment) -> list[PeerMachine]:
        """Returns whom it would befall: nobody, unless all that are named are there, and are not the same."""
        sides = {NODE: (moment.node,), PEER: (moment.peer,), BOTH: (moment.node, moment.peer)}
        names = (aim.who,) if aim.who else sides[aim.side]
        found = [self._machines[name] for name in dict.fromkeys(names) if name in self._machines]
        there = [m for m in found if m.node.up and not m.node.paused]
        if len(there) < len(names) or (aim.side == PEER and moment.peer == moment.node):
            return []
        needs = {"wipe", "split", "leave"} & {aim.do, aim.peer_do, aim.then}
        return [] if needs and not all(isinstance(m, Machine) for m in there) else there

    def _may(self, blows: Set[str], hit: Sequence[PeerMachine], *, beyond: bool) -> bool:
        """Tells whether the cluster promises to bear this now.

        Who loses its disk must be the only one to whom anything happened since all copies were whole: who stood still
        or was out of touch may lack what was written meanwhile. Of cuts there is one at a time.
        """
        stage = self._stage
        apart = any(i.what == "partition" and i.open for i in stage.incidents)
        if "split" in blows and apart:
            return False
        if "leave" in blows and any(i.what == LEAVE and i.open for i in stage.incidents):
            return False
        if beyond or "start" in blows:
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
        self._told(aim, hit, moment)
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

    def _told(self, aim: Aim, hit: Sequence[PeerMachine], moment: Moment) -> dict[str, Any]:
        """Tells that an aim strikes; returns what the report says of it."""
        names = [machine.name for machine in hit]
        self._stage.world.note(f"aim {aim.place}: {aim}: {' and '.join(names)}")
        told: dict[str, Any] = {"aim": str(aim), "at_s": round(moment.at, 3), "hit": names}
        self._stage.figures.setdefault("aims", []).append(told)
        return told

    def _strike(self, do: str, hit: Sequence[PeerMachine], for_s: float) -> None:
        if self._is_over:
            return
        stage, there = self._stage, [machine for machine in hit if machine.node.up]
        masters = [machine for machine in there if isinstance(machine, Machine)]
        match do:
            case "crash" | "power-loss":
                stage.crash(there, power=do == "power-loss")
            case "wipe":
                stage.wipe(masters)
            case "freeze":
                stage.freeze(there)
            case "start":
                for machine in hit:
                    stage.start(machine)
            case "leave":
                self._leaving += [asyncio.ensure_future(stage.leave(machine)) for machine in masters]
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
            case "start":
                pass
            case _:
                for machine in hit:
                    if not machine.node.up and machine not in stage.gone:
                        stage.start(machine)


async def strike(stage: Stage, aims: Sequence[Aim]) -> None:
    """Lets all these aims strike, each at its moment; returns when all are over, or the job has ended."""
    if aims:
        await Aimer(stage, aims).run()
