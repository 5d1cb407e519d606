"""The slave's loop: tasks in, reports out.

A fixed pool of workers takes tasks in the order of their grants. When the link is lost the slave stops
at once: its leases come back to the queue, and nothing that was not acknowledged counts.
"""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import socket
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from p2pcrawl.fetch.guard import Networks
from p2pcrawl.model.errors import LinkError, P2PCrawlError
from p2pcrawl.model.job import SpiderRef
from p2pcrawl.model.settings import Settings
from p2pcrawl.overlay.link import Link, open_link
from p2pcrawl.slave.outbox import Outbox
from p2pcrawl.slave.run import JobRun, MissingRules
from p2pcrawl.spiders.load import load_spider
from p2pcrawl.spiders.spider import Spider
from p2pcrawl.spiders.trial import told
from p2pcrawl.wire.codec import AnyMessage
from p2pcrawl.wire.messages import (
    PROTOCOL,
    Ack,
    Beat,
    Bye,
    Forget,
    Grant,
    Hello,
    JobSpec,
    OpenJob,
    Returned,
    RobotsTask,
    Stop,
    Task,
    Welcome,
)
from p2pcrawl.wire.streams import StreamSeal

log = logging.getLogger(__name__)

BEAT_S = 1.0
HANG_UP_S = 2.0
"""How long a slave that has said Bye waits for its master to close the link."""
CLOSE_S = 10.0
"""How long pipelines and connections may take to close."""


