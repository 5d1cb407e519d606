"""Whoever may have been taken for dead serves nothing, and calls nothing safe, until all others have let go."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from p2pcrawl.core.bench.candidate import host_key
from p2pcrawl.core.membership.output import Event, EventKind
from p2pcrawl.core.ring.rendezvous import BUCKETS, bucket_of_hash
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.wire.messages.peer_messages import Claim
from tests.unit.master.fake_slaves import Site, page_of
from tests.unit.master.masters import FakeCluster, FakeMaster, eventually, finished, settled, submit, town_of

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


async def test_master_that_was_held_dead_calls_in_what_slaves_have_not_begun_and_grants_it_when_others_have_let_go(
    tmp_path: Path,
) -> None:
    """Others may have asked these hosts since, and be at it: however long a page has been in a slave's hands."""
    page = "http://a.example/"
    site = Site([page])
    async with town_of(tmp_path, "1", "2", answer=site) as (town, houses):
        await eventually(lambda: settled(houses))
        owner = next(h for h in houses if h.cluster.ownership.owner(bucket_of_hash(host_key(page))) is None)
        owner.slaves.answer = lambda task: None if task.link.url == page else site(task)
        job = await submit(owner)
        await eventually(lambda: bool(owner.slaves.in_hand))

        unanswered = is_condemned(town, owner)
        await eventually(lambda: job.leased == 0)
        meanwhile = list(owner.slaves.in_hand)
        owner.slaves.answer = site
        unanswered.may_be.set()
        await finished(houses)

        assert meanwhile == []
        assert owner.slaves.called_in and site.visits == [page]
        assert job.counts["losses"] == 0


async def test_masters_that_meet_again_call_in_what_they_granted_while_each_took_the_other_for_dead(
    tmp_path: Path,
) -> None:
    async with town_of(tmp_path, "1", "2", answer=lambda task: None) as (town, (one, two)):
        await eventually(lambda: settled((one, two)))
        town.views = {one.id: [one.id], two.id: [two.id]}
        town.missing = {one.id, two.id}
        town.look()
        await eventually(lambda: settled((one, two)))
        await submit(one)
        await eventually(lambda: bool(one.slaves.in_hand))
        before = one.slaves.called_in

        town.views, town.missing = {}, set()
        two.boot = b"2-again-"
        town.look()
        await eventually(lambda: settled((one, two)))

        assert before == 0
        assert one.slaves.called_in == 1
