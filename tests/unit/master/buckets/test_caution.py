"""Whoever may have been taken for dead serves nothing, and calls nothing safe, until all others have let go."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from p2pcrawl.core.membership.output import Event, EventKind
from p2pcrawl.core.ring.rendezvous import BUCKETS
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.wire.messages.peer_messages import Claim
from tests.unit.master.fake_slaves import page_of
from tests.unit.master.masters import FakeCluster, FakeMaster, eventually, settled, town_of

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("impatient")]


class Unanswered:
    """Claims of one master are not answered until they may be."""

    def __init__(self, claimer: FakeMaster) -> None:
        self._claimer = claimer.id
        self.may_be = asyncio.Event()

    async def __call__(self, town: FakeCluster, source: NodeId, target: NodeId, request: Any) -> None:
        if isinstance(request, Claim) and source == self._claimer:
            await self.may_be.wait()


def served(house: FakeMaster) -> list[int]:
    return [bucket for bucket in range(BUCKETS) if house.cluster.ownership.serves(bucket)]


def is_condemned(town: FakeCluster, house: FakeMaster) -> Unanswered:
    """A master hears that it was held dead, and nobody answers it for a while."""
    town.before = unanswered = Unanswered(house)
    house.cluster.happened(Event(EventKind.CONDEMNED, town.member(house.id)))
    return unanswered


async def test_master_that_was_held_dead_serves_nothing_until_the_others_have_let_go(tmp_path: Path) -> None:
    async with town_of(tmp_path, "1", "2", answer=page_of) as (town, (one, two)):
        await eventually(lambda: settled((one, two)))
        before = served(one)
        epoch = one.cluster.ownership.counters[before[0]]

        unanswered = is_condemned(town, one)
        meanwhile = served(one)
        unanswered.may_be.set()
        await eventually(lambda: settled((one, two)))

        assert meanwhile == []
        assert served(one) == before
        assert one.cluster.ownership.counters[before[0]] > epoch


async def test_links_are_provisional_while_their_bucket_is_not_served(tmp_path: Path) -> None:
    async with town_of(tmp_path, "1", "2", answer=page_of) as (town, (one, two)):
        await eventually(lambda: settled((one, two)) and not one.cluster.copying.lacking())
        bucket = served(one)[0]

        is_safe = not one.cluster.neighbours.provisional(bucket, 2)
        unanswered = is_condemned(town, one)
        is_safe_meanwhile = not one.cluster.neighbours.provisional(bucket, 2)
        unanswered.may_be.set()
        await eventually(lambda: settled((one, two)) and not one.cluster.copying.lacking())

        assert (is_safe, is_safe_meanwhile) == (True, False)
        assert not one.cluster.neighbours.provisional(bucket, 2)
