"""The model of the order that loses nothing tells of ends that go ahead of links, and of items ahead of ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from simulations.model.stores import Stores
from simulations.model.work.order import ON_ITS_WAY_S, Order
from simulations.record.disk_taps import DiskTaps
from tests.simulations.judging.pages import DONE, LINK, PAGE, QUEUED, SeenPages


@dataclass
class Seen(SeenPages):
    """What somebody saw of three masters that act in one view: m0 owns two buckets that others hold."""

    now_s: float = 100.0
    acts_in: int = 0xA
    away: frozenset[str] = frozenset()

    seen_by: dict[str, int] = field(default_factory=dict)
    """The views of those that act in others."""

    def view(self, master: str) -> int:
        return self.seen_by.get(master, self.acts_in)

    def life(self, node: str) -> int:
        return 1

    def away_since(self, since_s: float) -> frozenset[str]:
        return self.away

    serving: bool = True
    leaving: frozenset[str] = frozenset()

    def fellows(self, master: str) -> frozenset[str]:
        return frozenset({"m1", "m2", *self.leaving})

    def follows(self, owner: str, other: str, bucket: int) -> bool:
        return other in self.holders(owner, bucket)[1:] or other in self.leaving

    def in_service(self, master: str, bucket: int) -> bool:
        return self.serving

    def holders(self, master: str, bucket: int) -> tuple[str, ...]:
        return ("m0", "m1") if bucket == 4 else ("m0", "m2")


@dataclass
class Case:
    """A page that m0 has done, and the link that it led to; the copies of both were whole before."""

    sight: Seen = field(default_factory=Seen)
    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.stores = Stores(bucket_of={PAGE: 4, LINK: 5})
        self.rules = Order(self.stores, self.sight, {PAGE: [LINK]}, self.told.append)
        self.rules.looks("m0")
        self.rules.whole("m1", "m0", [4])
        self.rules.whole("m2", "m0", [5])
        self.sight.now_s = 110.0
        mine = self.stores.store("m0")
        mine.records |= {PAGE: DONE, LINK: QUEUED}
        mine.known[LINK] = mine.changed[LINK] = mine.changed[PAGE] = 109.0
        self.stores.store("m1").held[PAGE] = DONE
        self.stores.store("m2")


def test_an_end_goes_to_copies_when_its_links_have_theirs() -> None:
    case = Case()

    case.rules.copied("m1", PAGE)
    assert case.told == [
        "at 110.000 s m1 has a copy that says that page 1 is done, and m2 has nothing of page 2, which m0 has had since"
        " 109.000 s"
    ]
    case.stores.store("m2").held[LINK] = QUEUED
    case.rules.copied("m1", PAGE)
    assert len(case.told) == 1


@pytest.mark.parametrize(("left_s", "elsewhere", "view", "is_amiss"), [
    (109.5, True, 0xB, False), (109.5, True, 0xA, True), (109.5, False, 0xB, True), (108.5, True, 0xB, True),
    (None, True, 0xB, True),
])  # fmt: skip
def test_a_holder_may_have_dropped_what_it_had_when_others_have_it_by_its_own_view(
    left_s: float | None, elsewhere: bool, view: int, *, is_amiss: bool
) -> None:
    case = Case()
    case.sight.seen_by["m2"] = view
    if left_s is not None:
        case.stores.store("m2").left[LINK] = left_s, QUEUED
    if elsewhere:
        case.stores.store("m3").held[LINK] = QUEUED

    case.rules.copied("m1", PAGE)

    assert bool(case.told) == is_amiss


@pytest.mark.parametrize("leaving", ["", "m3"])
def test_a_link_is_acknowledged_when_all_who_follow_its_bucket_have_it(leaving: str) -> None:
    case = Case()
    case.sight.leaving = frozenset(filter(None, [leaving]))
    case.stores.store(leaving or "m2")

    case.rules.followed("m0", "m1", [LINK], 108.0)
    assert "of which m2 has nothing" in case.told[0]
    case.stores.store("m2").held[LINK] = QUEUED
    case.rules.followed("m0", "m1", [LINK], 108.0)

    assert len(case.told) == (2 if leaving else 1)


@pytest.mark.parametrize("why", ["known before", "another view", "taken since", "not served", "lost"])
def test_what_an_owner_knew_or_takes_over_its_holders_may_lack(why: str) -> None:
    case = Case()
    match why:
        case "known before":
            case.stores.store("m0").known[LINK] = 107.0
        case "another view":
            case.sight.acts_in = 0xB
        case "taken since":
            case.rules.takes("m0", {5})
        case "not served":
            case.sight.serving = False
        case "lost":
            case.stores.store("m2").held[LINK] = QUEUED
            case.stores.lose("m2", 109.5)
            case.stores.store("m2")

    case.rules.followed("m0", "m1", [LINK], 108.0)

    assert case.told == []


def test_by_another_view_others_hold_them() -> None:
    case = Case()
    case.sight.acts_in = 0xB
    case.rules.looks("m0")

    case.rules.copied("m1", PAGE)

    assert case.told == []


@pytest.mark.parametrize(("since_s", "elsewhere", "is_amiss"), [
    (109.0, "", True), (109.0, "held", False), (109.0, "spooled", False), (109.0, "lost", False), (95.0, "", False),
])  # fmt: skip
def test_no_link_that_its_owner_has_found_is_with_it_alone_by_whatever_view(
    since_s: float, elsewhere: str, *, is_amiss: bool
) -> None:
    """What it knew before it began, or took the bucket over, it has not found."""
    case = Case()
    case.sight.now_s = 96.0
    case.rules.started("m0")
    case.sight.now_s, case.sight.acts_in = 110.0, 0xB
    case.rules.looks("m0")
    case.stores.store("m0").known[LINK] = since_s
    other = case.stores.store("m3")
    match elsewhere:
        case "held":
            other.held[LINK] = QUEUED
        case "spooled":
            other.spooled[LINK] = 1
        case "lost":
            other.held[LINK] = QUEUED
            case.stores.lose("m3", 109.5)

    case.rules.copied("m1", PAGE)

    assert bool(case.told) == is_amiss


def test_what_was_taken_over_is_compared_anew() -> None:
    case = Case()
    case.rules.takes("m0", {5})

    case.rules.copied("m1", PAGE)

    assert case.told == []


def test_items_go_out_when_the_end_of_their_page_has_its_copies() -> None:
    case = Case()
    case.rules.brought([PAGE])
    assert case.told == []

    case.stores.store("m1").held[PAGE] = QUEUED
    case.rules.brought([PAGE])
    assert case.told == [
        "at 110.000 s a sink is given the items of page 1, of whose end m1 has no copy, and m0 has it since 109.000 s"
    ]


def test_that_a_page_was_put_into_the_job_when_it_had_ended_holds_up_no_items() -> None:
    case = Case()
    case.stores.store("m0").records[PAGE] |= 1

    case.rules.brought([PAGE])

    assert case.told == []


@pytest.mark.parametrize(
    ("notes", "away", "is_amiss"),
    [
        ({}, frozenset(), True),
        ({}, frozenset({"m1"}), False),
        ({9: (111.0, 59.0)}, frozenset(), False),
        ({9: (111.0, 20.0)}, frozenset(), True),
    ],
)
def test_holders_know_what_a_host_has_asked_for(
    notes: dict[int, tuple[float, float]], away: frozenset[str], is_amiss: bool
) -> None:
    case = Case(Seen(away=away))
    case.rules.paused("m0", "h0.test", 9, 4, 60.0)
    case.stores.store("m1").notes |= notes

    case.sight.now_s += ON_ITS_WAY_S + 1.0
    case.rules.look()

    assert bool(case.told) == is_amiss


def test_who_says_that_it_knows_has_it_on_its_disk() -> None:
    case = Case()

    case.rules.noted("m1", "m0", [(9, 30.0)], 109.5)

    assert case.told == [
        "at 110.000 s m1 told m0 that it knows what a host asks, which is to be left alone for 30 s, and its disk says"
        " nothing of it"
    ]


@pytest.mark.parametrize("is_held", [True, False])
def test_a_holder_that_held_nothing_for_a_while_is_not_held_to_what_it_was_told_before(is_held: bool) -> None:
    case = Case()
    holders = {"m0": ("m0", "m2")} if is_held else {}

    case.sight.holders = lambda master, bucket: holders.get(master, ("m2", "m0"))  # type: ignore[method-assign]
    case.sight.now_s, case.sight.acts_in = 101.0, 0xB
    case.rules.looks("m0")
    del case.sight.holders
    case.sight.now_s, case.sight.acts_in = 102.0, 0xC
    case.rules.looks("m0")
    case.sight.now_s = 110.0
    case.rules.copied("m1", PAGE)

    assert bool(case.told) == is_held


def test_a_link_that_had_its_copy_when_it_was_acknowledged_has_gone_first_though_that_copy_is_lost() -> None:
    case = Case()
    case.rules.started("m0")
    case.stores.store("m0").known[LINK] = 120.0
    case.stores.store("m0").changed[PAGE] = 121.0
    case.stores.store("m2").held[LINK] = QUEUED
    case.stores.lose("m2", 125.0)

    case.sight.now_s = 300.0
    case.rules.copied("m1", PAGE)

    assert case.told == []


def test_what_is_taken_in_from_ones_own_copies_was_known_since_they_came() -> None:
    stores = Stores()
    ears: Any = SimpleNamespace(has_ended=lambda *_, **__: None, has_stored_records=lambda *_: None)

    DiskTaps(stores, lambda: 100.0, ears).committed("m0", [("h", 5, *LINK, QUEUED)])
    DiskTaps(stores, lambda: 110.0, ears).committed("m0", [("r", 1, *LINK, 5, 0, 0, 0, 0)])

    store = stores.store("m0")
    assert (store.known[LINK], store.came[LINK]) == (100.0, 110.0)
