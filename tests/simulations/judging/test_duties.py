"""The model of what members owe each other tells of news that is kept, of views not compared, and of old words."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from simulations.model.members.duties import Duties, Step
from simulations.model.members.known import ALIVE, DEAD, SUSPECT, Facts, Line, Table, Verdict

LIFE = 1


def table(**verdicts: Verdict) -> Table:
    """Makes what a knows of itself and of others."""
    known = {"a": (1, ALIVE), **verdicts}
    return {of: Line(verdict, Facts(b"life", f"at {of}", 1, False, b"disk")) for of, verdict in known.items()}


@dataclass
class Case:
    """A member, a, and what was told of it."""

    now_s: float = 100.0
    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rules = Duties(self, self.told.append)
        self.rules.does("a", LIFE, Step(table(b=(1, ALIVE)), table(b=(1, ALIVE))), {})

    def called(self, member: str) -> str:
        return member

    def stalled(self, member: str, from_s: float, until_s: float, least_s: float) -> bool:
        return False

    def counts_again(self, *, asks: bool = True, says: bool = True) -> list[str]:
        """Lets it count b, which it held dead."""
        self.rules.does("a", LIFE, Step(table(b=(1, ALIVE)), table(b=(1, DEAD))), {})
        self.now_s += 3.0
        tells = [("at b", [("b", (1, DEAD))])] if says else []
        step = Step(table(b=(1, DEAD)), table(b=(2, ALIVE)), ["at b"] if asks else [], tells)
        self.rules.does("a", LIFE, step, {"b": [(2, ALIVE)]})
        return self.told


def test_who_is_counted_again_is_asked_and_told() -> None:
    assert Case().counts_again() == []
    assert "does not ask it for what it knows" in Case().counts_again(asks=False)[0]
    assert "does not tell it that it was held dead" in Case().counts_again(says=False)[0]


def test_what_an_earlier_life_has_remembered_nobody_has_declared() -> None:
    case = Case()
    case.rules.does("a", 2, Step(table(b=(1, DEAD)), table(b=(1, DEAD))), {})
    case.rules.does("a", 2, Step(table(b=(1, DEAD)), table(b=(2, ALIVE)), ["at b"]), {"b": [(2, ALIVE)]})

    assert case.told == []


@pytest.mark.parametrize(("looks", "is_amiss"), [
    ([(1.0, True)], False), ([(1.0, False), (2.6, False)], True), ([(0.5, True), (1.5, False), (3.2, False)], False),
])  # fmt: skip
def test_newcomer_compares_views_again(looks: list[tuple[float, bool]], is_amiss: bool) -> None:
    case = Case()
    case.rules.joined("a", LIFE, "at b", table())
    for after_s, asks in looks:
        case.now_s = 100.0 + after_s
        case.rules.looks("a", LIFE, 7, ["at b"] if asks else [])

    assert bool(case.told) == is_amiss


@pytest.mark.parametrize(("mark", "is_amiss"), [(7, False), (8, True)])
def test_newcomer_goes_on_as_long_as_that_brings_news(mark: int, is_amiss: bool) -> None:
    case = Case()
    case.rules.joined("a", LIFE, "at b", table())
    case.now_s += 1.0
    case.rules.looks("a", LIFE, 7, ["at b"])
    for after_s in (1.0, 1.6):
        case.now_s += after_s
        case.rules.looks("a", LIFE, mark, [])

    assert bool(case.told) == is_amiss


def test_who_has_another_view_is_asked_for_it() -> None:
    case = Case()
    case.now_s += 10.0
    case.rules.hears_a_mark("a", LIFE, "b", ["at b"])
    assert case.told == []

    case.rules.hears_a_mark("a", LIFE, "b", [])

    assert "a heard that b has another view" in case.told[0]


@pytest.mark.parametrize(("times", "is_amiss"), [(4, False), (3, True)])
def test_news_is_told_a_few_times(times: int, is_amiss: bool) -> None:
    case = Case()
    known = table(b=(1, SUSPECT), c=(1, ALIVE))
    case.rules.does("a", LIFE, Step(table(b=(1, ALIVE), c=(1, ALIVE)), known), {"b": [(1, SUSPECT)]})
    for _ in range(times):
        case.rules.says("a", LIFE, [("b", (1, SUSPECT))], known)
    case.now_s += 21.0
    case.rules.does("a", LIFE, Step(known, known))

    assert bool(case.told) == is_amiss


@pytest.mark.parametrize(("reached", "is_amiss"), [(["at b", "at c"], False), (["at c"], True)])
def test_who_is_dead_is_told_so(reached: list[str], is_amiss: bool) -> None:
    case = Case()
    before, after = table(b=(1, SUSPECT), c=(1, ALIVE)), table(b=(1, DEAD), c=(1, ALIVE))

    case.rules.does("a", LIFE, Step(before, after, (), [(to, [("b", (1, DEAD))]) for to in reached]))

    assert bool(case.told) == is_amiss


@pytest.mark.parametrize(("verdict", "is_amiss"), [((2, ALIVE), False), ((1, ALIVE), False), ((1, SUSPECT), True)])
def test_what_is_overruled_is_told_no_more(verdict: Verdict, is_amiss: bool) -> None:
    case = Case()

    case.rules.says("a", LIFE, [("b", verdict)], table(b=(2, ALIVE)))

    assert bool(case.told) == is_amiss


@pytest.mark.parametrize(("age_s", "is_amiss"), [(15.0, False), (5.0, True)])
def test_death_gets_no_younger(age_s: float, is_amiss: bool) -> None:
    case = Case()
    case.rules.was_told("a", LIFE, {("b", (1, DEAD)): 10.0}, table(b=(1, DEAD)))
    case.now_s += 5.0

    case.rules.tells_ages("a", LIFE, {("b", (1, DEAD)): age_s})

    assert bool(case.told) == is_amiss
