"""A job's spider once more over the pages that were stored: a crawl that asks nobody for anything.

It is a crawl in all but two things. Its records are not found by following links: they are there when it begins, one
for each page that is stored (:mod:`p2pcrawl.stores.warc`), under the identity, the callback, the meta and the depth
that the records of the crawl have which stored them. And its slaves get answers from the WARC files. So what is true of
crawls is true of it: all cores work, each page is done once, whatever is killed, items are in each output once.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Final

from p2pcrawl.core.bench.candidate import host_key
from p2pcrawl.core.ring.rendezvous import bucket_of_hash
from p2pcrawl.crawler.item_differences import Differences, DifferenceSought
from p2pcrawl.crawler.local_crawl import Crawler
from p2pcrawl.crawler.plans import CrawlPlan, Target
from p2pcrawl.fetch.connection.fetcher import OpenFetcher
from p2pcrawl.frontier.reading.crawled_pages import crawled_after
from p2pcrawl.frontier.reading.inquiry import Inquiry
from p2pcrawl.frontier.records.batch import Batch, NewLink
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.master.master import Master
from p2pcrawl.model.crawl.job import JobId, JobSpec
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.sink_spec import SinkSpec
from p2pcrawl.model.errors import ConfigurationError, StorageError
from p2pcrawl.slave.pages.travel import packed_request
from p2pcrawl.slave.rereading import rereading
from p2pcrawl.stores.feeds.start_outputs import StartOutputs
from p2pcrawl.stores.warc.mending import mend
from p2pcrawl.stores.warc.page_index import INDEX, IndexedPage, PageIndex

TELL_S: Final = 5.0
"""So often it is told how far the filling is."""
SHARES: Final = 64
"""Pages are shared out among slaves in so many parts, as hosts are in a crawl: one site may be all there is."""
SETTINGS: Final[Mapping[str, Any]] = {
    "DOWNLOAD_DELAY": 0,
    "AUTOTHROTTLE_ENABLED": False,
    "ROBOTSTXT_OBEY": False,
    "PURPOSE": (),
    "RETRY_ENABLED": False,
    "HTTPCACHE_ENABLED": False,
    "PROXY_POOL": (),
    "HTTP_PROXY": "",
    "REVISIT_INDEX": 0,
    "REVISIT_DETAIL": 0,
    "REVISIT_ROUNDS": 1,
    "RETRY_FAILED_AFTER": 0,
    "CLOSESPIDER_PAGECOUNT": 0,
    "CLOSESPIDER_ITEMCOUNT": 0,
    "CLOSESPIDER_TIMEOUT": 0,
    "CLOSESPIDER_ERRORCOUNT": 0,
}
"""What makes no sense where nobody is asked: manners, second attempts, visits, other ways to the web, ends before
the end. They go over whatever is chosen.
"""
_FILLED: Final = "filled"


@dataclass(frozen=True, slots=True)
class StoredPages:
    """The pages that are read once more: the folders with their WARC files, and the data folders of the crawl that
    stored them (of a cluster: those of its peers), with the ``job`` in them where they have several; none: nobody knows
    what the pages were asked for.
    """

    folders: tuple[Path, ...]
    crawls: tuple[Path, ...] = ()
    job: str = ""

    def jobs(self) -> tuple[tuple[Path, int], ...]:
        """Returns the number of the job in each data folder. Raises ConfigurationError where none or several are
        meant.
        """
        found = []
        for crawl in self.crawls:
            with Inquiry(crawl) as inquiry:
                jobs = inquiry.jobs_called(self.job)
            if len(jobs) != 1:
                there = ", ".join(f"{job.id} ({job.name})" for job in jobs) or "none"
                raise ConfigurationError(f"{crawl} has several jobs, or none: name one of {there} with --job")
            found.append((crawl, jobs[0].id))
        return tuple(found)


class Reextraction(Crawler):
    """A spider over stored pages. ``sought``: what its items are compared with; ``told`` is given lines while files are
    gone through.
    """

    def __init__(
        self,
        target: Target,
        pages: StoredPages,
        *,
        sought: DifferenceSought | None = None,
        told: Callable[[str], None] = lambda line: None,
        outputs: Sequence[SinkSpec] = (),
        data: Path | None = None,
        slaves: int | None = None,
        settings: Mapping[str, Any] | None = None,
        arguments: Mapping[str, Any] | None = None,
    ) -> None:
        chosen = {name: value for name, value in (settings or {}).items() if name.upper() not in SETTINGS}
        super().__init__(
            [target],
            outputs=outputs,
            data=data,
            slaves=slaves,
            settings={**chosen, **SETTINGS},
            arguments=arguments,
        )
        self.pages = pages
        self._sought = sought
        self._told = told
        self._given_up = False
        self.counted: Counter[str] = Counter()
        """Pages that are left out, by why: ``not-stored``, ``unknown``, ``no-page``; and files: ``unfinished-files``,
        ``damaged-files``.
        """
        self.differences: Differences | None = None
        """What the comparison has shown, when it is over."""

    def _way(self, folder: Path) -> AbstractAsyncContextManager[OpenFetcher]:
        return rereading(folder / INDEX)

    def _slave_options(self, folder: Path) -> Sequence[str]:
        return ("--stored", str((folder / INDEX).absolute()))

    @property
    def _follows(self) -> bool:
        return False

    @property
    def begun_anew_by(self) -> str:
        return "another --data folder, or none, reads the pages anew"

    async def _open_job(self, master: Master, plan: CrawlPlan, outputs: StartOutputs) -> Job:
        folder = Path(self.works_in)
        try:
            index = await asyncio.to_thread(self._read, folder / INDEX)
        except asyncio.CancelledError:
            # The thread ends with the file that it is at.
            self._given_up = True
            raise
        try:
            if master.jobs:
                job = await super()._open_job(master, plan, outputs)
            else:
                spec = JobSpec(JobId(1), plan.name, plan.ref, plan.arguments, plan.settings.differences())
                job = await master.admission.add(spec)
                await master.outputs.open(job, outputs.specs)
            if index.noted(_FILLED):
                self.counted.update({name: int(index.noted(name) or 0) for name in _LEFT_OUT})
            else:
                await self._fill(master, job, index)
        finally:
            index.close()
        return job

    def _read(self, path: Path) -> PageIndex:
        """Goes through the files, so that each page is found. What was gone through before a crash is not gone through
        again.
        """
        index = PageIndex(path)
        try:
            if not index.noted(_FILLED):
                for folder in self.pages.folders:
                    mend(folder)
                unfinished = index.read(self.pages.folders, self._file_told)
                index.note("unfinished-files", str(len(unfinished)))
                index.note("damaged-files", str(len(index.damaged())))
                for path, place in index.damaged():
                    self._told(f"{path} is damaged: nothing was read from byte {place:,} on")
        except BaseException:
            index.close()
            raise
        return index

    def _file_told(self, name: str, left: int, pages: int) -> None:
        if self._given_up:
            raise StorageError("the reading was given up")
        self._told(f"reading {name}; {left:,} files left, {pages:,} pages so far")

    async def _fill(self, master: Master, job: Job, index: PageIndex) -> None:
        """Makes a record of each page. A crash in between costs nothing: those that are there are known."""
        links, told_at = self._links(index), monotonic()
        while (part := await asyncio.to_thread(next, links, None)) is not None:
            batch = Batch(orders={job.id: job.settings.queue_order})
            for link in part:
                host = host_key(f"stored pages {link.fingerprint[0] % SHARES}")
                batch.links.append(NewLink(link, job.id, host, bucket_of_hash(host)))
            await master.recorder.run(Store.commit, batch)
            job.counts.update(batch.tallies[job.id])
            if monotonic() >= told_at + TELL_S:
                told_at = monotonic()
                self._told(f"{job.counts['discovered']:,} pages to read so far")
        for name in _LEFT_OUT:
            index.note(name, str(self.counted[name] or index.noted(name) or 0))
        index.note(_FILLED, "yes")
        self.counted.update({name: int(index.noted(name) or 0) for name in _OF_FILES})
        master.ground.loading.sweep_all()

    def _links(self, index: PageIndex) -> Iterator[list[Link]]:
        return self._as_crawled(index) if self.pages.crawls else self._as_stored(index)

    def _as_stored(self, index: PageIndex) -> Iterator[list[Link]]:
        """Yields links to all pages that are stored, for the spider's usual callback."""
        for part in index.pages():
            links = [_plain_link(page) for page in part if _is_page(page)]
            self.counted["no-page"] += len(part) - len(links)
            yield links

    def _as_crawled(self, index: PageIndex) -> Iterator[list[Link]]:
        """Yields the links of the crawl's records whose pages are stored."""
        for crawl, number in self.pages.jobs():
            after = 0
            while part := crawled_after(crawl, number, after):
                after = part[-1].place
                stored = index.use(page.asked for page in part)
                links = [page.link for page in part if page.asked in stored]
                self.counted["not-stored"] += len(part) - len(links)
                yield links
        self.counted["unknown"] = index.unused()

    async def audit(self) -> list[dict[str, Any]]:
        """Counts again, as a crawl does; and compares the items, if all pages have been read."""
        certificates = await super().audit()
        if self._sought is not None and self.finished:
            self.differences = await asyncio.to_thread(self._sought.compare, Path(self.works_in), self.jobs[0].id)
        return certificates


_OF_FILES: Final = ("unfinished-files", "damaged-files")
_LEFT_OUT: Final = ("not-stored", "unknown", "no-page", *_OF_FILES)


def _is_page(page: IndexedPage) -> bool:
    """Tells whether a callback would have got this, as far as can be told without the crawl's records."""
    return 200 <= page.status < 300 and not page.url.endswith("/robots.txt")


def _plain_link(page: IndexedPage) -> Link:
    extra = b""
    if page.method != "GET" or page.body:
        extra = packed_request(Request(page.url, method=page.method, body=page.body))
    return Link(page.url, page.key, extra=extra)


def told_counts(counted: Mapping[str, int]) -> Iterable[str]:
    """Says in lines what was left out, and why."""
    words = {
        "not-stored": "pages of the crawl have no raw page here, and were not read",
        "unknown": "stored answers belong to no page that this job's callbacks got (robots.txt, redirects, other jobs)",
        "no-page": "stored answers were not read: robots.txt, and what has another status than 200 to 299",
        "damaged-files": "files are damaged: what stands behind the first record that is not whole was not read",
        "unfinished-files": "files are still being written, and were left alone",
    }
    return (f"{counted[name]:,} {text}" for name, text in words.items() if counted.get(name))
