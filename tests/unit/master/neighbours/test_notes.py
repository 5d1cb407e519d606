"""What a master says in the directory of its buckets and hosts, and what it asks there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from time import monotonic

import pytest

from p2pcrawl.core.bench.workbench import Workbench
from p2pcrawl.core.buckets.ownership import Change, Ownership
from p2pcrawl.core.directory_schedule import PAUSE_MIN_S
from p2pcrawl.core.hosts.politeness import HostNote, Pace, RobotsEntry
from p2pcrawl.core.ring.rendezvous import bucket_of, key_hash
from p2pcrawl.master.neighbours import notes as module
from p2pcrawl.master.neighbours.notes import Notes
from p2pcrawl.master.neighbours.recalls import RECALL_S, Recalls
from p2pcrawl.master.neighbours.remarks import Remarks
from p2pcrawl.model.cluster.epoch import epoch_after
from p2pcrawl.model.cluster.node import Address, Member, NodeId, Status
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.timings import TIMINGS

ME, OTHER = NodeId("1" * 40), NodeId("2" * 40)
AGENT = Pace.of(Settings()).agent
HERE = Address("127.0.0.1:7117")


class Shared:
    """A directory that keeps what it is told."""

    def __init__(self) -> None:
        self.contacts = 1
        self.owners: dict[int, int] = {}
        self.hosts: dict[str, HostNote] = {}
        self.asked: list[str] = []
        self.answers = asyncio.Event()
        self.answers.set()
        self.took = 1

    async def publish_owner(self, bucket: int, counter: int, address: Address) -> int:
        self.owners[bucket] = counter
        return self.took

    async def publish_host(self, host: str, note: HostNote) -> int:
        self.hosts[host] = note
        return self.took

    async def host(self, host: str) -> HostNote | None:
        self.asked.append(host)
        await self.answers.wait()
        return self.hosts.get(host)


def member(id: NodeId) -> Member:
    return Member(id, HERE, 1, Status.ALIVE, 1, bytes(8), bytes(16))


class Office:
    """One master's notes, with what they look at."""

    def __init__(self) -> None:
        self.directory = Shared()
        self.ownership = Ownership(ME)
        remarks, self.recalls = Remarks(), Recalls(self.ownership)
        self.bench = Workbench(remark=remarks, seated=self.recalls.seated)
        self.bench.open_job(1, Pace.of(Settings()))
        self.crawls = True
        self.copied = remarks.for_copies
        self.notes = Notes(self.directory, self.ownership, self.bench, remarks, self.recalls, HERE, lambda: self.crawls)

    def view(self, *ids: NodeId) -> Change:
        change = self.ownership.change([member(i) for i in ids], len(ids))
        self.ownership.serve(self.ownership.succeed(change.ready))
        self.recalls.view_changed(change, [seat.host for seat in self.bench.seats.values()])
        return change


@asynccontextmanager
async def office() -> AsyncIterator[Office]:
    made = Office()
    made.notes.start()
    try:
        async with asyncio.timeout(8):
            yield made
    finally:
        await made.notes.close()


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EVERY_S", 0.005)
    monkeypatch.setattr(module, "IDLE_S", 0.005)
    monkeypatch.setattr(module, "SURVEY_S", 0.01)
    monkeypatch.setattr("p2pcrawl.core.directory_schedule.EVERY_S", 0.0)
    monkeypatch.setattr("p2pcrawl.core.directory_schedule.SERVED_S", 0.0)
    monkeypatch.setattr("p2pcrawl.core.directory_schedule.TIMINGS", replace(TIMINGS, record_spread_s=0.0))


async def until(condition: object) -> None:
    while not condition():  # noqa: ASYNC110
        await asyncio.sleep(0.005)


def host_of(*, bereft: bool, change: Change) -> str:
    names = (f"h{n}.example" for n in range(100_000))
    return next(n for n in names if (bucket_of(n) in change.bereft) is bereft)


async def test_buckets_that_are_served_are_said_and_others_not() -> None:
    async with office() as it:
        it.view(ME)

        await until(lambda: len(it.directory.owners) >= 20)

        assert all(it.ownership.serves(bucket) for bucket in it.directory.owners)
        assert set(it.directory.owners.values()) == {epoch_after(0, ME)}


@pytest.mark.parametrize("why", ["no job runs", "nobody is there"])
async def test_nothing_is_said_while(why: str) -> None:
    async with office() as it:
        looks = 0

        def crawling() -> bool:
            nonlocal looks
            looks += 1
            return why != "no job runs"

        it.notes._crawling = crawling
        it.directory.contacts = int(why != "nobody is there")
        it.view(ME)
        if why == "no job runs":
            await until(lambda: looks >= 5)
        else:
            await asyncio.wait([asyncio.create_task(_passes(10))])

        assert not it.directory.owners


async def _passes(rounds: int) -> None:
    for _ in range(rounds):
        await asyncio.sleep(0.005)


