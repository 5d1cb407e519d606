"""The model of known ends tells of items that go out while one master alone knows that their page has ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from simulations.model.stores import Stores, standing_row
from simulations.model.work.known_ends import LOOKED_FOR_S, KnownEnds
from simulations.record.disk_taps import DiskTaps
from tests.simulations.judging.pages import DONE, PAGE, QUEUED, SeenPages


@dataclass
class Seen(SeenPages):
    """What somebody saw of two masters."""

    now_s: float = 100.0
    others: frozenset[str] = frozenset({"m1"})
    away: frozenset[str] = frozenset()
    is_damaged: bool = False

    def fellows(self, master: str) -> frozenset[str]:
        return self.others

    def holders(self, master: str, bucket: int) -> tuple[str, ...]:
        return "m0", "m1"

    def away_since(self, since_s: float) -> frozenset[str]:
        return self.away

    def damaged(self) -> bool:
        return self.is_damaged


@dataclass
class Case:
    """A page that has ended at m0 a moment ago, and that m1 has queued."""

    sight: Seen = field(default_factory=Seen)
    replicas: int = 2
    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.stores = Stores(bucket_of={PAGE: 4})
        self.rules = KnownEnds(self.stores, self.sight, self.replicas, self.told.append)
        own = self.stores.store("m0")
        own.records[PAGE], own.ended[PAGE] = DONE, 99.0
        self.stores.store("m1").held[PAGE] = QUEUED

    def brings(self) -> list[str]:
        self.rules.brought("m0", [PAGE])
        return self.told


def test_items_go_out_when_another_one_knows_the_end() -> None:
    case = Case()
    case.stores.store("m1").held[PAGE] = DONE

    assert case.brings() == []


def test_items_of_an_end_that_one_alone_knows_are_held_against_it() -> None:
    assert Case().brings() == [
        "at 100.000 s m0 gives a sink the items of page 1, whose end it alone has since 99.000 s, though m1 is there"
    ]


def test_who_is_back_is_held_to_that_from_its_first_moment_on() -> None:
    case = Case(Seen(others=frozenset()))
    case.rules.started("m0")
    case.sight.now_s += LOOKED_FOR_S / 2
    case.rules.looks("m0")
    case.sight.others = frozenset({"m1"})

    assert "since 100.000 s" in case.brings()[0]


@pytest.mark.parametrize("how", ["began", "noted", "ended since"])
def test_who_is_back_brings_what_it_had_when_its_copies_are_whole(how: str) -> None:
    case = Case()
    case.stores.store("m1").held[PAGE] = DONE
    case.rules.started("m0")
    if how != "ended since":
        del case.stores.store("m0").ended[PAGE]
    if how == "noted":
        case.rules.notes("m0", [4])

    assert bool(case.brings()) == (how == "began")


@pytest.mark.parametrize("refused", [False, True])
def test_what_a_sink_has_refused_before_may_be_brought_again(refused: bool) -> None:
    case = Case()
    case.stores.store("m1").held[PAGE] = DONE
    case.rules.started("m0")
    del case.stores.store("m0").ended[PAGE]

    case.rules.brought("m0", [PAGE], [PAGE] if refused else [])

    assert bool(case.told) != refused


@pytest.mark.parametrize(("lack", "held", "is_amiss"), [(7, DONE, False), (7, QUEUED, True), (0, DONE, True)])
def test_of_a_bucket_that_is_not_whole_itself_its_holders_have_the_end(lack: int, held: int, is_amiss: bool) -> None:
    case = Case()
    case.stores.store("m1").held[PAGE] = held
    case.stores.store("m2").held[PAGE] = DONE
    case.stores.store("m0").standings[4] = standing_row(7, lack, 3, "")
    case.rules.started("m0")
    del case.stores.store("m0").ended[PAGE]

    assert bool(case.brings()) == is_amiss


def test_who_was_the_only_one_brings_what_it_has() -> None:
    case = Case(Seen(others=frozenset()))
    case.rules.started("m0")
    case.sight.now_s += 2 * LOOKED_FOR_S
    case.rules.looks("m0")
    case.sight.others = frozenset({"m1"})

    assert case.brings() == []


@pytest.mark.parametrize(("later_s", "is_amiss"), [(0.3, False), (1.5, True)])
def test_end_of_one_that_was_alone_is_stored_a_moment_later(later_s: float, is_amiss: bool) -> None:
    case = Case(Seen(others=frozenset()))
    case.rules.looks("m0")
    case.stores.store("m0").ended[PAGE] = case.sight.now_s = case.sight.now_s + later_s
    case.sight.others = frozenset({"m1"})

    assert bool(case.brings()) == is_amiss


def test_who_knew_it_and_lost_its_disk_counts() -> None:
    case = Case()
    case.stores.store("m1").held[PAGE] = DONE
    case.stores.lose("m1", 99.5)

    assert case.brings() == []


@pytest.mark.parametrize(
    "seen",
    [
        Seen(others=frozenset()),
        Seen(away=frozenset({"m1"})),
        Seen(is_set_back=True),
        Seen(is_damaged=True),
        Seen(is_deleted=True),
    ],
    ids=["nobody is there", "the other one was away", "a disk was set back", "a disk was damaged", "deleted"],
)
def test_where_nobody_else_need_know_it_nothing_is_told(seen: Seen) -> None:
    assert Case(seen).brings() == []


def test_with_one_copy_nobody_else_is_to_know_it() -> None:
    assert Case(replicas=1).brings() == []


def test_end_is_as_old_as_it_is_on_the_disk_however_often_it_is_written_or_held_besides() -> None:
    stores, ears = (
        Stores(),
        SimpleNamespace(has_ended=lambda *_, **__: None, has_stored_records=lambda *_: None, goes_back=lambda *_: None),
    )
    own: tuple[Any, ...] = ("r", 1, *PAGE, 5, 0)
    for at_s, row in (
        (1.0, (*own, 0, 0, 0)), (2.0, (*own, 3, 1, 0)), (3.0, ("h", 5, *PAGE, QUEUED)), (4.0, (*own, 3, 1, 0)),
    ):  # fmt: skip
        DiskTaps(stores, lambda at_s=at_s: at_s, cast("Any", ears)).committed("m0", [row])  # type: ignore[misc]

    assert stores.store("m0").ended == {PAGE: 2.0}
