"""Slaves that fetch nothing: they answer as a test says, over a real link to a real master."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from p2pcrawl.master.company.company import Alone
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.master.master import Master
from p2pcrawl.model.crawl.fingerprint import SIZE, fingerprint
from p2pcrawl.model.crawl.job import START_URL, JobId, JobSpec, SpiderRef
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.crawl.sink_spec import SinkSpec
from p2pcrawl.overlay.link import open_link
from p2pcrawl.wire.messages.slave_messages import (
    PROTOCOL,
    Beat,
    Bye,
    GiveBack,
    Grant,
    Hello,
    LinkColumns,
    Message,
    OpenJob,
    Outcome,
    Page,
    Report,
    ReportsDurable,
    Returned,
    Robots,
    RobotsResult,
    RobotsTask,
    Stop,
    Task,
    Welcome,
)

BEAT_S = 1.0
QUICK = {"robotstxt_obey": False, "download_delay": 0.0}


def spec_of(name: str = "test", **settings: Any) -> JobSpec:
    return JobSpec(JobId(0), name, SpiderRef(module="nowhere", qualname=name), settings=QUICK | settings)


def links_to(urls: Sequence[str], depth: int = 0) -> LinkColumns:
    shared = Link("", bytes(SIZE), depth)
    return LinkColumns(shared, list(urls), b"".join(fingerprint(u) for u in urls))


def page_of(task: Task, links: Sequence[str] = (), items: Sequence[bytes] = (), outcome: Outcome | None = None) -> Page:
    found = [links_to(links, task.link.depth + 1)] if links else []
    if outcome is None:
        start = task.link.url.startswith(START_URL)
        outcome = Outcome(Phase.DONE, "start") if start else Outcome(Phase.DONE, status=200, answered=True)
    return Page(task.lease, task.record, task.job, found, list(items), outcome)


class Site:
    """Pages by URL and where they lead; everything else leads nowhere. Gives one item for each page."""

    def __init__(self, seeds: Sequence[str], pages: dict[str, Sequence[str]] | None = None) -> None:
        self.seeds = seeds
        self.pages = pages or {}
        self.visits: list[str] = []

    def __call__(self, task: Task) -> Page | None:
        if task.link.url.startswith(START_URL):
            return page_of(task, self.seeds)
        self.visits.append(task.link.url)
        return page_of(task, self.pages.get(task.link.url, ()), [b'{"url":"%s"}' % task.link.url.encode()])


class Slaves:
    """Takes the place of the slave in the master's process, and of those that replace it.

    ``answer(task)`` gives a page, or None to keep the task in hand; an exception is a sudden death.
    """

    def __init__(
        self,
        answer: Callable[[Task], Page | None],
        robots: Callable[[RobotsTask], RobotsResult | None] | None = None,
    ) -> None:
        self.answer = answer
        self.robots = robots or (lambda t: RobotsResult(t.lease, t.origin, "allow", "", ""))
        self.lives = 0
        self.session = 0
        self.granted: list[Task] = []
        self.grants: list[list[Task]] = []
        self.in_hand: list[Task] = []
        self.robots_in_hand: list[RobotsTask] = []
        self.told: list[Robots] = []
        self.jobs: list[OpenJob] = []
        self.acknowledged = 0
        self.sent = 0
        self.got: asyncio.Condition | None = None
        self.stopped = False
        self.called_in = 0
        self.has_begun = False
        """It asks for all that it has in hand, and gives nothing back."""

    async def __call__(self, stream: socket.socket) -> None:
        self.lives += 1
        self.sent = self.acknowledged = 0
        self.in_hand, self.robots_in_hand = [], []
        self._end = asyncio.Event()
        self._link = await open_link(stream, self._received, lambda error: self._end.set())
        self._link.send(Hello(PROTOCOL, 0))
        beats = 0
        while not self._end.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(BEAT_S):
                    await self._end.wait()
            beats += 1
            self._link.send(Beat(0, self.session, beats))
        self._link.abort()

    def die(self) -> None:
        self._link.abort()

    def report(self, pages: Sequence[Page] = (), robots: Sequence[RobotsResult] = ()) -> None:
        self.sent += 1
        self._link.send(Report(self.sent, list(pages), list(robots)))

    def send(self, message: Message) -> None:
        self._link.send(message)

    def _received(self, message: Message) -> None:
        match message:
            case Grant():
                self._granted(message)
            case ReportsDurable():
                self.acknowledged = message.sequence
            case OpenJob():
                self.jobs.append(message)
            case GiveBack():
                self._give_back()
            case Stop():
                self.stopped = True
                self._leave()
            case Welcome():
                self.session = message.session

    def _give_back(self) -> None:
        """Gives back what it has in hand, if none of it was begun."""
        self.called_in += 1
        if self.has_begun:
            return
        self._link.send(
            Returned([task.record for task in self.in_hand], [], [task.lease for task in self.robots_in_hand])
        )
        self.in_hand, self.robots_in_hand = [], []

    def _leave(self) -> None:
        if self.in_hand:
            self._link.send(Returned([task.record for task in self.in_hand]))
        self._link.send(Bye())
        self._link.close()

    def _granted(self, grant: Grant) -> None:
        self.told += grant.robots
        self.granted += grant.tasks
        self.grants.append(list(grant.tasks))
        try:
            results = [r for t in grant.robots_tasks if (r := self._robots(t)) is not None]
            pages = [p for t in grant.tasks if (p := self._page(t)) is not None]
        except Death:
            self.die()
            return
        if pages or results:
            self.report(pages, results)

    def _page(self, task: Task) -> Page | None:
        self.in_hand.append(task)
        page = self.answer(task)
        if page is not None:
            self.in_hand.remove(task)
        return page

    def _robots(self, task: RobotsTask) -> RobotsResult | None:
        result = self.robots(task)
        if result is None:
            self.robots_in_hand.append(task)
        return result


class Death(BaseException):
    """Raised by an answer: the slave is gone."""


@asynccontextmanager
async def master_of(folder: Path, slaves: Slaves, *, hosts_max: int = 0, **settings: Any):
    master = Master(Alone(folder, Settings().updated(settings)), slaves=0, run_here=slaves)
    if hosts_max:
        master.workbench.seating.hosts_max = hosts_max
    async with master:
        yield master


async def crawl(
    folder: Path,
    slaves: Slaves,
    *,
    hosts_max: int = 0,
    outputs: Sequence[SinkSpec] = (),
    **settings: Any,
) -> tuple[Job, dict[str, int]]:
    """Submits, or resumes, one job; its end, and its records counted one by one."""
    async with master_of(folder, slaves, hosts_max=hosts_max) as master:
        spec = spec_of(**settings)
        job = await master.resume(1, spec, outputs) if 1 in master.jobs else await master.submit(spec, outputs)
        async with asyncio.timeout(20):
            await master.run()
        return job, await master.census(job)


async def until(condition: Callable[[], bool], timeout_s: float = 10.0) -> None:
    """Lets the loop run until something has come about."""
    async with asyncio.timeout(timeout_s):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0)


def urls(count: int, hosts: int = 1) -> list[str]:
    return [f"http://h{n % hosts}.example/{n}" for n in range(count)]
