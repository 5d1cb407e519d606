"""The record of takeovers: who claims what of whom, who has let go, and who has heard of which epoch."""

from __future__ import annotations

from typing import Any

from p2pcrawl.core.buckets.bitmaps import buckets_of

from ..kernel.moments import COMES, LEAVES, Moment, Moments
from ..model.standings import Standing
from ..model.stores import Key, StandingRow, Stores
from ..model.takeovers import Begun, Takeovers
from .requests import Requests, opened


class Takings:
    """Has takeovers judged, by the moments of a run."""

    def __init__(self, moments: Moments, takeovers: Takeovers, stores: Stores) -> None:
        self._takeovers = takeovers
        self._stores = stores
        self._claims, self._claimed = Requests(), Requests()
        """The claims that somebody has made, and those that have come to somebody;"""
        self._tellings, self._told = Requests(), Requests()
        """the same of epochs,"""
        self._drops = Requests()
        """and of copies that are to be dropped."""
        self._syncs = Requests()
        for recorder, kind, phase in (
            (self._claims_of, "Claim", LEAVES), (self._is_claimed, "Claim", COMES),
            (self._lets_go, "Released", LEAVES), (self._hears, "Released", COMES),
            (self._begins, "Taken", LEAVES), (self._is_told, "Taken", COMES),
            (self._notes, "Forgotten", LEAVES), (self._is_heard, "Forgotten", COMES),
            (self._is_to_drop, "DropCopies", COMES), (self._drops_it, "Dropped", LEAVES),
            (self._is_synced, "Whole", COMES), (self._grants, "Grant", LEAVES),
        ):  # fmt: skip
            moments.record(recorder, [(kind, phase)])

    # -- letting go ----------------------------------------------------------------------------

    def _claims_of(self, moment: Moment) -> None:
        claim = opened(moment.what)
        self._claims.came(moment.peer, moment.node, claim.id, moment.at, sorted(buckets_of(claim.buckets)))

    def _is_claimed(self, moment: Moment) -> None:
        claim = moment.what
        self._claimed.came(moment.node, moment.peer, claim.id, moment.at, sorted(buckets_of(claim.buckets)))

    def _lets_go(self, moment: Moment) -> None:
        message = opened(moment.what)
        asked = self._claimed.answered(moment.node, moment.peer, message.id)
        if asked is not None and message.agreed:
            self._takeovers.lets_go(moment.node, moment.peer, _standings(asked[1], message))

    def _hears(self, moment: Moment) -> None:
        asked = self._claims.answered(moment.peer, moment.node, moment.what.id)
        if asked is not None and moment.what.agreed:
            self._takeovers.hears(moment.node, moment.peer, _standings(asked[1], moment.what))

    # -- epochs --------------------------------------------------------------------------------

    def _begins(self, moment: Moment) -> None:
        message = opened(moment.what)
        epochs = _epochs(message)
        self._tellings.came(moment.peer, moment.node, message.id, moment.at, epochs)
        self._takeovers.begins(moment.node, moment.peer, epochs, message.view)

    def _is_told(self, moment: Moment) -> None:
        epochs = _epochs(moment.what)
        self._told.came(moment.node, moment.peer, moment.what.id, moment.at, (epochs, self._said(moment.node, epochs)))

    def _notes(self, moment: Moment) -> None:
        asked = self._told.answered(moment.node, moment.peer, opened(moment.what).id)
        if asked is not None:
            self._takeovers.notes(moment.node, moment.peer, *asked[1])

    def _is_heard(self, moment: Moment) -> None:
        asked = self._tellings.answered(moment.peer, moment.node, moment.what.id)
        if asked is not None:
            self._takeovers.is_heard(moment.node, moment.peer, asked[1])

    # -- copies --------------------------------------------------------------------------------

    def _is_synced(self, moment: Moment) -> None:
        self._takeovers.is_whole(moment.node, _counters(moment.what))

    def _is_to_drop(self, moment: Moment) -> None:
        message, epochs = moment.what, _counters(moment.what)
        if not message.few:
            what = epochs, self._said(moment.node, epochs)
            self._drops.came(moment.node, moment.peer, message.id, moment.at, what)

    def _drops_it(self, moment: Moment) -> None:
        message = opened(moment.what)
        asked = self._drops.answered(moment.node, moment.peer, message.id)
        if asked is not None and message.agreed:
            self._takeovers.drops(moment.node, moment.peer, *asked[1])

    def _grants(self, moment: Moment) -> None:
        numbers = self._stores.store(moment.node).numbers
        keys: list[Key] = [numbers[task.record] for task in opened(moment.what).tasks if task.record in numbers]
        self._takeovers.grants(moment.node, sorted({self._stores.bucket_of[key] for key in keys}))

    def _said(self, node: str, buckets: Any) -> dict[int, StandingRow | None]:
        standings = self._stores.store(node).standings
        return {bucket: standings.get(bucket) for bucket in buckets}


def _standings(buckets: list[int], message: Any) -> dict[int, Standing]:
    told = zip(buckets, message.counters, message.lacks, message.bases, strict=True)
    pieces = {bucket: tuple(map(tuple, those)) for bucket, those in message.pieces.items()}
    return {b: Standing(epoch, lack, base, pieces.get(b, ())) for b, epoch, lack, base in told}


def _epochs(message: Any) -> dict[int, Begun]:
    told = zip(sorted(buckets_of(message.buckets)), message.counters, message.since, strict=True)
    return {bucket: Begun(epoch, since) for bucket, epoch, since in told}


def _counters(message: Any) -> dict[int, int]:
    return dict(zip(sorted(buckets_of(message.buckets)), message.counters, strict=True))
