"""The model of rumours tells who was called dead or gone too soon, and who did not answer for itself."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from simulations.model.members.rumours import ALIVE, DEAD, LEFT, SUSPECT, Rumours, Word

LIFE = 1
ALL = frozenset({"a", "b", "c", "d", "e"})


@dataclass
class SeenByAll:
    """Five members that count each other."""

    now_s: float = 100.0
    away_for_good: set[str] = field(default_factory=set)
    still_s: float = 0.0
    stalled: list[tuple[float, float]] = field(default_factory=list)

    def stalls(self, member: str, from_s: float, until_s: float) -> list[tuple[float, float]]:
        return [(max(began_s, from_s), min(ended_s, until_s)) for began_s, ended_s in self.stalled]

    def counted(self, member: str) -> frozenset[str]:
        return ALL

    def stood_still_s(self, member: str) -> float:
        return self.still_s

    def dismissed(self, member: str) -> bool:
        return member in self.away_for_good

    def called(self, member: str) -> str:
        return member


@dataclass
class Case:
    """Members that have spoken under incarnation 3, and what was told of them."""

    sight: SeenByAll = field(default_factory=SeenByAll)
    told: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rules = Rumours(self.sight, self.told.append, self.gone.append)
        for member in sorted(ALL):
            self.rules.said(member, LIFE, [Word(ALIVE, member, 3)])
            self.rules.speaks(member, LIFE, 3)

    def suspects(self, *accusers: str) -> None:
        """Lets a suspect b, and others too."""
        self.rules.said("a", LIFE, [Word(SUSPECT, "b", 3, "a")])
        for accuser in accusers:
            self.rules.heard("a", LIFE, [Word(SUSPECT, "b", 3, accuser)])

    def condemns(self, after_s: float, asked: int = 4) -> list[str]:
        """Lets a declare b dead, having asked it a few times just before."""
        self.sight.now_s += after_s
        for _ in range(asked):
            self.rules.asks("a", LIFE, "b")
        self.rules.said("a", LIFE, [Word(DEAD, "b", 3, "a")])
        return self.told


@pytest.mark.parametrize(
    ("accusers", "after_s", "is_amiss"),
    [
        ("", 35.0, False),
        ("", 33.0, True),
        ("cde", 6.0, False),
        ("cde", 5.0, True),
        ("c", 21.0, False),
        ("c", 19.0, True),
    ],
)
def test_suspicion_lasts_the_longer_the_fewer_accuse(accusers: str, after_s: float, is_amiss: bool) -> None:
    case = Case()
    case.suspects(*accusers)

    told = case.condemns(after_s)

    assert bool(told) is is_amiss


def test_same_accuser_counts_once() -> None:
    case = Case()
    case.suspects("c", "c", "c")

    told = case.condemns(10.0)

    assert told == ["at 110.000 s a declares b dead after a suspicion of 10.00 s; "
                    "with 2 accusers it takes 19.95 s at least"]  # fmt: skip


def test_suspect_is_asked_for_a_last_word() -> None:
    case = Case()
    case.suspects()

    assert case.condemns(40.0, asked=1) == ["at 140.000 s a declares b dead, and asked it 1 times for a last word"]


@pytest.mark.parametrize(("still_s", "is_amiss"), [(5.0, False), (2.0, True)])
def test_word_that_was_about_to_leave_when_its_speaker_stood_still_leaves_later(still_s: float, is_amiss: bool) -> None:
    case = Case()
    case.suspects()
    case.sight.now_s += 35.0
    for _ in range(4):
        case.rules.asks("a", LIFE, "b")

    case.sight.still_s = still_s

    assert bool(case.condemns(5.0, asked=0)) == is_amiss


@pytest.mark.parametrize(("stalled_s", "is_amiss"), [(0.0, False), (5.0, True)])
def test_time_in_which_the_accuser_stood_still_does_not_count(stalled_s: float, is_amiss: bool) -> None:
    case = Case()
    case.suspects()
    case.sight.stalled = [(110.0, 110.0 + stalled_s)]

    assert bool(case.condemns(36.0)) == is_amiss


@pytest.mark.parametrize(("last_s", "is_amiss"), [(109.5, True), (105.0, False)])
def test_who_has_a_turn_seldom_need_not_have_missed_one(last_s: float, is_amiss: bool) -> None:
    case = Case()
    case.suspects()
    case.sight.stalled = [(110.0, 115.0)]
    for turn_s in last_s, 115.5:
        case.sight.now_s = turn_s
        case.rules.goes_on("a", LIFE, [])
    case.sight.now_s = 100.0

    assert bool(case.condemns(36.0)) == is_amiss


def test_suspect_is_heard_after_the_accuser_stood_still() -> None:
    case = Case()
    case.suspects()
    case.sight.now_s += 60.0
    for _ in range(4):
        case.rules.asks("a", LIFE, "b")
    case.sight.stalled = [(160.2, 161.5)]

    assert "asked it 0 times" in case.condemns(2.0, asked=0)[0]


@pytest.mark.parametrize(
    ("accusers", "after_s", "is_amiss"), [("", 38.0, False), ("", 41.0, True), ("cde", 17.0, True)]
)
def test_suspicion_is_over_in_time(accusers: str, after_s: float, is_amiss: bool) -> None:
    case = Case()
    case.rules.heard("a", LIFE, [Word(SUSPECT, "b", 3, by) for by in accusers])
    case.suspects()
    case.sight.now_s += after_s

    case.rules.goes_on("a", LIFE, [("b", 3)])

    assert bool(case.told) == is_amiss


def test_death_that_somebody_has_told_is_not_ones_own() -> None:
    case = Case()
    case.suspects()
    case.rules.heard("a", LIFE, [Word(DEAD, "b", 3, "c")])

    assert case.condemns(1.0, asked=0) == []


def test_whom_the_other_side_holds_for_dead_is_a_suspect_here() -> None:
    case = Case()
    case.rules.heard("a", LIFE, [Word(DEAD, "b", 3)], view_of="c")

    told = case.condemns(1.0)

    assert len(told) == 1


@pytest.mark.parametrize(("speaks_under", "is_amiss"), [(3, True), (4, False)])
def test_who_is_accused_refutes_it(speaks_under: int, is_amiss: bool) -> None:
    case = Case()
    case.rules.heard("b", LIFE, [Word(SUSPECT, "b", 3, "a")])

    case.rules.speaks("b", LIFE, speaks_under)

    assert bool(case.told) is is_amiss


def test_who_comes_back_exceeds_its_life_before() -> None:
    case = Case()
    case.rules.outlives("b", LIFE + 1, 3)

    case.rules.speaks("b", LIFE + 1, 2)

    assert len(case.told) == 1


def test_who_is_asked_answers_before_it_hears_more() -> None:
    case = Case()
    case.rules.is_asked("b", LIFE, 7)
    case.rules.answers("b", LIFE, 7)
    case.rules.heard("b", LIFE, [])
    case.rules.is_asked("b", LIFE, 8)

    case.rules.heard("b", LIFE, [])

    assert case.told == ["at 100.000 s b was asked whether it is there, and did not answer"]


def test_only_a_member_itself_says_that_it_has_left_or_a_person() -> None:
    case = Case()
    case.rules.said("b", LIFE, [Word(LEFT, "b", 3)])
    case.sight.away_for_good.add("c")

    for gone in "bcd":
        case.rules.said("a", LIFE, [Word(LEFT, gone, 3)])

    assert case.gone == ["b"]
    assert case.told == ["at 100.000 s a says that d has left, which has not said so"]


def test_nobody_raises_the_incarnation_of_another() -> None:
    case = Case()

    case.rules.said("a", LIFE, [Word(ALIVE, "b", 4)])

    assert case.told == ["at 100.000 s a speaks of incarnation 4 of b, which never had one above 3"]


def test_rumour_that_is_passed_on_for_ever_is_told_once() -> None:
    case = Case()

    for _ in range(100):
        case.rules.said("a", LIFE, [Word(SUSPECT, "b", 3, "c")])

    assert len(case.told) == 1
