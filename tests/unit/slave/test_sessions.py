"""A real slave over a real link, with a master that says what a test wants and a web that answers when it wants."""

from __future__ import annotations

import asyncio
import io
import logging
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from p2pcrawl.fetch.connection.guard import Networks
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import DiskFullError, LinkError
from p2pcrawl.model.printable import LogLines
from p2pcrawl.model.timings import TIMINGS
from p2pcrawl.overlay.link import open_link
from p2pcrawl.slave import session as session_module
from p2pcrawl.slave import slave as slave_module
from p2pcrawl.slave.link import outbox as outbox_module
from p2pcrawl.slave.link import post as post_module
from p2pcrawl.slave.pages.harvest import PART_BYTES
from p2pcrawl.slave.slave import Slave
from p2pcrawl.spiders.spider import Spider
from p2pcrawl.wire.messages.slave_messages import (
    PROTOCOL,
    Adopted,
    Beat,
    Bye,
    GiveBack,
    Grant,
    Halt,
    Hello,
    Leaving,
    Message,
    OpenJob,
    Orphans,
    Page,
    Renewed,
    Report,
    ReportsDurable,
    Returned,
    Stop,
    Welcome,
    WireJob,
)
from tests.unit.slave.tasks import task_of

FENCE_S = 0.4
TOLD = {"levelname": "WARNING", "msg": "told"}
M = TypeVar("M")


@pytest.fixture(autouse=True)
def quick(monkeypatch) -> None:
    monkeypatch.setattr(post_module, "TIMINGS", replace(TIMINGS, beat_s=0.02))
    monkeypatch.setattr(slave_module, "HANG_UP_S", 0.1)


class Quick(Spider):
    name = "quick"
    block_s = 0.0

    def parse(self, response: Any) -> Any:
        time.sleep(self.block_s)
        yield {"url": response.url}


class Web:
    """Answers each request when ``answers`` is set, and knows what was asked and what was given up."""

    def __init__(self) -> None:
        self.answers = asyncio.Event()
        self.asked: list[str] = []
        self.given_up: list[str] = []

    @asynccontextmanager
    async def __call__(self, settings: Settings, networks: Networks) -> AsyncIterator[Web]:
        yield self

    async def fetch(self, request: Request, **options: Any) -> Answer:
        self.asked.append(request.url)
        try:
            await self.answers.wait()
        except asyncio.CancelledError:
            self.given_up.append(request.url)
            raise
        return Answer(request.url, 200, {"Content-Type": "text/html"}, b"<p>", 0.1, "93.184.216.34")


class Master:
    """The other end: ``renews`` and ``acknowledges`` say whether it answers."""

    def __init__(self) -> None:
        self.ours, self.theirs = socket.socketpair()
        self.heard: list[Message] = []
        self.renews = True
        self.acknowledges = True
        self.sessions = 0
        self.slots = 2
        self.fence_s = FENCE_S

    async def open(self) -> None:
        self.link = await open_link(self.ours, self._received, lambda error: None)

    def _received(self, message: Message) -> None:
        self.heard.append(message)
        match message:
            case Hello():
                self.sessions += 1
                self.link.send(Welcome(PROTOCOL, self.sessions, self.slots, fence_s=self.fence_s))
                self.link.send(OpenJob(WireJob(1, "quick", "", "", "", [], {}, {"robotstxt_obey": False}, [])))
            case Beat() if self.renews:
                self.link.send(Renewed(message.session, message.number))
            case Report() if self.acknowledges:
                self.link.send(ReportsDurable(message.sequence))
            case Orphans():
                self.link.send(Adopted(message.sequence))
            case Bye():
                self.link.close()

    def grant(self, *urls: str) -> None:
        self.link.send(Grant([task_of(url, lease=n, record=n) for n, url in enumerate(urls, 1)]))

    def all(self, kind: type[M]) -> list[M]:
        return [m for m in self.heard if isinstance(m, kind)]

    @property
    def orphans(self) -> list[str]:
        return [o.task.link.url for m in self.all(Orphans) for o in m.pages]

    @property
    def pages(self) -> list[Page]:
        return [page for m in self.all(Report) for page in m.pages]

    @property
    def reported(self) -> int:
        return len(self.pages)


