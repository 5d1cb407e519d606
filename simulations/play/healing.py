"""Healing: how long what a fault has broken stays broken, once nothing is in its way any more.

It is *calm* while nothing is done to anybody: all that are up are awake and in touch, the network and the disks are as
they usually are, and nobody has come or gone since. Whoever died before that stays dead, so it takes the others a while
to notice. What is amiss in a calm is an *ailment*; it is written down with the time at which the calm began, and
checkers say how long it may last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from p2pcrawl.core.control import PAUSED
from p2pcrawl.core.ring.rendezvous import BUCKETS

from ..kernel.node import DISK_S
from ..observe.folders import Print, has_due, phase_of, read_spooled, read_steps
from ..observe.parts import together

if TYPE_CHECKING:
    from .stage import Stage

UNSERVED: Final = "buckets are served by nobody"
VIEWS: Final = "those that are up do not count each other"
IDLE: Final = "nothing is asked for, and the job goes on"
UNSAID: Final = "all is through on every disk, and the job goes on"
THIN: Final = "something is on too few disks"
SPOOLED: Final = "links are kept for want of copies"
SESSION: Final = "a dead slave has a session"

PAUSE_S = 10.0
"""Who waits for a host for less is not idle."""
HOPELESS_S = 300.0
"""Who has asked for nothing for so long, though nobody is missing, never will."""
READ_S = 10.0
"""How often the disks of those that are up are read, in a calm that has lasted."""
LASTED_S = 40.0
"""Before that nobody expects copies to be whole."""


class Ailment(NamedTuple):
    """One thing that was amiss from ``began_s`` to ``ended_s``, in a calm that began at ``calm_s``."""

    what: str
    example: str
    calm_s: float
    began_s: float
    ended_s: float
    masters: int
    there: int
    """How many of the masters were up."""


@dataclass(slots=True)
class Healing:
    """Watches what is amiss in each calm. Give it the same stage each time."""

    ailments: list[Ailment] = field(default_factory=list)
    _standing: tuple[Any, ...] = ()
    """How everything stood when it was looked last: as long as it stands so, it is calm."""
    _calm_s: float = 0.0
    _there: int = 0
    _began_s: dict[tuple[str, str], float] = field(default_factory=dict)
    _visits: int = 0
    _asked_s: float = 0.0
    """When somebody last asked the web for something, or nobody was to."""
    _read_s: float = 0.0
    """When the disks were read last; they are where a calm has lasted, or nothing is asked for."""
    _read: dict[str, frozenset[Print]] = field(default_factory=dict)
    """What was amiss on them."""
    _stays: dict[str, frozenset[Print]] = field(default_factory=dict)
    """What was amiss there when they were read before as well."""

    def look(self, stage: Stage) -> None:
        """Looks what is amiss at this moment."""
        now_s = stage.world.now
        if len(stage.web.visits) != self._visits or stage.ended or _rests(stage):
            self._visits, self._asked_s = len(stage.web.visits), now_s
        standing = _standing(stage)
        if not stage.job or standing != self._standing or _is_troubled(stage):
            self._begin_anew(stage, standing)
            return
        expected = now_s >= self._calm_s + LASTED_S or now_s > self._asked_s + PAUSE_S
        if expected and now_s >= self._read_s + READ_S:
            self._read_disks(stage)
        amiss = dict(self._amiss(stage))
        for key in [key for key in self._began_s if key not in amiss]:
            self._end(stage, key)
        for key, began_s in amiss.items():
            self._began_s.setdefault(key, max(began_s, self._calm_s))

    def is_hopeless(self, stage: Stage) -> bool:
        """Tells whether to wait any longer would show nothing more: all are there, nothing is in their way, and they
        stand still for good, with the job unfinished.
        """
        since_s = max(self._asked_s, self._calm_s)
        everybody = self._there == len(stage.staying)
        return bool(stage.job) and everybody and not stage.ended and stage.world.now > since_s + HOPELESS_S

    def is_troubled(self, stage: Stage) -> bool:
        """Tells whether something is in somebody's way."""
        return _is_troubled(stage)

    def standing(self, stage: Stage) -> tuple[Any, ...]:
        """Returns what is as it was for as long as nothing is done to anybody."""
        return _standing(stage)

    def end(self, stage: Stage) -> None:
        """Takes what is still amiss as lasting until now."""
        for key in list(self._began_s):
            self._end(stage, key)

    # -- inside -------------------------------------------------------------------------------

    def _begin_anew(self, stage: Stage, standing: tuple[Any, ...]) -> None:
        """Takes in that something has happened: what is amiss from now on may be due to that."""
        troubled = _is_troubled(stage)
        for key in list(self._began_s):
            # A slave's death is nobody else's, and whatever happens to others is no reason to wait longer for it.
            if troubled or key[0] != SESSION:
                self._end(stage, key)
        self._standing, self._calm_s, self._there = standing, stage.world.now, len(stage.up)
        self._read, self._stays = {}, {}

    def _amiss(self, stage: Stage) -> Iterator[tuple[tuple[str, str], float]]:
        """Yields what is amiss, with an example, and since when at the earliest."""
        now_s = stage.world.now
        if len(together(tuple([machine.served()[1] for machine in stage.up]))) < BUCKETS:
            yield (UNSERVED, ""), now_s
        if not stage.in_one_view():
            yield (VIEWS, ""), now_s
        if now_s > self._asked_s + PAUSE_S + stage.tries_again_s:
            yield (IDLE, ""), self._asked_s
        for what, prints in self._stays.items():
            if prints:
                yield (what, ""), self._read_s - READ_S
        for master, slave in _sessions_of_the_dead(stage):
            yield (SESSION, f"{slave} at {master}"), now_s

    def _read_disks(self, stage: Stage) -> None:
        """Reads the disks of those that are up."""
        folders = [machine.folder for machine in stage.up]
        disks = [read_steps(folder, stage.job) for folder in folders]
        furthest: dict[Print, int] = {}
        for disk in disks:
            furthest.update({key: step for key, step in disk.items() if step > furthest.get(key, -1)})
        through = frozenset(key for key, step in furthest.items() if phase_of(step))
        # A page that waits for its next visit is not through, however long it waits.
        due = any(has_due(folder, stage.job, failed=stage.tries_again_s > 0) for folder in folders)
        queued = len(through) < len(furthest) or due
        found = {
            THIN: _thin_on(disks, stage.options.replicas),
            SPOOLED: frozenset[Print]().union(*(read_spooled(folder, stage.job) for folder in folders)),
            UNSAID: frozenset() if queued or stage.ended else through,
        }
        self._stays = {what: prints & self._read.get(what, frozenset()) for what, prints in found.items()}
        self._read, self._read_s = found, stage.world.now

    def _end(self, stage: Stage, key: tuple[str, str]) -> None:
        what, example = key
        began_s, now_s = self._began_s.pop(key), stage.world.now
        if now_s > began_s:
            masters, calm_s = len(stage.machines), began_s if what == SESSION else self._calm_s
            self.ailments.append(Ailment(what, example, calm_s, began_s, now_s, masters, self._there))


