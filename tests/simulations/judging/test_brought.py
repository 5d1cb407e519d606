"""The model of copies that count tells of those whose holder was not brought to all in the life that it is in."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from simulations.model.members.brought import Brought
from simulations.model.stores import StandingRow, Stores

BUCKET = 32


@dataclass
class Case:
    """An owner, m0, and a holder, m1, which has noted that its copies are whole."""

    now_s: float = 100.0
    told: list[str] = field(default_factory=list)
    held_by: tuple[str, ...] = ("m0", "m1")

    def __post_init__(self) -> None:
        self.stores = Stores()
        self.stores.store("m0").standings[BUCKET] = StandingRow(4, 0, 0, "")
        self.rules = Brought(self.stores, self, {BUCKET}, self.told.append)
        self.rules.notes("m1", "m0", [BUCKET])

    def holders(self, master: str, bucket: int) -> tuple[str, ...]:
        return self.held_by

    def damaged(self) -> bool:
        return False

    def looks(self, times: int = 2) -> list[str]:
        for _ in range(times):
            self.rules.look("m0", "m1", {BUCKET})
        return self.told


def test_copy_counts_that_its_holder_knows_to_be_whole() -> None:
    assert Case().looks() == []


@pytest.mark.parametrize("who", ["m0", "m1"])
def test_copy_that_was_brought_to_another_life_does_not_count(who: str) -> None:
    case = Case()
    case.rules.started(who)

    assert case.looks() == ["at 100.000 s m0 counts m1's copy of bucket 32, which has not noted since that it has all"]


@pytest.mark.parametrize("between", [("m2", "m1"), ("m0", "m2")])
def test_copy_does_not_count_of_what_was_anothers_since(between: tuple[str, ...]) -> None:
    case = Case()
    case.held_by = between
    case.rules.acts("m0")
    case.held_by = "m0", "m1"
    case.rules.acts("m0")

    assert len(case.looks()) == 1


def test_copy_is_compared_again_when_something_of_others_was_joined() -> None:
    case = Case()
    case.rules.joins("m0", BUCKET)
    assert len(case.looks()) == 1

    case.rules.notes("m1", "m0", [BUCKET])

    assert len(case.looks()) == 1


def test_what_is_so_for_a_moment_is_on_its_way() -> None:
    case = Case()
    case.rules.started("m1")
    case.looks(1)
    case.rules.notes("m1", "m0", [BUCKET])

    assert case.looks() == []


def test_nobody_is_told_that_he_has_all_of_what_is_lacking() -> None:
    case = Case()
    case.rules.started("m1")
    case.stores.store("m0").standings[BUCKET] = StandingRow(4, 4, 0, "")

    assert case.looks() == []