async def test_host_with_a_crawl_delay_a_penalty_or_a_pause_is_said_and_another_not() -> None:
    async with office() as it:
        it.view(ME)
        pace = it.bench.pace(1)
        for name in ("delay.example", "penalty.example", "pause.example", "plain.example"):
            host = it.bench.host(key_hash(name), name, 1)
            seat = it.bench.seats[host.key]
            seat.queue(1, "detail")
            crawl_delay = 7.0 if name == "delay.example" else 0.0
            it.bench.robots_known(seat, f"http://{name}", AGENT, RobotsEntry("rules", b"", "", crawl_delay, 9e9))
            host.begin()
            host.end(
                monotonic(), pace, answered=True, status=503,
                slow_down=name == "penalty.example", pause_s=120.0 if name == "pause.example" else 0.0,
            )  # fmt: skip
            it.bench.ended(seat)

        await until(lambda: len(it.directory.hosts) == 3)

        said = it.directory.hosts
        assert said["delay.example"] == HostNote(delay_s=7.0)
        assert said["penalty.example"] == HostNote(penalty_s=1.0)
        assert said["pause.example"].pause_s > 100
        assert it.copied == {key_hash(name) for name in said}
        await until(lambda: len(it.directory.owners) >= 20)
        assert "plain.example" not in said


async def test_host_of_another_master_is_not_said() -> None:
    async with office() as it:
        it.view(ME, OTHER)
        names = [f"h{n}.example" for n in range(40)]
        for name in names:
            host = it.bench.host(key_hash(name), name, 1)
            host.slow_down()
            it.bench.ended(it.bench.seats[host.key])
        ours = {n for n in names if it.ownership.owner(bucket_of(n)) is None}

        await until(lambda: len(it.directory.hosts) >= len(ours))

        assert set(it.directory.hosts) == ours
        assert 0 < len(ours) < len(names)


async def test_host_of_a_dead_master_waits_for_what_that_one_knew_and_keeps_to_it() -> None:
    async with office() as it:
        it.view(ME, OTHER)
        change = it.view(ME)
        name = host_of(bereft=True, change=change)
        it.directory.hosts[name] = HostNote(delay_s=9.0, penalty_s=4.0, pause_s=300.0)
        it.directory.answers.clear()

        now = monotonic()
        host = it.bench.host(key_hash(name), name, 1)
        assert host.next_at >= now + RECALL_S
        it.directory.answers.set()
        await until(lambda: host.told_delay_s)

        assert host.delay_s(it.bench.pace(1)) == 9.0
        assert host.penalty_s == 4.0
        assert host.next_at >= now + 300


@pytest.mark.parametrize("copies", [1, 2])
async def test_pause_too_short_to_be_said_outlives_the_only_one_that_knew_of_it(copies: int) -> None:
    async with office() as it:
        it.ownership.copies = copies
        it.view(ME, OTHER)
        before = monotonic()
        name = host_of(bereft=True, change=it.view(ME))

        host = it.bench.host(key_hash(name), name, 1)

        # With more copies somebody holds one, and knows.
        assert (host.next_at >= before + PAUSE_MIN_S) is (copies == 1)


async def test_note_never_shortens_what_is_known() -> None:
    async with office() as it:
        it.view(ME, OTHER)
        name = host_of(bereft=True, change=it.view(ME))
        host = it.bench.host(key_hash(name), name, 1)
        await until(lambda: name in it.directory.asked)
        host.told_delay_s, host.penalty_s, host.paused_until, host.next_at = 50.0, 40.0, 9e9, 9e9

        it.bench.learn(host.key, HostNote(5.0, 4.0, 3.0), monotonic())

        assert (host.told_delay_s, host.penalty_s, host.paused_until, host.next_at) == (50.0, 40.0, 9e9, 9e9)


async def test_pause_is_no_longer_than_a_job_would_believe() -> None:
    async with office() as it:
        host = it.bench.host(1, "a.example", 1)

        it.bench.learn(1, HostNote(pause_s=80_000.0), 100.0)

        assert host.next_at == 100.0 + Settings().retry_after_max


async def test_hosts_that_had_a_seat_before_their_owner_died_are_asked_about_too() -> None:
    async with office() as it:
        it.view(ME, OTHER)
        names = [f"h{n}.example" for n in range(40)]
        theirs = {n for n in names if it.ownership.owner(bucket_of(n)) is not None}
        for name in names:
            it.bench.host(key_hash(name), name, 1)

        it.view(ME)

        await until(lambda: len(it.directory.asked) >= len(theirs))
        assert set(it.directory.asked) == theirs


async def test_nothing_is_asked_of_what_was_handed_over_or_is_gone_again() -> None:
    async with office() as it:
        it.view(ME, OTHER)
        change = it.view(ME)
        kept, lost = host_of(bereft=False, change=change), host_of(bereft=True, change=change)
        it.view(ME, OTHER)

        for name in (kept, lost):
            host = it.bench.host(key_hash(name), name, 1)
            assert host.next_at == 0.0

        assert it.recalls.waiting.empty()
        assert not it.directory.asked


async def test_master_that_left_in_order_leaves_nothing_to_ask() -> None:
    async with office() as it:
        it.view(ME, OTHER)
        leaving = Member(OTHER, HERE, 2, Status.ALIVE, 1, bytes(8), bytes(16), leaving=True)

        drained = it.ownership.change([member(ME), leaving], 3)
        gone = it.ownership.change([member(ME)], 4)

        assert drained.gained
        assert not drained.bereft
        assert not gone.bereft


async def test_directory_that_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RECALL_S", 0.02)
    async with office() as it:
        it.directory.answers.clear()

        assert await it.notes.recall("a.example") is None
