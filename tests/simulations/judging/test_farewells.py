"""The model of farewells tells of a good-bye before others have said that they have everything."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from simulations.model.members.farewells import Farewells


@dataclass
class Case:
    """A master, m0, that leaves m1 and m2, of which each owns a bucket, and what was told of it."""

    now_s: float = 100.0
    acts_in: int = 7
    there: frozenset[str] = frozenset({"m1", "m2"})
    away: frozenset[str] = frozenset()
    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rules = Farewells(self, {1, 2}, self.told.append)

    def view(self, master: str) -> int:
        return self.acts_in

    def others(self, master: str) -> frozenset[str]:
        return self.there

    def holders(self, master: str, bucket: int) -> tuple[str, ...]:
        return (f"m{bucket}", "m3")

    def away_since(self, since_s: float) -> frozenset[str]:
        return self.away

    def disk_s(self, node: str) -> float:
        return 0.0

    def comes_to(self, view: int) -> None:
        self.acts_in = view
        self.rules.acts("m0")
        self.now_s += 5.0

    def leaves(self) -> list[str]:
        self.rules.leaves("m0")
        return self.told


def confirmed(*owners: int) -> Case:
    case = Case()
    case.comes_to(8)
    for owner in owners:
        case.rules.confirms("m0", f"m{owner}", [owner, 64])
    return case


def test_who_was_told_by_all_owners_that_others_have_everything_leaves() -> None:
    assert confirmed(1, 2).leaves() == []


def test_and_nobody_else() -> None:
    assert confirmed(1).leaves() == [
        "at 105.000 s m0 says that it has left and handed over everything, and m2 has not said of bucket 2, in this "
        "view, that others have it"
    ]


@pytest.mark.parametrize(("late_s", "is_amiss"), [(5.0, True), (0.5, False)])
def test_what_owners_of_an_earlier_view_have_said_is_no_word_of_those_of_this_one(
    late_s: float, is_amiss: bool
) -> None:
    case = confirmed(1, 2)
    case.comes_to(9)
    case.now_s += late_s - 5.0

    assert bool(case.leaves()) == is_amiss


def test_nor_what_was_said_before_a_bucket_was_taken() -> None:
    case = confirmed(1, 2)
    case.rules.is_taken("m0", {2, 5})
    assert case.leaves() == []
    case.now_s += 2.0

    assert "bucket 2" in case.leaves()[0]


def test_who_is_the_last_hands_nothing_over() -> None:
    case = Case(there=frozenset())

    assert case.leaves() == []


@pytest.mark.parametrize(("answered", "away", "is_amiss"), [
    (False, frozenset(), True), (True, frozenset(), False), (False, frozenset({"m1"}), False),
])  # fmt: skip
def test_nor_while_a_link_is_on_its_way(answered: bool, away: frozenset[str], is_amiss: bool) -> None:
    case = confirmed(1, 2)
    case.away = away
    case.rules.tells("m0", "m1", 3)
    if answered:
        case.rules.is_answered("m0", "m1", 3)
    case.now_s += 2.0

    assert any("m1 has not answered it" in what for what in case.leaves()) == is_amiss


@pytest.mark.parametrize(("is_refused", "is_amiss"), [(False, False), (True, True)])
def test_a_word_of_which_the_answer_could_not_leave_counts(is_refused: bool, is_amiss: bool) -> None:
    case = confirmed(1)
    case.rules.is_asked("m0", "m2", 4, [2])
    if is_refused:
        case.rules.answers("m0", "m2", 4)

    assert bool(case.leaves()) == is_amiss
