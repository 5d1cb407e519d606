"""The model of what owners count on tells of a copy that is counted and is not there."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from simulations.model.counted import Counted
from simulations.model.stores import Stores, stamp_of
from tests.simulations.judging.test_acknowledged import DONE, LINK, QUEUED, Seen

BUCKET = 5


@dataclass
class Case:
    """An owner of a page that has ended, which counts the copy of another."""

    sight: Seen = field(default_factory=Seen)
    stores: Stores = field(default_factory=Stores)
    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.stores.bucket_of[LINK] = BUCKET
        self.stores.store("m0").records[LINK] = DONE
        self.stores.store("m1")
        self.rules = Counted(self.stores, self.sight, self.told.append)

    def look(self) -> list[str]:
        self.rules.look("m0", "m1", {BUCKET})
        return self.told


@pytest.mark.parametrize(("held", "said"), [(None, "has it not"), (QUEUED, "knows of visit 0, phase 0 only")])
def test_copy_that_is_counted_has_what_its_owner_has(held: int | None, said: str) -> None:
    case = Case()
    if held is not None:
        case.stores.store("m1").held[LINK] = held

    told = case.look()

    assert told == [f"at 100.000 s m0 counts m1's copy of bucket 5, which of page 2 {said}"]


def test_tries_are_copied_with_what_comes_of_them() -> None:
    case = Case()
    case.stores.store("m0").records[LINK] = stamp_of(0, 0, 2, 0)
    case.stores.store("m1").held[LINK] = QUEUED

    assert case.look() == []


def test_row_may_be_on_its_way_for_a_while() -> None:
    case = Case()
    case.stores.store("m0").changed[LINK] = 60.0

    assert case.look() == []


def test_who_was_away_lately_is_not_looked_at() -> None:
    case = Case()
    case.sight.away = frozenset({"m1"})

    assert case.look() == []