@asynccontextmanager
async def crew(spider: type[Spider] = Quick) -> AsyncIterator[tuple[Slave, Web, Master]]:
    web, master = Web(), Master()
    await master.open()
    slave = Slave({"quick": spider}, web)
    working = asyncio.create_task(slave.run(master.theirs))
    try:
        async with asyncio.timeout(10):
            yield slave, web, master
            master.link.close()
            await working
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)


@asynccontextmanager
async def crew_of_its_own_thread(spider: type[Spider]) -> AsyncIterator[tuple[Web, Master]]:
    """Runs a slave as in a process: its loop is not this one, and its link is in a third thread."""
    web, master = Web(), Master()
    web.answers.set()
    await master.open()

    async def work() -> None:
        await Slave({"quick": spider}, web, asyncio.new_event_loop).run(master.theirs)

    thread = threading.Thread(target=asyncio.run, args=(work(),), daemon=True)
    thread.start()
    try:
        async with asyncio.timeout(10):
            yield web, master
    finally:
        master.link.close()
        await asyncio.to_thread(thread.join, 5)


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110
        await asyncio.sleep(0.005)


def urls(count: int) -> list[str]:
    return [f"http://a.example/{n}" for n in range(count)]


async def test_session_that_is_renewed_goes_on() -> None:
    async with crew() as (_, web, master):
        await until(lambda: master.sessions == 1)
        master.grant(*urls(1))

        await until(lambda: len(master.all(Beat)) > 4 * FENCE_S / 0.02)
        web.answers.set()
        await until(lambda: master.reported == 1)

    assert master.sessions == 1
    assert web.given_up == []


async def test_slave_that_is_not_renewed_gives_up_what_is_open_and_begins_nothing() -> None:
    async with crew() as (_, web, master):
        await until(lambda: master.sessions == 1)
        master.renews = False
        master.grant(*urls(3))

        await until(lambda: master.sessions == 2)
        web.answers.set()
        master.renews = True
        await until(lambda: len(master.all(Beat)) > 40)

    assert web.asked == urls(2), "the third had to wait for a slot"
    assert sorted(web.given_up) == urls(2)
    assert master.reported == 0
    assert master.orphans == []


async def test_slave_that_is_halted_gives_up_what_is_open_at_once_and_goes_on_in_a_new_session() -> None:
    async with crew() as (_, web, master):
        await until(lambda: master.sessions == 1)
        master.grant(*urls(3))
        await until(lambda: len(web.asked) == 2)

        master.link.send(Halt())
        await until(lambda: master.sessions == 2)
        web.answers.set()
        master.grant(*urls(1))
        await until(lambda: master.reported == 1)

    assert sorted(web.given_up) == urls(2)
    assert web.asked == [*urls(2), *urls(1)], "the third was not begun"


async def test_slave_gives_back_what_it_has_not_begun_when_its_master_asks_for_it_and_ends_what_it_has() -> None:
    async with crew() as (_, web, master):
        await until(lambda: master.sessions == 1)
        master.grant(*urls(4))
        await until(lambda: len(web.asked) == 2)

        master.link.send(GiveBack())
        await until(lambda: len(master.all(Returned)) == 1)
        web.answers.set()
        await until(lambda: master.reported == 2)

    assert web.asked == urls(2)
    assert master.all(Returned)[0].records == [3, 4]


async def test_page_that_waits_for_reports_to_go_ahead_is_not_begun_once_it_is_given_back(monkeypatch: Any) -> None:
    """It has a worker already; so it may wait for as long as its master cannot take in what was reported."""
    monkeypatch.setattr(outbox_module, "WINDOW_BYTES", 1)
    async with crew() as (_, web, master):
        web.answers.set()
        master.acknowledges = False
        await until(lambda: master.sessions == 1)
        master.grant(*urls(1))
        await until(lambda: master.reported == 1)
        later = [task_of(url, lease=n, record=n) for n, url in enumerate(urls(4)[2:], 3)]
        master.link.send(Grant(later))
        beats = len(master.all(Beat))
        await until(lambda: len(master.all(Beat)) > beats + 2)

        master.link.send(GiveBack())
        await until(lambda: len(master.all(Returned)) == 1)
        master.link.send(ReportsDurable(master.all(Report)[-1].sequence))
        beats = len(master.all(Beat))
        await until(lambda: len(master.all(Beat)) > beats + 5)

    assert web.asked == urls(1)
    assert master.all(Returned)[0].records == [3, 4]


