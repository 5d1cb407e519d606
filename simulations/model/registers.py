"""The model of what people ask of masters: reads and writes of registers, which are the state of a job, a setting of
it, a host's delay, and whether a host rests.

A register has one history over all masters (docs/cluster.md): each change has a version, and the greater one counts.
So an order of versions explains all that anybody was told, and whoever has to know of a change comes after it in that
order. What is promised is this, and the model asks for no more:

* whoever was asked for a change knows it from its answer on, also in its next lives with that disk;
* all others know it a while into a calm (:mod:`.hearsay`), unless all that knew it have lost their disks;
* within one life nobody hears of older changes after newer ones;
* a change is made of what was told to be there before; what is cancelled is at most deleted, and then stays so;
* a job ends, and goes on for news that came, by the masters' own word, when the one that says so need not know
  anything that forbids it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import Final, NamedTuple

from .hearsay import Calm, Loss, Spells, heard, knows
from .linearizable import Step, Verdict, explained

UNKNOWN: Final = ""
"""The state of a job that nobody has heard of."""
RUNNING: Final = "running"
PAUSED: Final = "paused"
INCOMPLETE: Final = "incomplete"
FINISHED: Final = "finished"
CANCELLED: Final = "cancelled"
DELETED: Final = "deleted"
STATES: Final = frozenset({UNKNOWN, RUNNING, PAUSED, INCOMPLETE, FINISHED, CANCELLED, DELETED})
BECOMES: Final[Mapping[str, Mapping[str, str]]] = {
    "pause": {RUNNING: PAUSED, INCOMPLETE: PAUSED, PAUSED: PAUSED},
    "resume": {PAUSED: RUNNING, RUNNING: RUNNING, INCOMPLETE: INCOMPLETE},
    "cancel": {RUNNING: CANCELLED, PAUSED: CANCELLED, INCOMPLETE: CANCELLED, CANCELLED: CANCELLED},
    "delete": {FINISHED: DELETED, INCOMPLETE: DELETED, CANCELLED: DELETED},
}
"""What a verb makes of each state. What is not here is refused."""
ENDED: Final = frozenset({FINISHED, INCOMPLETE})
BY_ITSELF: Final[Mapping[str, frozenset[str]]] = {
    FINISHED: frozenset({RUNNING, INCOMPLETE, FINISHED}),
    INCOMPLETE: frozenset({RUNNING, INCOMPLETE, FINISHED}),
    RUNNING: ENDED,
}
"""What a master makes of a job by itself, or to put something into it, and of which states."""


class Deed(NamedTuple):
    """A thing that one master did or told: it found something, perhaps changed it, and found something again."""

    who: str
    life: int
    what: str
    began_s: float
    ended_s: float = inf
    finds: frozenset[str] | None = None
    writes: str | None = None
    tells: frozenset[str] | None = None

    @property
    def answered(self) -> bool:
        """True if somebody knows that it has come to its end."""
        return self.ended_s < inf


@dataclass(frozen=True, slots=True)
class Heard:
    """The harness's knowledge of who could hear of what."""

    calms: Sequence[Calm]
    losses: Sequence[Loss]

    def spells(self, who: str, since_s: float) -> Spells:
        return heard(who, since_s, self.calms, self.losses)


def absorbs(now: str, put: str) -> bool:
    """Tells whether a job stays as it is whatever is written: it was cancelled, or deleted."""
    return now == DELETED or (now == CANCELLED and put != DELETED)


def steps_of(deeds: Sequence[Deed], hears: Heard) -> list[Step]:
    """Takes deeds at one register apart, and says which steps each of them knows of."""
    numbered: list[tuple[Deed, list[int]]] = []
    parts: list[tuple[Deed, frozenset[str] | None, str | None]] = []
    for deed in deeds:
        mine: list[int] = []
        for reads, writes in ((deed.finds, None), (None, deed.writes), (deed.tells, None)):
            if reads is not None or writes is not None:
                mine.append(len(parts))
                parts.append((deed, reads, writes))
        if mine:
            numbered.append((deed, mine))
    after: list[set[int]] = [set() for _ in parts]
    for _, mine in numbered:
        for former, later in pairwise(mine):
            after[later].add(former)
    for earlier, mine in numbered:
        if earlier.answered:
            _follow(earlier, mine, numbered, after, hears)
    return [
        Step(deed.what, deed.began_s, deed.ended_s, reads, writes, frozenset(after[number]), deed.answered)
        for number, (deed, reads, writes) in enumerate(parts)
    ]


def judged(deeds: Sequence[Deed], hears: Heard, begins_with: str, *, of_job: bool) -> Verdict:
    """Looks for an order that explains all deeds at one register."""
    steps = steps_of(deeds, hears)
    return explained(steps, begins_with, absorbs) if of_job else explained(steps, begins_with)


def told(deeds: Sequence[Deed], hears: Heard, verdict: Verdict) -> str:
    """Puts in words what no order explains."""
    steps = steps_of(deeds, hears)
    changes = [steps[number] for number in verdict.order if steps[number].writes is not None]
    before = "; ".join(step.what for step in changes[-3:]) or "nothing was asked"
    stuck = sorted((steps[number] for number in verdict.stuck), key=lambda step: step.ended_s)
    return f"{' and '.join(s.what for s in stuck[:2])}, though it is {verdict.holds or 'unknown'} by then ({before})"


def _follow(
    earlier: Deed, mine: Sequence[int], numbered: Iterable[tuple[Deed, list[int]]], after: list[set[int]], hears: Heard
) -> None:
    """Notes which deeds know of what one master was told to do, or has told."""
    spells = hears.spells(earlier.who, earlier.ended_s) if earlier.writes is not None else {}
    written = mine if earlier.tells is None else mine[:-1]
    for later, (first, *_) in numbered:
        # Of what happens at one instant nobody knows what came first.
        if later is earlier or later.began_s <= earlier.ended_s:
            continue
        if (later.who, later.life) == (earlier.who, earlier.life):
            after[first].update(mine)
        elif knows(spells, later.who, later.began_s):
            after[first].update(written)
