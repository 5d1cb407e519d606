"""Links that have too few copies at their owners: how often they are said again, and when they need not be kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from p2pcrawl.core.buckets.copy_ledger import Copying
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.master.copies import spool
from p2pcrawl.master.copies.holdings import Holdings
from p2pcrawl.master.copies.spool import Spool
from p2pcrawl.master.jobs.job import job_of
from p2pcrawl.master.links.dispatch import Hold, Parcel
from p2pcrawl.model.cluster.node import Address, Member, NodeId, Status
from p2pcrawl.model.crawl.fingerprint import fingerprint
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.errors import LinkError
from p2pcrawl.wire.messages.peer_messages import Settled
from tests.unit.master.fake_slaves import spec_of

ME, OTHER, THIRD = NodeId("1" * 40), NodeId("2" * 40), NodeId("3" * 40)
JOB = 7


def member(id: NodeId, life: int = 1) -> Member:
    return Member(id, Address("127.0.0.1:7117"), 1, Status.ALIVE, 1, bytes([life]) * 8, bytes(16))


class Keeper:
    """One of three masters, of which each record is to be on three: its spool, and the owner that it tells."""

    def __init__(self, holdings: Holdings) -> None:
        self.copying = Copying(ME, copies=3)
        self.owner: NodeId | None = OTHER
        self.told: list[list[str]] = []
        """What the owner was told, time after time."""
        self.heard: Callable[[], None] = lambda: None
        self.silent = False
        inbox = SimpleNamespace(arrive=lambda job, links: self.deliver(ME, job, links))
        router = SimpleNamespace(owner=lambda bucket: self.owner)
        self.spool = Spool(holdings, router, self.copying, {JOB: job_of(spec_of())}, inbox, self.deliver)

    def live(self, members: Iterable[Member]) -> None:
        self.copying.change(members, {}, 3)

    async def deliver(self, owner: NodeId, job: int, links: list[Link]) -> Settled:
        if self.silent:
            raise LinkError("it does not answer")
        self.told.append([link.url for link in links])
        self.heard()
        return Settled(0, provisional=list(range(len(links))) if self.copying.short else [])

    async def keep(self, *urls: str) -> None:
        found = [Link(url, fingerprint(url), depth=1) for url in urls]
        await self.spool.keep(JOB, [Parcel(link, 1, Hold()) for link in found])


@asynccontextmanager
async def keeper(folder: Path) -> AsyncIterator[Keeper]:
    Store(folder).close()
    holdings = Holdings(folder, lambda error: None)
    await holdings.open()
    try:
        async with asyncio.timeout(10):
            yield Keeper(holdings)
    finally:
        await holdings.close()


async def test_links_are_said_again_until_enough_have_them(tmp_path: Path) -> None:
    async with keeper(tmp_path) as it:
        it.live([member(ME), member(OTHER)])
        await it.keep("a", "b")
        await it.spool.send_again()
        kept = it.spool.size

        it.live([member(ME), member(OTHER), member(THIRD)])
        await it.spool.send_again()

    assert kept == 2
    assert it.spool.size == 0
    assert it.told == [["a", "b"], ["a", "b"]]


async def test_while_too_few_live_each_link_is_said_once_more_and_not_again_and_again(tmp_path: Path) -> None:
    async with keeper(tmp_path) as it:
        it.live([member(ME), member(OTHER)])
        for url in "a", "b":
            await it.keep(url)
            for _ in range(3):
                await it.spool.send_again()

    assert it.told == [["a"], ["b"]]
    assert it.spool.size == 2


@pytest.mark.parametrize("change", ["somebody else", "another life"])
async def test_all_links_are_said_again_when_those_that_live_are_others(tmp_path: Path, change: str) -> None:
    async with keeper(tmp_path) as it:
        it.live([member(ME), member(OTHER)])
        await it.keep("a", "b")
        await it.spool.send_again()

        it.live([member(ME), member(THIRD) if change == "somebody else" else member(OTHER, life=2)])
        await it.spool.send_again()

    assert it.told == [["a", "b"], ["a", "b"]]


async def test_links_that_nobody_answered_are_said_again(tmp_path: Path) -> None:
    async with keeper(tmp_path) as it:
        it.live([member(ME), member(OTHER)])
        await it.keep("a", "b")
        it.silent = True
        await it.spool.send_again()
        it.silent = False

        await it.spool.send_again()

    assert it.told == [["a", "b"]]


async def test_link_that_has_become_our_own_is_not_kept(tmp_path: Path) -> None:
    async with keeper(tmp_path) as it:
        it.live([member(ME), member(OTHER)])
        await it.keep("a")

        it.owner = None
        await it.spool.send_again()

    assert it.told == [["a"]]
    assert it.spool.size == 0


async def test_what_is_kept_is_unsaid_until_its_owner_of_now_has_taken_it(tmp_path: Path) -> None:
    async with keeper(tmp_path) as it:
        it.live([member(ME), member(OTHER)])
        unsaid = [it.spool.unsaid]
        await it.keep("a")
        unsaid.append(it.spool.unsaid)
        await it.spool.send_again()
        unsaid.append(it.spool.unsaid)

        it.live([member(ME), member(THIRD)])
        unsaid.append(it.spool.unsaid)
        it.silent = True
        await it.spool.send_again()
        unsaid.append(it.spool.unsaid)
        it.silent = False
        await it.spool.send_again()
        unsaid.append(it.spool.unsaid)

    assert unsaid == [False, True, False, True, True, False]


async def test_what_somebody_waits_for_is_said_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "AGAIN_S", 1e6)
    async with keeper(tmp_path) as it:
        it.live([member(ME), member(OTHER)])
        await it.keep("a")
        said = asyncio.Event()
        it.heard = said.set
        running = asyncio.create_task(it.spool.run())

        it.spool.hasten()
        await said.wait()
        running.cancel()

    assert it.told == [["a"]]