async def test_grant_of_a_session_that_is_over_is_not_followed(monkeypatch) -> None:
    async with crew() as (_, web, master):
        await until(lambda: master.sessions == 1)
        master.renews = False
        said = master.link.send
        master.link.send = lambda message: 0  # type: ignore[method-assign]
        await until(lambda: len(master.all(Hello)) == 2)
        master.link.send = said  # type: ignore[method-assign]

        master.grant(*urls(2))
        master.renews = True
        master.link.send(Welcome(PROTOCOL, 3, 2, fence_s=FENCE_S))
        beats = len(master.all(Beat))
        await until(lambda: len(master.all(Beat)) > beats + 5)

    assert web.asked == []


async def test_slave_logs_in_the_form_that_its_master_says() -> None:
    lines = logging.StreamHandler(io.StringIO())
    lines.setFormatter(LogLines())
    logging.getLogger().addHandler(lines)
    try:
        async with crew() as (_, _, master):
            await until(lambda: master.sessions == 1)
            master.link.send(Welcome(PROTOCOL, 3, 2, fence_s=FENCE_S, log_format="%(levelname)s|%(message)s"))
            await until(lambda: lines.format(logging.makeLogRecord(TOLD)) == "WARNING|told")
    finally:
        logging.getLogger().removeHandler(lines)


async def test_page_that_was_not_acknowledged_is_told_in_the_next_session() -> None:
    async with crew() as (_, web, master):
        await until(lambda: master.sessions == 1)
        web.answers.set()
        master.acknowledges = False
        master.grant(*urls(3))
        await until(lambda: master.reported == 3)
        master.renews = False

        await until(lambda: len(master.orphans) == 3)

    (orphan, *_) = master.all(Orphans)[0].pages
    assert sorted(master.orphans) == urls(3)
    assert orphan.page.items == [b'{"url":"%s"}' % orphan.task.link.url.encode()]
    assert orphan.page.outcome is not None and orphan.page.outcome.status == 200


async def test_page_that_was_acknowledged_is_not_told_again() -> None:
    async with crew() as (_, web, master):
        await until(lambda: master.sessions == 1)
        web.answers.set()
        master.grant(*urls(3))
        await until(lambda: master.reported == 3)
        master.renews = False

        await until(lambda: master.sessions == 2)
        master.renews = True
        await until(lambda: len(master.all(Beat)) > 50)

    assert master.orphans == []


async def test_callback_that_outlasts_its_session_is_told_and_what_was_open_beside_it_is_not() -> None:
    class Blocking(Quick):
        block_s = 2 * FENCE_S

    async with crew(Blocking) as (_, web, master):
        await until(lambda: master.sessions == 1)
        master.grant(*urls(2))
        await until(lambda: len(web.asked) == 2)
        web.answers.set()

        await until(lambda: bool(master.orphans))

    assert master.reported == 0
    assert master.orphans == urls(1), "the other's answer was there, but its session was over before it was looked at"


class BlockingTwice(Quick):
    """Sends parts ahead, and holds up its slave before and after that for longer than a session lasts."""

    def parse(self, response: Any) -> Any:
        time.sleep(2 * FENCE_S)
        for number in range(3):
            yield {"url": response.url, "part": number, "text": "x" * PART_BYTES}
        time.sleep(2 * FENCE_S)
        yield {"url": response.url, "part": 3}


@pytest.mark.slow
async def test_callback_that_outlasts_a_session_costs_nobody_anything_when_the_link_is_in_a_thread() -> None:
    async with crew_of_its_own_thread(BlockingTwice) as (web, master):
        await until(lambda: master.sessions == 1)
        master.grant(*urls(2))

        await until(lambda: sum(page.outcome is not None for page in master.pages) == 2)

    assert master.sessions == 1
    assert (web.asked, web.given_up, master.orphans) == (urls(2), [], [])
    assert [sum(len(page.items) for page in master.pages if page.record == record) for record in (1, 2)] == [4, 4]


async def test_callback_that_yields_on_and_on_lets_others_end_meanwhile() -> None:
    class Endless(Quick):
        def parse(self, response: Any) -> Any:
            while response.url == urls(1)[0] and not ended:
                yield None
            yield {"url": response.url}

    ended: list[bool] = []
    async with crew_of_its_own_thread(Endless) as (_, master):
        await until(lambda: master.sessions == 1)
        master.grant(*urls(2))

        await until(lambda: [page.record for page in master.pages] == [2])
        ended.append(True)
        await until(lambda: master.reported == 2)

    assert master.sessions == 1


