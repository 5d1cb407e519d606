"""The model of takeovers tells of epochs that begin without a word of somebody, and of standings that nothing made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from simulations.model.standings import Standing
from simulations.model.stores import StandingRow, Stores
from simulations.model.taking.sight import Begun
from simulations.model.taking.takeovers import Takeovers

BUCKET = 32
MINE, RIVAL, NEXT = (5 << 12) + 1, (5 << 12) + 2, (6 << 12) + 1
"""Two epochs of one turn, and the next."""


@dataclass
class World:
    """A world in which m0 owns the bucket, m1 follows, and m2 does not."""

    now_s: float = 100.0
    known: int = 3
    lonely: bool = False
    serving: set[str] = field(default_factory=set)
    resting: set[str] = field(default_factory=set)
    keeping: set[str] = field(default_factory=lambda: {"m0", "m1"})
    views: dict[str, int] = field(default_factory=dict)

    def away_since(self, since_s: float) -> frozenset[str]:
        return frozenset()

    def others(self, master: str) -> frozenset[str]:
        return frozenset({"m0", "m1", "m2"} - {master})

    def view(self, master: str) -> int:
        return self.views.get(master, 1)

    def follows(self, owner: str, other: str, bucket: int) -> bool:
        return other == "m1"

    def owns(self, master: str, bucket: int) -> bool:
        return master == "m0"

    def keeps(self, node: str, bucket: int) -> bool:
        return node in self.keeping

    def in_service(self, master: str, bucket: int) -> bool:
        return master in self.serving

    def serves(self, master: str, bucket: int) -> bool:
        return master in self.serving | self.resting

    def damaged(self) -> bool:
        return False

    def unsynced(self, master: str) -> bool:
        return False

    def set_back(self, master: str) -> bool:
        return False

    def deleted(self, job: int) -> bool:
        return False

    def destroyed(self, key: tuple[int, int, int]) -> bool:
        return False

    def name(self, key: tuple[int, int, int]) -> str:
        return "http://a.test/"


@dataclass
class Case:
    """What three masters say of one bucket, and what was told of it."""

    told: list[str] = field(default_factory=list)
    world: World = field(default_factory=World)
    stores: Stores = field(default_factory=Stores)

    def __post_init__(self) -> None:
        self.rules = Takeovers(self.stores, self.world, self.told.append)

    def stands(self, node: str, epoch: int, lack: int = 0, base: int = 0, pieces: str = "") -> None:
        """Lets a disk say what it has."""
        rows = self.stores.store(node).standings
        before, rows[BUCKET] = rows.get(BUCKET), StandingRow(epoch, lack, base, pieces)
        self.rules.stood(node, BUCKET, before, rows[BUCKET])

    def hears(self, other: str, standing: Standing) -> None:
        self.rules.hears("m0", other, {BUCKET: standing}, self.world.now_s)

    def begins(self, epoch: int, since: int, *to: str) -> list[str]:
        for other in to:
            self.rules.begins("m0", other, {BUCKET: Begun(epoch, since)}, 1)
        return self.told

    def notes(self, other: str, epoch: int, since: int, before: StandingRow | None) -> list[str]:
        self.rules.sayings.notes(other, "m0", {BUCKET: Begun(epoch, since)}, {BUCKET: before}, self.world.view(other))
        return self.told


def claimed(standings: Mapping[str, Standing] | None = None) -> Case:
    case = Case()
    for other, standing in {"m1": Standing(5), "m2": Standing(5), **(standings or {})}.items():
        case.hears(other, standing)
    case.stands("m0", 6)
    return case


def test_an_epoch_begins_when_all_have_let_go_and_is_granted_from_when_all_have_heard() -> None:
    case = claimed()

    case.begins(6, 5, "m1")
    case.rules.is_heard("m0", "m1", {BUCKET: Begun(6, 5)})
    case.begins(6, 5, "m2")
    case.rules.is_heard("m0", "m2", {BUCKET: Begun(6, 5)})
    case.rules.grants("m0", [BUCKET])

    assert case.told == []


def test_who_has_not_let_go_is_told_of() -> None:
    case = Case()
    case.hears("m1", Standing(5))
    case.stands("m0", 6)

    assert case.begins(6, 5, "m1") == ["at 100.000 s m0 begins epoch 6 of bucket 32, which m2 has not let go of"]


def test_who_rests_goes_on_with_what_another_one_had_before_all_have_let_go() -> None:
    case = Case(world=World(resting={"m0"}))
    case.stands("m0", 5)
    case.hears("m1", Standing(6))
    case.stands("m0", 7)

    assert case.begins(7, 6, "m1", "m2") == []


def test_nothing_is_granted_before_all_have_heard() -> None:
    case = claimed()
    case.begins(6, 5, "m1")
    case.rules.is_heard("m0", "m1", {BUCKET: Begun(6, 5)})

    case.rules.grants("m0", [BUCKET])

    assert "of which m2 has not said to have heard" in case.told[0]


@pytest.mark.parametrize(("since", "all_hear", "is_amiss"), [(5, False, False), (6, False, True), (6, True, False)])
def test_what_was_begun_and_never_served_is_no_epoch_under_which_anything_was_acknowledged(
    since: int, all_hear: bool, is_amiss: bool
) -> None:
    case = claimed()
    case.begins(6, 5, "m1", "m2")
    for other in ("m1", "m2") if all_hear else ("m1",):
        case.rules.is_heard("m0", other, {BUCKET: Begun(6, 5)})
    case.hears("m1", Standing(5))
    case.hears("m2", Standing(5))
    case.stands("m0", 7)

    case.begins(7, since, "m1", "m2")

    assert any("and of which m2 has not heard" in what for what in case.told) == is_amiss


@pytest.mark.parametrize(("heard_by", "what"), [
    (["m1", "m2"], ""), (["m1"], "of which m2 has not said to have heard"), ([], "of which m1, m2 has not"),
])  # fmt: skip
def test_nothing_is_served_before_all_have_heard(heard_by: list[str], what: str) -> None:
    case = claimed()
    case.begins(6, 5, *heard_by)
    for other in heard_by:
        case.rules.is_heard("m0", other, {BUCKET: Begun(6, 5)})

    case.rules.serves("m0", [BUCKET])

    assert (what in case.told[0]) if what else not case.told


def test_nothing_is_granted_under_an_epoch_of_which_nobody_is_told() -> None:
    case = claimed()

    case.rules.grants("m0", [BUCKET])

    assert "under epoch 6, of which it has told nobody" in case.told[0]


@pytest.mark.parametrize(("pieces", "is_amiss"), [("2-5", False), ("2-4", True)])
def test_what_one_had_is_joined_on_the_disk_when_he_is_told_how_his_bucket_goes_on(pieces: str, is_amiss: bool) -> None:
    case = Case(world=World(serving={"m0"}))
    case.stands("m0", 8, 8, 2)
    case.hears("m1", Standing(5, 2, 0))
    case.stands("m0", 8, 8, 2, pieces)

    case.begins(8, 8, "m2")
    assert case.told == []
    case.begins(8, 8, "m1")

    assert bool(case.told) == is_amiss


def test_what_is_on_its_way_from_another_one_may_be_missing_yet() -> None:
    case = Case(world=World(serving={"m0"}))
    case.stands("m0", 8, 8, 2)
    case.hears("m1", Standing(5, 2, 0))
    case.hears("m2", Standing(8, 6, 0))

    assert case.begins(8, 8, "m1") == []


def test_nobody_grants_from_what_another_serves() -> None:
    case = Case(world=World(serving={"m1"}))

    case.rules.grants("m0", [BUCKET])

    assert "which m1 serves at the same time" in case.told[0]


@pytest.mark.parametrize(("epoch", "is_amiss"), [(5, True), (6, False)])
def test_who_has_let_go_of_a_bucket_grants_nothing_more_under_the_epoch_that_it_had(epoch: int, is_amiss: bool) -> None:
    case = Case()
    case.stands("m1", 5)
    case.rules.lets_go("m1", "m0", {BUCKET: Standing(5)})
    case.stands("m1", epoch)

    case.rules.grants("m1", [BUCKET])

    assert any("under epoch 5, under which it has let another one have it" in what for what in case.told) == is_amiss


def test_who_has_let_go_and_begins_anew_is_another() -> None:
    case = Case()
    case.stands("m1", 5)
    case.rules.lets_go("m1", "m0", {BUCKET: Standing(5)})
    case.rules.started("m1")

    case.rules.grants("m1", [BUCKET])

    assert case.told == []


def test_an_epoch_exceeds_all_that_were_heard_of_and_is_on_the_disk() -> None:
    case = claimed({"m2": Standing(7)})

    told = " ".join(case.begins(7, 5, "m1"))

    assert "epoch 7 of bucket 32, which is not on its disk" in told
    assert "and was told of epoch 7" in told


def test_what_others_had_is_joined() -> None:
    case = Case()
    case.hears("m1", Standing(5, 5, 4))
    case.hears("m2", Standing(5, 4, 0))
    case.stands("m0", 6, 5, 4)

    assert "has of bucket 32 1 to 4 and 6 to 6 only, of 1 to 5" in " ".join(case.begins(6, 5, "m1"))


@pytest.mark.parametrize(
    ("other", "after", "is_amiss"),
    [
        ("m1", StandingRow(6, 0, 0, ""), False),
        ("m1", StandingRow(6, 6, 5, ""), True),
        ("m2", StandingRow(6, 6, 5, ""), False),
        ("m2", StandingRow(6, 0, 0, ""), True),
        ("m2", StandingRow(6, 6, 4, ""), True),
    ],
)
def test_who_follows_an_epoch_has_it_and_who_does_not_lacks_it(other: str, after: StandingRow, is_amiss: bool) -> None:
    case = claimed()
    case.stands(other, 5)
    before = case.stores.store(other).standings[BUCKET]
    case.begins(6, 5, "m1", other)
    case.told.clear()

    case.stands(other, *after)
    case.notes(other, 6, 5, before)

    assert bool(case.told) == is_amiss


def test_whose_view_says_that_it_does_not_follow_may_lack_what_its_owner_sends_it_in_the_next_one() -> None:
    case = claimed()
    case.stands("m1", 6, 6, 5)
    case.world.views["m0"] = 2

    assert case.notes("m1", 6, 5, StandingRow(5, 0, 0, "")) == []


def test_who_dropped_its_copies_has_nothing() -> None:
    case = Case()
    case.stands("m2", 5)
    before = case.stores.store("m2").standings[BUCKET]
    case.stands("m2", 5, 5)

    case.rules.sayings.drops("m2", "m0", {BUCKET: 5}, {BUCKET: before})
    assert case.told == []

    case.rules.sayings.drops("m2", "m0", {BUCKET: 6}, {BUCKET: before})
    assert "which serves it under epoch 6, and knows of 5 only" in case.told[0]


@pytest.mark.parametrize(("is_told", "is_amiss"), [(True, False), (False, True)])
def test_who_is_told_to_drop_its_copies_has_nothing_by_its_word_before_its_slow_disk_says_so(
    is_told: bool, is_amiss: bool
) -> None:
    case = Case()
    case.stands("m2", 6, 6, 5)
    if is_told:
        case.rules.sayings.is_to_drop("m2", [BUCKET])

    case.rules.lets_go("m2", "m0", {BUCKET: Standing(6, 6)})
    assert any("has of bucket 32 nothing only, of 1 to 5" in each for each in case.told) == is_amiss


@pytest.mark.parametrize("says", [None, StandingRow(6, 6, 0, "")])
def test_word_to_drop_copies_is_over_when_it_was_answered_or_done(says: StandingRow | None) -> None:
    case = Case()
    case.stands("m2", 6, 6, 5)
    case.rules.sayings.is_to_drop("m2", [BUCKET])
    if says is None:
        case.rules.sayings.has_answered("m2", [BUCKET])
    else:
        case.stands("m2", *says)
    case.stands("m2", 7, 7, 5)
    case.told.clear()

    case.rules.lets_go("m2", "m0", {BUCKET: Standing(7, 7)})

    assert any("has of bucket 32 nothing only" in each for each in case.told)


def test_a_newcomer_that_drops_nothing_has_heard_of_an_epoch() -> None:
    case = Case()

    case.rules.sayings.drops("m2", "m0", {BUCKET: 5}, {BUCKET: None})

    assert "its disk says of it nothing" in case.told[0]


def test_who_goes_has_nothing_of_what_comes() -> None:
    case = claimed()
    case.rules.grants("m0", [BUCKET])
    case.told.clear()
    case.stands("m2", 6, 6, 5)
    case.rules.leaves("m2")
    assert case.told == []

    case.stands("m1", 6)
    case.rules.leaves("m1")

    assert "its disk that it has all of epoch 6 of bucket 32, under which m0 goes on" in case.told[-1]


def test_others_may_hear_of_one_epoch_while_those_that_follow_hear_of_the_next() -> None:
    case = claimed()
    case.begins(6, 5, "m1")
    case.stands("m0", 7)
    case.begins(7, 5, "m1")
    case.rules.is_heard("m0", "m1", {BUCKET: Begun(7, 5)})

    case.begins(6, 5, "m2")
    case.begins(7, 5, "m2")
    case.rules.is_heard("m0", "m2", {BUCKET: Begun(7, 5)})
    case.rules.grants("m0", [BUCKET])

    assert case.told == []


def test_what_was_noted_of_an_epoch_may_be_written_when_its_copies_are_whole_already() -> None:
    case = claimed()
    case.stands("m2", 5, 5)
    case.begins(6, 6, "m2")

    case.rules.sayings.is_whole("m2", {BUCKET: 6})
    case.stands("m2", 6, 6)
    case.stands("m2", 6)
    assert case.told == []

    case.stands("m2", 6, 6)
    case.stands("m2", 6)
    assert "notes that of bucket" in case.told[0]


def test_who_hears_of_two_epochs_before_its_disk_knows_of_one_has_what_both_say() -> None:
    case = claimed()
    case.stands("m2", 3, 3)
    case.stands("m0", 7)
    case.begins(6, 5, "m2")
    case.begins(7, 5, "m2")

    case.stands("m2", 6, 6)
    case.stands("m2", 7, 7, 0, "5-6")

    assert case.told == []


def test_what_somebody_began_alone_and_has_on_no_disk_yet_is_there_and_empty() -> None:
    case = claimed()
    case.rules.lets_go("m2", "m0", {BUCKET: Standing(1)})
    case.begins(6, 5, "m2")

    case.stands("m2", 6, 6, 1)

    assert case.told == []


@pytest.mark.parametrize(("epoch", "is_amiss"), [((3 << 12) + 9, False), ((4 << 12) + 9, True)])
def test_who_begins_an_epoch_alone_says_nothing_of_a_rival_of_which_it_was_told_in_vain(
    epoch: int, *, is_amiss: bool
) -> None:
    """It stood still when it was told, and its own epoch has the same turn."""
    case, rival = Case(), (3 << 12) + 4
    case.stands("m2", (2 << 12) + 9)
    case.begins(rival, 2, "m2")

    case.stands("m2", epoch)

    assert any("was brought" in each for each in case.told) == is_amiss


@pytest.mark.parametrize("is_told", [False, True])
def test_nor_does_it_know_that_as_it_begins_the_next_one_until_it_is_told_of_it(*, is_told: bool) -> None:
    case, rival = Case(), (3 << 12) + 12
    case.stands("m2", (2 << 12) + 9)
    case.begins(rival, 2, "m2")
    case.stands("m2", (3 << 12) + 9)
    if is_told:
        case.rules.sayings.is_told("m2", {BUCKET: Begun(rival, 2)})

    case.stands("m2", (4 << 12) + 9)

    assert any("was brought" in each for each in case.told) == is_told


@pytest.mark.parametrize(
    ("told", "is_amiss"),
    [((4 << 12) + 4, False), ((5 << 12) + 4, False), ((4 << 12) + 9, True), ((3 << 12) + 10, True)],
)
def test_who_begins_an_epoch_before_or_beside_one_of_which_it_was_told_in_vain_does_not_know_that(
    told: int, *, is_amiss: bool
) -> None:
    """What went on beyond a cut under a lower turn passes for what it has (docs/copies.md)."""
    case, beyond, own = Case(), (3 << 12) + 8, (4 << 12) + 9
    case.hears("m1", Standing(beyond, beyond))
    case.stands("m2", (3 << 12) + 5)
    case.begins(told, told, "m2")
    case.told.clear()

    case.stands("m2", own)

    assert any("was brought" in each for each in case.told) == is_amiss


@pytest.mark.parametrize(("rival", "is_amiss"), [((3 << 12) + 9, False), ((3 << 12) + 2, True)])
def test_word_that_copies_are_whole_under_an_earlier_rival_is_none(rival: int, *, is_amiss: bool) -> None:
    case, mine, joins = Case(), (3 << 12) + 4, (4 << 12) + 9
    case.stands("m1", mine)
    before = case.stores.store("m1").standings[BUCKET]
    case.rules.sayings.is_whole("m1", {BUCKET: rival})
    case.stands("m1", joins, joins, mine - 1)
    case.told.clear()

    case.rules.sayings.notes("m1", "m0", {BUCKET: Begun(joins, joins, (mine, rival))}, {BUCKET: before}, 1)

    assert any("agreed to epoch" in each for each in case.told) == is_amiss


@pytest.mark.parametrize(("is_told", "is_amiss"), [(True, False), (False, True)])
def test_who_was_told_that_its_copies_are_whole_under_a_rival_says_nothing_of_what_it_had(
    *, is_told: bool, is_amiss: bool
) -> None:
    case, mine, rival, joins = Case(), (3 << 12) + 4, (3 << 12) + 9, (4 << 12) + 9
    case.stands("m1", mine)
    before = case.stores.store("m1").standings[BUCKET]
    if is_told:
        case.rules.sayings.is_whole("m1", {BUCKET: rival})
    case.stands("m1", joins, joins, mine - 1, f"{mine}-{rival}")
    case.told.clear()

    case.rules.sayings.notes("m1", "m0", {BUCKET: Begun(joins, joins, (mine, rival))}, {BUCKET: before}, 1)

    assert any("agreed to epoch" in each for each in case.told) == is_amiss


@pytest.mark.parametrize(("again", "is_amiss"), [(False, False), (True, True)])
def test_what_was_heard_while_an_older_word_was_on_its_way_to_the_disk_is_there(again: bool, is_amiss: bool) -> None:
    case = Case()
    case.stands("m0", 3, 3)

    case.hears("m1", Standing(5, 4, 3))
    case.stands("m0", 5, 5)
    if again:
        case.stands("m0", 6, 6)
    case.stands("m0", 7, 4, 3)

    assert bool(case.told) is is_amiss


@pytest.mark.parametrize(("rivals", "is_amiss"), [((), True), ((RIVAL,), True), ((MINE, RIVAL), False)])
def test_an_owner_names_the_rivals_that_it_has_served_and_heard_of(rivals: tuple[int, ...], *, is_amiss: bool) -> None:
    case = Case(world=World(serving={"m0"}))
    case.stands("m0", MINE)
    case.rules.grants("m0", [BUCKET])
    case.told.clear()
    case.world.serving.clear()
    case.hears("m1", Standing(RIVAL))
    case.hears("m2", Standing(MINE))
    case.stands("m0", NEXT, NEXT - 1, MINE - 1)
    case.told.clear()

    case.rules.begins("m0", "m1", {BUCKET: Begun(NEXT, NEXT - 1, rivals)}, 1)

    assert any("had a rival" in what for what in case.told) == is_amiss


@pytest.mark.parametrize("has_dropped", [True, False])
def test_who_is_told_of_rivals_says_that_it_has_those_no_more_that_it_cannot_know(has_dropped: bool) -> None:
    case = Case()
    case.stands("m1", RIVAL)
    before = case.stores.store("m1").standings[BUCKET]
    case.stands("m1", NEXT, NEXT - 1, MINE - 1 if has_dropped else RIVAL)
    case.told.clear()

    case.rules.sayings.notes("m1", "m0", {BUCKET: Begun(NEXT, NEXT - 1, (MINE, RIVAL))}, {BUCKET: before}, 1)

    assert any("a rival of the last one that it knew" in what for what in case.told) != has_dropped


@pytest.mark.parametrize("keeps", [True, False])
def test_who_is_told_of_the_same_rivals_again_says_to_have_what_it_had_when_it_was_told_of_them(*, keeps: bool) -> None:
    """Who began in vain names them once more, with the next epoch."""
    case, first, second = Case(), NEXT, (7 << 12) + 1
    begun = Begun(first, RIVAL, (RIVAL - 1, RIVAL)), Begun(second, RIVAL, (RIVAL - 1, RIVAL))
    case.rules.begins("m0", "m1", {BUCKET: begun[0]}, 1)
    case.rules.sayings.is_told("m1", {BUCKET: begun[0]})
    case.stands("m1", first)
    before = case.stores.store("m1").standings[BUCKET]
    case.rules.sayings.is_told("m1", {BUCKET: begun[1]})
    case.stands("m1", *((second,) if keeps else (second, RIVAL, RIVAL - 2)))
    case.told.clear()

    case.rules.sayings.notes("m1", "m0", {BUCKET: begun[1]}, {BUCKET: before}, 1)

    assert bool(case.told) != keeps


@pytest.mark.parametrize("is_giving", [True, False])
def test_who_is_told_to_drop_what_it_is_just_giving_up_may_keep_it_till_it_is_told_again(*, is_giving: bool) -> None:
    case, epochs = Case(), {BUCKET: Begun(6, 5)}
    case.stands("m2", 5)
    case.rules.sayings.is_told("m2", epochs)
    if not is_giving:
        case.rules.sayings.notes("m2", "m0", epochs, {BUCKET: None}, 1)
    before = case.stores.store("m2").standings[BUCKET]
    giving = case.rules.sayings.is_to_drop("m2", [BUCKET])
    case.told.clear()

    case.rules.sayings.drops("m2", "m0", {BUCKET: 5}, {BUCKET: before}, giving)

    assert bool(case.told) != is_giving


@pytest.mark.parametrize(("serving", "epoch"), [(True, 6), (True, 7), (False, 7)])
def test_who_goes_on_under_another_epoch_has_joined_something(epoch: int, *, serving: bool) -> None:
    case, joined = claimed(), list[tuple[str, int]]()
    case.begins(6, 5, "m1", "m2")
    case.world.serving |= {"m0"} if serving else set()
    case.rules.joins = lambda owner, bucket: joined.append((owner, bucket))

    case.stands("m0", epoch)

    assert joined == ([("m0", BUCKET)] if serving and epoch > 6 else [])


def test_who_hears_of_a_later_turn_need_not_name_the_rivals_before_it() -> None:
    case = Case()
    case.stands("m0", MINE)
    case.hears("m1", Standing(NEXT + 1))
    case.hears("m2", Standing(RIVAL))
    later = NEXT + (1 << 12)
    case.stands("m0", later, later - 1, MINE - 1)
    case.told.clear()

    case.rules.begins("m0", "m1", {BUCKET: Begun(later, NEXT + 1)}, 1)

    assert not any("had a rival" in what for what in case.told)


def test_an_epoch_that_is_written_down_and_told_to_nobody_has_no_rivals_that_are_to_be_named() -> None:
    case = Case()
    case.hears("m1", Standing(RIVAL - (1 << 12)))
    case.stands("m0", MINE)
    case.hears("m1", Standing(RIVAL))
    case.stands("m0", NEXT, NEXT - 1, MINE - 1)
    case.told.clear()

    case.rules.begins("m0", "m1", {BUCKET: Begun(NEXT, NEXT - 1, (RIVAL,))}, 1)

    assert not any("had a rival" in what for what in case.told)
