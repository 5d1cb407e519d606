"""The rules of what members say of each other: who may say that somebody lives, is suspect, is dead, or has left.

They are those of docs/overlay.md. Only a member itself raises its incarnation and says good-bye; who hears an
accusation of itself refutes it before it says anything else; who is asked answers at once; and whoever declares another
dead has suspected it for as long as that takes, and asked it for a last word. A rumour is passed on a few times, and
dies out.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from math import ceil, log, log10
from typing import Final, NamedTuple, Protocol

from ..acknowledged import Tell

ALIVE, SUSPECT, DEAD, LEFT = "alive", "suspect", "dead", "left"
LEAST_S: Final = 6.0
"""The shortest suspicion, with as many accusers as are wanted; in a cluster of more than ten it is longer."""
LONGEST: Final = 6.0
"""With one accuser it lasts so many times as long."""
ACCUSERS: Final = 3
"""So many besides the first bring it to the least time."""
DRIFT: Final = 0.95
"""Clocks differ by 2 %, and what is said was decided a moment before."""
HEARINGS: Final = 3
"""A suspect is asked four times before it is declared dead; one of them may be late."""
HEARING_S: Final = 2.6
"""So long before that at most."""
STALL_S: Final = 1.0
"""Who stood still for so long has noticed;"""
TURN_S: Final = 1.2
"""between two turns of one that does not doubt itself there is no more than this;"""
LATELY_S: Final = 20.0
"""how long there is for one that does shows in a time like this;"""
AWAKE_S: Final = 0.1
"""what it was about to say then it says so soon after."""
LATE_S: Final = 1.5
PASSED_ON: Final = 4
"""A rumour is told so often, times the decimal logarithm of the cluster,"""
TWICE: Final = 2
"""and again when it was forgotten, and came anew."""
STEP: Final = 1 << 10
"""Who is accused under an incarnation further ahead than this cannot follow at once."""


class Word(NamedTuple):
    """A rumour about a member."""

    what: str
    of: str
    incarnation: int
    by: str = ""
    """Who accuses it, or has declared it dead."""


class Sight(Protocol):
    """The harness's own knowledge of the machines. Members are named by their ids."""

    @property
    def now_s(self) -> float: ...

    def counted(self, member: str) -> frozenset[str]:
        """Returns whom a member counts at this moment, itself among them."""

    def stood_still_s(self, member: str) -> float:
        """Returns for how long a member stood still until this moment; 0 if it did not."""

    def stalls(self, member: str, from_s: float, until_s: float) -> list[tuple[float, float]]:
        """Returns from when until when a member stood still between two moments."""

    def dismissed(self, member: str) -> bool:
        """Tells whether a person has said that a member will not come back."""

    def called(self, member: str) -> str:
        """Returns the name of a member."""


@dataclass(slots=True)
class _Suspicion:
    """The suspicion of one member under one incarnation, as somebody knows it."""

    since_s: float
    members: int
    most: int
    """The members that were counted, at least and at most."""
    accusers: set[str] = field(default_factory=set)
    heard: dict[str, float] = field(default_factory=dict)
    """Of these: those of whom it has heard that they accuse, and when first."""


@dataclass(slots=True)
class _Speaker:
    """One life of a member."""

    life: int
    incarnation: int = -1
    """The last that it spoke under; -1: it has not spoken yet."""
    accused: int = -1
    """The greatest under which it has heard that it is suspect, or gone, when it spoke under that at most."""
    gone: bool = False
    """It has said good-bye."""
    owed: int | None = None
    """The question that it has to answer before it does anything else."""
    suspicions: dict[tuple[str, int], _Suspicion] = field(default_factory=dict)
    deaths: set[tuple[str, int]] = field(default_factory=set)
    """The deaths that it was told of, or has declared."""
    asked: dict[str, deque[float]] = field(default_factory=lambda: defaultdict(lambda: deque(maxlen=8)))
    """When it last asked each other whether that is there."""
    passed_on: Counter[Word] = field(default_factory=Counter)
    turn_s: float = 0.0
    """When it last had a turn,"""
    rests: list[tuple[float, float]] = field(default_factory=list)
    """and from when until when it had none: who doubts itself has one seldom."""
    fresh: list[_Suspicion] = field(default_factory=list)
    """The suspicions that began with what it heard or said last: whom it counts with that shows behind it."""

    def between_s(self, still_s: float) -> float:
        """Returns how long it may have had no turn when it stood still: who doubts itself has one seldom."""
        rests = [(last_s, next_s) for last_s, next_s in self.rests if next_s > still_s - LATELY_S and last_s < still_s]
        return max([STALL_S, *(min(next_s, still_s) - last_s for last_s, next_s in rests)])


