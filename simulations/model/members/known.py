"""The rules of what members know of each other: all that they were told, nothing else, and how they come to doubt.

Of two verdicts the one under the greater incarnation counts, and under the same one the graver: living, suspect, dead,
left (docs/overlay.md). What a member says of itself under one incarnation is one thing. Nobody is suspected who has
answered, or whom others were not asked to ask; a suspect, and whoever is held dead, is asked and told so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Final, NamedTuple, Protocol

from ..acknowledged import Tell

ALIVE, SUSPECT, DEAD, LEFT = range(4)
FARTHEST: Final = 1 << 10
"""What is further ahead than this is not taken over as it is."""
DEAD_ASKED_S: Final = 16.0
"""Whoever holds others for dead asks one of them at least so often,"""
QUESTION_S: Final = 9.0
"""A question lasts so long, with whoever doubts itself most."""
STALL_S: Final = 3.0
"""but for times in which it stood still for so long."""

Verdict = tuple[int, int]
"""An incarnation, and what is held of a member under it."""


class Facts(NamedTuple):
    """The word of a member on itself."""

    boot: bytes
    address: str
    weight: int
    leaving: bool
    store: bytes


class Line(NamedTuple):
    """The knowledge of a member, or what is told of it."""

    verdict: Verdict
    facts: Facts | None = None


Table = Mapping[str, Line]
"""All that somebody knows, by the ids of members."""
Living = frozenset[tuple[str, int, bool]]
"""Who counts: ids, weights, and who is leaving."""


class Sight(Protocol):
    """The harness's own knowledge of the machines. Members are named by their ids."""

    @property
    def now_s(self) -> float: ...

    def called(self, member: str) -> str:
        """Returns the name of a member."""

    def stalled(self, member: str, from_s: float, until_s: float, least_s: float) -> bool:
        """Tells whether a member stood still for so long at a time between two moments."""


@dataclass(slots=True)
class _Mind:
    """One life of a member."""

    life: int
    asked_s: dict[str, dict[int, float]] = field(default_factory=dict)
    """When it has asked each other of late whether that is there, by the numbers of the questions,"""
    answered_s: dict[str, dict[int, float]] = field(default_factory=dict)
    """when these were answered,"""
    helped_s: dict[str, float] = field(default_factory=dict)
    """and when it last had others ask."""
    came_s: dict[str, float] = field(default_factory=dict)
    """Since when it counts each other."""
    mourns_s: float = inf
    """Since when it holds somebody for dead, and has asked none of these."""
    suspects_s: dict[tuple[str, Verdict], float] = field(default_factory=dict)
    """Since when it holds another for suspect."""


