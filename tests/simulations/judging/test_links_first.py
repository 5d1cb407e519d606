"""The model of links first tells of one that speaks of pages, or gives something away, while it alone has links."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from simulations.model.stores import Stores
from simulations.model.work.links_first import WAITED_S, LinksFirst
from tests.simulations.judging.pages import DONE, LINK, PAGE, QUEUED, SeenPages

BEHIND = "while it alone had page 2, to which page 1 leads"


@dataclass
class Seen(SeenPages):
    """What somebody saw of two masters, each of which holds what the other one owns."""

    now_s: float = 100.0
    others: frozenset[str] = frozenset({"m1"})
    holding: tuple[str, ...] = ("m0", "m1")
    is_damaged: bool = False

    def fellows(self, master: str) -> frozenset[str]:
        return self.others

    def holders(self, master: str, bucket: int) -> tuple[str, ...]:
        return self.holding

    def damaged(self) -> bool:
        return self.is_damaged


@dataclass
class Case:
    """A master that has a page done, whose link nobody else has; the other one is there."""

    sight: Seen = field(default_factory=Seen)
    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.stores = Stores(bucket_of={PAGE: 4, LINK: 5})
        self.rules = LinksFirst(self.stores, self.sight, {PAGE: [LINK]}, self.told.append)
        self.own, self.other = self.stores.store("m0"), self.stores.store("m1")
        self.own.records.update({PAGE: DONE, LINK: QUEUED})

    def speaks(self) -> list[str]:
        """Has the first one speak of the page, and let go of buckets, a second later."""
        self.sight.now_s += 1.0
        self.rules.copies("m0", "m1", [(LINK, QUEUED)])
        self.rules.copies("m0", "m1", [(PAGE, DONE)])
        self.rules.lets_go("m0", "m1")
        self.rules.syncs("m0", "m1")
        return self.told


def test_who_begins_with_links_of_its_own_sends_them_first() -> None:
    case = Case()
    case.rules.started("m0")

    assert case.speaks() == [
        f"at 101.000 s m0 told m1 that page 1 is done, {BEHIND}",
        f"at 101.000 s m0 let m1 have buckets, {BEHIND}",
        f"at 101.000 s m0 told m1 that its copies are whole, {BEHIND}",
    ]


def test_who_has_sent_them_may_say_all() -> None:
    case = Case()
    case.rules.started("m0")
    case.other.held[LINK] = QUEUED

    assert case.speaks() == []


def test_who_was_alone_and_meets_somebody_sends_first_what_it_has_found() -> None:
    case = Case(Seen(others=frozenset()))
    del case.own.records[LINK]
    case.rules.started("m0")
    case.rules.looks("m0")
    case.own.records[LINK], case.own.came[LINK] = QUEUED, 100.0
    case.rules.looks("m0")
    case.sight.others = frozenset({"m1"})
    case.rules.looks("m0")

    assert len(case.speaks()) == 3


def test_what_is_found_when_somebody_is_there_goes_its_usual_way() -> None:
    case = Case(Seen(others=frozenset()))
    case.rules.looks("m0")
    case.sight.others, case.sight.now_s = frozenset({"m1"}), 101.0
    case.own.came[LINK] = 101.0
    case.rules.looks("m0")

    assert case.speaks() == []


@pytest.mark.parametrize(
    "seen",
    [Seen(holding=("m0",)), Seen(is_set_back=True), Seen(is_damaged=True), Seen(is_deleted=True)],
    ids=["nobody is to hold it", "a disk was set back", "a disk was damaged", "the job is deleted"],
)
def test_where_nobody_can_know_nothing_is_told(seen: Seen) -> None:
    case = Case(seen)
    case.rules.started("m0")

    assert case.speaks() == []


def test_what_was_with_one_whose_disk_is_lost_is_not_held_against_anybody() -> None:
    case = Case()
    case.other.held[LINK] = QUEUED
    case.stores.lose("m1", 90.0)
    case.rules.lost()
    case.rules.started("m0")

    assert case.speaks() == []


def test_nobody_waits_for_ever() -> None:
    case = Case()
    case.rules.started("m0")
    case.sight.now_s += WAITED_S

    assert case.speaks() == []
