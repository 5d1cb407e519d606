"""The jobs that a slave has opened: each is loaded and opened once, whichever master tells of it."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from p2pcrawl.core.retuning import TUNABLE
from p2pcrawl.fetch.connection.fetcher import OpenFetcher
from p2pcrawl.fetch.connection.guard import Networks
from p2pcrawl.model.crawl.job import SpiderRef
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.private.passing_folder import PassingFolder
from p2pcrawl.slave.stored.page_seeking import PageSeeking
from p2pcrawl.slave.work.doors import Doors
from p2pcrawl.slave.work.job_run import JobRun
from p2pcrawl.slave.work.projects_here import project_here
from p2pcrawl.spiders.boards.joint_spider import joint_class
from p2pcrawl.spiders.callbacks import is_of_a_spider
from p2pcrawl.spiders.finding.answered_names import install_scrapy_names
from p2pcrawl.spiders.finding.modules import TRAVELLED
from p2pcrawl.spiders.loading.load import class_in, load_spider
from p2pcrawl.spiders.loading.projects import JOB_SETTINGS
from p2pcrawl.spiders.loading.trial import error_line
from p2pcrawl.spiders.spider import Spider
from p2pcrawl.wire.messages.board_form import boards_of_wire
from p2pcrawl.wire.messages.slave_messages import Bye, Robots, WireJob

log = logging.getLogger(__name__)

CLOSE_S = 10.0
"""How long pipelines and connections may take to close."""


class Jobs:
    """``failed`` hears of a job that cannot be opened, ``close_job`` of one that its own code wants to end. ``seeking``
    is the way to pages that the cluster has stored, for jobs that read them in place of the web.
    """

    def __init__(
        self,
        classes: dict[str, type[Spider]],
        open_fetcher: OpenFetcher,
        failed: Callable[[Bye], None],
        doors: Doors,
        close_job: Callable[[int, str], None] = lambda job, reason: None,
        *,
        seeking: PageSeeking,
        follows: bool = True,
    ) -> None:
        self._classes = classes
        self._open_fetcher = open_fetcher
        self._failed = failed
        self.doors = doors
        self._close_job = close_job
        self.seeking = seeking
        self._follows = follows
        self._ending: set[asyncio.Task[None]] = set()
        self._runs: dict[int, asyncio.Task[JobRun]] = {}
        self._specs: dict[int, WireJob] = {}
        self._networks: dict[int, Networks] = {}
        self._folder: PassingFolder | None = None

    def open(self, spec: WireJob) -> None:
        """Begins to open a job, or takes over what is new about one that is open."""
        networks = self._networks.get(spec.id)
        if networks is not None:
            for host in spec.opened:
                networks.open(host)
            if spec.boards != self._specs[spec.id].boards:
                self._reopen(spec, networks)
            else:
                self._retune(spec)
            return
        settings = Settings().updated(spec.settings)
        # Before the job is open: what it opens next may be told at once.
        self._networks[spec.id] = networks = Networks(spec.opened, settings.allow_private_networks)
        self._specs[spec.id] = spec
        self._runs[spec.id] = asyncio.create_task(self._make_run(spec, settings, networks))

    def _retune(self, spec: WireJob) -> None:
        made = self._runs[spec.id]
        if made.done() and not made.cancelled() and made.exception() is None:
            run, settings = made.result(), Settings().updated(spec.settings)
            run.starts.reopen()
            run.settings = replace(run.settings, **{name: getattr(settings, name) for name in TUNABLE})

    def _reopen(self, spec: WireJob, networks: Networks) -> None:
        """Opens a job anew, whose boards have changed: what is at work ends as it began, and what comes is read by the
        new ones.
        """
        known = self._specs[spec.id]
        # What does not change travels once.
        self._specs[spec.id] = spec = msgspec.structs.replace(spec, code=spec.code or known.code)
        before = self._runs[spec.id]
        self._runs[spec.id] = asyncio.create_task(self._make_run(spec, Settings().updated(spec.settings), networks))
        self._end_later(self._close_when_at_rest(before))

    async def _close_when_at_rest(self, made: asyncio.Task[JobRun]) -> None:
        """Closes what a job was before its boards changed, however long its pages take."""
        await asyncio.wait([made])
        if not made.cancelled() and made.exception() is None:
            await made.result().at_rest()
        await self._close_run(made, "boards changed")

    def _end_later(self, ending: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(ending)
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    def run_of(self, job: int) -> Awaitable[JobRun]:
        """Returns the job, when it is open. Raises what opening it raised."""
        return asyncio.shield(self._runs[job])

    def closing(self, job: int) -> None:
        """Ends the start of a job of which nothing more will be asked for, and which might go on for ever."""
        made = self._runs.get(job)
        if made is not None:
            made.add_done_callback(_close_start)

    def over(self, job: int, reason: str) -> None:
        """Closes a job that has ended, when nothing of it is at work any more."""
        made, networks = self._runs.pop(job, None), self._networks.pop(job, None)
        self._specs.pop(job, None)
        if networks is not None:
            self.doors.remove(networks)
        if made is not None:
            self._end_later(self._close_run(made, reason))

    def learn_rules(self, robots: Robots) -> None:
        for run in self._opened():
            if robots.agent and robots.agent != run.settings.robots_key:
                continue
            run.learn_rules(robots.origin, robots.verdict, robots.body, robots.reason)

    def forget(self) -> None:
        """Forgets what was reported: it may be lost with the master that took it."""
        for run in self._opened():
            run.forget()

    async def close(self) -> None:
        self.doors.close()
        for made in self._runs.values():
            if not made.done():
                made.cancel()
        closing = [self._close_run(made, "shutdown", patient=False) for made in self._runs.values()]
        await asyncio.gather(*self._ending, *closing)
        if self._folder is not None:
            self._folder.remove()

    async def _close_run(self, made: asyncio.Task[JobRun], reason: str, *, patient: bool = True) -> None:
        try:
            run = await made
        except BaseException as error:
            # Whoever waited for it to open has heard of it.
            if not (is_of_a_spider(error) or made.cancelled()):
                raise
            return
        try:
            async with asyncio.timeout(CLOSE_S):
                if patient:
                    await run.at_rest()
                await run.close(reason)
        except BaseException as error:
            if not is_of_a_spider(error):
                raise
            log.exception("spider %s did not close cleanly", run.spider.name)

    def _opened(self) -> list[JobRun]:
        return [t.result() for t in self._runs.values() if t.done() and not t.cancelled() and t.exception() is None]

    async def _make_run(self, spec: WireJob, settings: Settings, networks: Networks) -> JobRun:
        await self.doors.add(networks)
        try:
            if settings.scrapy_names:
                install_scrapy_names()
            # What changes while a job runs is not at hand.
            at_hand = None if spec.boards else self._classes.get(spec.name)
            cls = at_hand or self._class_of(spec, settings)
            close = partial(self._close_job, spec.id)
            if settings.reads_stored_pages:
                links = partial(self.seeking.links, spec.id, settings.stored_pages_of)
                way = self.seeking.opener(spec.id)
                run = JobRun(cls, spec.arguments, settings, networks, way, close, follows=False, stored_links=links)
            else:
                run = JobRun(cls, spec.arguments, settings, networks, self._open_fetcher, close, follows=self._follows)
            try:
                await run.open()
            except BaseException:
                await run.close("shutdown")
                raise
        except P2PCrawlError as error:
            self._failed(Bye(f"{error}{_at_home(spec)}", error.exit_code == 2, spec.id))
            raise
        except BaseException as error:
            if not is_of_a_spider(error):
                raise
            log.debug("spider %s could not be opened", spec.name, exc_info=True)
            reason = f"spider {spec.name} could not be opened: {error_line(error)}{_at_home(spec)}"
            self._failed(Bye(reason, True, spec.id))
            # Not the same again: sys.exit() would end the process before it has said why.
            raise P2PCrawlError(reason) from error
        return run

    def _class_of(self, spec: WireJob, settings: Settings) -> type[Spider]:
        if spec.project:
            # Whatever is imported for this job from here on is looked for in its project first.
            mount = project_here(spec.project)
            TRAVELLED.set(mount)
            JOB_SETTINGS.set(settings)
            return class_in(mount.import_file(spec.file), spec.qualname, spec.file)
        if spec.boards:
            return joint_class(spec.name, boards_of_wire(spec), file=spec.file, code=spec.code)
        file = self._file_of(spec) if spec.code else spec.file
        return load_spider(SpiderRef(file, spec.module, spec.qualname, tuple(spec.urls)))

    def _file_of(self, spec: WireJob) -> str:
        """Writes the code that travelled into a file. What this machine has under the same name is another file."""
        if self._folder is None:
            self._folder = PassingFolder("p2pcrawl-slave-")
        code = spec.code.encode()
        folder = self._folder.path / f"{spec.id}-{blake2b(code, digest_size=8).hexdigest()}"
        folder.mkdir(exist_ok=True)
        path = folder / Path(spec.file).name
        path.write_bytes(code)
        return str(path)


def _at_home(spec: WireJob) -> str:
    """Says at which machine, where the spider has come from another one: what does not travel is missing there."""
    return f" (on {socket.gethostname()})" if spec.code or spec.project else ""


def _close_start(made: asyncio.Task[JobRun]) -> None:
    if not made.cancelled() and made.exception() is None:
        made.result().starts.close()
