"""What several have together of a bucket: the laws."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from p2pcrawl.core.buckets.standings import Standing, dropped, following, joined, left_behind, parted, standing_of
from p2pcrawl.model.cluster.epoch import PIECES_MAX

LAST = 9


@st.composite
def _standing(draw: st.DrawFn) -> Standing:
    epoch = draw(st.integers(0, LAST))
    return standing_of(epoch, draw(st.lists(st.tuples(st.integers(0, epoch), st.integers(0, epoch)), max_size=4)))


standings = st.lists(_standing(), min_size=1, max_size=6)


def had(s: Standing) -> set[int]:
    """The epochs of which everything is there."""
    return {epoch for before, last in s.spans for epoch in range(before + 1, last + 1)}


@given(standings, st.randoms())
def test_standings_are_joined_in_any_order_to_the_same(known: list[Standing], dice: Random) -> None:
    shuffled = [*known, known[0]]
    dice.shuffle(shuffled)

    assert joined(known) == joined(shuffled)
    assert joined(known).epoch == max(s.epoch for s in known)


@given(standings)
def test_nobody_together_has_what_none_of_them_has(known: list[Standing]) -> None:
    together = set().union(*map(had, known))
    it = joined(known)

    assert had(it) == together
    assert bool(it.lack) == (together != set(range(1, it.epoch + 1)))
    assert it.base < it.lack <= it.epoch or it.base == it.lack == 0


@given(_standing(), st.integers(0, LAST), st.integers(1, 3))
def test_who_follows_gains_the_new_epoch_and_who_does_not_gains_only_empty_ones(
    s: Standing, since: int, more: int
) -> None:
    epoch = max(s.epoch, since) + more

    assert had(following(s, epoch, since)) <= had(s) | set(range(since + 1, epoch + 1))
    assert epoch in had(following(s, epoch, since))
    assert had(left_behind(s, epoch, since)) <= had(s) | set(range(since + 1, epoch))
    assert left_behind(s, epoch, since).lack == epoch


@given(_standing(), st.integers(-5, 30), st.integers(0, 30))
def test_absurd_epochs_make_nobody_whole_of_what_he_did_not_have(s: Standing, epoch: int, since: int) -> None:
    epoch = max(epoch, s.epoch + 1)

    for now in (following(s, epoch, since), left_behind(s, epoch, since)):
        assert had(now) <= had(s) | set(range(since + 1, epoch + 1))


def test_who_had_the_missing_epoch_makes_a_bucket_whole_again() -> None:
    served_without_it = Standing(6, 5)

    assert joined([served_without_it, Standing(5)]) == Standing(6)
    assert joined([served_without_it, Standing(4)]) == Standing(6, 5, 4)
    assert joined([served_without_it, Standing(5, 5)]) == Standing(6, 5)


def test_missing_epochs_may_be_had_by_several() -> None:
    assert joined([Standing(6), Standing(7, 7), Standing(7, 5)]) == Standing(7)
    assert joined([Standing(9, 7), Standing(7, 4), Standing(4)]) == Standing(9)
    assert joined([Standing(9, 7), Standing(7, 4), Standing(3)]) == Standing(9, 4, 3)


def test_what_was_had_between_two_that_are_lacking_is_had_still() -> None:
    alone_under_six = Standing(6, 5)

    superseded = left_behind(alone_under_six, 9, 8)

    assert superseded == Standing(9, 9, 0, ((5, 6),))
    assert joined([superseded, Standing(9, 6), Standing(5)]) == Standing(9)
    assert joined([superseded, Standing(9, 7, 4)]) == Standing(9, 7, 4, ((5, 6),))
    assert dropped(superseded) == Standing(9, 9)


def test_of_too_many_pieces_the_oldest_are_forgotten() -> None:
    spans = [(n, n + 1) for n in range(1, 101, 2)]

    it = standing_of(200, spans)

    assert it == Standing(200, 200, 0, tuple(spans[-PIECES_MAX:]))


def test_who_followed_an_epoch_and_who_had_what_was_before_it_have_everything_together() -> None:
    old_owner, old_holder, newcomer = Standing(5), Standing(5), Standing(0)
    told = [left_behind(old_owner, 6, 5), left_behind(old_holder, 6, 5), following(newcomer, 6, 5)]

    assert told == [Standing(6, 6, 5), Standing(6, 6, 5), Standing(6, 5)]
    assert joined(told) == Standing(6)
    assert joined(told[:2]) == Standing(6, 6, 5)
    assert joined(told[2:]) == Standing(6, 5)


def test_holder_that_had_everything_and_follows_lacks_nothing() -> None:
    assert following(Standing(5), 6, 5) == Standing(6)
    assert following(Standing(4), 6, 5) == Standing(6, 5, 4)
    assert following(Standing(5), 8, 5) == Standing(8)


def test_dropped_copies_are_counted_no_more() -> None:
    assert dropped(Standing(6)) == Standing(6, 6)
    assert dropped(Standing(6, 6, 5)) == Standing(6, 6)


def test_who_never_heard_of_an_epoch_and_hears_that_others_have_enough_is_not_whole() -> None:
    assert dropped(Standing(0)) == Standing(1, 1)
    assert joined([dropped(Standing(0)), Standing(4)]) == Standing(4)


def test_who_goes_has_nothing_of_the_last_epoch_for_certain_and_what_was_before_it() -> None:
    assert parted(Standing(6)) == Standing(6, 6, 5)
    assert parted(Standing(6, 5, 3)) == Standing(6, 6, 3)
    assert parted(Standing(6, 6, 5)) == Standing(6, 6, 5)
    assert parted(Standing(0)) == Standing(0)
