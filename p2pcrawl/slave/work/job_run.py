"""One job in one slave: its spider, its pipelines, its way to the network."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import Any, Final

from p2pcrawl.fetch.components.chain import Chain, Component
from p2pcrawl.fetch.components.own_headers import Home
from p2pcrawl.fetch.components.plain_fetcher import PlainFetcher
from p2pcrawl.fetch.components.robots import RobotsText, fetch_robots
from p2pcrawl.fetch.components.standard import default_components
from p2pcrawl.fetch.components.status import Retry
from p2pcrawl.fetch.connection.client import HttpClient
from p2pcrawl.fetch.connection.fetcher import OpenFetcher
from p2pcrawl.fetch.connection.guard import Blocked, Networks
from p2pcrawl.fetch.proxies.pooled_fetcher import proxy_pool
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.job import IDLE_END, START_URL, is_idle
from p2pcrawl.model.crawl.page_link import FILE_CALLBACK, Link
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.crawl.url import host_of
from p2pcrawl.model.errors import (
    ConfigurationError,
    TooSlow,
)
from p2pcrawl.model.texts.imprint_url import is_imprint
from p2pcrawl.slave.boards.board_pages import has_own_periods, own_period, unasked_end
from p2pcrawl.slave.hooks.inline_fetches import PLACE, HostPlace, InlineFetches
from p2pcrawl.slave.hooks.left_out import LeftOutExamples
from p2pcrawl.slave.hooks.page_log import PageLog
from p2pcrawl.slave.hooks.run_hooks import RunHooks
from p2pcrawl.slave.link.fence import Fence
from p2pcrawl.slave.link.outbox import Outbox
from p2pcrawl.slave.middlewares.assembly import assembled, spider_side, without_left_out
from p2pcrawl.slave.middlewares.fetch_stats import FetchStats
from p2pcrawl.slave.middlewares.policy_cache import cache_of, stands_for_cache
from p2pcrawl.slave.pages.complaints import Complaints
from p2pcrawl.slave.pages.errands import Errands
from p2pcrawl.slave.pages.file_work import FileWork
from p2pcrawl.slave.pages.harvest import Harvest
from p2pcrawl.slave.pages.harvesting import Harvesting
from p2pcrawl.slave.pages.item_passage import ItemPassage
from p2pcrawl.slave.pages.known_rules import KnownRules, MissingRules
from p2pcrawl.slave.pages.memory import Memory
from p2pcrawl.slave.pages.page_work import PageWork
from p2pcrawl.slave.pages.requeue_end import RequeueEnds
from p2pcrawl.slave.pages.scope import Scope, UnheardMeta
from p2pcrawl.slave.pages.start_work import StartWork
from p2pcrawl.slave.pages.traces import sendable
from p2pcrawl.slave.stored.link_seeding import LinkSeeding
from p2pcrawl.slave.work.imprint_work import ImprintWork
from p2pcrawl.spiders.hooks.crawl_handle import CrawlHandle
from p2pcrawl.spiders.hooks.making import make_component
from p2pcrawl.spiders.items.travelling import HOME
from p2pcrawl.spiders.loading.allowed_hosts import bounds_of
from p2pcrawl.spiders.loading.chosen import spider_of, spiders_say
from p2pcrawl.spiders.loading.pipelines import Pipelines
from p2pcrawl.spiders.loading.retried_kinds import retried_kinds
from p2pcrawl.spiders.page.limit import limited, work
from p2pcrawl.spiders.page_types.verdict import kind_for
from p2pcrawl.spiders.requests.fingerprinter import SCRAPYS, identify_by
from p2pcrawl.spiders.spider import Spider
from p2pcrawl.wire.messages.slave_messages import Outcome, RobotsResult, RobotsTask, Task

StoredLinks = Callable[[], AsyncIterator[list[Link]]]

IDLE_AGAIN_S = 5.0
"""After so long they are asked again, where one wants the job to go on."""


CUT: Final = "pages_cut"
"""The stat of pages that were parsed only in part."""


class JobRun:
    """One job in one slave. Use :meth:`open` first and :meth:`close` last."""

    def __init__(
        self,
        cls: type[Spider],
        arguments: dict[str, Any],
        settings: Settings,
        networks: Networks,
        open_fetcher: OpenFetcher = HttpClient,
        close_job: Callable[[str], None] = lambda reason: None,
        *,
        follows: bool = True,
        stored_links: StoredLinks | None = None,
    ) -> None:
        """``close_job`` asks the master to end the job; ``follows``: its pages lead to others; ``stored_links`` begins
        to tell the links at which a job starts that reads stored pages."""
        self._follows = follows
        self._stored_links = stored_links
        self._open_fetcher = open_fetcher
        self.networks = networks
        self.memory = Memory()
        self.handle = CrawlHandle(settings, cls)
        if settings.request_fingerprinter_class and settings.request_fingerprinter_class not in SCRAPYS:
            self.handle.request_fingerprinter = make_component(settings.request_fingerprinter_class, self.handle)
        self._identify = identify_by(self.handle.request_fingerprinter)
        self.spider: Spider = spider_of(cls, self.handle, arguments)
        self.settings = settings = without_left_out(spiders_say(self.handle.settings, self.spider))
        self.agent = settings.robots_agent
        self._complaints = Complaints(self.spider.logger)
        self._page_log = PageLog(self.spider.name)
        domains, _ = bounds_of(self.spider)
        self._home = Home(domains, _listed(self.spider.start_urls))
        self._scope = Scope(domains, settings.offsite_enabled)
        self._examples = LeftOutExamples()
        self._unheard = UnheardMeta(self.spider.logger)
        self._pipelines = Pipelines.load(settings.item_pipelines, self.handle)
        self._rules = KnownRules(self.agent, usage=settings.reads_usage)
        self._side = spider_side(settings, self.handle)
        caches, cache = cache_of(settings, networks, self.handle)
        self._components = self._components_of(settings, cache)
        self._caches = caches if cache in self._components or stands_for_cache(self.handle) else None
        self._inline = InlineFetches(self._chained, MissingRules, self._read_rules, settings.redirect_max_times)
        self._hooks = RunHooks(self.handle, settings, self._inline.fetch, close_job)
        self._announcing = self._hooks.announcing
        self._errands = Errands(self._pipelines)
        self._items = ItemPassage(self._pipelines, self._errands, self.handle, self._complaints, settings.slave_silence)
        self._harvesting = Harvesting(self._items, self._announcing, self._complaints)
        self.starts = StartWork(self._side, self._harvesting)
        self._seeding = LinkSeeding(self._harvesting, lambda: self.starts.closing)
        self._imprints = ImprintWork(settings, self.handle.stats)
        self._working = 0
        self._rest = asyncio.Event()
        self._rest.set()
        self._stack = AsyncExitStack()

    def _components_of(self, settings: Settings, cache: Component | None) -> list[Component]:
        """Returns the components of the chain: the built-in ones, as settings move them or leave them out, and people's
        own.
        """
        handled = self.spider.handle_httpstatus_list
        handled = None if handled is None else tuple(handled)
        defaults = default_components(
            settings, self._rules.of, handled, self._home, retried_kinds(settings.retry_exceptions)
        )
        if cache is not None:
            defaults.append(cache)
        if settings.downloader_stats:
            defaults.append(FetchStats(self.handle.stats))
        return assembled(settings, self.handle, defaults)

    def _put_to_work(self, settings: Settings) -> None:
        """Makes those who work on the pages of the job, when there is a way to the network."""
        self._pages = PageWork(
            self.handle,
            settings,
            self._chain.run,
            self._harvesting,
            announcing=self._announcing,
            side=self._side,
            rules=self._rules,
            page_log=self._page_log,
            retry=next((each for each in self._components if isinstance(each, Retry)), None),
            requeues=RequeueEnds(settings) if self.handle.parts["downloader middleware"] else None,
            period=partial(own_period, self.spider) if has_own_periods(self.spider, settings) else None,
        )
        self._files = FileWork(self._pages, self._errands, self._items, settings.referrer_policy)

    async def open(self) -> None:
        work.allow(self.settings.answer_cpu_max)
        client = await self._stack.enter_async_context(self._open_fetcher(self.settings, self.networks))
        if self._caches is not None:
            await self._stack.enter_async_context(self._caches)
        if self.settings.proxy_pool:
            client = await self._stack.enter_async_context(proxy_pool(self.settings, client, self.networks))
        self._chain = Chain(self._components, partial(self._hooks.fetched, fetch=client.fetch))
        self._plain = PlainFetcher(client, self._components)
        self._put_to_work(self.settings)
        await self._pipelines.open()
        self._stack.push_async_callback(self._pipelines.close)
        await self._announcing.opened()

    def forget(self) -> None:
        """Forgets what was reported, for it may be lost: it is reported again when it is met. Pages that are at work
        now go on with the old memory, for what they report may be lost as well.
        """
        self.memory = Memory()

    async def at_rest(self) -> None:
        """Waits until no page is at work."""
        await self._rest.wait()

    async def close(self, reason: str = "finished") -> None:
        """Says that the spider is closed, to its ``closed(reason)`` among others, then closes pipelines and
        connections.
        """
        self._complaints.log_counts()
        self._page_log.log_counts()
        try:
            await self._announcing.closed(reason)
        finally:
            await self._stack.aclose()

    async def _chained(self, request: Request) -> Answer:
        return await self._chain.run(request)

    async def _read_rules(self, origin: str, pause: Callable[[str], Awaitable[None]]) -> None:
        """Reads a robots.txt for a fetch in the middle of a callback."""
        text = await fetch_robots(self._plain, origin, self.settings, pause)
        limited(self._rules.learn)(origin, text.verdict, text.body, text.reason)

    # -- robots.txt ---------------------------------------------------------------------------

    def learn_rules(self, origin: str, verdict: Any, body: str, reason: str) -> None:
        self._rules.learn(origin, verdict, body, reason)

    async def robots(self, task: RobotsTask, pause: Any, fence: Fence) -> RobotsResult:
        """Fetches a robots.txt; whatever happens is a verdict, but for SessionExpired."""
        delay = 0.0
        work.begin(task.lease)
        way = self._caches.robots(self._plain) if self._caches is not None else None
        try:
            text = await fence.guard(fetch_robots(way or self._plain, task.origin, self.settings, pause))
        except (Blocked, ConfigurationError) as error:
            # The page's own turn will say so; there is nothing to obey at an address we never ask.
            text = RobotsText("allow", reason=str(error))
        try:
            rules = limited(self._rules.learn)(task.origin, text.verdict, text.body, text.reason)
        except TooSlow as error:
            text = RobotsText("disallow", reason=str(error))
            rules = self._rules.learn(task.origin, text.verdict, text.body, text.reason)
        if rules.crawl_delay is not None:
            delay = rules.crawl_delay
        reason = sendable(text.reason)
        unasked = way is not None and not way.asked
        return RobotsResult(task.lease, task.origin, text.verdict, text.body, reason, delay, unasked)

    # -- pages --------------------------------------------------------------------------------

    async def work(self, task: Task, outbox: Outbox, fence: Fence) -> None:
        """Works on one task from request to report. Raises MissingRules when it could not begin, SessionExpired when
        the session ended while it fetched, and StorageError when its raw page cannot be kept. A callback that runs when
        the session ends runs on, and its page is put into the outbox.
        """
        self._working += 1
        self._rest.clear()
        try:
            await self._work(task, outbox, fence)
        finally:
            self._working -= 1
            if not self._working:
                self._rest.set()

    async def _work(self, task: Task, outbox: Outbox, fence: Fence) -> None:
        work.begin(task.lease)
        HOME.set(type(self.spider).__module__)
        start, imprint = task.link.url.startswith(START_URL), is_imprint(task.link.url)
        harvest = Harvest(
            task,
            self.settings,
            self._scope,
            self.memory,
            start=start,
            unheard=self._unheard,
            identify=self._identify,
            examples=self._examples,
            follows=self._follows,
            holds_items=self._imprints.wanted and not start and not imprint,
        )
        idle = start and is_idle(task.link.url)
        place = None if start or imprint else HostPlace(host_of(task.link.url), task.delay_s, fence)
        PLACE.set(place)
        if idle:
            outcome = await fence.guard(self._idle(harvest))
        elif start:
            # A start() may wait as long as it likes, for work; another slave begins it anew.
            outcome = await fence.guard(self._start(harvest, outbox))
        elif imprint:
            outcome = self._imprints.follow(harvest)
        elif task.link.callback == FILE_CALLBACK:
            outcome = await self._files.file(harvest, outbox, fence)
        elif (unasked := unasked_end(self.spider, task)) is not None:
            outcome = unasked
        else:
            if task.link.seed:
                self._home.welcome(task.link.url)
            outcome = await self._pages.page(harvest, outbox, fence)
        if self._imprints.wanted and not start and not imprint:
            await self._imprints.leave(harvest, outcome)
        if place is not None:
            place.is_over = True
        outcome.detail, outcome.close = sendable(outcome.detail), sendable(outcome.close)
        self._tell_type(harvest, outcome)
        self._tell_cut(harvest)
        self._page_log.ended(harvest.url, outcome, task.attempt)
        self._take_pending(harvest)
        outcome.filtered, outcome.left_out = dict(harvest.filtered), harvest.left_out
        outcome.dropped_items = harvest.dropped_items
        page = harvest.take()
        self._announcing.gathered(harvest.reported, harvest.filtered)
        self._announcing.listening()
        outcome.stats = self.handle.stats.take_news()
        page.outcome = outcome
        outbox.put(page, task, whole=harvest.parts == 1)

    async def _start(self, harvest: Harvest, outbox: Outbox) -> Outcome:
        if self._stored_links is not None:
            return await self._seeding.run(self._stored_links(), harvest, outbox)
        return await self.starts.run(harvest, outbox)

    def _tell_type(self, harvest: Harvest, outcome: Outcome) -> None:
        """Tells what a page was taken for, and counts those that waited in the queue of another type."""
        taken = harvest.response.taken_for if harvest.response is not None else None
        if taken is None:
            return
        outcome.page_type = taken.told
        link = harvest.task.link
        if taken.by in ("content", "cached") and not link.seed and link.kind != kind_for(taken.type):
            self.handle.stats.inc_value("page_types/guessed_wrong")

    def _tell_cut(self, harvest: Harvest) -> None:
        """Tells of a page that was read only in part, and counts it."""
        if harvest.response is not None and harvest.response.left_unread:
            self.handle.stats.inc_value(CUT)
            self._page_log.cut(harvest.url, harvest.response.left_unread)

    def _take_pending(self, harvest: Harvest) -> None:
        """Takes what components have queued by the engine."""
        while self._hooks.engine.pending:
            harvest.add_request(self._hooks.engine.pending.popleft())

    async def _idle(self, harvest: Harvest) -> Outcome:
        """Tells the components that nothing is left of the job. What they queue is reported with this page's end."""
        goes_on, reason = await self._announcing.idle()
        self._take_pending(harvest)
        if goes_on and not harvest.gathered and not reason:
            return Outcome(Phase.QUEUED, IDLE_END, "a component wants the job to go on", retry_in_s=IDLE_AGAIN_S)
        return Outcome(Phase.DONE, IDLE_END, close=reason)


def _listed(start_urls: object) -> list[str]:
    """Returns the start URLs, where looking at them does not use them up."""
    return [url for url in start_urls if isinstance(url, str)] if isinstance(start_urls, list | tuple) else []
