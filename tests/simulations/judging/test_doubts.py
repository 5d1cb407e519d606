"""The model of doubts tells of what is granted though others may serve it, or have more of it."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from simulations.model.members.doubts import Doubts
from simulations.model.standings import Standing
from simulations.model.stores import StandingRow, Stores
from simulations.model.taking.sight import NEVER, Word

BUCKET = 32


@dataclass
class Case:
    """A master, m0, in a view with m1 and m2, that owns the bucket, and what was told of it."""

    now_s: float = 100.0
    told: list[str] = field(default_factory=list)
    still: list[tuple[float, float]] = field(default_factory=list)
    held_s: float = 0.0
    lapsed: bool = False
    words: dict[str, Word] = field(default_factory=dict)
    there: frozenset[str] = frozenset({"m1", "m2"})
    stores: Stores = field(default_factory=Stores)

    def __post_init__(self) -> None:
        self.rules = Doubts(self.stores, self, self, self.told.append)
        self.rules.started("m0")
        self.rules.holds("m0", [], [])
        self.stores.store("m0").standings[BUCKET] = StandingRow(4, 0, 0, "")
        self.rules.acts("m0", frozenset({BUCKET}), ["m1", "m2"])
        self.now_s += 1.0
        self.lets_go("m1", "m2")

    def others(self, master: str) -> frozenset[str]:
        return self.there

    def damaged(self) -> bool:
        return False

    def disk_s(self, node: str) -> float:
        return self.held_s

    def may_not_grant(self, master: str) -> bool:
        return self.lapsed

    def stalls(self, member: str, from_s: float, until_s: float) -> list[tuple[float, float]]:
        return self.still

    def word(self, claimer: str, giver: str, bucket: int) -> Word:
        return self.words.get(giver, NEVER)

    def lets_go(self, *givers: str, epoch: int = 4, asked_s: float | None = None) -> None:
        word = Word(self.now_s, Standing(epoch), self.now_s if asked_s is None else asked_s)
        self.words.update(dict.fromkeys(givers, word))

    def grants(self) -> bool:
        """Lets it grant from the bucket a while later; returns whether that is amiss."""
        self.now_s += 10.0
        self.rules.grants("m0", [BUCKET])
        return bool(self.told)


def test_what_all_have_let_go_of_is_granted() -> None:
    assert not Case().grants()


def test_what_is_gained_is_granted_when_all_have_let_go() -> None:
    case = Case(words={})
    del case.words["m2"]

    assert case.grants()
    assert "m2 has not let go of it" in case.told[0]


@pytest.mark.parametrize("is_back", [True, False])
def test_what_is_served_again_without_consent_is_claimed_anew_when_that_is_back(is_back: bool) -> None:
    case = Case()
    case.now_s += 1.0
    case.rules.lapsed("m0", case.now_s)
    case.now_s += 1.0
    case.lapsed = not is_back

    case.rules.resumes("m0", [BUCKET])

    assert bool(case.told) is is_back


def test_who_is_held_for_dead_is_so_from_when_that_is_heard_till_it_is_no_more() -> None:
    """A member that came to leave is back in the next turn: by then it is not one that was held for dead."""
    rules = Case().rules

    rules.misses("m0", ["m1"])
    rules.holds("m0", [], ["m1"])
    before = rules.missing("m0")
    rules.misses("m0", [])

    assert (before, rules.missing("m0")) == ({"m1"}, set())


@pytest.mark.parametrize(("held_s", "is_amiss"), [(12.0, False), (6.0, True)])
def test_what_a_disk_was_slow_to_note_is_granted_when_it_is_noted(held_s: float, is_amiss: bool) -> None:
    case = Case(words={}, held_s=held_s)
    del case.words["m2"]

    assert case.grants() is is_amiss


@pytest.mark.parametrize("what", ["held dead", "stood still", "no consent"])
def test_what_others_may_have_taken_over_is_claimed_anew(what: str) -> None:
    def doubted() -> Case:
        case = Case()
        case.now_s += 20.0
        match what:
            case "held dead":
                case.rules.is_held_dead("m0")
            case "stood still":
                case.still = [(case.now_s - 6.0, case.now_s)]
            case _:
                case.rules.lapsed("m0", case.now_s)
        return case

    assert doubted().grants()

    case = doubted()
    case.now_s += 0.5
    case.lets_go("m1", "m2")
    assert not case.grants()


@pytest.mark.parametrize(("epoch", "is_amiss"), [(4, False), (5, True)])
def test_who_is_silent_need_not_let_go_where_somebody_vouches(epoch: int, is_amiss: bool) -> None:
    case = Case()
    case.now_s += 5.0
    case.rules.is_held_dead("m0")
    case.now_s += 0.5
    case.rules.holds("m0", ["m1"], [])
    case.lets_go("m2", epoch=epoch)

    assert case.grants() == is_amiss


@pytest.mark.parametrize(("epoch", "is_amiss"), [(4, False), (5, True)])
def test_who_was_alone_goes_on_with_what_was_its_own_where_somebody_vouches(epoch: int, is_amiss: bool) -> None:
    case = Case()
    case.rules.acts("m0", frozenset({BUCKET}), [])
    case.now_s += 5.0
    case.rules.acts("m0", frozenset({BUCKET}), ["m1", "m2"])
    case.now_s += 0.5
    case.rules.holds("m0", ["m1"], [])
    case.lets_go("m2", epoch=epoch)

    assert case.grants() == is_amiss


@pytest.mark.parametrize(("epoch", "is_amiss"), [(4, False), (5, True)])
def test_who_comes_a_moment_later_may_vouch_as_well(epoch: int, is_amiss: bool) -> None:
    case = Case()
    case.rules.acts("m0", frozenset({BUCKET}), [])
    case.now_s += 5.0
    case.rules.acts("m0", frozenset({BUCKET}), ["m1"])
    case.now_s += 0.5
    case.rules.acts("m0", frozenset({BUCKET}), ["m1", "m2"])
    case.rules.holds("m0", ["m1"], [])
    case.lets_go("m2", epoch=epoch)

    assert case.grants() == is_amiss


@pytest.mark.parametrize(("before_s", "is_amiss"), [(0.1, True), (0.0, False)])
def test_answer_to_what_was_asked_before_the_doubt_is_none(before_s: float, is_amiss: bool) -> None:
    case = Case()
    case.now_s += 5.0
    case.rules.is_held_dead("m0")
    case.now_s += 0.5
    case.lets_go("m1", "m2", asked_s=case.now_s - 0.5 - before_s)

    assert case.grants() == is_amiss


@pytest.mark.parametrize(("before_s", "is_amiss"), [(0.1, True), (0.0, False)])
def test_no_epoch_begins_on_an_answer_to_what_was_asked_before_the_doubt(before_s: float, is_amiss: bool) -> None:
    case = Case()
    case.now_s += 5.0
    case.still = [(case.now_s - 6.0, case.now_s)]
    case.now_s += 0.5
    case.lets_go("m1", "m2", asked_s=case.now_s - 0.5 - before_s)

    case.rules.begins("m0", [BUCKET])

    assert bool(case.told) == is_amiss


def test_who_has_vouched_may_have_left_since() -> None:
    case = Case()
    case.now_s += 5.0
    case.rules.is_held_dead("m0")
    case.now_s += 0.5
    case.rules.holds("m0", ["m1"], [])
    case.lets_go("m2")
    case.rules.acts("m0", frozenset({BUCKET}), ["m1"])
    case.there = frozenset({"m1"})

    assert not case.grants()


@pytest.mark.parametrize("lack", [0, 2])
def test_who_begins_waits_for_those_who_have_more(lack: int) -> None:
    case = Case()
    case.stores.store("m0").standings[BUCKET] = StandingRow(4, lack, 0, "")
    case.rules.started("m0")
    case.rules.holds("m0", [], ["m2"])

    assert case.grants() == bool(lack)


@pytest.mark.parametrize("dead", [[], ["m2"]])
def test_who_begins_looks_for_those_that_it_knew(dead: list[str]) -> None:
    case = Case()
    case.rules.started("m0")
    case.rules.holds("m0", [], dead)
    case.now_s += 2.0

    case.rules.grants("m0", [BUCKET])

    assert bool(case.told) == bool(dead)


def test_who_crashed_with_pages_in_hand_lets_go_of_nothing_for_a_while() -> None:
    case = Case()
    case.stores.store("m0").leases[1] = 7
    case.rules.started("m0")
    case.now_s += 4.0

    case.rules.lets_go("m0", "m1")
    assert "m0 lets m1 have buckets 4.00 s after it began" in case.told[0]
    case.told.clear()
    case.now_s += 1.2
    case.rules.lets_go("m0", "m1")

    assert case.told == []


@pytest.mark.parametrize("known", ["m1", "m1 m2"])
def test_whoever_is_there_is_on_the_disk_before_a_bucket_changes_hands(known: str) -> None:
    case = Case()

    case.rules.hands_over("m0", frozenset(known.split()))

    assert bool(case.told) == (known == "m1")


@pytest.mark.parametrize(("epoch", "is_amiss"), [(4, False), (5, True)])
def test_what_was_lost_to_one_that_fell_silent_goes_on_when_it_is_gained_again(epoch: int, is_amiss: bool) -> None:
    case = Case()
    case.now_s += 5.0
    case.rules.acts("m0", frozenset(), ["m1", "m2"])
    case.stores.store("m0").standings[BUCKET] = StandingRow(epoch, 0, 0, "")
    case.now_s += 5.0
    case.rules.acts("m0", frozenset({BUCKET}), ["m1", "m2"])
    case.now_s += 0.5
    case.rules.holds("m0", ["m1"], [])
    case.lets_go("m2", epoch=epoch)

    assert case.grants() == is_amiss