@dataclass(slots=True)
class Known:
    """Judges what members know, against what they were told."""

    sight: Sight
    tell: Tell
    _minds: dict[str, _Mind] = field(default_factory=dict)
    _facts: dict[tuple[str, int], Facts] = field(default_factory=dict)
    """What each member has said of itself under each incarnation."""
    _digests: dict[int, Living] = field(default_factory=dict)
    _living: dict[Living, int] = field(default_factory=dict)
    """The marks by which views are compared, and what they were of."""

    # -- what is told --------------------------------------------------------------------------

    def hears(self, me: str, words: Mapping[str, Iterable[Line]], before: Table, after: Table) -> None:
        """Judges what a member has made of words on others that a datagram brought."""
        for of, lines in words.items():
            if of != me:
                self._hears_of(me, of, lines, before.get(of), after.get(of))

    def _hears_of(self, me: str, of: str, lines: Iterable[Line], was: Line | None, now: Line | None) -> None:
        told = [line for line in lines if was is None or line.verdict[0] <= was.verdict[0] + FARTHEST]
        if was is None and not any(line.facts for line in told):
            return
        best = max((line.verdict for line in told), default=(-1, ALIVE))
        if now is None or now.verdict < best:
            self._tell(me, f"was told {self._words(of, best)}, and knows {self._words(of, now and now.verdict)}")
            return
        for facts in (line.facts for line in told if line.verdict[0] == now.verdict[0]):
            if facts is not None and now.facts is not None and now.facts[0] == facts[0] and now.facts != facts:
                text = f"was told by {self.sight.called(of)} {facts[1:4]}"
                self._tell(me, f"{text} of itself, and knows {now.facts[1:4]}")

    def compares(self, me: str, words: Mapping[str, Line], before: Table, after: Table) -> None:
        """Judges what a member has made of another one's whole view: who lives here is accused by it, and no more."""
        for of, line in words.items():
            was, now = before.get(of), after.get(of)
            if of == me or was is None or now is None or line.verdict[0] > was.verdict[0] + FARTHEST:
                continue
            if was.verdict[1] < DEAD and line.verdict[1] == DEAD:
                if now.verdict[1] == DEAD:
                    name = self.sight.called(of)
                    self._tell(me, f"takes {name} for dead at once, as another view has it, and counted it until now")
                line = line._replace(verdict=(line.verdict[0], SUSPECT))
            if now.verdict < line.verdict:
                self._tell(me, f"was told {self._words(of, line.verdict)}, and knows {self._words(of, now.verdict)}")

    def answered(self, me: str, life: int, other: str, number: int) -> None:
        """Takes in that a member hears an answer of another to the question of this number."""
        mind = self._mind(me, life)
        if number in mind.asked_s.get(other, ()):
            mind.answered_s.setdefault(other, {})[number] = self.sight.now_s

    # -- what is said --------------------------------------------------------------------------

    def asks(self, me: str, life: int, other: str, held: Verdict | None, told: Iterable[str]) -> None:
        """Judges a question whether another is there; ``held``: what is held of it, ``told``: whom its words accuse."""
        mind = self._mind(me, life)
        if held is not None and held[1] == DEAD:
            mind.mourns_s = self.sight.now_s
        if held is not None and other not in told and mind.suspects_s.get((other, held), inf) < self.sight.now_s:
            self._tell(me, f"asks {self.sight.called(other)}, which it suspects, and does not say so")

    def describes(self, me: str, incarnation: int, facts: Facts) -> None:
        """Judges the word of a member on what it is itself."""
        known = self._facts.setdefault((me, incarnation), facts)
        if known != facts and known.boot == facts.boot:
            text = f"says of itself under incarnation {incarnation} {facts[1:4]}"
            self._tell(me, f"{text}, and has said {known[1:4]} under the same")

    def marks(self, me: str, digest: int, living: Living) -> None:
        """Judges the mark of a view, as a member tells it: of one view there is one, and no other has it."""
        known = self._digests.setdefault(digest, living)
        if known != living:
            names = ", ".join(sorted(self.sight.called(of) for of, _, _ in known ^ living))
            self._tell(me, f"tells of view {digest:016x}, which was another one: it differs in {names}")
        elif self._living.setdefault(living, digest) != digest:
            self._tell(me, f"tells of view {digest:016x}, which others call {self._living[living]:016x}")

    # -- what a member does by itself ----------------------------------------------------------

    def thinks(self, me: str, life: int, before: Table, after: Table) -> None:
        """Judges what a member has come to know by itself: whom it suspects has not answered."""
        mind, now_s = self._mind(me, life), self.sight.now_s
        for of, line in after.items():
            was = before.get(of)
            if of == me or was is None or was.verdict[1] != ALIVE or line.verdict[1] != SUSPECT:
                continue
            name, answered_s = self.sight.called(of), mind.answered_s.get(of, {})
            asked_s = {n: at for n, at in mind.asked_s.get(of, {}).items() if at >= now_s - QUESTION_S}
            # It may have been asked again, as one held for dead, while the question that counts had no answer.
            open_s = [at for number, at in asked_s.items() if number not in answered_s]
            if asked_s and not open_s:
                last_s = max(answered_s[number] for number in asked_s)
                self._tell(me, f"suspects {name}, which has answered {now_s - last_s:.2f} s ago")
            if self.sight.stalled(me, max(open_s, default=now_s), now_s, STALL_S):
                self._tell(me, f"suspects {name}, which it has asked before it stood still itself")
            # One that has come since could not be asked for help.
            others = [other for other, each in after.items() if other not in (me, of) and each.verdict[1] < DEAD]
            if (
                any(mind.came_s.get(other, inf) <= min(open_s, default=now_s) for other in others)
                and mind.helped_s.get(of, -inf) < now_s - QUESTION_S
            ):
                self._tell(me, f"suspects {name}, and has had nobody else ask it")

    def questions(self, me: str, life: int, other: str, number: int) -> None:
        """Takes in that a member asks another by itself, and not in somebody's stead, whether it is there."""
        mind, now_s = self._mind(me, life), self.sight.now_s
        asked_s = {n: at for n, at in mind.asked_s.get(other, {}).items() if at >= now_s - QUESTION_S}
        answered_s = mind.answered_s.get(other, {})
        mind.asked_s[other] = asked_s | {number: now_s}
        mind.answered_s[other] = {n: at for n, at in answered_s.items() if n in asked_s}

    def has_help(self, me: str, life: int, other: str) -> None:
        """Takes in that a member has others ask whether one is there."""
        self._mind(me, life).helped_s[other] = self.sight.now_s

    def goes_on(self, me: str, life: int, table: Table) -> None:
        """Judges what a member is to have done by now."""
        mind, now_s = self._mind(me, life), self.sight.now_s
        counted = [of for of, line in table.items() if line.verdict[1] < DEAD]
        mind.came_s = {of: mind.came_s.get(of, now_s) for of in counted}
        suspects = [(of, line.verdict) for of, line in table.items() if line.verdict[1] == SUSPECT and of != me]
        mind.suspects_s = {place: mind.suspects_s.get(place, now_s) for place in suspects}
        if not any(line.verdict[1] == DEAD for of, line in table.items() if of != me) or table[me].verdict[1] >= DEAD:
            mind.mourns_s = inf
        elif mind.mourns_s == inf:
            mind.mourns_s = now_s
        elif now_s > mind.mourns_s + DEAD_ASKED_S:
            if not self.sight.stalled(me, mind.mourns_s, now_s, 0.0):
                self._tell(me, f"has asked none of those that it holds for dead in {now_s - mind.mourns_s:.1f} s")
            mind.mourns_s = now_s

    # -- inside --------------------------------------------------------------------------------

    def _mind(self, me: str, life: int) -> _Mind:
        known = self._minds.get(me)
        if known is None or known.life != life:
            known = self._minds[me] = _Mind(life)
        return known

    def _words(self, of: str, verdict: Verdict | None) -> str:
        if verdict is None:
            return f"nothing of {self.sight.called(of)}"
        what = ("lives", "is suspect", "is dead", "has left")[verdict[1]]
        return f"that {self.sight.called(of)} {what} under incarnation {verdict[0]}"

    def _tell(self, me: str, what: str) -> None:
        self.tell(f"at {self.sight.now_s:.3f} s {self.sight.called(me)} {what}")