def _standing(stage: Stage) -> tuple[Any, ...]:
    """Returns what is as it was for as long as nothing is done to anybody."""
    lives = tuple(
        (machine.node.life.number if machine.node.life is not None else 0, machine.node.paused)
        for machine in (*stage.machines, *stage.slaves)
    )
    return lives, len(stage.incidents), sum(incident.open for incident in stage.incidents), stage.world.network.law


def _rests(stage: Stage) -> bool:
    """Tells whether the job rests, as all say: a person's word may be obeyed late, by one that was not awake."""
    return all(stage.state(machine) == PAUSED for machine in stage.up)


def _is_troubled(stage: Stage) -> bool:
    """Tells whether something is in somebody's way."""
    network = stage.world.network
    return (
        any(incident.open for incident in stage.incidents)
        or network.parted
        or network.law.loss > 0
        or stage.stalls_now
        or any(
            each.node.paused or each.node.disk_full or each.node.executor_delay_s > DISK_S
            for each in (*stage.machines, *stage.slaves)
        )
    )


def _thin_on(disks: list[dict[Print, int]], copies: int) -> frozenset[Print]:
    """Returns what is known on fewer of these disks than there are to be, or known to be through on fewer."""
    enough = min(copies, len(disks))
    if enough < 2:
        return frozenset()
    known, through = Counter[Print](), Counter[Print]()
    for phases in disks:
        known.update(phases.keys())
        through.update(key for key, phase in phases.items() if phase)
    return frozenset(key for key, count in known.items() if count < enough or 0 < through[key] < enough)


def _sessions_of_the_dead(stage: Stage) -> Iterator[tuple[str, str]]:
    """Yields the masters with sessions of slave machines that are down, and these."""
    down = {slave.node.address: slave.name for slave in stage.slaves if not slave.node.up}
    for machine in stage.up if down else ():
        for session in machine.lead.master.sessions.values() if machine.lead is not None else ():
            if not session.gone and session.link.remote_host in down:
                yield machine.name, down[session.link.remote_host]
