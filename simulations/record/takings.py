"""The record of takeovers: who claims what of whom, who has let go, and who has heard of which epoch."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from ..kernel.moments import COMES, LEAVES, Moment, Moments
from ..model.members.doubts import Doubts
from ..model.members.farewells import Farewells
from ..model.standings import Standing
from ..model.stores import Key, StandingRow, Stores
from ..model.taking.sight import Begun
from ..model.taking.takeovers import Takeovers
from .heard.requests import Requests, in_order, opened


class _Told(NamedTuple):
    """The buckets of a message that are looked at, and the place at which each is told of."""

    places: dict[int, int]
    total: int
    """How many buckets it has in all."""

    def of_each(self, *lists: Any) -> dict[int, tuple[Any, ...]]:
        """Returns what these lists say of each bucket that is looked at. Raises ValueError for lists of other lengths
        than there are buckets.
        """
        if any(len(each) != self.total for each in lists):
            raise ValueError(f"{self.total} buckets, and lists of {[len(each) for each in lists]}")
        return {bucket: tuple([each[place] for each in lists]) for bucket, place in self.places.items()}


class Takings:
    """Has takeovers judged, by the moments of a run."""

    def __init__(
        self, moments: Moments, takeovers: Takeovers, doubts: Doubts, stores: Stores,
        acquainted: Callable[[str], frozenset[str]], farewells: Farewells,
    ) -> None:  # fmt: skip
        """``acquainted`` reads on a disk whom its master would miss."""
        self._acquainted = acquainted
        self._takeovers = takeovers
        self._doubts = doubts
        self._farewells = farewells
        self._stores = stores
        self._claims, self._claimed = Requests(), Requests()
        """The claims that somebody has made, and those that have come to somebody;"""
        self._tellings, self._told = Requests(), Requests()
        """the same of epochs,"""
        self._drops = Requests()
        self._goodbyes = Requests()
        """of copies that are to be dropped, and of all that others have by now."""
        self._watched = lru_cache(64)(self._find_watched)
        for recorder, kind, phase in (
            (self._claims_of, "Claim", LEAVES), (self._is_claimed, "Claim", COMES),
            (self._lets_go, "Released", LEAVES), (self._hears, "Released", COMES),
            (self._begins, "Taken", LEAVES), (self._is_told, "Taken", COMES),
            (self._notes, "Forgotten", LEAVES), (self._is_heard, "Forgotten", COMES),
            (self._is_to_drop, "DropCopies", COMES), (self._drops_it, "Dropped", LEAVES),
            (self._tells, "Discover", LEAVES), (self._is_answered, "Settled", COMES),
            (self._confirms, "DropCopies", COMES), (self._is_confirmed, "Dropped", LEAVES),
            (self._is_synced, "Whole", COMES), (self._grants, "Grant", LEAVES),
        ):  # fmt: skip
            moments.record(recorder, [(kind, phase)])

    # -- letting go ----------------------------------------------------------------------------

    def _claims_of(self, moment: Moment) -> None:
        claim = opened(moment.what)
        self._claims.came(moment.peer, moment.node, claim.id, moment.at, self._watched(claim.buckets))

    def _is_claimed(self, moment: Moment) -> None:
        claim = moment.what
        self._claimed.came(moment.node, moment.peer, claim.id, moment.at, self._watched(claim.buckets))

    def _lets_go(self, moment: Moment) -> None:
        message = opened(moment.what)
        asked = self._claimed.answered(moment.node, moment.peer, message.id)
        if asked is not None and message.agreed:
            self._takeovers.lets_go(moment.node, moment.peer, _standings(asked[1], message))
            self._doubts.lets_go(moment.node, moment.peer)
            self._doubts.hands_over(moment.node, self._acquainted(moment.node))

    def _hears(self, moment: Moment) -> None:
        asked = self._claims.answered(moment.peer, moment.node, moment.what.id)
        if asked is not None and moment.what.agreed:
            self._takeovers.hears(moment.node, moment.peer, _standings(asked[1], moment.what), asked[0])

    # -- epochs --------------------------------------------------------------------------------

    def _begins(self, moment: Moment) -> None:
        message = opened(moment.what)
        epochs = self._epochs(message)
        self._tellings.came(moment.peer, moment.node, message.id, moment.at, epochs)
        self._takeovers.begins(moment.node, moment.peer, epochs, message.view)
        if not self._takeovers.go_on(moment.node, epochs):
            self._doubts.begins(moment.node, epochs)
            self._doubts.hands_over(moment.node, self._acquainted(moment.node))

    def _is_told(self, moment: Moment) -> None:
        epochs = self._epochs(moment.what)
        what = epochs, self._said(moment.node, epochs), self._takeovers.sight.view(moment.node)
        self._told.came(moment.node, moment.peer, moment.what.id, moment.at, what)
        self._takeovers.is_told(moment.node, epochs)
        self._farewells.is_taken(moment.node, in_order(moment.what.buckets))

    def _notes(self, moment: Moment) -> None:
        asked = self._told.answered(moment.node, moment.peer, opened(moment.what).id)
        if asked is not None:
            self._takeovers.sayings.notes(moment.node, moment.peer, *asked[1])

    def _is_heard(self, moment: Moment) -> None:
        asked = self._tellings.answered(moment.peer, moment.node, moment.what.id)
        if asked is not None:
            self._takeovers.is_heard(moment.node, moment.peer, asked[1])

    # -- copies --------------------------------------------------------------------------------

    def _is_synced(self, moment: Moment) -> None:
        self._takeovers.sayings.is_whole(moment.node, self._counters(moment.what))

    def _is_to_drop(self, moment: Moment) -> None:
        message, epochs = moment.what, self._counters(moment.what)
        if not message.few:
            what = epochs, self._said(moment.node, epochs), self._takeovers.sayings.is_to_drop(moment.node, epochs)
            self._drops.came(moment.node, moment.peer, message.id, moment.at, what)

    def _drops_it(self, moment: Moment) -> None:
        message = opened(moment.what)
        asked = self._drops.answered(moment.node, moment.peer, message.id)
        if asked is not None:
            self._takeovers.sayings.has_answered(moment.node, asked[1][0])
        if asked is not None and message.agreed:
            self._takeovers.sayings.drops(moment.node, moment.peer, *asked[1])

    def _confirms(self, moment: Moment) -> None:
        buckets = self._watched(moment.what.buckets).places
        self._goodbyes.came(moment.node, moment.peer, moment.what.id, moment.at, buckets)
        self._farewells.is_asked(moment.node, moment.peer, moment.what.id, buckets)

    def _is_confirmed(self, moment: Moment) -> None:
        message = opened(moment.what)
        asked = self._goodbyes.answered(moment.node, moment.peer, message.id)
        self._farewells.answers(moment.node, moment.peer, message.id)
        if asked is not None and message.agreed:
            self._farewells.confirms(moment.node, moment.peer, asked[1])

    def _tells(self, moment: Moment) -> None:
        self._farewells.tells(moment.node, moment.peer, opened(moment.what).id)

    def _is_answered(self, moment: Moment) -> None:
        self._farewells.is_answered(moment.node, moment.peer, moment.what.id)

    def _grants(self, moment: Moment) -> None:
        numbers, tasks = self._stores.store(moment.node).numbers, opened(moment.what).tasks
        keys: list[Key] = [numbers[task.record] for task in tasks if task.record in numbers]
        buckets = sorted({self._stores.bucket_of[key] for key in keys})
        self._takeovers.grants(moment.node, buckets)
        self._doubts.grants(moment.node, sorted(self._takeovers.watched.intersection(buckets)))

    def _said(self, node: str, buckets: Any) -> dict[int, StandingRow | None]:
        standings = self._stores.store(node).standings
        return {bucket: standings.get(bucket) for bucket in buckets}

    def _epochs(self, message: Any) -> dict[int, Begun]:
        told = self._watched(message.buckets).of_each(message.counters, message.since)
        rivals = message.rivals
        return {b: Begun(epoch, since, tuple(rivals.get(b, ()))) for b, (epoch, since) in told.items()}

    def _counters(self, message: Any) -> dict[int, int]:
        return {bucket: epoch for bucket, (epoch,) in self._watched(message.buckets).of_each(message.counters).items()}

    def _find_watched(self, bitmap: bytes) -> _Told:
        buckets, watched = in_order(bitmap), self._takeovers.watched
        return _Told({bucket: place for place, bucket in enumerate(buckets) if bucket in watched}, len(buckets))


def _standings(told: _Told, message: Any) -> dict[int, Standing]:
    pieces = {bucket: tuple(map(tuple, those)) for bucket, those in message.pieces.items()}
    each = told.of_each(message.counters, message.lacks, message.bases)
    return {bucket: Standing(epoch, lack, base, pieces.get(bucket, ())) for bucket, (epoch, lack, base) in each.items()}
