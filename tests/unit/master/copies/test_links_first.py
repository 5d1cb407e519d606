"""A master that comes back with a page that is done, and with links that nobody else has, brings the links first."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from p2pcrawl.core.bench.candidate import host_key
from p2pcrawl.core.ring.rendezvous import bucket_of_hash
from p2pcrawl.frontier.database import copied_mark
from p2pcrawl.frontier.database.copied_mark import CopiedMark
from p2pcrawl.frontier.database.schema import Transaction, open_database
from p2pcrawl.master.copies import links_first
from p2pcrawl.master.copies.row_forms import row_of_copy
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.errors import LinkError
from p2pcrawl.wire.messages.peer_messages import Compare, Copy, Discover, Pull, Whole
from p2pcrawl.wire.messages.slave_messages import Page, Task
from tests.unit.master.fake_slaves import Site, urls
from tests.unit.master.masters import FakeCluster, arrive, eventually, records, settled, submit, town_of

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.usefixtures("impatient"),
]

FIRST, *MORE = sorted(urls(400, hosts=400), key=lambda url: bucket_of_hash(host_key(url)))
"""A page whose bucket is looked at before all others."""


@pytest.fixture(autouse=True)
def _each_turn_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copied_mark, "STEP", 1)


class Arrivals:
    """What one master hears of another: which URLs at all, and which it lacked of a page's links when it heard that the
    page is done.
    """

    def __init__(self, page: str, links: set[str]) -> None:
        self.page, self.links = page, links
        self.known: set[str] = set()
        self.lacked: set[str] | None = None
        self.lost = True
        """No copy of any of them arrives."""

    async def before(self, town: FakeCluster, source: NodeId, node: NodeId, request: Any) -> None:
        if not isinstance(request, Copy):
            return
        rows = [row_of_copy(copy) for copy in request.rows]
        if self.lost and any(row.link.url in {self.page, *self.links} for row in rows):
            raise LinkError("it got lost")
        if self.lacked is None and any(row.link.url == self.page and row.phase == Phase.DONE for row in rows):
            self.lacked = self.links - self.known

    async def after(self, town: FakeCluster, source: NodeId, node: NodeId, request: Any) -> None:
        if isinstance(request, Copy):
            self.known |= {row_of_copy(copy).link.url for copy in request.rows}
        elif isinstance(request, Discover):
            self.known |= {link.url for link in request.links}


def in_hand(task: Task) -> Page | None:
    return None


async def end_a_page_that_nobody_hears_of(folder: Path) -> Arrivals:
    """Has a page fetched, and the links that it led to stored, by a master that dies before it has told anybody."""
    async with town_of(folder, "1", "2", answer=in_hand) as (town, houses):
        await eventually(lambda: settled(houses))
        owner = houses[0].cluster.ownership.owner
        ours = [url for url in (FIRST, *MORE) if owner(bucket_of_hash(host_key(url))) is None]
        page, *links = ours[0], *ours[-20:]
        arrivals = Arrivals(page, set(links))
        town.before = arrivals.before
        site = Site([page], {page: links})
        houses[0].slaves.answer = houses[1].slaves.answer = lambda task: None if task.link.url in links else site(task)
        await submit(houses[0])
        while (page, int(Phase.DONE)) not in await records(houses[0]):
            pass
    return arrivals


async def test_page_that_was_ended_before_a_crash_is_told_when_its_links_are_with_others(tmp_path: Path) -> None:
    """Buckets are compared one after the other, and the page's is the first; a disk that is lost in between must not
    take the links along.
    """
    arrivals = await end_a_page_that_nobody_hears_of(tmp_path)
    arrivals.lost = False

    def listen(town: FakeCluster) -> None:
        town.before, town.after = arrivals.before, arrivals.after

    async with town_of(tmp_path, "1", "2", answer=in_hand, setup=listen):
        await eventually(lambda: arrivals.lacked is not None)

    assert arrivals.lacked == set()


async def test_more_links_than_hosts_are_to_wait_for_follow_with_their_buckets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What docs/copies.md does not promise; and that the test before could fail."""
    monkeypatch.setattr(links_first, "LINKS_MAX", 0)
    arrivals = await end_a_page_that_nobody_hears_of(tmp_path)
    arrivals.lost = False

    def listen(town: FakeCluster) -> None:
        town.before, town.after = arrivals.before, arrivals.after

    async with town_of(tmp_path, "1", "2", answer=in_hand, setup=listen):
        await eventually(lambda: arrivals.lacked is not None)

    assert arrivals.lacked