@dataclass(slots=True)
class Rumours:
    """Judges what members say of each other, against all that they said and heard before."""

    sight: Sight
    tell: Tell
    farewell: Callable[[str], None]
    """Is told who says that it has left, with all handed over, as it says so."""
    _speakers: dict[str, _Speaker] = field(default_factory=dict)
    _highest: dict[str, int] = field(default_factory=dict)
    """The greatest incarnation that each member has ever spoken of itself under."""
    _farewells: set[tuple[str, int]] = field(default_factory=set)
    """Who has said under which incarnation that it has left."""

    # -- what a member hears -------------------------------------------------------------------

    def heard(self, me: str, life: int, words: Collection[Word], *, view_of: str = "") -> None:
        """Takes in rumours that have come to a member; ``view_of``: they are all that another one knows, and may be
        old: whom that holds dead, and who counts here, is accused by it.
        """
        speaker = self._speaker(me, life)
        counted = self._counted(me, speaker, words)
        if speaker.owed is not None:
            speaker.owed = None
            self._tell(me, "was asked whether it is there, and did not answer")
        for word in words:
            if word.of == me:
                self._accused(speaker, word)
            elif word.what == SUSPECT or (word.what == DEAD and view_of and word.of in counted):
                self._suspected(speaker, word._replace(by=word.by or view_of), counted)
                if (suspicion := speaker.suspicions.get((word.of, word.incarnation))) is not None:
                    suspicion.heard.setdefault(word.by or view_of, self.sight.now_s)
            elif word.what in (DEAD, LEFT):
                speaker.deaths.add((word.of, word.incarnation))

    def outlives(self, me: str, life: int, incarnation: int) -> None:
        """Takes in that one who is about to join others hears of an earlier life of its own."""
        speaker = self._speaker(me, life)
        if speaker.incarnation < 0:
            speaker.accused = max(speaker.accused, incarnation)

    def is_asked(self, me: str, life: int, number: int) -> None:
        """Takes in a question to a member that is meant."""
        speaker = self._speaker(me, life)
        if speaker.incarnation >= 0 and not speaker.gone:
            speaker.owed = number

    # -- what a member says --------------------------------------------------------------------

    def answers(self, me: str, life: int, number: int) -> None:
        """Takes in an answer to a question."""
        speaker = self._speaker(me, life)
        if speaker.owed == number:
            speaker.owed = None

    def asks(self, me: str, life: int, other: str) -> None:
        """Takes in that a member asks another whether it is there."""
        self._speaker(me, life).asked[other].append(self.sight.now_s)

    def speaks(self, me: str, life: int, incarnation: int) -> None:
        """Judges the incarnation under which a member speaks."""
        speaker = self._speaker(me, life)
        if not speaker.gone and incarnation <= speaker.accused:
            accused = f"was known, as suspect or gone or in an earlier life, under incarnation {speaker.accused}"
            self._tell(me, f"{accused}, and speaks on under {incarnation}")
        if incarnation < speaker.incarnation:
            self._tell(me, f"spoke under incarnation {speaker.incarnation}, and now under {incarnation}")
        speaker.incarnation, speaker.accused = incarnation, -1
        self._highest[me] = max(incarnation, self._highest.get(me, -1))

    def said(self, me: str, life: int, words: Collection[Word]) -> None:
        """Judges rumours that a member tells."""
        speaker = self._speaker(me, life)
        counted = self._counted(me, speaker, words)
        for word in words:
            if word.of == me:
                self._says_of_itself(speaker, word)
                continue
            self._is_known(me, word)
            place = word.of, word.incarnation
            if word.what == SUSPECT:
                self._suspected(speaker, word._replace(by=word.by or me), counted)
            elif word.what == DEAD and place not in speaker.deaths:
                self._condemns(me, speaker, word)
                speaker.deaths.add(place)
            if word.by not in ("", me):
                self._passes_on(me, speaker, word)

    def goes_on(self, me: str, life: int, suspects: Iterable[tuple[str, int]]) -> None:
        """Judges those whom a member suspects still, under these incarnations: nobody is given more than his time."""
        speaker, now_s = self._speaker(me, life), self.sight.now_s
        if 0.0 < speaker.turn_s < now_s - TURN_S:
            speaker.rests.append((speaker.turn_s, now_s))
        speaker.turn_s = now_s
        for place in suspects:
            if (suspicion := speaker.suspicions.get(place)) is None or place in speaker.deaths:
                continue
            longest_s = _suspicion_s(len(suspicion.heard) or 1, suspicion.most) / DRIFT
            accused_s = max(suspicion.heard.values(), default=suspicion.since_s)
            rested = (until_s - from_s for from_s, until_s in speaker.rests if until_s > suspicion.since_s)
            due_s = max(suspicion.since_s + longest_s, accused_s + HEARING_S) + LATE_S + sum(rested)
            if now_s > due_s and not self.sight.stalls(me, suspicion.since_s, now_s):
                speaker.deaths.add(place)
                text = f"suspects {self.sight.called(place[0])} for {now_s - suspicion.since_s:.2f} s"
                self._tell(
                    me, f"{text}; with {len(suspicion.accusers)} accusers it is to be dead after {longest_s:.2f} s"
                )

    # -- inside --------------------------------------------------------------------------------

    def _speaker(self, me: str, life: int) -> _Speaker:
        known = self._speakers.get(me)
        if known is None or known.life != life:
            known = self._speakers[me] = _Speaker(life)
        return known

    def _counted(self, me: str, speaker: _Speaker, words: Iterable[Word]) -> frozenset[str]:
        """Returns whom a member counts, where that matters for these words: most accuse nobody."""
        if not speaker.fresh and not any(word.what in (SUSPECT, DEAD) for word in words):
            return frozenset()
        counted = self.sight.counted(me)
        for suspicion in speaker.fresh:
            suspicion.members = min(suspicion.members, len(counted))
            suspicion.most = max(suspicion.most, len(counted))
        speaker.fresh.clear()
        return counted

    def _accused(self, speaker: _Speaker, word: Word) -> None:
        if word.what == ALIVE or speaker.gone or not 0 <= speaker.incarnation <= word.incarnation:
            return
        if word.incarnation <= speaker.incarnation + STEP:
            speaker.accused = max(speaker.accused, word.incarnation)

    def _suspected(self, speaker: _Speaker, word: Word, counted: frozenset[str]) -> None:
        place = word.of, word.incarnation
        if word.of not in counted:
            # Since when it is one that may be suspected is not to be seen from here.
            speaker.deaths.add(place)
            return
        suspicion = speaker.suspicions.get(place)
        if suspicion is None:
            suspicion = speaker.suspicions[place] = _Suspicion(self.sight.now_s, len(counted), len(counted))
            speaker.fresh.append(suspicion)
        suspicion.accusers.add(word.by)

    def _says_of_itself(self, speaker: _Speaker, word: Word) -> None:
        if word.what == ALIVE:
            self._highest[word.of] = max(word.incarnation, self._highest.get(word.of, -1))
        elif word.what == LEFT:
            if not speaker.gone:
                self.farewell(self.sight.called(word.of))
            self._farewells.add((word.of, word.incarnation))
        speaker.gone = speaker.gone or word.what in (DEAD, LEFT)

    def _is_known(self, me: str, word: Word) -> None:
        """Judges what only a member itself may have said first."""
        highest = self._highest.get(word.of)
        if highest is not None and word.incarnation > highest:
            name = self.sight.called(word.of)
            self._tell(me, f"speaks of incarnation {word.incarnation} of {name}, which never had one above {highest}")
        left = word.what != LEFT or (word.of, word.incarnation) in self._farewells
        if not left and highest is not None and not self.sight.dismissed(word.of):
            self._tell(me, f"says that {self.sight.called(word.of)} has left, which has not said so")

    def _condemns(self, me: str, speaker: _Speaker, word: Word) -> None:
        """Judges the first word of a member that another is dead, which nobody has told it."""
        suspicion, now_s = speaker.suspicions.get((word.of, word.incarnation)), self.sight.now_s
        if suspicion is None:
            return
        stalls = self.sight.stalls(me, suspicion.since_s, now_s)
        # What was due while it stood still is put off for as long.
        still_s = sum(max(0.0, until_s - from_s - speaker.between_s(from_s)) for from_s, until_s in stalls)
        name, lasted_s = self.sight.called(word.of), now_s - suspicion.since_s - still_s
        least_s = DRIFT * _suspicion_s(len(suspicion.accusers | {me}), suspicion.members)
        if lasted_s < least_s:
            text = f"declares {name} dead after a suspicion of {lasted_s:.2f} s"
            self._tell(me, f"{text}; with {len(suspicion.accusers)} accusers it takes {least_s:.2f} s at least")
        # What it was about to say when it stood still it says when it goes on.
        from_s = now_s - HEARING_S - self.sight.stood_still_s(me)
        awoke_s = max((until_s for began_s, until_s in stalls if until_s - began_s > STALL_S), default=0.0)
        if awoke_s < now_s - AWAKE_S:
            from_s = max(from_s, awoke_s)
        asked = sum(at_s >= from_s for at_s in speaker.asked[word.of])
        if asked < HEARINGS:
            self._tell(me, f"declares {name} dead, and asked it {asked} times for a last word")

    def _passes_on(self, me: str, speaker: _Speaker, word: Word) -> None:
        speaker.passed_on[word] += 1
        most = TWICE * PASSED_ON * max(1, ceil(log10(len(self.sight.counted(me)) + len(self._speakers))))
        if speaker.passed_on[word] == most + 1:
            said = f"that {self.sight.called(word.of)} is {word.what} under incarnation {word.incarnation}"
            self._tell(me, f"has passed on more than {most} times what {self.sight.called(word.by)} said: {said}")

    def _tell(self, me: str, what: str) -> None:
        self.tell(f"at {self.sight.now_s:.3f} s {self.sight.called(me)} {what}")


def _suspicion_s(accusers: int, members: int) -> float:
    """Returns how long so many accusers have to wait in a cluster of so many, at least."""
    least_s = LEAST_S * max(1.0, log10(max(members, 1)))
    wanted = max(0, min(ACCUSERS, members - 2))
    if not wanted:
        return least_s
    share = log(accusers) / log(wanted + 1)
    return max(least_s, LONGEST * least_s - share * (LONGEST - 1.0) * least_s)
