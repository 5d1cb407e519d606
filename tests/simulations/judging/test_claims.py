"""The model of claims tells of one that was refused, and was not made again."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from simulations.model.members.claims import Claims


@dataclass
class Case:
    """A master, m0, that has claimed buckets of m1 and was told no, and what was told of it."""

    now_s: float = 100.0
    acts_in: int = 7
    serving: frozenset[int] = frozenset()
    there: frozenset[str] = frozenset({"m1"})
    away: frozenset[str] = frozenset()
    cut: bool = False
    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rules = Claims(self, self.told.append)
        self.rules.claims("m0", "m1", 1)
        self.rules.is_refused("m0", "m1", 1, [3, 4])

    def view(self, master: str) -> int:
        return self.acts_in

    def life(self, node: str) -> int:
        return 1

    def fellows(self, master: str) -> frozenset[str]:
        return self.there

    def away_since(self, since_s: float) -> frozenset[str]:
        return self.away

    def struck(self, node: str, from_s: float, until_s: float) -> bool:
        return self.cut

    def serves(self, master: str, bucket: int) -> bool:
        return bucket in self.serving

    def owned(self, master: str) -> frozenset[int]:
        return frozenset({3, 4})

    def look(self, *, calm: bool = True) -> list[str]:
        self.now_s += 6.0
        self.rules.look(calm=calm)
        return self.told


def test_a_claim_that_was_refused_is_made_again() -> None:
    assert Case(serving=frozenset({3})).look() == [
        "at 106.000 s m0 was told at 100.000 s by m1 that it does not let go of bucket 4, and has not asked again"
    ]

    case = Case()
    case.rules.claims("m0", "m1", 2)
    # What was answered to the one before is no answer to this one.
    case.rules.is_refused("m0", "m1", 1, [3, 4])

    assert case.look() == []


def test_who_was_told_no_in_a_view_that_it_has_left_since_need_not_ask_in_time_when_it_is_back_in_it() -> None:
    case = Case()
    case.acts_in = 8
    case.rules.acts("m0")
    case.now_s, case.acts_in = 118.0, 7
    case.rules.acts("m0")

    case.rules.claims("m0", "m1", 2)

    assert case.told == []


@pytest.mark.parametrize(("later_s", "cut", "is_amiss"), [
    (1.1, False, False), (2.2, False, True), (2.2, True, False),
])  # fmt: skip
def test_it_is_made_again_soon(later_s: float, *, cut: bool, is_amiss: bool) -> None:
    case = Case(cut=cut)
    case.now_s += later_s

    case.rules.claims("m0", "m1", 2)

    assert bool(case.told) == is_amiss


def test_what_is_in_anybodys_way_is_waited_for() -> None:
    case = Case()

    case.look(calm=False)
    assert case.look() == []
    case.now_s += 20.0

    assert len(case.look()) == 1


@pytest.mark.parametrize("why", ["another view", "served", "gone", "away"])
def test_nobody_need_ask_again_who_does_not_wait_for_it_any_more(why: str) -> None:
    case = Case()
    match why:
        case "another view":
            case.acts_in = 8
        case "served":
            case.serving = frozenset({3, 4})
        case "gone":
            case.there = frozenset()
        case _:
            case.away = frozenset({"m0"})

    assert case.look() == []


@pytest.mark.parametrize(("buckets", "view", "is_amiss"), [([3, 4], 7, False), ([3, 5], 7, True), ([3, 5], 6, False)])
def test_what_is_claimed_is_ones_own_in_the_view_of_the_claim(buckets: list[int], view: int, is_amiss: bool) -> None:
    case = Case()

    case.rules.claims_in("m0", "m1", buckets, view)

    assert any("bucket 5, which is another's" in what for what in case.told) == is_amiss
