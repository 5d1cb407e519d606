"""What is out of reach follows from who held a bucket when, and from what befell disks."""

from __future__ import annotations

from simulations.observe.keepers import Keepers, has_excess
from simulations.observe.losses import Losses

AB, BC, C = ("a", "b"), ("b", "c"), ("c",)
FIRST = [AB, BC]
"""Who holds two buckets."""


def whole() -> Keepers:
    """Returns the keepers of three masters that have acted by one table all along."""
    keepers = Keepers()
    keepers.look(1.0, {id: FIRST for id in "abc"}, "abc")
    keepers.copied(2.0, "abc")
    return keepers


def test_bucket_is_out_of_reach_when_all_that_held_it_are_away_and_not_before() -> None:
    keepers = whole()

    assert keepers.bereft("ac") == keepers.storeless("ac") == frozenset()
    assert keepers.bereft("c") == keepers.storeless("c") == {0}


def test_bucket_that_came_to_others_while_all_its_stores_were_away_stays_out_of_reach_till_one_is_back() -> None:
    keepers = whole()

    keepers.look(3.0, {"c": [C, C]}, "c")
    keepers.copied(4.0, "c")

    assert keepers.bereft("c") == keepers.storeless("c") == {0}
    assert keepers.bereft("ac") == keepers.storeless("ac") == frozenset()


def test_bucket_that_was_copied_in_time_is_within_reach_without_those_that_held_it() -> None:
    keepers = whole()

    keepers.look(3.0, {id: [BC, BC] for id in "bc"}, "bc")
    keepers.copied(4.0, "bc")

    assert keepers.bereft("c") == keepers.storeless("c") == frozenset()


def test_bucket_that_was_perhaps_copied_in_time_may_be_out_of_reach_and_need_not_be() -> None:
    keepers = whole()

    keepers.look(3.0, {id: [BC, BC] for id in "bc"}, "bc")

    assert keepers.bereft("c") == {0}
    assert keepers.storeless("c") == frozenset()


def test_what_was_on_a_lost_disk_does_not_come_back_with_its_master() -> None:
    keepers = whole()

    keepers.lose("ab")

    assert keepers.bereft("abc") == keepers.storeless("abc") == {0}


def test_bucket_that_was_brought_to_a_new_disk_in_the_same_view_may_be_there() -> None:
    keepers = whole()
    keepers.lose("a")

    keepers.look(3.0, {id: FIRST for id in "abc"}, "abc")
    keepers.lose("b")

    assert keepers.storeless("ac") == frozenset() and keepers.bereft("ac") == {0}


def test_disk_that_was_set_back_lacks_only_what_came_later() -> None:
    keepers = whole()
    keepers.look(5.0, {id: [AB, AB] for id in "abc"}, "abc")

    keepers.lose("ab", 6.0)

    assert keepers.bereft("abc") == {0, 1}
    assert keepers.bereft("c") == {0, 1} and Keepers(keepers.spells[:1]).bereft("abc") == frozenset()


def test_fact_is_firm_on_all_disks_that_are_to_have_it_and_lacking_when_none_is_there() -> None:
    page, other = (1, 1), (2, 2)
    losses = Losses({page: 0, other: 1})

    losses.settle({"a": {page: 3, other: 3}, "b": {page: 2, other: 3}, "c": {}}, FIRST, 2)

    assert losses.reach(5.0, {"c": {}}, "c", "ab").lacking == {0: page}
    assert losses.reach(5.0, {"c": {page: 2}}, "c", "ab").lacking == {}
    assert losses.reach(5.0, {"c": {page: 0}}, "c", "ab").lacking == {0: page}


def test_who_was_replaced_and_takes_itself_for_whole_still_has_not_been_told_to_drop_what_it_held() -> None:
    epochs = [2, 2]

    assert has_excess("b", [AB, C], epochs, [0, 0])
    assert not has_excess("b", [AB, C], epochs, [0, 2])
    assert not has_excess("b", [AB, C], [2, 0], [0, 0])
