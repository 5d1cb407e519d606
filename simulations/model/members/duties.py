"""The rules of what members owe each other: whom they compare views with, what they pass on, and to whom.

Who is counted again is asked for all that it knows, and told that it was held dead. A newcomer compares views again a
second later, for as long as that brings news, and so does everybody with one whose mark is another one though no news
is under way. What is news to somebody is told a number of times by that one, also to those who are held dead since a
moment ago; what is overruled is told no more, and a death gets no younger by being told (docs/overlay.md).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from math import ceil, inf, log10
from typing import Final, NamedTuple

from ..acknowledged import Tell
from .known import ALIVE, DEAD, LEFT, SUSPECT, Sight, Table, Verdict

ASKED_S: Final = 1.05
"""An address is asked once in a second."""
REPAIRED_S: Final = 6.3
"""Of differing marks there is one in five seconds that matters, and views may have been compared just before."""
AGAIN_S: Final = (0.9, 2.5)
"""When a newcomer compares views again, by whatever clock, and however long the answer takes."""
TOLD: Final = 4
"""News is told so often, times the decimal logarithm of the cluster,"""
TOLD_WITHIN_S: Final = 20.0
"""within this time, though the messages are small."""
AT_ONCE: Final = 3
"""So many are told of news at a time."""
LATELY_S: Final = 28.0
"""Whoever was declared dead no longer ago is told, too."""
OLD_S: Final = 35.0
"""Whoever was declared dead so long ago is not."""
AGE_S: Final = 1.0
NO_MARK: Final = -1
DRIFT: Final = 0.95

Told = tuple[str, Verdict]
"""A rumour: of whom, and what."""


class Step(NamedTuple):
    """A step of one member: what it knew before and after, and what it is about to do."""

    before: Table
    after: Table
    compares: Collection[str] = ()
    """The addresses with whose members it is about to compare views,"""
    tells: Iterable[tuple[str, Collection[Told]]] = ()
    """and the news that it sends by itself, each to an address."""


@dataclass(slots=True)
class _News:
    """A rumour that a member has to pass on."""

    since_s: float
    members: int
    told: int = 0


@dataclass(slots=True)
class _Member:
    """One life of a member."""

    life: int
    began_s: float
    remembered: Mapping[str, Verdict] = field(default_factory=dict)
    """What it knew as it began: nobody has declared that in this life."""
    compared_s: dict[str, float] = field(default_factory=dict)
    """When it last wanted to compare views with whom, by address."""
    again: tuple[str, float, int] | None = None
    """With whom a newcomer compares views again; when it did so last, and the mark of its view then."""
    differed: bool = False
    """Its mark was another one when it might have done so,"""
    same: bool = False
    """or the same."""
    news: dict[Told, _News] = field(default_factory=dict)
    by_view: dict[str, Verdict] = field(default_factory=dict)
    """What it learnt by comparing views: that overrules no news that is under way."""
    charged: set[Told] = field(default_factory=set)
    """The deaths of those that it counts again, of which it tells these."""
    died_s: dict[str, float] = field(default_factory=dict)
    """When it declared whom dead, or heard of that at once,"""
    since_s: dict[Told, float] = field(default_factory=dict)
    """and since when those are dead or gone of whom it was told how long they are."""


@dataclass(slots=True)
class Duties:
    """Judges what members do, against what they know."""

    sight: Sight
    tell: Tell
    _members: dict[str, _Member] = field(default_factory=dict)

    # -- what a member does --------------------------------------------------------------------

    def does(self, me: str, life: int, step: Step, heard: Mapping[str, Collection[Verdict]] | None = None) -> None:
        """Judges a step; ``heard``: the rumours on others that led to it, if it was not taken by itself."""
        mind, now_s = self._member(me, life, step.before), self.sight.now_s
        self._counts_again(me, mind, step)
        mind.compared_s.update(dict.fromkeys(step.compares, now_s))
        for of, line in step.after.items():
            was = step.before.get(of)
            if of == me or was is None or was.verdict == line.verdict:
                continue
            mind.since_s.pop((of, was.verdict), None)
            if line.verdict[1] == DEAD and was.verdict[1] < DEAD:
                mind.died_s[of] = now_s
            elif line.verdict[1] < DEAD:
                mind.died_s.pop(of, None)
            if heard is not None and not heard:
                mind.by_view[of] = line.verdict
            is_news = heard is None or line.verdict in heard.get(of, ())
            if is_news and line.verdict[1] != LEFT:
                counted = sum(each.verdict[1] < DEAD for each in step.after.values())
                mind.news[of, line.verdict] = _News(now_s, counted)
        if heard is None:
            self._reaches_the_dead(me, mind, step)
        self._has_told(me, mind, step.after)

    def wants(self, me: str, life: int, addresses: Iterable[str]) -> None:
        """Takes in with whom one that has not joined yet wants to compare views."""
        self._member(me, life).compared_s.update(dict.fromkeys(addresses, self.sight.now_s))

    def joined(self, me: str, life: int, address: str, table: Table) -> None:
        """Takes in that a newcomer has compared views for the first time, with whom, and what it knows by now."""
        mind = self._member(me, life, table)
        mind.again, mind.differed, mind.same = (address, self.sight.now_s, NO_MARK), False, False

    def looks(self, me: str, life: int, mark: int, compares: Collection[str]) -> None:
        """Judges whether a newcomer has compared views again by now; ``mark`` is that of its view."""
        mind, now_s = self._member(me, life), self.sight.now_s
        if mind.again is None:
            return
        address, last_s, before = mind.again
        if address in compares and last_s + 0.05 < now_s < last_s + AGAIN_S[0]:
            # For another reason, too.
            mind.again = None
        elif address in compares and now_s > last_s + 0.05:
            goes_on = before == NO_MARK or (mark != before and not mind.same)
            mind.again = (address, now_s, mark) if goes_on else None
            mind.differed = mind.same = False
        elif mind.same or mind.compared_s.get(address, -inf) > last_s:
            # That brought nothing; or it was asked for another reason, and is not asked twice in a second.
            mind.again = None
        elif now_s > last_s + AGAIN_S[1]:
            mind.again = None
            if mind.differed and not self.sight.stalled(me, last_s, now_s, 0.0):
                first = "it joined" if before == NO_MARK else "that brought news"
                self._tell(me, f"has not compared views again with {address} {now_s - last_s:.2f} s after {first}")
        elif now_s > last_s + AGAIN_S[0]:
            mind.differed |= mark != before
            mind.same |= mark == before

    def hears_a_mark(self, me: str, life: int, other: str, compares: Collection[str]) -> None:
        """Judges what comes of a mark that is another one than a member's own, though no news is under way."""
        mind, now_s = self._member(me, life), self.sight.now_s
        if not compares and now_s > max(mind.compared_s.values(), default=mind.began_s) + REPAIRED_S:
            self._tell(me, f"heard that {self.sight.called(other)} has another view, and does not compare views")

    # -- what a member says --------------------------------------------------------------------

    def says(self, me: str, life: int, words: Iterable[Told], table: Table) -> None:
        """Judges rumours as they leave."""
        mind = self._member(me, life, table)
        for of, verdict in words:
            if (news := mind.news.get((of, verdict))) is not None:
                news.told += 1
            held = table.get(of)
            lives_on = held is not None and held.verdict[1] == ALIVE and verdict[0] < held.verdict[0]
            is_excused = (of, verdict) in mind.charged or held is None or mind.by_view.get(of) == held.verdict
            # What it has said of itself may be news all the same.
            if of != me and held is not None and lives_on and verdict[1] in (SUSPECT, DEAD) and not is_excused:
                text = f"tells of {self.sight.called(of)} what it was under incarnation {verdict[0]}"
                self._tell(me, f"{text}, and knows that it lives under {held.verdict[0]}")

    def was_told(self, me: str, life: int, ages: Mapping[Told, float], after: Table) -> None:
        """Takes in for how long others are dead or gone, as another view has it; ``after``: what came of it."""
        mind = self._member(me, life, after)
        for (of, verdict), age_s in ages.items():
            held = after.get(of)
            if held is not None and held.verdict == verdict and (of, verdict) not in mind.since_s:
                mind.since_s[of, verdict] = self.sight.now_s - age_s

    def tells_ages(self, me: str, life: int, ages: Mapping[Told, float]) -> None:
        """Judges for how long others are dead or gone, as a member tells it."""
        mind, now_s = self._member(me, life), self.sight.now_s
        for (of, verdict), age_s in ages.items():
            is_s = now_s - mind.since_s.get((of, verdict), inf)
            if age_s < DRIFT * is_s - AGE_S:
                text = f"says that {self.sight.called(of)} is away for {age_s:.1f} s"
                self._tell(me, f"{text}, and was told of {is_s:.1f} s")

    # -- inside --------------------------------------------------------------------------------

    def _member(self, me: str, life: int, table: Table | None = None) -> _Member:
        known = self._members.get(me)
        if known is None or known.life != life:
            known = self._members[me] = _Member(life, self.sight.now_s)
        if table and not known.remembered:
            known.remembered = {of: line.verdict for of, line in table.items()}
        return known

    def _counts_again(self, me: str, mind: _Member, step: Step) -> None:
        """Judges what a member does for one that it did not count, and counts from now on."""
        for of, line in step.after.items():
            was = step.before.get(of)
            if was is None or was.facts is None or line.facts is None:
                continue
            if was.verdict[1] < DEAD or line.verdict[1] >= DEAD:
                continue
            name, address = self.sight.called(of), line.facts.address
            if address not in step.compares and self.sight.now_s > mind.compared_s.get(address, mind.began_s) + ASKED_S:
                self._tell(me, f"counts {name} again, and does not ask it for what it knows")
            mind.charged.add((of, (was.verdict[0], DEAD)))
            is_declared = was.verdict[1] == DEAD and mind.remembered.get(of) != was.verdict
            if is_declared and was.facts.boot == line.facts.boot:
                said = {word for to, words in step.tells if to == address for word in words}
                if not any(each == of and verdict[1] == DEAD for each, verdict in said):
                    self._tell(me, f"counts {name} again, and does not tell it that it was held dead")

    def _reaches_the_dead(self, me: str, mind: _Member, step: Step) -> None:
        """Judges to whom the first news of a death goes, where all are told at once."""
        if me not in step.after or step.after[me].verdict[1] >= DEAD:
            return
        fresh = self._untold_deaths(mind, step.after)
        listeners = [of for of, line in step.after.items() if of != me and self._listens(mind, of, line.verdict[1])]
        if not fresh or len(listeners) > AT_ONCE:
            return
        words = {word for _, told in step.tells for word in told}
        reached = {address for address, _ in step.tells}
        for of in sorted(of for of in fresh if (of, step.after[of].verdict) in words):
            facts = step.after[of].facts
            if facts is not None and facts.address not in reached:
                self._tell(me, f"tells all that {self.sight.called(of)} is dead, and not that one itself")

    def _untold_deaths(self, mind: _Member, table: Table) -> set[str]:
        """Returns who has died lately, of which nobody was told yet."""
        lately = {of for of, at_s in mind.died_s.items() if at_s > self.sight.now_s - LATELY_S and of in table}
        return {of for of in lately if (news := mind.news.get((of, table[of].verdict))) and not news.told}

    def _listens(self, mind: _Member, of: str, state: int) -> bool:
        """Tells whether a member is one of those that are told news: it is there, or died lately."""
        return state < DEAD or (state < LEFT and mind.died_s.get(of, inf) > self.sight.now_s - OLD_S)

    def _has_told(self, me: str, mind: _Member, table: Table) -> None:
        """Judges whether news was told often enough in its time."""
        now_s = self.sight.now_s
        others = sum(line.verdict[1] < DEAD for of, line in table.items() if of != me)
        if not others or me not in table or table[me].verdict[1] >= DEAD:
            mind.news.clear()
        for (of, verdict), news in list(mind.news.items()):
            held = table.get(of)
            if held is None or held.verdict != verdict:
                del mind.news[of, verdict]
                continue
            news.members = min(news.members, others + 1)
            if now_s > news.since_s + TOLD_WITHIN_S:
                del mind.news[of, verdict]
                least = TOLD * max(1, ceil(log10(news.members + 1)))
                if news.told < least and not self.sight.stalled(me, news.since_s, now_s, 0.0):
                    text = f"has told others {news.told} times only what is news of {self.sight.called(of)}"
                    self._tell(me, f"{text} since {news.since_s:.2f} s, and not {least} times")

    def _tell(self, me: str, what: str) -> None:
        self.tell(f"at {self.sight.now_s:.3f} s {self.sight.called(me)} {what}")
