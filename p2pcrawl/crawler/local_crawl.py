"""One crawl on this machine, from a script."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import msgspec

from p2pcrawl.core.accounts import told_figures
from p2pcrawl.crawler.event_loops import new_event_loop
from p2pcrawl.crawler.in_notebooks import frame_of, jobs_as_html
from p2pcrawl.crawler.interruption import interruptible
from p2pcrawl.crawler.plans import (
    CrawlPlan,
    Target,
    boards_resumed,
    check_shared,
    described,
    plan_of,
    ranked_choice,
    resolved_targets,
)
from p2pcrawl.crawler.script_log import script_log, tell_end, told_progress
from p2pcrawl.crawler.told_end import fruitless
from p2pcrawl.fetch.connection.fetcher import OpenFetcher
from p2pcrawl.master.board_changes.board_keeping import BoardKeeping
from p2pcrawl.master.boards.job_boards import counts_in
from p2pcrawl.master.company.company import Alone
from p2pcrawl.master.jobs.delivery import SinkState
from p2pcrawl.master.jobs.job import FINISHED, Job
from p2pcrawl.master.master import Master
from p2pcrawl.model.choosing.ranked_settings import RankedSettings
from p2pcrawl.model.crawl.job import JobId, JobSpec
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.crawl.sink_spec import SinkSpec
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.overlay.tasks import end
from p2pcrawl.private.presence import addresses_here
from p2pcrawl.slave.archiving import archiving
from p2pcrawl.slave.slave import Slave
from p2pcrawl.slave.tuning import tune_collector, tune_memory
from p2pcrawl.spiders.loading.load import importing
from p2pcrawl.spiders.loading.trial import try_spider
from p2pcrawl.stores.address import scheme_of
from p2pcrawl.stores.feeds.start_outputs import StartOutputs, start_outputs
from p2pcrawl.stores.kinds import read_sink
from p2pcrawl.stores.warc.mending import mend
from p2pcrawl.stores.warc.page_index import INDEX
from p2pcrawl.stores.warc.place import SIZE_MAX, WarcPlace, chosen_place

log = logging.getLogger(__name__)


class Crawler:
    """A crawl of one or more spiders.

    ``target``: a Spider class, what the command line takes (a URL, ``file.py:Spider``,
    ``module:Spider``), or a list of these; URLs of a list are one crawl. ``output``: a file or the address of another
    sink, or several; it is appended to unless ``replace`` is set. ``data``: a folder that makes the crawl resumable.
    ``again``: a crawl in that folder that has ended is begun anew; one that has not goes on.
    ``settings`` go over those of the spider, but for RankedSettings (a project's), which stand in their ranks.
    ``warc``: a folder for the raw pages, in files of up to ``warc_size`` (a number of bytes, or as in "500MB").

        Crawler(Quotes, output="quotes.jsonl").run()

        async with Crawler(Quotes) as crawler:
            async for item in crawler.items():
                ...
    """

    def __init__(
        self,
        target: Target | Sequence[Target],
        *,
        output: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
        replace: bool = False,
        data: str | os.PathLike[str] | None = None,
        again: bool = False,
        slaves: int | None = None,
        settings: Settings | RankedSettings | Mapping[str, Any] | None = None,
        arguments: Mapping[str, Any] | None = None,
        warc: str | os.PathLike[str] | WarcPlace | None = None,
        warc_size: int | str = SIZE_MAX,
        outputs: Sequence[SinkSpec] = (),
        output_to_stderr: bool = False,
    ) -> None:
        base, typed = ranked_choice(settings)
        if slaves is not None:
            typed["slaves"] = slaves
        resolved = resolved_targets(target)
        self._plans = [plan_of(ref, cls, base, typed, dict(own or arguments or {})) for ref, cls, own in resolved]
        self.settings = self._plans[0].settings
        names = [os.fspath(name) for name in ([output] if isinstance(output, str | os.PathLike) else output)]
        if isinstance(warc, WarcPlace):
            self._warc: WarcPlace | None = warc
        else:
            self._warc, names = chosen_place(warc, warc_size, names, names if replace else ())
        given_outputs = [*outputs, *(read_sink(name, replace=replace) for name in names)]
        now = datetime.now(UTC)
        self._outputs = [start_outputs(given_outputs, [plan.feeds], now) for plan in self._plans]
        self._data = Path(data) if data is not None else None
        self._again = again
        self.output_to_stderr = output_to_stderr
        """Whether what spiders print goes to standard error, because standard output holds the items."""
        self.errors_to: int | None = None
        """A file descriptor that slaves get as standard error; None: the one of this process."""
        self._temporary: str | None = None
        self._owes = False
        self._master: Master | None = None
        self._running: asyncio.Task[None] | None = None
        self._keeping: BoardKeeping | None = None
        self._aborted = False
        self.jobs: list[Job] = []
        self.resumed = False
        """Whether the data folder knew this crawl already."""
        self.was_finished = False
        """Whether it had come to its end already, so that nothing is left but to fill new outputs."""
        self.began_anew = False
        """Whether it had, and what was kept of it has made room for a new one."""

    # -- from plain code ----------------------------------------------------------------------

    def run(self) -> dict[str, Any]:
        """Crawls to the end and returns the certificate. Ctrl-C once drains, for a minute at most; twice stops at once.
        How it goes and how it ended is told to the log, on standard error where nothing else is set up: LOG_LEVEL says
        how much, and LOG_ENABLED whether at all.

        A script must call it under ``if __name__ == "__main__":``, since slave processes import the script
        to find the spider; this raises ConfigurationError where it is called by such an import.
        """
        if importing():
            raise ConfigurationError(
                "a crawl was started while the script was being imported by a slave: "
                'put the call under `if __name__ == "__main__":`'
            )
        with suppress(RuntimeError):
            asyncio.get_running_loop()
            raise ConfigurationError(
                "run() begins a loop of its own, and one is running, as in a notebook: write `await crawler.crawl()`, "
                "or `await crawler.to_frame()` for the items"
            )
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            return runner.run(self.crawl())

    async def crawl(self, started: Callable[[Crawler], None] | None = None) -> dict[str, Any]:
        """Crawls to the end on a running loop and returns the certificate; ``started`` is called when the crawl
        begins.
        """
        with script_log(self.settings) as log_descriptor:
            self.errors_to = self.errors_to if log_descriptor is None else log_descriptor
            return await self._crawl(started)

    async def to_frame(self) -> Any:
        """Crawls to the end on a running loop, as in a notebook, and returns the items as a pandas DataFrame, a row
        each. Raises ConfigurationError where pandas is not installed.
        """
        frame_of([])
        with script_log(self.settings) as log_descriptor:
            self.errors_to = self.errors_to if log_descriptor is None else log_descriptor
            async with self, told_progress(self.jobs, self.settings.logstats_interval):
                with interruptible(self):
                    found = [item async for item in self.items()]
                tell_end(self.jobs)
        return frame_of(found)

    def _repr_html_(self) -> str:
        """Returns how the crawl goes, as notebooks show it."""
        return jobs_as_html(self.names, self.jobs)

    async def _crawl(self, started: Callable[[Crawler], None] | None) -> dict[str, Any]:
        async with self:
            with interruptible(self):
                if started is not None:
                    started(self)
                async with told_progress(self.jobs, self.settings.logstats_interval):
                    await self.wait()
            certificate = self.certificate()
            tell_end(self.jobs)
        if self._temporary is not None and self._owes:
            log.warning("not all items were delivered; they are kept: give data=%r to go on", self._temporary)
        return certificate

    # -- from async code ----------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        if not self._plans[0].settings.slaves:
            tune_memory()
        tune_collector()
        self._check()
        folder = self._data
        if folder is None:
            self._temporary = tempfile.mkdtemp(prefix="p2pcrawl-")
            folder = Path(self._temporary)
        try:
            await self._open(folder)
        except BaseException:
            self._remove_temporary()
            raise
        return self

    def _check(self) -> None:
        """Refuses whatever can be seen not to work before anything is written."""
        if self._again and self._data is None:
            raise ConfigurationError(
                "a crawl without a data folder always begins anew: leave --again out, or give --data"
            )
        if any(plan.settings.reads_stored_pages for plan in self._plans):
            raise ConfigurationError(
                "STORED_PAGES_OF names a job of a cluster: `p2pcrawl reextract --warc DIR` reads stored pages here"
            )
        if len(self._plans) > 1:
            self._check_together()
        if self._warc is not None:
            self._warc.make()
        for plan in self._plans:
            plan.settings = try_spider(plan.cls, plan.arguments, plan.settings)

    def _check_together(self) -> None:
        """Refuses spiders that cannot be crawled side by side."""
        first: dict[str, tuple[CrawlPlan, SinkSpec]] = {}
        for number, plan in enumerate(self._plans):
            if any((plan.ref, plan.arguments) == (other.ref, other.arguments) for other in self._plans[:number]):
                raise ConfigurationError(f"spider {plan.name} is given twice")
            for spec in self._outputs[number].specs:
                other, theirs = first.setdefault(spec.url, (plan, spec))
                if other is not plan:
                    check_shared(spec, theirs, plan, other)

    async def _open(self, folder: Path) -> None:
        settings = self.settings
        # What was not written for several processes runs in one, unless its user knows better.
        usual = 1 if settings.scrapy_names else os.cpu_count() or 1
        slaves = settings.slaves if settings.slaves is not None else usual
        if any(not plan.portable for plan in self._plans):
            if settings.slaves:
                name = next(plan.name for plan in self._plans if not plan.portable)
                raise ConfigurationError(
                    f"spider {name} cannot be found by slave processes: "
                    "define it at the top of a module, or use slaves=0"
                )
            slaves = 0
            names = ", ".join(plan.name for plan in self._plans if not plan.portable)
            log.info("%s: other processes cannot import the class, so all runs in this one (slaves=0)", names)
        classes = {plan.name: plan.cls for plan in self._plans}

        async def run_here(stream: Any) -> None:
            async with self._way(folder) as open_fetcher:
                slave = Slave(classes, open_fetcher, peers_here=addresses_here, follows=self._follows)
                await slave.run(stream)

        master = Master(
            Alone(folder, settings),
            slaves=slaves,
            run_here=run_here,
            output_to_stderr=self.output_to_stderr,
            errors_to=self.errors_to,
            slave_options=self._slave_options(folder),
        )
        await master.__aenter__()
        self._master = master
        try:
            self._check_folder(master, folder)
            self.began_anew = self._again and await master.drop_ended()
            for plan, outputs in zip(self._plans, self._outputs, strict=True):
                self.jobs.append(await self._open_job(master, plan, outputs))
        except BaseException:
            await master.__aexit__()
            raise
        self.was_finished = self.finished
        if any(job.spec.boards for job in self.jobs):
            self._keeping = self._keeping_of(master)
            self._keeping.start()
        self._running = asyncio.create_task(master.run())
        self._running.add_done_callback(lambda _: master.outputs.end())

    def _keeping_of(self, master: Master) -> BoardKeeping:
        async def brought(job: Job) -> Mapping[str, Counter[str]]:
            return counts_in(told_figures(job.counts)["stats"])

        async def told(job: Job) -> None:
            """Tells nobody: there is no other master."""

        return BoardKeeping(
            master.company,
            master.admission,
            master.aside.drop_board,
            master.turns.hasten,
            leads=lambda: True,
            brought=brought,
            spread=told,
        )

    def _way(self, folder: Path) -> AbstractAsyncContextManager[OpenFetcher]:
        """Opens the way to the web of a slave in this process."""
        return archiving(self._warc)

    def _slave_options(self, folder: Path) -> Sequence[str]:
        """Returns the options by which slave processes are told of the same way."""
        return self._warc.options() if self._warc is not None else ()

    @property
    def _follows(self) -> bool:
        """Tells whether pages lead to others."""
        return True

    def _check_folder(self, master: Master, folder: Path) -> None:
        if master.jobs and self._follows == (folder / INDEX).exists():
            # The records of the one are of no use to the other: their hosts are made up, so that nobody would wait
            # between requests to the real ones.
            kept = "re-extraction" if self._follows else "crawl"
            raise ConfigurationError(f"the data folder {folder} is kept of a {kept}; use another --data folder")
        known = [(plan.ref, plan.arguments) for plan in self._plans]
        others = [j.spec for j in master.jobs.values() if (j.spec.spider, j.spec.arguments) not in known]
        if not others:
            return
        told = described(others[0])
        if len(others) < len(master.jobs):
            raise ConfigurationError(f"the crawl in the data folder {folder} has another spider ({told}): name it, too")
        raise ConfigurationError(f"the data folder {folder} holds another crawl ({told}); use another --data folder")

    async def _open_job(self, master: Master, plan: CrawlPlan, outputs: StartOutputs) -> Job:
        chosen, boards = plan.settings.differences(), dict(plan.boards)
        spec = JobSpec(JobId(0), plan.name, plan.ref, plan.arguments, chosen, boards=boards)
        for job in master.jobs.values():
            if (job.spec.spider, job.spec.arguments) == (spec.spider, spec.arguments):
                self.resumed = True
                if boards_now := dict(boards_resumed(job, plan, int(time.time() * 1_000))):
                    # What its pages are marked with goes by its name.
                    spec = dataclasses.replace(spec, name=job.spec.name, boards=boards_now)
                known = await master.outputs.known(job)
                return await master.resume(job.id, spec, outputs.as_begun(known))
        return await master.submit(spec, outputs.specs)

    async def __aexit__(self, *_: object) -> None:
        master, running = self._master, self._running
        try:
            if self._keeping is not None:
                await self._keeping.close()
            if running is not None:
                running.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await running
            if master is not None:
                self._owes = any(_owed(state) for job in self.jobs for state in master.outputs.states(job))
                await master.__aexit__()
            if self._warc is not None:
                # Whatever slaves had no time to end.
                await asyncio.to_thread(mend, self._warc.folder)
        finally:
            if not self._owes:
                self._remove_temporary()

    async def wait(self) -> None:
        """Waits until the crawl has ended, or was aborted. Raises what else ended it before its time."""
        assert self._running is not None
        try:
            await asyncio.shield(self._running)
        except asyncio.CancelledError:
            if not self._aborted:
                raise

    async def items(self) -> AsyncIterator[dict[str, Any]]:
        """Yields every item, as it becomes safe. Ends with the crawl; raises what ended that before its time."""
        outputs = self.master.outputs
        reading = {asyncio.create_task(outputs.items_after(job, 0)): job for job in self.jobs}
        try:
            while reading:
                done, _ = await asyncio.wait(reading, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    job, rows = reading.pop(task), task.result()
                    for _, data in rows:
                        for line in data.split(b"\n"):
                            yield msgspec.json.decode(line)
                    if rows:
                        reading[asyncio.create_task(outputs.items_after(job, rows[-1][0]))] = job
        finally:
            await end(list(reading))
        await self.wait()

    def stop(self) -> None:
        """Ends the crawl gently: what is open is finished; with a data folder it can be resumed."""
        if self._master is not None:
            self._master.drain()

    def abort(self) -> None:
        """Ends the crawl at once; with a data folder it can be resumed all the same."""
        if self._running is not None:
            self._aborted = True
            self._running.cancel()

    @property
    def begun_anew_by(self) -> str:
        """The way to begin a crawl anew that has ended, in words."""
        return "--again begins it anew"

    @property
    def raw_pages(self) -> str:
        """The folder of the WARC files, if the raw pages are kept; or ""."""
        return str(self._warc.folder) if self._warc is not None else ""

    @property
    def folder(self) -> Path | None:
        """The data folder that makes the crawl resumable, if it has one."""
        return self._data

    @property
    def works_in(self) -> str:
        """The folder that holds the crawl, if only for a time."""
        return str(self._data or self._temporary or "")

    @property
    def kept_in(self) -> str:
        """The folder in which a crawl that has ended has left items that were not delivered, or were refused; "" where
        it was given one, or owes none.
        """
        return self._temporary if self._temporary is not None and self._owes else ""

    @property
    def undelivered(self) -> int:
        """The items that still wait for their destinations, about."""
        return sum(state.waiting for job in self.jobs for state in self.master.outputs.states(job))

    @property
    def names(self) -> list[str]:
        """The spiders' names."""
        return [plan.name for plan in self._plans]

    @property
    def outputs(self) -> list[str]:
        """The destinations of the items: absolute paths, or "-"."""
        return list(dict.fromkeys(spec.url for outputs in self._outputs for spec in outputs.specs))

    @property
    def master(self) -> Master:
        assert self._master is not None
        return self._master

    @property
    def draining(self) -> bool:
        """True once it was told to stop."""
        return self.master.draining

    @property
    def finished(self) -> bool:
        return all(job.state == FINISHED for job in self.jobs)

    def certificate(self) -> dict[str, Any]:
        """Returns what was discovered and what became of it; of one job, or of each under ``jobs``. ``exit_code`` is 1
        where no page could be had, else 0.
        """
        certificates = [job.certificate() for job in self.jobs]
        whole = certificates[0] if len(certificates) == 1 else {"jobs": certificates}
        return {**whole, "exit_code": int(any(map(fruitless, certificates)))}

    async def audit(self) -> list[dict[str, Any]]:
        """Counts again. Returns the certificate of each job as it is stored, with ``verified``: whether counting the
        records one by one gives the same; with ``outputs``: the items written to each; and with ``sinks``: how it
        stands with each.
        """
        found = []
        for job in self.jobs:
            stored, census = Counter(await self.master.tallies(job)), await self.master.census(job)
            agreed = self._aborted or stored == job.counts
            job.counts, job.leased = stored, census["leased"]
            counted = all(census.get(name, 0) == stored[name] for name in ("done", "failed", "dropped", "queued"))
            certificate = job.certificate()
            certificate["verified"] = agreed and counted and certificate["conserved"]
            states = await self.master.outputs.counted_states(job)
            certificate["outputs"] = {each.sink: each.delivered for each in states}
            certificate["sinks"] = [asdict(each) for each in states]
            found.append(certificate)
        return found

    def _remove_temporary(self) -> None:
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)


def _owed(state: SinkState) -> bool:
    """Tells whether items would be lost with the data folder. What a file has not got yet, when its crawl is aborted,
    goes with the rest of that crawl.
    """
    return bool(state.refused or (state.waiting and scheme_of(state.sink)))