class Slave:
    """Runs on the current loop until its master stops it. ``classes`` are spiders that this process
    has at hand, by job name; others are imported."""

    def __init__(self, classes: dict[str, type[Spider]] | None = None) -> None:
        self._classes = classes or {}
        self._runs: dict[int, asyncio.Task[JobRun]] = {}
        self._networks: dict[int, Networks] = {}
        self._tasks: asyncio.Queue[Task | RobotsTask] = asyncio.Queue()
        self._open = 0
        self._closed = asyncio.Event()
        self._stopping = asyncio.Event()
        self._failure: Bye | None = None
        self._session = 0
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._slots = asyncio.get_running_loop().create_future()

    async def run(self, stream: socket.socket) -> None:
        """Serves one link until it is stopped or lost."""
        await self._work(await open_link(stream, self._received, self._lost))

    async def connect(self, host: str, port: int, seal: StreamSeal) -> None:
        """The same over a sealed link to a master of another machine. Raises LinkError when there is none."""
        loop = asyncio.get_running_loop()
        try:
            _, link = await loop.create_connection(lambda: Link(self._received, self._lost, seal), host, port)
        except OSError as error:
            raise LinkError(f"cannot reach the master at {host}:{port}: {error.strerror or error}") from error
        await self._work(link)

    async def _work(self, link: Link) -> None:
        self._link, self._outbox = link, Outbox(link, self._tasks.empty)
        link.send(Hello(PROTOCOL, os.getpid()))
        try:
            slots = await self._until_closed(self._slots)
            if slots is not None:
                await self._serve(slots)
        finally:
            await self._close_runs()
            if self._failure is not None:
                link.send(self._failure)
            elif not link.closed:
                link.send(Bye())
            await self._hang_up(link)

    async def _hang_up(self, link: Link) -> None:
        """Lets the master close first: what it says meanwhile to a closed link would cost it our last words."""
        with suppress(TimeoutError):
            async with asyncio.timeout(HANG_UP_S):
                await self._closed.wait()
        link.close()

    async def _serve(self, slots: int) -> None:
        workers = [asyncio.create_task(self._worker()) for _ in range(slots)]
        beat = asyncio.create_task(self._beat())
        ends = [asyncio.create_task(e.wait()) for e in (self._closed, self._stopping)]
        try:
            await asyncio.wait([*ends, *workers, beat], return_when=asyncio.FIRST_COMPLETED)
            if self._stopping.is_set() and self._failure is None:
                await self._until_closed(asyncio.ensure_future(self._drain()))
        finally:
            for task in (*workers, beat, *ends):
                task.cancel()
            await asyncio.gather(*workers, beat, *ends, return_exceptions=True)
        for task in workers:
            if not task.cancelled() and (error := task.exception()) is not None:
                raise error

    async def _drain(self) -> None:
        """Gives back what was not begun, finishes what was."""
        records = []
        while not self._tasks.empty():
            task = self._tasks.get_nowait()
            self._tasks.task_done()
            if isinstance(task, Task):
                records.append(task.record)
        if records:
            self._link.send(Returned(records))
        await self._tasks.join()
        await self._outbox.drained()

    async def _until_closed(self, future: asyncio.Future[Any]) -> Any:
        """The future's result, or None if the link is lost first."""
        closed = asyncio.create_task(self._closed.wait())
        await asyncio.wait([future, closed], return_when=asyncio.FIRST_COMPLETED)
        closed.cancel()
        if future.done():
            return future.result()
        future.cancel()
        return None

    # -- messages -----------------------------------------------------------------------------

    def _received(self, message: AnyMessage) -> None:
        match message:
            case Grant():
                self._granted(message)
            case Ack():
                self._outbox.acknowledged(message.sequence)
            case OpenJob():
                self._open_job(message.job)
            case Welcome():
                if message.protocol != PROTOCOL:
                    raise LinkError(f"the master speaks protocol {message.protocol}, this slave {PROTOCOL}")
                self._session = message.session
                logging.getLogger().setLevel(message.log_level)
                if not self._slots.done():
                    self._slots.set_result(message.slots)
            case Stop():
                self._stopping.set()
            case Forget():
                for run in self._opened():
                    run.memory.clear()
            case _:
                raise LinkError(f"a master does not say {type(message).__name__}")

    def _lost(self, error: Exception | None) -> None:
        self._closed.set()

    def _granted(self, grant: Grant) -> None:
        for robots in grant.robots:
            for run in self._opened():
                run.learn_rules(robots.origin, robots.verdict, robots.body, robots.reason)
        for robots_task in grant.robots_tasks:
            self._tasks.put_nowait(robots_task)
        for task in grant.tasks:
            self._tasks.put_nowait(task)

    def _opened(self) -> list[JobRun]:
        return [t.result() for t in self._runs.values() if t.done() and not t.cancelled() and t.exception() is None]

    def _open_job(self, spec: JobSpec) -> None:
        networks = self._networks.get(spec.id)
        if networks is not None:
            for cidr in spec.open_networks:
                networks.open(cidr)
            return
        self._runs[spec.id] = asyncio.create_task(self._make_run(spec))

    async def _make_run(self, spec: JobSpec) -> JobRun:
        settings = Settings().updated(spec.settings)
        networks = Networks(spec.open_networks, allow_private=settings.allow_private_networks)
        self._networks[spec.id] = networks
        try:
            file = self._file_of(spec) if spec.code else spec.file
            ref = SpiderRef(file, spec.module, spec.qualname, tuple(spec.urls))
            cls = self._classes.get(spec.name) or load_spider(ref)
            run = JobRun(spec.id, cls, spec.arguments, settings, networks)
            try:
                await run.open()
            except BaseException:
                await run.close()
                raise
        except P2PCrawlError as error:
            self._fail(str(error), spec.id, usage=error.exit_code == 2)
            raise
        except Exception as error:
            log.debug("spider %s could not be opened", spec.name, exc_info=True)
            self._fail(f"spider {spec.name} could not be opened: {told(error)}", spec.id, usage=True)
            raise
        return run

    def _file_of(self, spec: JobSpec) -> str:
        """The spider's file where the master says it is, if this machine has it; else a copy of what travelled."""
        if os.path.isfile(spec.file):
            return spec.file
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="p2pcrawl-slave-")
        folder = Path(self._folder.name) / str(spec.id)
        folder.mkdir(exist_ok=True)
        path = folder / Path(spec.file).name
        path.write_text(spec.code)
        return str(path)

    def _fail(self, reason: str, job: int, *, usage: bool) -> None:
        self._failure = Bye(reason, usage, job)
        self._stopping.set()

    # -- work ---------------------------------------------------------------------------------

    async def _worker(self) -> None:
        while True:
            task = await self._tasks.get()
            self._open += 1
            try:
                await self._outbox.room()
                run = await asyncio.shield(self._runs[task.job])
                if isinstance(task, RobotsTask):
                    self._outbox.put_robots(await run.robots(task, _pause(task.delay_s)))
                else:
                    await run.work(task, self._outbox)
            except MissingRules as missing:
                assert isinstance(task, Task)
                self._link.send(Returned([task.record], [str(missing)]))
            except Exception:
                if self._failure is None:
                    raise
                return
            finally:
                self._open -= 1
                self._tasks.task_done()

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            self._link.send(Beat(self._open, self._tasks.qsize(), rss))

    async def _close_runs(self) -> None:
        for made in self._runs.values():
            if not made.done():
                made.cancel()
        done = await asyncio.gather(*self._runs.values(), return_exceptions=True)
        for run in done:
            if isinstance(run, JobRun):
                try:
                    async with asyncio.timeout(CLOSE_S):
                        await run.close()
                except Exception:
                    log.exception("spider %s did not close cleanly", run.spider.name)


def _pause(delay_s: float) -> Callable[[str], Any]:
    async def pause(host: str) -> None:
        await asyncio.sleep(delay_s)

    return pause