async def test_beats_say_for_how_long_a_callback_has_held_up_its_slave() -> None:
    class Held(Quick):
        def parse(self, response: Any) -> Any:
            released.wait()

    released = threading.Event()
    async with crew_of_its_own_thread(Held) as (_, master):
        await until(lambda: master.sessions == 1)
        master.grant(*urls(1))

        await until(lambda: max((beat.held_up_s for beat in master.all(Beat)), default=0.0) > FENCE_S)
        released.set()
        await until(lambda: master.reported == 1)
        await until(lambda: not master.all(Beat)[-1].held_up_s)

    assert master.sessions == 1


async def test_slave_whose_master_is_gone_for_good_begins_nothing_though_its_beats_come_from_a_thread() -> None:
    async with crew_of_its_own_thread(BlockingTwice) as (web, master):
        await until(lambda: master.sessions == 1)
        master.renews = False
        master.grant(*urls(3))

        await until(lambda: master.sessions == 2)

    assert set(web.asked) <= set(urls(2)), "the third had to wait for a slot, and by then the session was over"


async def test_on_a_single_machine_nothing_ends_a_session_but_its_link() -> None:
    async with crew() as (_, web, master):
        master.renews, master.fence_s = False, 0.0
        await until(lambda: master.sessions == 1)
        master.grant(*urls(1))

        await until(lambda: len(master.all(Beat)) > 2 * FENCE_S / 0.02)
        web.answers.set()
        await until(lambda: master.reported == 1)

    assert master.sessions == 1


async def test_slave_that_leaves_finishes_what_is_open_and_returns_the_rest() -> None:
    async with crew() as (slave, web, master):
        await until(lambda: master.sessions == 1)
        master.grant(*urls(3))
        await until(lambda: len(web.asked) == 2)

        slave.leave()
        await until(lambda: bool(master.all(Returned)))
        master.link.send(Grant([task_of("http://a.example/late", record=9)]))
        await until(lambda: len(master.all(Returned)) == 2)
        web.answers.set()
        await until(lambda: bool(master.all(Bye)))

    assert len(master.all(Leaving)) == 1
    assert [m.records for m in master.all(Returned)] == [[3], [9]]
    assert master.reported == 2
    assert web.given_up == []


async def test_slave_that_leaves_does_not_wait_for_ever_for_what_is_open(monkeypatch) -> None:
    monkeypatch.setattr(session_module, "LEAVE_S", 0.05)
    async with crew() as (slave, web, master):
        await until(lambda: master.sessions == 1)
        master.grant(*urls(1))
        await until(lambda: len(web.asked) == 1)

        slave.leave()
        await until(lambda: bool(master.all(Bye)))

    assert web.given_up == urls(1)


async def test_slave_that_is_stopped_finishes_what_is_open() -> None:
    async with crew() as (_, web, master):
        await until(lambda: master.sessions == 1)
        master.grant(*urls(2))
        await until(lambda: len(web.asked) == 2)

        master.link.send(Stop())
        web.answers.set()
        await until(lambda: bool(master.all(Bye)))

    assert master.reported == 2


async def test_slave_that_cannot_keep_raw_pages_says_why_and_reports_nothing_of_its_page() -> None:
    class Full(Web):
        async def fetch(self, request: Request, **options: Any) -> Answer:
            raise DiskFullError("no room left to write /raw")

    master = Master()
    await master.open()
    working = asyncio.create_task(Slave({"quick": Quick}, Full()).run(master.theirs))
    await until(lambda: master.sessions > 0)

    master.grant(*urls(2))
    async with asyncio.timeout(10):
        await working

    assert [(bye.reason, bye.job) for bye in master.all(Bye)] == [("no room left to write /raw", 0)]
    assert master.reported == 0


async def test_slave_that_a_callback_ends_does_not_part_so_that_it_counts() -> None:
    """Said to have left in order, it would be given the same page again for ever."""

    class Ending(Spider):
        name = "quick"

        async def parse(self, response: Any) -> Any:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await asyncio.sleep(1)

    web, master = Web(), Master()
    web.answers.set()
    await master.open()
    working = asyncio.create_task(Slave({"quick": Ending}, web).run(master.theirs))
    await until(lambda: master.sessions > 0)

    master.grant(*urls(1))
    async with asyncio.timeout(10):
        with pytest.raises(LinkError, match="cancelled the task that ran it"):
            await working

    assert master.reported == 0
    assert master.all(Bye) == []