async def test_newcomer_is_brought_what_one_that_was_alone_has_found_before_it_takes_anything(tmp_path: Path) -> None:
    """The page's bucket may become its own, and the links stay where they are, on one disk."""
    page, *links = FIRST, *MORE[-40:]
    site = Site([page], {page: links})
    arrivals = Arrivals(page, set(links))
    lacked: list[set[str]] = []

    async def before(town: FakeCluster, source: NodeId, node: NodeId, request: Any) -> None:
        if isinstance(request, Pull):
            lacked.append(arrivals.links - arrivals.known)

    async with town_of(tmp_path, "1", answer=site) as (town, one):
        await eventually(lambda: settled(one))
        await submit(one[0])
        while (page, int(Phase.DONE)) not in await records(one[0]):
            pass
        town.before, town.after = before, arrivals.after

        newcomer = await arrive(town, "2", site)
        await eventually(lambda: settled([*one, newcomer]))

    assert lacked and lacked[0] == set()


async def test_no_copy_is_called_whole_before_links_are_with_others_that_nobody_else_has(tmp_path: Path) -> None:
    """Also none of a bucket of which there is nothing to bring."""
    page, *links = FIRST, *MORE[-40:]
    site = Site([page], {page: links})
    refused, whole = list[str](), list[Whole]()
    may_come = asyncio.Event()

    async def before(town: FakeCluster, source: NodeId, node: NodeId, request: Any) -> None:
        told = [link.url for link in request.links] if isinstance(request, Discover) else []
        told += [row_of_copy(copy).link.url for copy in request.rows] if isinstance(request, Copy) else []
        if not may_come.is_set() and (kept := {*links}.intersection(told)):
            refused.extend(kept)
            raise LinkError("it got lost")
        if isinstance(request, Whole):
            whole.append(request)

    async with town_of(tmp_path, "1", answer=site) as (town, one):
        await eventually(lambda: settled(one))
        await submit(one[0])
        while (page, int(Phase.DONE)) not in await records(one[0]):
            pass
        town.before = before

        newcomer = await arrive(town, "2", site)
        await eventually(lambda: len(refused) > 3 * len(links))
        too_soon = [*whole]
        may_come.set()
        await eventually(lambda: settled([*one, newcomer]) and not one[0].cluster.copying.lacking())

    assert whole and not too_soon


async def test_whoever_never_takes_the_links_does_not_hold_up_everything_for_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that has joined and refuses their job."""
    monkeypatch.setattr(links_first, "PATIENCE_S", 0.1)
    page, *links = FIRST, *MORE[-40:]
    site = Site([page], {page: links})
    waited: list[Any] = []
    """What was not to be said before the links are taken."""

    async def refuse(town: FakeCluster, source: NodeId, node: NodeId, request: Any) -> None:
        rows = [row_of_copy(copy) for copy in request.rows] if isinstance(request, Copy) else []
        if isinstance(request, Pull | Compare) or any(row.phase == Phase.DONE for row in rows):
            waited.append(request)
        elif not waited and isinstance(request, Copy | Discover):
            raise LinkError("it does not run here")

    async with town_of(tmp_path, "1", answer=site) as (town, one):
        await eventually(lambda: settled(one))
        await submit(one[0])
        while (page, int(Phase.DONE)) not in await records(one[0]):
            pass
        town.before = refuse

        newcomer = await arrive(town, "2", site)
        await eventually(lambda: settled([*one, newcomer]))

    assert waited


def test_mark_never_lies_behind_the_last_record_whose_number_is_given_again(tmp_path: Path) -> None:
    db = open_database(tmp_path)
    with Transaction(db):
        CopiedMark(db, 0).note(50)

    assert CopiedMark(db, 80).number == 50
    assert CopiedMark(db, 30).number == 30
    assert CopiedMark(db, 80).number == 30
    db.close()


def test_mark_is_not_written_for_a_few_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copied_mark, "STEP", 100)
    db = open_database(tmp_path)
    mark = CopiedMark(db, 0)

    with Transaction(db):
        mark.note(99)

    assert mark.number == CopiedMark(db, 1_000).number == 0
    db.close()
