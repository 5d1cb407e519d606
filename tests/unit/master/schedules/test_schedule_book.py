"""Schedules are durable where they are made, told to all other masters, and kept through restarts."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from p2pcrawl.core.scheduling.schedule_order import steered_schedule
from p2pcrawl.master.copies.holdings import Holdings
from p2pcrawl.master.neighbours import telling_late
from p2pcrawl.master.schedules import schedule_book
from p2pcrawl.master.schedules.schedule_book import ScheduleBook, task_digest
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.cluster.schedule import RunOutcome, Schedule, ScheduleState
from p2pcrawl.model.errors import ConfigurationError, LinkError, P2PCrawlError
from p2pcrawl.wire.messages.ask import PeerReply
from p2pcrawl.wire.messages.codec import FrameReader, encode
from p2pcrawl.wire.messages.schedule_messages import MirrorSchedule, ScheduleMarks
from tests.peers import FakePeers, member
from tests.unit.core.scheduling.schedules import run, schedule

NAMES = [NodeId(letter * 40) for letter in "abc"]
TASK = b'{"crawl": {}}'


class Books:
    """Three masters' books, which hear each other unless they are away."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.away: set[NodeId] = set()
        self.tasks_sent = 0
        self.books: dict[NodeId, ScheduleBook] = {}
        self.stack = AsyncExitStack()

    async def __aenter__(self) -> Books:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stack.aclose()

    async def open(self) -> None:
        """Opens all books anew, as they are on the disks."""
        await self.stack.aclose()
        for name in NAMES:
            folder = self.folder / name[:1]
            folder.mkdir(exist_ok=True)
            holdings = Holdings(folder, _never)
            await holdings.open()
            self.stack.push_async_callback(holdings.close)
            self.books[name] = ScheduleBook(FakePeers(name, map(member, NAMES), self._answer), holdings)

    async def _answer(self, node: NodeId, request: object) -> PeerReply:
        if node in self.away:
            raise LinkError("it is away")
        assert isinstance(request, ScheduleMarks | MirrorSchedule)
        told = heard(request)
        if isinstance(told, ScheduleMarks):
            return self.books[node].compare(told, NAMES[0])
        assert isinstance(told, MirrorSchedule)
        self.tasks_sent += told.task is not None
        return await self.books[node].mirror(told, NAMES[0])

    def known(self, name: str = "news") -> list[Schedule | None]:
        return [self.books[node].of(name) for node in NAMES]


def heard(request: ScheduleMarks | MirrorSchedule) -> object:
    """Returns a request as it comes out of a link."""
    (told,) = FrameReader().feed(encode(request))
    return told


def _never(error: Exception) -> None:
    raise error


def news(**more: object) -> Schedule:
    return schedule(digest=task_digest(TASK), **more)


async def test_schedule_is_known_to_all_with_what_it_does_also_after_a_restart(tmp_path: Path) -> None:
    async with Books(tmp_path) as books:
        missing = await books.books[NAMES[0]].put(news(), TASK, b"sealed")
        await books.open()

        assert missing == []
        assert books.known() == [news()] * 3
        assert [await book.task(news()) for book in books.books.values()] == [(TASK, b"sealed")] * 3


async def test_run_is_told_without_what_the_schedule_does(tmp_path: Path) -> None:
    async with Books(tmp_path) as books:
        await books.books[NAMES[0]].put(news(), TASK)
        sent = books.tasks_sent
        await books.books[NAMES[1]].note(news(), run(101, job=7))

        assert books.known() == [news(runs=(run(101, job=7),))] * 3
        assert books.tasks_sent == sent == 2


async def test_who_was_away_is_named_and_hears_of_it_when_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telling_late, "TELL_S", 0.01)
    async with Books(tmp_path) as books:
        books.away.add(NAMES[2])
        missing = await books.books[NAMES[0]].put(news(), TASK)
        books.away.clear()
        telling = [asyncio.create_task(book.late.run()) for book in books.books.values()]
        async with asyncio.timeout(10.0):
            while books.known()[2] is None:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        for task in telling:
            task.cancel()
        await asyncio.gather(*telling, return_exceptions=True)

        assert missing == [NAMES[2]]
        assert books.known() == [news()] * 3
        assert await books.books[NAMES[2]].task(news()) == (TASK, b"")


async def test_removed_schedule_stays_removed_when_one_comes_back_that_did_not_hear_of_it(tmp_path: Path) -> None:
    async with Books(tmp_path) as books:
        first, _, last = books.books.values()
        await first.put(news(), TASK)
        books.away.add(NAMES[2])
        await first.put(steered_schedule(news(), ScheduleState.REMOVED, 9))
        books.away = {NAMES[0], NAMES[1]}
        await last.note(news(), run(101))
        books.away = set()
        await last.put(replace(news(), version=2, state=ScheduleState.PAUSED))
        await first.put(steered_schedule(news(), ScheduleState.REMOVED, 9))

        assert [each is not None and each.removed for each in books.known()] == [True] * 3
        assert first.known == []
        with pytest.raises(P2PCrawlError, match="was changed meanwhile"):
            await first.task(news())


async def test_run_of_a_schedule_that_was_made_anew_is_not_noted(tmp_path: Path) -> None:
    async with Books(tmp_path) as books:
        first = books.books[NAMES[0]]
        await first.put(news(generation=2), TASK)

        await first.note(news(), run(101, RunOutcome.REFUSED))

        assert books.known() == [news(generation=2)] * 3


async def test_what_does_something_else_than_it_says_is_refused(tmp_path: Path) -> None:
    async with Books(tmp_path) as books:
        first = books.books[NAMES[0]]
        told = heard(await _told(books))
        assert isinstance(told, MirrorSchedule)
        told.task = b"rm -rf"

        with pytest.raises(LinkError, match="something else to do"):
            await first.mirror(told, NAMES[1])


async def test_there_is_a_bound_on_schedules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule_book, "SCHEDULES_MAX", 1)
    async with Books(tmp_path) as books:
        first = books.books[NAMES[0]]
        await first.put(news(), TASK)

        with pytest.raises(ConfigurationError, match="no more can be made"):
            await first.put(schedule(name="other", digest=task_digest(TASK)), TASK)


async def _told(books: Books) -> MirrorSchedule:
    """Returns what a master says that knows a schedule."""
    said: list[MirrorSchedule] = []

    async def listen(node: NodeId, request: object) -> PeerReply:
        if isinstance(request, MirrorSchedule):
            said.append(request)
        raise LinkError("it only listens")

    folder = books.folder / "teller"
    folder.mkdir()
    holdings = Holdings(folder, _never)
    await holdings.open()
    try:
        await ScheduleBook(FakePeers(NAMES[1], map(member, NAMES), listen), holdings).put(news(), TASK)
    finally:
        await holdings.close()
    return said[0]
