"""Every order of a few faults, of messages and of steps, for three masters and two buckets: what must never happen does
not, and all heals. Explored by the ownership itself, not by a model of it."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2pcrawl.core.buckets import ownership
from p2pcrawl.core.buckets.bucket_states import TRANSITIONS, BucketEvent, BucketState, BucketStates, NoTransition
from simulations.mutants import mutants
from simulations.mutants.making.edits import edit_of
from tests.exploring import Broken, Explored, explore
from tests.unit.core.buckets.bucket_laws import Words, judge
from tests.unit.core.buckets.small_cluster import BUCKETS, Action, SmallCluster, at_rest, small_table

FAULTS = ("death", "pause", "view", "loss", "offer")
ELSEWHERE = {
    # What the shell alone says, of a newcomer who never knew of a job.
    (BucketState.LEFT_OVER, BucketEvent.VACANT),
    # Copies that come late, or a word of those that others drop.
    *((state, BucketEvent.FOUND) for state in (BucketState.AWAY, BucketState.LEFT_OVER, BucketState.AGREED)),
    # The view changes while it is written down that a bucket was given up; here that is one step.
    (BucketState.RETURNING, BucketEvent.GIVEN),
    # Need four faults in one order, and so many more walks.
    (BucketState.RETURNING, BucketEvent.OFFERED),
    (BucketState.RETURNING, BucketEvent.ASSURED),
}
"""What the walks may not come to."""


CAUGHT = ("lost-still-served", "awaited-not-cut-to-mine", "offer-not-awaited", "heard-of-another-epoch")
"""Mutants that must not pass."""


@pytest.fixture(autouse=True)
def _two_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ownership, "table_after", small_table)


@contextmanager
def noted(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[tuple[BucketState, BucketEvent]]]:
    """Notes which events come to which states."""
    seen: set[tuple[BucketState, BucketEvent]] = set()
    take = BucketStates.take

    def noting(self: BucketStates, event: BucketEvent, buckets: Iterable[int]) -> frozenset[int]:
        buckets = list(buckets)
        seen.update((self[bucket], event) for bucket in buckets)
        return take(self, event, buckets)

    with monkeypatch.context() as patched:
        patched.setattr(BucketStates, "take", noting)
        yield seen


@pytest.mark.parametrize(
    ("faults", "states"),
    [
        ({"view": 1, "loss": 1}, 1_000),
        pytest.param({"pause": 1}, 2_500, marks=pytest.mark.slow),
        pytest.param({"death": 1}, 20_000, marks=pytest.mark.soak),
        pytest.param({"pause": 1, "loss": 1}, 30_000, marks=pytest.mark.soak),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, dict) else "",
)
def test_nothing_is_lost_and_all_heals_in_whatever_order_it_happens(faults: dict[str, int], states: int) -> None:
    found = explore(at_rest(**faults), judge)

    assert len(found.states) > states
    assert [found.way_to(number) for number in found.hopeless()[:1]] == []


class OneGone(SmallCluster):
    """A cluster in which nothing goes wrong any more: who is gone stays away, and who fell silent may wake."""

    def mishaps(self) -> Iterator[Action]:
        return (mishap for mishap in super().mishaps() if mishap[0] == "wake")


def died_with_an_epoch() -> tuple[SmallCluster, Words]:
    """Returns a cluster of four just after one has died that had everybody's word for a bucket, and an epoch of its own
    of it on its disk, and another one has fallen silent; and the words that were given.
    """
    cluster, words = at_rest(masters=4, death=2, pause=1), Words()
    heir, *others = cluster.ids
    order = ("view", "settle", "deliver", "give", "promote", "claim")
    cluster.do(("death", heir))
    for back in (False, True):
        while not any(word[0] == heir for word in cluster.taken):
            if not (steps := [step for step in cluster.steps() if step[0] in order]):
                break
            step = min(steps, key=lambda step: order.index(step[0]))
            words.heard(cluster, step)
            cluster.do(step)
        cluster.do(("death" if back else "return", heir))
    for other in others:
        cluster.do(("view", other, frozenset(others)))
    cluster.do(("pause", others[-1]))
    return OneGone(cluster.places, cluster.taken, facts=cluster.facts, writes=1), words


def explored_after_a_death() -> Explored:
    cluster, words = died_with_an_epoch()

    def hold(before: SmallCluster, after: SmallCluster) -> None:
        judge(before, after)
        words.judge(after)

    return explore(cluster, hold)


def test_who_gave_its_word_goes_on_under_another_epoch_though_the_heir_died_before_anybody_heard_of_his() -> None:
    """He may be back any moment, and says that he has all that was there when the word was given."""
    found = explored_after_a_death()

    assert len(found.states) > 1_000
    assert [found.way_to(number) for number in found.hopeless()[:1]] == []


def test_who_goes_on_after_its_word_is_noticed() -> None:
    with edit_of(mutants()["goes-on-after-its-word"]).put_in(), pytest.raises(Broken, match="had its word"):
        explored_after_a_death()


def walk(seed: int, steps: int = 300, faults: int = 4, masters: int = 3) -> SmallCluster:
    """Lets whatever comes happen, with more faults than can be gone through in every order; then lets it heal."""
    dice, words = Random(seed), Words()
    cluster = at_rest(writes=3, masters=masters, **dict.fromkeys(FAULTS, faults))
    for _ in range(steps):
        free, bad = list(cluster.steps()), list(cluster.mishaps())
        if not free and not bad:
            break
        after: SmallCluster = pickle.loads(cluster.packed())
        action = dice.choice(bad if not free or (bad and dice.random() < 0.15) else free)
        words.heard(cluster, action)
        after.do(action)
        judge(cluster, after)
        words.judge(after)
        cluster = after
    return cluster


def heal(cluster: SmallCluster, dice: Random, steps: int = 2_000) -> bool:
    """Lets all that are gone come back, and nothing else go wrong; tells whether all is well in the end."""
    cluster.faults.clear()
    for _ in range(steps):
        ahead = [*cluster.steps(), *cluster.mishaps()]
        if not ahead or (cluster.healed and not list(cluster.mishaps())):
            break
        cluster.do(dice.choice(ahead))
    return cluster.healed


def broken(cluster: SmallCluster) -> list[int]:
    """Returns the buckets of which something is missing, though no disk was ever lost."""
    return [bucket for bucket in BUCKETS if any(p.o.serves(bucket) and p.o.lacks[bucket] for p in cluster.places)]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1 << 30))
def test_all_heals_after_many_faults(seed: int) -> None:
    cluster = walk(seed)

    assert heal(cluster, Random(seed))
    assert broken(cluster) == []
    assert [sum(place.o.serves(bucket) for place in cluster.places) for bucket in BUCKETS] == [1, 1]


@pytest.mark.slow
def test_whatever_can_happen_is_in_the_table_and_whatever_is_in_the_table_happens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with noted(monkeypatch) as seen:
        for seed in range(150):
            walk(seed)

    assert {(state, event) for state, steps in TRANSITIONS.items() for event in steps} - seen <= ELSEWHERE


@pytest.mark.slow
@pytest.mark.parametrize("name", CAUGHT)
def test_mistake_is_noticed(name: str) -> None:
    def amiss(seed: int) -> bool:
        try:
            cluster = walk(seed)
            return not heal(cluster, Random(seed)) or bool(broken(cluster))
        except (AssertionError, NoTransition):
            return True

    assert not amiss(0)
    with edit_of(mutants()[name]).put_in():
        assert any(map(amiss, range(40)))
