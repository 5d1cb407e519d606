"""Offers are made again and again, and let whoever has our word for a bucket come to its end."""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from p2pcrawl.core.buckets.bitmaps import buckets_of
from p2pcrawl.master.buckets import offering
from p2pcrawl.master.buckets.offering import OFFER_S, Offering
from p2pcrawl.wire.messages.peer_messages import Offer, Offered

OWNER = "b" * 64
LEFT_OVER, LET_GO = 1, 2


class Owner:
    """Owns all buckets, and notes when it is offered which."""

    me = "a" * 64
    view = 1

    def __init__(self) -> None:
        self.now = 100.0
        self.offers: dict[int, list[float]] = {LEFT_OVER: [], LET_GO: []}

    def living(self, node: str) -> object:
        return self

    def owner_id(self, bucket: int) -> str:
        return OWNER

    def of_buckets(self, buckets: Collection[int]) -> dict[int, Any]:
        return {}

    def asked(self) -> set[int]:
        return set()

    async def ask(self, node: str, request: Offer, patience_s: float) -> Offered:
        for bucket in buckets_of(request.buckets):
            self.offers[bucket].append(self.now)
        return Offered(0)


@pytest.fixture
def owner(monkeypatch: pytest.MonkeyPatch) -> Owner:
    owner = Owner()
    monkeypatch.setattr(offering, "monotonic", lambda: owner.now)
    return owner


def offering_to(owner: Owner) -> Offering:
    neighbours: Any = SimpleNamespace(peers=owner, ownership=owner, host_notes=owner)
    handover: Any = owner
    return Offering(neighbours, handover)


async def pass_by(owner: Owner, made: Offering, seconds: int, let_go: Collection[int]) -> None:
    for _ in range(seconds):
        owner.now += 1.0
        await made.offer_due({LEFT_OVER, *let_go}, frozenset(let_go))


async def test_what_was_let_go_of_is_offered_after_twice_as_long_each_time(owner: Owner) -> None:
    """Its owner asks for all of it anew at each offer: two who offer faster than that takes would never let it end."""
    made = offering_to(owner)
    made.view_changed()

    await pass_by(owner, made, 100, {LET_GO})

    gaps = [later - earlier for earlier, later in pairwise(owner.offers[LET_GO])]
    assert len(gaps) >= 3
    assert all(later >= 2 * earlier for earlier, later in pairwise(gaps))


async def test_what_nobody_has_claimed_is_offered_all_the_time(owner: Owner) -> None:
    made = offering_to(owner)
    made.view_changed()

    await pass_by(owner, made, 100, {LET_GO})

    assert len(owner.offers[LEFT_OVER]) == 100 / OFFER_S


@pytest.mark.parametrize("event", ["a view", "all is taken"])
async def test_patience_begins_anew(event: str, owner: Owner) -> None:
    """What is let go of later, or in another view, is not what took so long."""
    made = offering_to(owner)
    made.view_changed()
    await pass_by(owner, made, 60, {LET_GO})
    owner.offers[LET_GO].clear()

    if event == "a view":
        made.view_changed()
    else:
        await pass_by(owner, made, 1, ())
    began = owner.now
    await pass_by(owner, made, 4, {LET_GO})

    assert owner.offers[LET_GO] and owner.offers[LET_GO][0] <= began + 2 * OFFER_S
