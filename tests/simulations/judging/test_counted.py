"""The model of what owners count on tells of a copy that is counted and is not there."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from simulations.model.counted import Accounts, Counted
from simulations.model.stores import StandingRow, Stores, phase_of, stamp_of
from simulations.record.disk_taps import DiskTaps
from tests.simulations.judging.test_acknowledged import DONE, LINK, QUEUED, Seen

BUCKET = 5
DROPPED = stamp_of(0, 1, 1, 0)


def take_in(stores: Stores, *rows: tuple[Any, ...]) -> None:
    """Has rows that change at m0's disk taken in, a transaction each, at 5 s."""
    deaf = dict.fromkeys(("has_ended", "has_stored_records", "goes_back"), lambda *_, **__: None)
    taps = DiskTaps(stores, lambda: 5.0, cast(Any, SimpleNamespace(**deaf)))
    for row in rows:
        taps.committed("m0", [row])


@dataclass
class Serving(Seen):
    """Knows who serves what, too."""

    is_served: bool = True

    def serves(self, master: str, bucket: int) -> bool:
        return self.is_served


@dataclass
class Case:
    """An owner of a page that has ended, which counts the copy of another."""

    sight: Serving = field(default_factory=Serving)
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


@pytest.mark.parametrize(
    ("before", "held", "is_amiss"),
    [(DONE, DONE, False), (DONE, DROPPED, True), (DROPPED, DROPPED, False), (DROPPED, QUEUED, True)],
)
def test_beginning_of_another_visit_need_not_reach_the_copies(before: int, held: int, is_amiss: bool) -> None:
    case = Case()
    take_in(case.stores, ("r", 4, *LINK, BUCKET, 0, phase_of(before), 1, 0), ("r", 4, *LINK, BUCKET, 1, 0, 0, 0))
    case.stores.store("m1").held[LINK] = held

    assert bool(case.look()) is is_amiss


@pytest.mark.parametrize(("held", "is_amiss"), [(DROPPED, False), (QUEUED, True)])
def test_visit_has_ended_one_way_or_another_before_the_next_begins(held: int, is_amiss: bool) -> None:
    case = Case()
    case.stores.store("m0").records[LINK] = stamp_of(1, 0, 0, 0)
    case.stores.store("m1").held[LINK] = held

    assert bool(case.look()) is is_amiss


def test_row_may_be_on_its_way_for_a_while() -> None:
    case = Case()
    case.stores.store("m0").changed[LINK] = 90.0

    assert case.look() == []


def test_who_was_away_lately_is_not_looked_at() -> None:
    case = Case()
    case.sight.away = frozenset({"m1"})

    assert case.look() == []


def test_owner_knows_what_a_holder_knows_that_it_counts() -> None:
    case = Case()
    case.stores.store("m0").records[LINK] = QUEUED
    case.stores.store("m1").held[LINK] = DONE

    assert case.look() == [
        "at 100.000 s m0 counts m1's copy of bucket 5, which has page 2, and itself knows of visit 0, phase 0 only"
    ]


@pytest.mark.parametrize(("standing", "is_amiss"), [((3, 0), False), ((3, 2), True), ((2, 0), True), (None, True)])
def test_holder_has_noted_that_its_copy_counts(standing: tuple[int, int] | None, is_amiss: bool) -> None:
    case = Case()
    case.stores.store("m1").held[LINK] = DONE
    case.stores.store("m0").standings[BUCKET] = StandingRow(3, 0, 0, "")
    if standing is not None:
        case.stores.store("m1").standings[BUCKET] = StandingRow(*standing, 0, "")

    assert bool(case.look()) is is_amiss


def test_holder_may_hear_of_an_epoch_later_than_its_owner_has_it_on_its_disk_and_before_that_is_served() -> None:
    case = Case(Serving(is_served=False))
    case.stores.store("m1").held[LINK] = DONE
    case.stores.store("m0").standings[BUCKET] = StandingRow(3, 0, 0, "")
    case.stores.store("m1").standings[BUCKET] = StandingRow(2, 0, 0, "")

    assert case.look() == []


class Named(Seen):
    """Knows members by the names of their machines."""

    def called(self, member: str) -> str:
        return member


def looked_at(keeper: str, began_s: float, away: str, looks: dict[float, list[str]]) -> list[str]:
    """Has judged who keeps what m0 has counted, at each of these moments with those that are up then."""
    told, stores, sight = list[str](), Stores(), Named(away=frozenset({away} - {""}))
    stores.store("m0").worked[1] = began_s
    stores.store(keeper).accounts[1, "m0", "life", ""] = 3
    rules = Accounts(stores, sight, 2, told.append)
    for sight.now_s, up in looks.items():
        rules.look(up)
    return told


CALM = {at_s: ["m0", "m1"] for at_s in (90.0, 92.0, 94.0, 96.0, 98.0, 100.0)}


@pytest.mark.parametrize(
    ("keeper", "began_s", "away", "is_amiss"),
    [("m0", 80.0, "", True), ("m1", 80.0, "", False), ("m0", 95.0, "", False), ("m0", 80.0, "m1", False)],
)
def test_what_a_master_has_counted_is_with_another_one(keeper: str, began_s: float, away: str, is_amiss: bool) -> None:
    told = looked_at(keeper, began_s, away, CALM)

    assert told == (["at 100.000 s what m0 has counted is kept by nobody only, of 1 others"] if is_amiss else [])


@pytest.mark.parametrize(
    "looks",
    [CALM | {92.0: ["m0", "m1", "m2"]}, {at_s: up for at_s, up in CALM.items() if at_s != 94.0}],
    ids=["one was there then", "not calm then"],
)
def test_others_are_told_anew_after_a_death(looks: dict[float, list[str]]) -> None:
    assert looked_at("m0", 80.0, "", looks) == []


@pytest.mark.parametrize("is_end", [True, False], ids=["has ended", "is given back"])
def test_master_has_counted_something_when_a_page_has_ended_there(is_end: bool) -> None:
    stores = Stores()
    store = stores.store("m0")
    store.numbers[4], store.leases[4], store.records[LINK] = LINK, 9, QUEUED
    ended = [("r", 4, *LINK, BUCKET, 0, 1, 1, 0)] if is_end else []
    ears: Any = SimpleNamespace(has_ended=lambda *_, **__: None, has_stored_records=lambda *_: None)

    DiskTaps(stores, lambda: 5.0, ears).committed("m0", [*ended, ("e", 4, 9)])

    assert store.worked == ({LINK[2]: 5.0} if is_end else {})
