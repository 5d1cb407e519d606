"""The model of what members know tells of words that are not taken in, of marks that differ, and of haste."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from simulations.model.members.known import ALIVE, DEAD, LEFT, QUESTION_S, SUSPECT, Facts, Known, Line, Table, Verdict

FACTS = Facts(b"life", "10.0.0.1:1", 1, False, b"disk")
LEAVING = FACTS._replace(leaving=True)


def table(verdict: Verdict = (1, ALIVE), facts: Facts = FACTS, **others: Verdict) -> Table:
    """Makes what a knows: of itself, of b as is said, and of others."""
    return {
        "a": Line((1, ALIVE), FACTS),
        "b": Line(verdict, facts),
        **{of: Line(each, FACTS) for of, each in others.items()},
    }


@dataclass
class Case:
    """A member, a, and what was told of it."""

    now_s: float = 100.0
    stood_still: bool = False
    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rules = Known(self, self.told.append)

    def called(self, member: str) -> str:
        return member

    def stalled(self, member: str, from_s: float, until_s: float, least_s: float) -> bool:
        return self.stood_still

    def hears(self, line: Line, before: Table, after: Table) -> str:
        self.rules.hears("a", {"b": [line]}, before, after)
        return " ".join(self.told)

    def suspects(self, *, helped: bool = True, answered: bool = False, number: int = 7) -> str:
        self.rules.goes_on("a", 1, table(c=(1, ALIVE)))
        self.rules.questions("a", 1, "b", 7)
        if helped:
            self.rules.has_help("a", 1, "b")
        self.now_s += 1.0
        if answered:
            self.rules.answered("a", 1, "b", number)
        self.rules.thinks("a", 1, table(c=(1, ALIVE)), table((1, SUSPECT), c=(1, ALIVE)))
        return " ".join(self.told)


@pytest.mark.parametrize(
    ("word", "before", "after", "is_amiss"),
    [
        ((1, DEAD), (1, ALIVE), (1, DEAD), False),
        ((1, DEAD), (1, ALIVE), (1, ALIVE), True),
        ((2, ALIVE), (1, DEAD), (2, ALIVE), False),
        ((2, ALIVE), (1, DEAD), (1, DEAD), True),
        ((1, ALIVE), (1, SUSPECT), (1, SUSPECT), False),
        ((1, LEFT), (1, DEAD), (1, DEAD), True),
    ],
)
def test_of_two_verdicts_the_greater_counts(word: Verdict, before: Verdict, after: Verdict, is_amiss: bool) -> None:
    assert bool(Case().hears(Line(word), table(before), table(after))) == is_amiss


def test_what_a_member_says_anew_of_itself_is_taken_in() -> None:
    assert not Case().hears(Line((2, ALIVE), LEAVING), table(), table((2, ALIVE), LEAVING))
    assert "and knows ('10.0.0.1:1', 1, False)" in Case().hears(Line((2, ALIVE), LEAVING), table(), table((2, ALIVE)))


def test_a_death_that_another_view_has_accuses_and_does_not_condemn() -> None:
    def said(after: Verdict) -> str:
        case = Case()
        case.rules.compares("a", {"b": Line((1, DEAD))}, table(), table(after))
        return " ".join(case.told)

    assert said((1, SUSPECT)) == ""
    assert "takes b for dead at once" in said((1, DEAD))
    assert "was told that b is suspect" in said((1, ALIVE))


def test_under_one_incarnation_a_member_is_one_thing() -> None:
    case = Case()
    case.rules.describes("b", 1, FACTS)
    case.rules.describes("b", 2, LEAVING)
    assert case.told == []

    case.rules.describes("b", 1, LEAVING)

    assert "b says of itself under incarnation 1" in case.told[0]


@pytest.mark.parametrize(
    "tell",
    [
        lambda rules: rules.marks("a", 7, frozenset({("a", 1, False), ("b", 1, True)})),
        lambda rules: rules.marks("a", 8, frozenset({("a", 1, False), ("b", 1, False)})),
    ],
)
def test_a_mark_is_of_one_view(tell: Callable[[Known], None]) -> None:
    case = Case()
    for _ in range(2):
        case.rules.marks("b", 7, frozenset({("a", 1, False), ("b", 1, False)}))
    assert case.told == []

    tell(case.rules)

    assert "a tells of view" in case.told[0]


def test_nobody_is_suspected_who_has_answered_or_whom_others_were_not_asked_to_ask() -> None:
    assert Case().suspects() == ""
    assert "which has answered 0.00 s ago" in Case().suspects(answered=True)
    assert Case().suspects(answered=True, number=6) == ""
    assert "has had nobody else ask it" in Case().suspects(helped=False)
    assert "before it stood still itself" in Case(stood_still=True).suspects()


def test_one_that_has_answered_another_question_may_owe_the_answer_to_an_older_one() -> None:
    case = Case()
    case.rules.questions("a", 1, "b", 6)
    case.rules.goes_on("a", 1, table((1, DEAD)))
    assert case.suspects(answered=True) == ""

    case.now_s += QUESTION_S
    assert "which has answered 0.00 s ago" in case.suspects(answered=True)


def test_who_has_come_since_another_was_asked_could_not_be_asked_to_help() -> None:
    case = Case()
    case.rules.goes_on("a", 1, table())
    case.rules.questions("a", 1, "b", 7)
    case.now_s += 0.5
    case.rules.goes_on("a", 1, table(c=(1, ALIVE)))

    case.rules.thinks("a", 1, table(c=(1, ALIVE)), table((1, SUSPECT), c=(1, ALIVE)))

    assert case.told == []


def test_who_has_come_since_the_last_turn_could_not_be_asked_to_help() -> None:
    case = Case()
    case.rules.goes_on("a", 1, table())
    case.rules.questions("a", 1, "b", 7)

    case.rules.thinks("a", 1, table(c=(1, ALIVE)), table((1, SUSPECT), c=(1, ALIVE)))

    assert case.told == []


def test_a_suspect_is_told_what_is_held_against_it() -> None:
    case = Case()
    case.rules.goes_on("a", 1, table((1, SUSPECT)))
    case.now_s += 1.0

    case.rules.asks("a", 1, "b", (1, SUSPECT), ["b"])
    assert case.told == []

    case.rules.asks("a", 1, "b", (1, SUSPECT), [])
    assert "asks b, which it suspects, and does not say so" in case.told[0]


def test_whoever_holds_others_for_dead_asks_one_of_them_now_and_then() -> None:
    case = Case()
    for _ in range(20):
        case.rules.goes_on("a", 1, table((1, DEAD)))
        case.rules.asks("a", 1, "b", (1, DEAD), ["b"])
        case.now_s += 1.0
    assert case.told == []

    for _ in range(20):
        case.rules.goes_on("a", 1, table((1, DEAD)))
        case.now_s += 1.0

    assert "a has asked none of those that it holds for dead in 17.0 s" in case.told[0]
