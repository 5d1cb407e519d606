"""The model of handovers tells what was said of a bucket before it was so, and what was let go of too soon."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from simulations.model.handovers import Handovers
from simulations.model.standings import Standing
from simulations.model.stores import Key, StandingRow, Stores, stamp_of
from tests.simulations.judging.test_acknowledged import DONE, LINK, QUEUED, Seen

BUCKET = 5


@dataclass
class Case:
    """Three masters with two copies of everything, one link in one bucket, and what was told of them."""

    sight: Seen = field(default_factory=Seen)
    stores: Stores = field(default_factory=Stores)
    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.stores.bucket_of[LINK] = BUCKET
        self.rules = Handovers(self.stores, self.sight, 2, self.told.append)

    def owns(self, node: str, epoch: int = 2, key: Key = LINK) -> None:
        self.stores.store(node).records[key] = QUEUED
        self.stands(node, epoch)

    def holds(self, node: str, epoch: int = 2, key: Key = LINK) -> None:
        self.stores.store(node).held[key] = QUEUED
        self.stands(node, epoch)

    def stands(self, node: str, epoch: int, lack: int = 0) -> None:
        self.stores.store(node).standings[BUCKET] = StandingRow(epoch, lack, 0, "")


def test_what_came_while_a_disk_took_long_to_count_may_not_be_counted() -> None:
    case = Case()
    case.holds("m1")
    case.stores.store("m1").came[LINK] = case.sight.now_s - 3.0

    case.sight.slow_s = 4.0
    case.rules.released("m1", "m0", {BUCKET: Standing(2)}, [])
    assert case.told == []
    case.sight.slow_s = 1.0
    case.rules.released("m1", "m0", {BUCKET: Standing(2)}, [])

    assert len(case.told) == 1


def test_who_lets_go_of_a_bucket_says_how_much_there_is_of_it() -> None:
    case = Case()
    case.holds("m1")

    case.rules.released("m1", "m0", {BUCKET: Standing(2)}, [1])
    case.rules.released("m1", "m0", {BUCKET: Standing(2)}, [])

    assert case.told == ["at 100.000 s m1 told m0 that it has nothing of bucket 5, and has page 2"]


@pytest.mark.parametrize("is_behind", [False, True])
def test_disk_that_was_set_back_may_say_that_it_has_what_it_had_once(is_behind: bool) -> None:
    case = Case()
    case.owns("m0")
    case.rules.acknowledged("m0", [LINK])
    case.stands("m1", 2)
    case.sight.behind = frozenset({"m1"} if is_behind else ())

    case.rules.released("m1", "m2", {BUCKET: Standing(2)}, [])

    assert bool(case.told) is not is_behind


def test_what_came_while_it_was_counted_need_not_be_said() -> None:
    case = Case()
    case.holds("m1")
    case.stores.store("m1").came[LINK] = 99.5

    case.rules.released("m1", "m0", {BUCKET: Standing(2)}, [])

    assert case.told == []


def test_who_lets_go_of_a_bucket_has_no_page_of_it_in_hand() -> None:
    case = Case()
    case.owns("m1")
    store = case.stores.store("m1")
    store.numbers[4], store.leases[4] = LINK, 9

    case.rules.released("m1", "m0", {BUCKET: Standing(2)}, [1])

    assert case.told == ["at 100.000 s m1 let m0 have page 2, and it is in a slave's hands, lease 9"]


@pytest.mark.parametrize(
    ("standing", "is_amiss"),
    [
        (Standing(2), True), (Standing(1), False), (Standing(2, 2, 1), False), (Standing(2, 1, 0), True),
        (Standing(4, 3, 0, ((1, 2),)), True), (Standing(4, 3, 1), False),
    ],
)  # fmt: skip
def test_who_says_that_it_has_an_epoch_has_what_was_acknowledged_under_it(standing: Standing, is_amiss: bool) -> None:
    case = Case()
    case.owns("m0", epoch=2)
    case.rules.acknowledged("m0", [LINK])

    case.rules.released("m1", "m2", {BUCKET: standing}, [])

    assert bool(case.told) == is_amiss


def test_word_on_what_a_view_has_made_ones_own_since_need_not_be_followed() -> None:
    case = Case()
    case.owns("m1")
    case.rules.released("m1", "m0", {BUCKET: Standing(2)}, [1])

    case.rules.acts("m1", frozenset({BUCKET}))
    case.rules.forgotten("m1", "m0", {BUCKET: 2})

    assert case.told == []


@pytest.mark.parametrize("is_back", [False, True])
def test_late_word_to_give_up_what_is_ones_own_again_need_not_be_followed(is_back: bool) -> None:
    case = Case()
    case.owns("m1")
    case.rules.released("m1", "m0", {BUCKET: Standing(2)}, [1])

    if is_back:
        case.rules.taken("m1", "m2", {BUCKET: 3})
    case.rules.forgotten("m1", "m0", {BUCKET: 2})

    assert case.told == ([] if is_back else ["at 100.000 s m1 gave up page 2 to m0, and has it still as its own"])


def test_who_was_away_when_something_was_acknowledged_may_think_that_it_has_all() -> None:
    case = Case(Seen(away=frozenset({"m1"})))
    case.owns("m0", epoch=2)
    case.rules.acknowledged("m0", [LINK])

    case.rules.released("m1", "m2", {BUCKET: Standing(2)}, [])

    assert case.told == []


def test_who_takes_a_bucket_has_all_that_was_let_go_of() -> None:
    case = Case()
    case.holds("m1")
    case.rules.released("m1", "m0", {BUCKET: Standing(2)}, [1])

    case.rules.taken("m0", "m1", {BUCKET: 3})

    assert case.told == ["at 100.000 s m0 told m1 that it has all of its buckets, and lacks page 2"]


def given_up(case: Case) -> list[str]:
    """The words on m1, which has given up its bucket to m0."""
    case.rules.released("m1", "m0", {BUCKET: Standing(2)}, [1])
    case.stores.store("m1").records.clear()
    case.rules.forgotten("m1", "m0", {BUCKET: 3})
    return case.told


def test_who_gives_a_bucket_up_keeps_copies_of_it() -> None:
    case = Case()
    case.owns("m1")
    case.stands("m1", 3, lack=3)

    assert given_up(case) == ["at 100.000 s m1 gave up page 2 to m0, and kept no copy of it"]


def test_who_gives_a_bucket_up_notes_its_epoch() -> None:
    case = Case()
    case.owns("m1")
    case.holds("m1")

    assert given_up(case) == ["at 100.000 s m1 agreed to epoch 3 of bucket 5 with m0, and has not noted it"]


def test_what_was_lost_with_a_disk_need_not_be_kept_by_the_next_life() -> None:
    case = Case()
    case.holds("m1")
    case.rules.released("m1", "m0", {BUCKET: Standing(2)}, [1])
    case.stores.lose("m1", case.sight.now_s)
    case.rules.lost("m1")
    case.stands("m1", 3, lack=3)

    case.rules.released("m1", "m0", {BUCKET: Standing(0)}, [])
    case.rules.forgotten("m1", "m0", {BUCKET: 3})

    assert case.told == []


def test_what_was_dropped_since_a_claim_that_came_to_nothing_need_not_be_kept() -> None:
    case = Case()
    case.holds("m1", 3)
    case.rules.released("m1", "m0", {BUCKET: Standing(3)}, [1])
    case.stores.store("m1").held.clear()
    case.stands("m1", 3, lack=3)

    case.rules.released("m1", "m0", {BUCKET: Standing(3, 3)}, [])
    case.rules.forgotten("m1", "m0", {BUCKET: 3})

    assert case.told == []


@pytest.mark.parametrize("is_replaced", [True, False])
def test_holder_that_was_replaced_while_its_owner_stayed_does_not_know_what_came_since(is_replaced: bool) -> None:
    case = Case()
    case.stands("m0", 2)
    case.stands("m1", 2)
    case.rules.noted("m1", "m0", {BUCKET: 2})
    case.sight.now_s += 5.0
    case.owns("m0")
    if is_replaced:
        case.holds("m2")
    case.rules.acknowledged("m0", [LINK])

    case.rules.released("m1", "m2", {BUCKET: Standing(2)}, [])

    assert bool(case.told) is not is_replaced


def test_an_owner_serves_with_all_that_was_acknowledged_as_far_as_it_can_be_reached() -> None:
    case = Case()
    case.owns("m1")
    case.rules.acknowledged("m1", [LINK])
    case.sight.now_s += 60.0

    case.rules.whole("m0", {BUCKET: 2})

    assert case.told == [
        "at 160.000 s m0 serves bucket 5 without page 2, which was acknowledged at 100.000 s and is with m1",
    ]


@pytest.mark.parametrize(("lost_s", "met", "is_amiss"), [(150.0, (), False), (150.0, ("m1",), True), (90.0, (), True)])
def test_an_owner_that_has_lost_its_disk_asks_whom_it_has_met_since(
    lost_s: float, met: tuple[str, ...], *, is_amiss: bool
) -> None:
    case = Case(Seen(others=frozenset(met)))
    case.owns("m1")
    case.rules.acknowledged("m1", [LINK])
    case.stores.store("m0")
    case.stores.lose("m0", lost_s)
    case.sight.now_s += 60.0

    case.rules.whole("m0", {BUCKET: 2})

    assert bool(case.told) == is_amiss


@pytest.mark.parametrize(("came", "is_amiss"), [(True, False), (False, True)])
def test_copies_that_are_called_whole_have_all_before_long(came: bool, is_amiss: bool) -> None:
    case = Case()
    case.owns("m0")
    case.stands("m1", 2)

    case.rules.noted("m1", "m0", {BUCKET: 2})
    if came:
        case.holds("m1")
    case.sight.now_s += 11.0
    case.rules.acknowledged("m0", [])

    assert bool(case.told) == is_amiss


def dropped(*elsewhere: str, lack: int, stamp: int = QUEUED) -> list[str]:
    """The words on m1, which has dropped a copy that these have."""
    case = Case()
    for node in elsewhere:
        case.holds(node)
    case.stands("m1", 2, lack)
    case.stores.store("m1").left[LINK] = (100.0, stamp)
    case.rules.dropped("m1", LINK)
    return case.told


def test_a_copy_is_dropped_where_enough_others_have_it_and_the_standing_has_fallen() -> None:
    assert dropped("m0", "m2", lack=2) == []


def test_a_copy_that_too_few_have_is_not_dropped() -> None:
    assert dropped("m0", lack=2) == ["at 100.000 s m1 dropped its copy of page 2, which is with m0 besides"]


def test_a_copy_that_is_further_than_the_others_is_not_dropped() -> None:
    assert dropped("m0", "m2", lack=2, stamp=DONE) == [
        "at 100.000 s m1 dropped its copy of page 2, which is further than with m0, m2"
    ]


def test_the_standing_falls_before_the_rows_do() -> None:
    assert dropped("m0", "m2", lack=0) == [
        "at 100.000 s m1 dropped page 2, and its disk says that bucket 5 is whole there"
    ]


def test_a_stamp_orders_by_visit_then_phase_then_attempts() -> None:
    assert stamp_of(0, 0, 9, 9) < stamp_of(0, 3, 0, 0) < stamp_of(1, 0, 0, 0)


def test_disk_that_says_that_it_is_whole_has_all_that_was_settled_with_it() -> None:
    case = Case()
    case.owns("m0")
    case.holds("m1")
    case.rules.acknowledged("m0", [LINK])
    del case.stores.store("m1").held[LINK]
    case.rules.stood("m2", BUCKET, None, StandingRow(2, 0, 0, ""))

    case.rules.stood("m1", BUCKET, None, StandingRow(1, 0, 0, ""))
    case.rules.stood("m1", BUCKET, None, StandingRow(2, 2, 1, ""))
    case.rules.stood("m1", BUCKET, None, StandingRow(2, 0, 0, ""))

    assert case.told == ["at 100.000 s m1 notes that it has all of bucket 5 up to epoch 2, and lacks page 2"]


def test_epoch_on_a_disk_does_not_go_back() -> None:
    case = Case()

    case.rules.stood("m1", BUCKET, StandingRow(3, 0, 0, ""), StandingRow(2, 0, 0, ""))

    assert case.told == ["at 100.000 s m1 went back in bucket 5 from epoch 3 to 2"]


@pytest.mark.parametrize(("away", "is_amiss"), [((), True), (("m0",), True), (("m0", "m2"), False)])
def test_epoch_is_of_one_owner_as_long_as_somebody_knows_it(away: tuple[str, ...], is_amiss: bool) -> None:
    case = Case()
    case.stands("m2", 2)
    case.stands("m1", 2)
    case.rules.noted("m2", "m0", {BUCKET: 2})
    case.sight.away = frozenset(away)

    case.rules.noted("m1", "m3", {BUCKET: 2})

    assert bool(case.told) is is_amiss


@pytest.mark.parametrize("is_elsewhere", [False, True])
def test_who_has_left_has_handed_everything_over(is_elsewhere: bool) -> None:
    case = Case()
    case.owns("m0")
    if is_elsewhere:
        case.holds("m1")

    case.rules.leaves("m0")

    assert bool(case.told) is not is_elsewhere


def test_yes_is_said_in_the_view_of_the_question() -> None:
    case = Case()

    case.rules.agrees("m0", "m1", "Claim", 7, (6, 7))
    case.rules.agrees("m0", "m1", "Claim", 7, (6, 8))

    assert case.told == ["at 100.000 s m0 agreed to a Claim of m1 in view 0000000000000007, and acts in another one"]


@pytest.mark.parametrize(("told", "is_amiss"), [(Standing(6), False), (Standing(6, 5), True), (Standing(6, 4), False)])
def test_who_lets_go_says_no_less_than_its_disk(told: Standing, is_amiss: bool) -> None:
    case = Case()
    case.stores.store("m1").standings[BUCKET] = StandingRow(6, 4, 0, "")

    case.rules.released("m1", "m0", {BUCKET: told}, [])

    text = f"at 100.000 s m1 told m0 that of bucket 5 it has {tuple(told)}, and its disk says that it has epoch 5, too"
    assert case.told == ([text] if is_amiss else [])


def test_pieces_between_two_gaps_are_told() -> None:
    case = Case()
    case.stores.store("m1").standings[BUCKET] = StandingRow(9, 8, 1, "2-4 5-6")

    case.rules.released("m1", "m0", {BUCKET: Standing(9, 8, 1, ((2, 4), (5, 6)))}, [])
    case.rules.released("m1", "m0", {BUCKET: Standing(9, 8, 1, ((2, 4),))}, [])

    assert [what.rpartition(", ")[0].rpartition(" ")[2] for what in case.told] == ["6"]


def test_copies_of_what_is_lacking_are_not_called_whole() -> None:
    case = Case()
    case.stands("m0", 2)
    case.rules.whole("m0", {BUCKET: 2})
    case.stands("m0", 3, lack=3)
    case.rules.whole("m0", {BUCKET: 2})
    assert not case.told, "it has heard of the next one meanwhile, and says nothing of that"
    case.stands("m0", 3, lack=2)

    case.rules.whole("m0", {BUCKET: 2})

    assert case.told == ["at 100.000 s m0 says that copies of bucket 5 are whole, of which it lacks epoch 2"]


@pytest.mark.parametrize(("first", "is_amiss"), [(("m0", "m1"), False), (("m1", "m0"), True)])
def test_copies_of_ones_own_bucket_are_not_whole(first: tuple[str, ...], is_amiss: bool) -> None:
    case = Case(Seen(ring=first))
    case.stands("m1", 2)

    case.rules.noted("m1", "m0", {BUCKET: 2}, case.rules.own("m1", [BUCKET]))

    assert bool(case.told) is is_amiss


@pytest.mark.parametrize(("epoch", "away", "is_amiss"), [(3, "", False), (2, "", True), (2, "m1", False)])
def test_who_follows_an_epoch_hears_of_it_first(epoch: int, away: str, is_amiss: bool) -> None:
    case = Case(Seen(ring=("m0", "m1"), away=frozenset({away} - {""})))
    case.stands("m1", epoch)
    case.stands("m2", 3, lack=3)

    case.rules.forgotten("m2", "m0", {BUCKET: 3})

    text = "at 100.000 s m2 heard from m0 that it lacks epoch 3 of bucket 5 before m1 heard of it"
    assert case.told == ([text] if is_amiss else [])


def test_who_follows_an_epoch_is_told_by_the_view_in_which_another_one_was_told() -> None:
    case = Case(Seen(ring=("m0", "m1")))
    case.stands("m1", 2)
    case.stands("m2", 3, lack=3)

    case.rules.forgotten("m2", "m0", {BUCKET: 3}, in_view=False)

    assert case.told == []


@pytest.mark.parametrize(("epoch", "is_amiss"), [(2, False), (1, True)])
def test_nothing_is_settled_under_an_epoch_that_somebody_has_not_heard_of(epoch: int, is_amiss: bool) -> None:
    case = Case(Seen(others=frozenset({"m0", "m1", "m2"})))
    case.owns("m0")
    case.stands("m1", 2)
    case.stands("m2", epoch, lack=1)

    case.rules.acknowledged("m0", [LINK])

    text = "at 100.000 s m0 serves bucket 5 under epoch 2, of which m2 has not heard"
    assert case.told == ([text] if is_amiss else [])
