"""Parts of a cluster meet: whoever had a bucket, too, tells its owner what it should know of the hosts."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from p2pcrawl.core.hosts.politeness import HostNote
from p2pcrawl.core.ring.rendezvous import BUCKETS, key_hash
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.crawl.job import START_URL
from p2pcrawl.wire.messages.peer_messages import Offer
from p2pcrawl.wire.messages.slave_messages import Page, Task
from tests.unit.master.fake_slaves import page_of
from tests.unit.master.masters import FakeCluster, FakeMaster, eventually, settled, submit, town_of
from tests.unit.master.test_cluster import _owner

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("impatient")]


def begin(task: Task) -> Page | None:
    """Ends the start of a job at once, and keeps everything else in hand."""
    return page_of(task, SEEDS) if task.link.url.startswith(START_URL) else None


SEEDS = [f"http://h{number}.example/" for number in range(8)]


async def apart(town: FakeCluster, one: FakeMaster, two: FakeMaster, three: FakeMaster) -> int:
    """Parts the second from the others, and lets it ask all hosts; returns one that is the first's when they meet."""
    await eventually(lambda: settled((one, two, three)))
    url = next(url for url in SEEDS if _owner(one, url) == one.id)
    town.views = {one.id: [one.id, three.id], two.id: [two.id], three.id: [one.id, three.id]}
    town.look()
    await eventually(lambda: two.cluster.ownership.owned == BUCKETS and settled((one, three)))
    two.slaves.has_begun = True
    await submit(two, download_delay=0.01)
    await eventually(lambda: len(two.slaves.in_hand) == len(SEEDS))
    key = key_hash(url.split("/")[2])
    two.cluster.neighbours.host_notes.learn({key: HostNote(pause_s=300.0)})
    return key


def meet(town: FakeCluster) -> None:
    town.views = {}
    town.look()


async def test_owner_knows_what_is_open_at_the_other_side_till_it_has_ended_and_what_a_host_asked_there(
    tmp_path: Path,
) -> None:
    async with town_of(tmp_path, "1", "2", "3", answer=begin) as (town, (one, two, three)):
        key = await apart(town, one, two, three)
        elsewhere, notes = one.cluster.budgets.elsewhere, one.cluster.neighbours.host_notes

        meet(town)
        await eventually(lambda: elsewhere.is_asked(key))
        note = notes.of_host(key)
        two.slaves.report([page_of(task) for task in two.slaves.in_hand])
        await eventually(lambda: not elsewhere.is_asked(key))

        assert note is not None and note.pause_s > 200.0


async def test_offer_that_comes_before_its_owner_has_changed_its_view_is_made_again(tmp_path: Path) -> None:
    async with town_of(tmp_path, "1", "2", "3", answer=begin) as (town, (one, two, three)):
        key = await apart(town, one, two, three)
        offered = asyncio.Event()

        async def watch(town: FakeCluster, source: NodeId, target: NodeId, request: object) -> None:
            if isinstance(request, Offer):
                offered.set()

        town.after = watch
        del town.views[two.id]
        town.look(two.id)
        await offered.wait()
        early = one.cluster.budgets.elsewhere.is_asked(key)
        meet(town)

        await eventually(lambda: one.cluster.budgets.elsewhere.is_asked(key))
        assert not early
