"""What must hold of every step that a small cluster can take."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from p2pcrawl.core.buckets.bucket_states import BucketState
from p2pcrawl.model.cluster.node import NodeId
from tests.unit.core.buckets.small_cluster import BUCKETS, Action, Place, SmallCluster


def judge(before: SmallCluster, after: SmallCluster) -> None:
    """Holds a step against the laws."""
    for was, now in zip(before.places, after.places, strict=True):
        for bucket in BUCKETS:
            assert not was.has(bucket) & ~now.has(bucket), f"{now.me} has lost a fact of bucket {bucket}"
        if was.up and now.up:
            assert not _sunk(was.o.counters, now.o.counters), f"an epoch of {now.me} has fallen"
    awake = [place for place in after.places if place.acts]
    for bucket in BUCKETS:
        serving = [place for place in awake if place.o.states.serves(bucket)]
        assert len({place.view for place in serving}) == len(serving), f"two serve bucket {bucket} under one view"
        for place in serving:
            assert place.o.owner(bucket) is None, f"{place.me} serves bucket {bucket}, which is another's"
            was = before.place(place.me)
            if was.acts and was.o.states[bucket] is BucketState.BEGINNING:
                deaf = _deaf(place, awake, bucket)
                assert not deaf, f"{place.me} serves bucket {bucket} under an epoch that {deaf} have not heard of"


@dataclass(slots=True)
class Words:
    """What nobody can read from a state: who has given another one its word for a bucket serves it no more under the
    epoch that it knew then, for the other one may write down that he has all of that, before anybody hears of him.
    """

    given: set[tuple[NodeId, int, int]] = field(default_factory=set)
    """Who has given it, for which bucket, under which epoch."""

    def heard(self, before: SmallCluster, action: Action) -> None:
        """Takes in what is about to happen."""
        if action[0] == "claim":
            _, claimer, giver = action
            epochs = before.place(giver).o.counters
            self.given.update((giver, bucket, epochs[bucket]) for bucket in before.place(claimer).o.awaited(giver))

    def judge(self, after: SmallCluster) -> None:
        """Holds a state against the words that were given."""
        for place in (place for place in after.places if place.acts):
            for bucket in (bucket for bucket in BUCKETS if place.o.serves(bucket)):
                epoch = place.o.counters[bucket]
                text = f"{place.me} serves bucket {bucket} under epoch {epoch}, for which another one had its word"
                assert (place.me, bucket, epoch) not in self.given, text


def _deaf(owner: Place, awake: Collection[Place], bucket: int) -> list[str]:
    """Returns who, in the owner's view, knows of no epoch of a bucket that is as late as the owner's."""
    others = (each for each in awake if each.view == owner.view)
    return [each.me for each in others if each.o.counters[bucket] < owner.o.counters[bucket]]


def _sunk(was: Collection[int], now: Collection[int]) -> bool:
    return any(one > other for one, other in zip(was, now, strict=True))
