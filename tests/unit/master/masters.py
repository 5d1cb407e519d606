"""Several masters in one process: real frontiers and real cluster logic over an overlay that a test controls."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from p2pcrawl.core.membership.output import Event, EventKind
from p2pcrawl.frontier.database.schema import FILE as FRONTIER_FILE
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.master.cluster import Cluster
from p2pcrawl.master.company.neighbours import Neighbours
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.master.majority.roll import Roll
from p2pcrawl.master.master import Master
from p2pcrawl.master.service import Service
from p2pcrawl.model.cluster.consent import Version
from p2pcrawl.model.cluster.node import Address, Member, NodeId, Status, format_address, parse_address
from p2pcrawl.model.cluster.placement import RingName
from p2pcrawl.model.crawl.job import JobId
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import LinkError, P2PCrawlError
from p2pcrawl.wire.messages.ask import Answered
from p2pcrawl.wire.messages.codec import FrameReader, encode
from p2pcrawl.wire.sealed.datagrams import Opened
from tests.peers import FakePeers, member
from tests.unit.master.fake_slaves import Slaves, spec_of

JOB = JobId(77)
LIMIT_S = 60.0
"""No test takes longer, whatever it waits for: a second at most, and twenty times that where the machine is busy."""

Hook = Callable[["FakeCluster", NodeId, NodeId, Any], Awaitable[None]]


class FakeCluster:
    """All masters, what each believes of the others, and what happens to what they say."""

    def __init__(self, folder: Path, ring: RingName = RingName.RENDEZVOUS, majority: bool = False) -> None:
        self.folder = folder
        self.houses: dict[NodeId, FakeMaster] = {}
        self.views: dict[NodeId, list[NodeId]] = {}
        """What each one sees; without an entry all that there are."""
        self.copies = 2
        self.ring = ring
        self.majority = majority
        """Nothing is granted without the consent of most."""
        self.looking = False
        """Whoever starts was given addresses of others, and looks for them."""
        self.apart: set[NodeId] = set()
        """Who cannot reach the others, by what goes without a link."""
        self.missing: set[NodeId] = set()
        """Masters that died and are not forgotten."""
        self.leaving: set[NodeId] = set()
        self.before: Hook | None = None
        """Awaited before a request is served; may raise LinkError to lose it."""
        self.after: Hook | None = None
        """Awaited before its answer arrives."""
        self.said: Counter[str] = Counter()

    def member(self, id: NodeId) -> Member:
        house = self.houses[id]
        return Member(
            id, house.address, 1, Status.ALIVE, house.weight, house.boot, house.store, leaving=id in self.leaving
        )

    def seen_by(self, id: NodeId) -> list[NodeId]:
        return sorted(self.views.get(id, list(self.houses)))

    def look(self, *who: NodeId) -> None:
        """The membership tells of a change."""
        for id in who or list(self.houses):
            self.houses[id].cluster.happened(Event(EventKind.UPDATED, self.member(id)))

    async def carry(self, source: NodeId, node: NodeId, request: Any) -> Any:
        target = self.houses.get(node)
        if target is None:
            raise LinkError(f"cannot reach {node[:8]}")
        self.said[type(request).__name__] += 1
        if self.before is not None:
            await self.before(self, source, target.id, request)
        try:
            reply = await target.answer(over_the_wire(request), source)
        except P2PCrawlError as error:
            reply = Answered(0, b"", str(error))
        if self.after is not None:
            await self.after(self, source, target.id, request)
        return over_the_wire(reply)


def all_vote(town: FakeCluster) -> None:
    """Gives all masters a vote: they have been together for long enough."""
    rolls = {house.id: house.roll.electorate for house in town.houses.values() if house.roll is not None}
    for electorate in rolls.values():
        electorate.version = Version(1, len(rolls))
        electorate.voters = {id: each.seat for id, each in rolls.items()}


def over_the_wire(message: Any) -> Any:
    return next(iter(FrameReader().feed(encode(message))))


class Others(FakePeers):
    """The others of a town, as one of its masters sees them."""

    def __init__(self, town: FakeCluster, me: NodeId) -> None:
        super().__init__(me, answer=partial(town.carry, me))
        self._town = town

    def members(self) -> list[Member]:
        return [self._town.member(id) for id in self._town.seen_by(self.me) if id in self._town.houses]

    def missing(self) -> list[Any]:
        return [member(id) for id in sorted(self._town.missing)]


class FakeMaster:
    """One master."""

    def __init__(self, town: FakeCluster, name: str, slaves: Slaves, weight: int = 1) -> None:
        self.id = NodeId(f"{name:0<40}")
        self.name = name
        self.town = town
        self.slaves = slaves
        self.weight = weight
        self.boot = name.encode().ljust(8, b"-")
        self.address = Address(f"127.0.0.1:{10_000 + len(town.houses)}")
        self.store = bytes(16)
        self.run: asyncio.Task[None] | None = None
        self.refusal = ""
        self.receivers: dict[int, Any] = {}
        """Who takes the datagrams of each channel: a house is its own port, and what it sends by."""
        self.sender = self
        self.remembers: set[NodeId] = set()
        """Whom it has written down."""
        self._answering: set[asyncio.Task[Any]] = set()

    async def answer(self, request: Any, source: NodeId) -> Any:
        """Answers as over a link: when this master dies, who asked hears of that."""
        task = asyncio.ensure_future(self.serve(request, source))
        self._answering.add(task)
        try:
            await asyncio.wait([task])
            if task.cancelled():
                raise LinkError(f"{self.name} is gone")
            return task.result()
        finally:
            task.cancel()
            self._answering.discard(task)

    async def open(self, stack: AsyncExitStack) -> None:
        town, folder = self.town, self.town.folder / self.name
        neighbours = Neighbours(folder, Settings(), Others(town, self.id), town.copies, town.ring)
        self.master = Master(neighbours, slaves=0, run_here=self.slaves, check_spec=lambda spec: self.refusal)
        await stack.enter_async_context(self.master)
        await neighbours.holdings.open()
        stack.push_async_callback(neighbours.holdings.close)
        self.roll = Roll(self.town.folder / self.name, self.id) if self.town.majority else None
        self.cluster = Cluster(self.master, neighbours, self, self._remember, roll=self.roll)
        self.answers = Service(self.cluster, self._tell).answers()
        self.town.houses[self.id] = self

    async def serve(self, request: Any, source: NodeId) -> Any:
        """Answers a request, whoever asks."""
        return await self.answers[type(request)](request, source)

    def start(self) -> None:
        self.cluster.start(looking=self.town.looking, founds=self.id == min(self.town.houses))
        self.run = asyncio.create_task(self.master.run())

    async def close(self) -> None:
        await self.cluster.close()
        if self.run is not None:
            self.run.cancel()
            await asyncio.gather(self.run, return_exceptions=True)
        self.town.houses.pop(self.id, None)
        for task in self._answering:
            task.cancel()

    async def drain(self, patience_s: float) -> bool:
        """Hands everything over; whether that is confirmed."""
        return await self.cluster.drain(patience_s, self._say_leaving)

    async def crash(self) -> None:
        """Dies, and is known to be dead."""
        await self.close()
        self.town.missing.add(self.id)
        self.town.look()

    def send_to(self, channel: int, payload: bytes, address: Address) -> None:
        """A datagram, which is lost between those that are apart."""
        target = next((h for h in self.town.houses.values() if h.address == address), None)
        if target is not None and (self.id in self.town.apart) == (target.id in self.town.apart):
            opened = Opened(channel, self.id, self.boot, payload, True)
            asyncio.get_running_loop().call_soon(target.receivers[channel], opened, parse_address(self.address))

    def send(self, channel: int, payload: bytes, to: tuple[str, int]) -> None:
        self.send_to(channel, payload, format_address(*to))

    async def _tell(self, what: str, arguments: bytes) -> bytes:
        return b"{}"

    async def _remember(self) -> None:
        there = self.town.seen_by(self.id)
        await asyncio.sleep(0)
        self.remembers.update(there)

    def _say_leaving(self) -> None:
        self.town.leaving.add(self.id)
        self.town.look()


@asynccontextmanager
async def town_of(
    folder: Path, *names: str, answer: Any, setup: Callable[[FakeCluster], None] | None = None, **said: Any
):
    """Masters of these names, crawling with slaves that ``answer``. ``said``: what the town is like."""
    town = FakeCluster(folder, **said)
    async with AsyncExitStack() as stack:
        houses = [FakeMaster(town, name, Slaves(answer)) for name in names]
        for number, house in enumerate(houses):
            house.address = Address(f"127.0.0.1:{10_000 + number}")
            await house.open(stack)
        if setup is not None:
            setup(town)
        for house in houses:
            house.start()
        town.stack = stack
        try:
            async with asyncio.timeout(LIMIT_S):
                yield town, houses
        finally:
            for house in list(town.houses.values()):
                await house.close()


async def arrive(town: FakeCluster, name: str, answer: Any) -> FakeMaster:
    """Lets one more master come."""
    house = FakeMaster(town, name, Slaves(answer))
    house.address = Address(f"127.0.0.1:{10_000 + int(name, 16)}")
    await house.open(town.stack)
    house.start()
    town.look()
    return house


async def submit(house: FakeMaster, number: JobId = JOB, **settings: Any) -> Job:
    """Submits a job as a peer does it."""
    spec = replace(spec_of(**settings), id=number)
    starting = house.cluster.own_standing.starting
    starting.add(number)
    try:
        job = await house.master.admission.add(spec)
        await house.cluster.spread(job)
        await house.cluster.begin(job)
    finally:
        starting.discard(number)
    return job


async def eventually(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT_S):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def settled(houses: Iterable[FakeMaster]) -> bool:
    """The views are followed, and no bucket is on its way."""
    for house in houses:
        ownership = house.cluster.ownership
        if ownership.view != house.cluster.peers.view_digest or house.cluster.takeover.unclaimed:
            return False
        if ownership.syncing or not ownership.complete:
            return False
    return True


async def finished(houses: Iterable[FakeMaster], job: int = 77) -> None:
    await eventually(lambda: all(h.master.jobs[job].state == "finished" for h in houses))


async def books(houses: Iterable[FakeMaster], job: int = 77) -> Counter[str]:
    """The counters of all masters together; each must equal what is in its store."""
    whole: Counter[str] = Counter()
    for house in houses:
        found = house.master.jobs.get(job)
        if found is None:
            continue
        census = await house.master.census(found)
        stored = await house.master.tallies(found)
        for phase in ("queued", "done", "failed", "dropped"):
            assert found.counts[phase] == census.get(phase, 0), (house.name, phase, found.counts, census)
            assert stored.get(phase, 0) == census.get(phase, 0), (house.name, phase, stored, census)
        total = sum(found.counts[p] for p in ("queued", "done", "failed", "dropped"))
        assert found.counts["discovered"] == total, (house.name, found.counts)
        whole.update({k: v for k, v in found.counts.items() if v})
    return whole


async def records(house: FakeMaster, job: int = 77) -> list[tuple[str, int]]:
    """(url, phase) of every record at a master."""
    return await read(house, FRONTIER_FILE, "SELECT url, phase FROM record WHERE job = ?", job)


async def read(house: FakeMaster, file: str, question: str, *values: object) -> list[Any]:
    """What one of its databases has on disk, in the order of its own reads and writes."""

    def rows(store: Store) -> list[Any]:
        with closing(sqlite3.connect(store.folder / file)) as db:
            return db.execute(question, values).fetchall()

    return await house.master.recorder.run(rows)
