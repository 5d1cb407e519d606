"""One job in one slave: its spider, its pipelines, its way to the network."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from inspect import isgenerator
from time import monotonic
from typing import Any

from p2pcrawl.fetch.cache.spiders_caches import Caches
from p2pcrawl.fetch.components.chain import Chain, Redirected
from p2pcrawl.fetch.components.own_headers import Home
from p2pcrawl.fetch.components.plain_fetcher import PlainFetcher
from p2pcrawl.fetch.components.referrer import page_policy
from p2pcrawl.fetch.components.robots import RobotsText, fetch_robots
from p2pcrawl.fetch.components.standard import default_components
from p2pcrawl.fetch.components.status import Retry, StatusError
from p2pcrawl.fetch.connection.client import Client
from p2pcrawl.fetch.connection.fetcher import OpenFetcher
from p2pcrawl.fetch.connection.guard import Blocked, Networks
from p2pcrawl.fetch.proxies.pooled_fetcher import proxy_pool
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.job import CUT_SHORT, IDLE_END, START_URL, is_idle
from p2pcrawl.model.crawl.page_link import FILE_CALLBACK
from p2pcrawl.model.crawl.record import GIVEN_UP, Phase
from p2pcrawl.model.crawl.request import NO_CALLBACK, Request, callback_name
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.crawl.url import host_of, origin_of
from p2pcrawl.model.errors import (
    CloseSpider,
    ConfigurationError,
    FetchError,
    IgnoreRequest,
    StorageError,
    TooSlow,
)
from p2pcrawl.model.outcome import Drop, Failure
from p2pcrawl.overlay.tasks import end
from p2pcrawl.slave.hooks.inline_fetches import PLACE, HostPlace, InlineFetches
from p2pcrawl.slave.hooks.own_lines import told_by_own
from p2pcrawl.slave.hooks.page_log import PageLog
from p2pcrawl.slave.hooks.run_hooks import RunHooks
from p2pcrawl.slave.link.fence import Fence, SessionExpired
from p2pcrawl.slave.link.outbox import Outbox
from p2pcrawl.slave.middlewares.assembly import assembled, spider_side, without_left_out
from p2pcrawl.slave.middlewares.fetch_stats import FetchStats
from p2pcrawl.slave.middlewares.peoples import Requeued, seen_response
from p2pcrawl.slave.work.complaints import Complaints
from p2pcrawl.slave.work.errands import Errands
from p2pcrawl.slave.work.harvest import PART_LINKS, Harvest
from p2pcrawl.slave.work.item_passage import ItemPassage
from p2pcrawl.slave.work.known_rules import KnownRules, MissingRules
from p2pcrawl.slave.work.memory import Memory
from p2pcrawl.slave.work.page_ends import (
    add_answer,
    answered_end,
    error_to_tell,
    failed_end,
    kept_nowhere,
    left_out_end,
    redirected_end,
    too_slow,
    with_failed_items,
)
from p2pcrawl.slave.work.requeue_end import RequeueEnds
from p2pcrawl.slave.work.scope import Scope, UnheardMeta
from p2pcrawl.slave.work.traces import sendable, trace_of
from p2pcrawl.slave.work.travel import request_of
from p2pcrawl.spiders.callbacks import is_of_a_spider, iterate
from p2pcrawl.spiders.failure import PageFailure
from p2pcrawl.spiders.hooks.crawl_handle import CrawlHandle
from p2pcrawl.spiders.hooks.making import make_component
from p2pcrawl.spiders.items.travelling import HOME
from p2pcrawl.spiders.loading.allowed_hosts import bounds_of
from p2pcrawl.spiders.loading.chosen import spider_of, spiders_say
from p2pcrawl.spiders.loading.pipelines import Pipelines
from p2pcrawl.spiders.loading.retried_kinds import retried_kinds
from p2pcrawl.spiders.loading.trial import error_line
from p2pcrawl.spiders.page.answer_kinds import response_of
from p2pcrawl.spiders.page.limit import limited, work
from p2pcrawl.spiders.page.links import LinkBatch
from p2pcrawl.spiders.page.response import Response
from p2pcrawl.spiders.requests.fingerprinter import SCRAPYS, identify_by
from p2pcrawl.spiders.spider import Spider
from p2pcrawl.stores.sink import SinkAway
from p2pcrawl.wire.messages.slave_messages import Outcome, RobotsResult, RobotsTask, Task

EARLY_S = 0.5
"""After so long what a ``start()`` has yielded is sent, however little it is."""
PARTS_AHEAD = 4
"""Parts of one page that may be on their way at once: what is reported after them waits behind them."""
TURN_S = 0.02
"""After so long a callback that yields on and on lets others go on."""
STORED = "stored"
"""The end of a file that nobody had to be asked for."""
STORE_TRIES = 12
"""Attempts at a file whose place cannot be reached, over half an hour."""
IDLE_AGAIN_S = 5.0
"""After so long they are asked again, where one wants the job to go on."""
_page_policy = limited(page_policy)


class JobRun:
    """One job in one slave. Use :meth:`open` first and :meth:`close` last."""

    def __init__(
        self,
        cls: type[Spider],
        arguments: dict[str, Any],
        settings: Settings,
        networks: Networks,
        open_fetcher: OpenFetcher = Client,
        close_job: Callable[[str], None] = lambda reason: None,
    ) -> None:
        """``close_job`` asks the master to end the job."""
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
        self._unheard = UnheardMeta(self.spider.logger)
        self._pipelines = Pipelines.load(settings.item_pipelines, self.handle)
        self._closing = False
        self._starting: set[asyncio.Task[Outcome]] = set()
        self._errands = Errands(self._pipelines)
        self._items = ItemPassage(self._pipelines, self._errands, self.handle, self._complaints, settings.slave_silence)
        self._rules = KnownRules(self.agent, usage=settings.reads_usage)
        self._side = spider_side(settings, self.handle)
        handled = self.spider.handle_httpstatus_list
        handled = None if handled is None else tuple(handled)
        defaults = default_components(
            settings, self._rules.of, handled, self._home, retried_kinds(settings.retry_exceptions)
        )
        counts, known_by = self.handle.stats.inc_value, self.handle.request_fingerprinter.fingerprint
        caches = Caches.of(settings, networks, self.spider.name, counts, known_by)
        if caches is not None:
            defaults.append(caches.pages)
        if settings.downloader_stats:
            defaults.append(FetchStats(self.handle.stats))
        self._components = assembled(settings, self.handle, defaults)
        self._caches = caches if caches is not None and caches.pages in self._components else None
        self._retry = next((each for each in self._components if isinstance(each, Retry)), None)
        self._requeues = RequeueEnds(settings) if self.handle.parts["downloader middleware"] else None
        self._inline = InlineFetches(self._chained, MissingRules, self._read_rules, settings.redirect_max_times)
        self._hooks = RunHooks(self.handle, settings, self._inline.fetch, close_job)
        self._announcing = self._hooks.announcing
        self._working = 0
        self._rest = asyncio.Event()
        self._rest.set()
        self._stack = AsyncExitStack()

    async def open(self) -> None:
        work.allow(self.settings.answer_cpu_max)
        client = await self._stack.enter_async_context(self._open_fetcher(self.settings, self.networks))
        if self._caches is not None:
            await self._stack.enter_async_context(self._caches)
        if self.settings.proxy_pool:
            client = await self._stack.enter_async_context(proxy_pool(self.settings, client, self.networks))
        self._chain = Chain(self._components, partial(self._hooks.fetched, fetch=client.fetch))
        self._plain = PlainFetcher(client, self._components)
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
        start = task.link.url.startswith(START_URL)
        harvest = Harvest(
            task,
            self.settings,
            self._scope,
            self.memory,
            start=start,
            unheard=self._unheard,
            identify=self._identify,
        )
        idle = is_idle(task.link.url)
        place = None if start or idle else HostPlace(host_of(task.link.url), task.delay_s, fence)
        PLACE.set(place)
        if idle:
            outcome = await fence.guard(self._idle(harvest))
        elif start:
            # A start() may wait as long as it likes, for work; another slave begins it anew.
            outcome = await fence.guard(self._start(harvest, outbox))
        elif task.link.callback == FILE_CALLBACK:
            outcome = await self._file(task, harvest, outbox, fence)
        else:
            outcome = await self._page(task, harvest, outbox, fence)
        if place is not None:
            place.is_over = True
        outcome.detail, outcome.close = sendable(outcome.detail), sendable(outcome.close)
        self._page_log.ended(harvest.url, outcome, task.attempt)
        self._take_pending(harvest)
        outcome.filtered = dict(harvest.filtered)
        outcome.dropped_items = harvest.dropped_items
        page = harvest.take()
        self._announcing.gathered(harvest.reported, harvest.filtered)
        self._announcing.listening()
        outcome.stats = self.handle.stats.take_news()
        page.outcome = outcome
        outbox.put(page, task, whole=harvest.parts == 1)

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

    async def _start(self, harvest: Harvest, outbox: Outbox) -> Outcome:
        outcome = Outcome(Phase.DONE, "start")
        if self._closing:
            return _cut_short()
        try:
            result = self._side.start()
        except CloseSpider as close:
            outcome.close = close.reason
            return outcome
        except BaseException as error:
            return self._raised(harvest.url, outcome, error)
        early = asyncio.create_task(self._send_early(harvest, outbox))
        collecting = asyncio.create_task(self._collect(result, harvest, outbox, outcome, None))
        self._starting.add(collecting)
        try:
            await asyncio.wait([collecting])
            return _cut_short() if collecting.cancelled() else collecting.result()
        finally:
            self._starting.discard(collecting)
            await end([early, collecting])

    def close_start(self) -> None:
        """Ends a ``start()`` that is at work, for its job is closing. What it has yielded counts, and it begins anew if
        the job goes on.
        """
        self._closing = True
        for collecting in self._starting:
            collecting.cancel()

    def reopen(self) -> None:
        """Lets a ``start()`` begin again, for its job goes on."""
        self._closing = False

    async def _send_early(self, harvest: Harvest, outbox: Outbox) -> None:
        """Sends what a ``start()`` has yielded without waiting for what that waits for; for ever."""
        while True:
            await asyncio.sleep(EARLY_S)
            if harvest.gathered:
                await self._send_part(harvest, outbox)

    async def _file(self, task: Task, harvest: Harvest, outbox: Outbox, fence: Fence) -> Outcome:
        """Works on a file that an item waits for, and sends the item on."""
        try:
            errand = harvest.errand = self._errands.arrived(request_of(task, self.settings.referrer_policy))
        except ConfigurationError as error:
            return Outcome(Phase.FAILED, Failure.ITEM, str(error))
        async with self._errands.turn(errand):
            try:
                there = await errand.is_there()
            except SinkAway as error:
                errand.away, outcome = error, Outcome(Phase.FAILED, Failure.STORE, str(error))
            else:
                if there:
                    outcome = Outcome(Phase.DONE, STORED)
                elif task.attempt > GIVEN_UP:
                    outcome = Outcome(Phase.FAILED, Failure.GIVEN_UP, "its host is down, or slaves died of it")
                else:
                    outcome = await self._page(task, harvest, outbox, fence)
        if outcome.phase == Phase.QUEUED or harvest.gathered:
            return outcome
        if errand.away is not None and task.attempt < STORE_TRIES:
            return kept_nowhere(task, errand.away, outcome)
        if not errand.known:
            errand.give_up(f"{outcome.reason}: {outcome.detail or errand.away or ''}")
        try:
            await self._items.forward(errand.parked, harvest, bounded=outbox.copied)
        except CloseSpider as close:
            outcome.close = close.reason
        return with_failed_items(harvest, outcome)

    async def _page(self, task: Task, harvest: Harvest, outbox: Outbox, fence: Fence) -> Outcome:
        try:
            request = request_of(task, self.settings.referrer_policy)
        except ConfigurationError as error:
            return Outcome(Phase.DROPPED, Drop.INVALID, str(error))
        before = self._requeues.snapshot(request) if self._requeues is not None else ()
        try:
            if task.link.seed:
                self._home.welcome(task.link.url)
            try:
                answer = await fence.guard(self._chain.run(request))
            finally:
                _page_answered()
        except Redirected as redirect:
            harvest.add_redirect(redirect.request)
            return redirected_end(redirect)
        except Requeued as requeued:
            return self._requeued(before, request, requeued, harvest)
        except (MissingRules, SessionExpired, StorageError):
            raise
        except (IgnoreRequest, Blocked) as error:
            why = self._rules.why_unreachable(origin_of(task.link.url))
            told = error_to_tell(error, why)
            return await self._told(task, request, told, harvest, outbox, left_out_end(error, why))
        except FetchError as error:
            return await self._failed(task, request, error, harvest, outbox)
        except Exception as error:
            again = self._retry.again_after_s(request, error) if self._retry is not None else None
            if again is not None:
                return Outcome(Phase.QUEUED, Failure.MIDDLEWARE, error_line(error), retry_in_s=again)
            return self._raised(request.url, Outcome(Phase.FAILED, answered=True), error)
        request.meta["download_latency"] = answer.latency_s
        outcome = answered_end(answer)
        if self.settings.referer_enabled:
            try:
                harvest.page_policy = _page_policy(answer.headers, answer.body)
            except TooSlow as error:
                return too_slow(outcome, error)
        response = harvest.response = seen_response(answer, request)
        if not told_by_own(self.handle, "crawled", request, response):
            self._page_log.answered(request.method, request.url, answer.status, request.headers.get("Referer"))
        if harvest.errand is not None:
            made = harvest.errand.had(response)
            return await self._collect(made, harvest, outbox, outcome, self.settings.slave_silence)
        await self._announcing.received(request, response)
        return await self._called_back(task, response, harvest, outbox, outcome)

    async def _called_back(
        self, task: Task, response: Response, harvest: Harvest, outbox: Outbox, outcome: Outcome
    ) -> Outcome:
        """Gives a page to the callback that it is for."""
        request: Request = response.request
        name = task.link.callback or "_parse"
        callback = getattr(self.spider, name, None)
        if callback is None:
            if name != NO_CALLBACK.__name__:
                outcome.phase, outcome.reason = Phase.FAILED, Failure.CALLBACK
                outcome.detail = f"spider {self.spider.name} has no method {name}"
            return outcome
        if request.callback is not None:
            request.callback = callback
        if not self._side.empty:
            refused = await self._side.refused(response)
            if refused is not None and (request.errback or isinstance(refused, IgnoreRequest)):
                self._refused(request.url, outcome, refused)
                return await self._told(task, request, refused, harvest, outbox, outcome)
            callback = self._side.around(callback, response, refused)
        return await self._call(callback, response, request, harvest, outbox, outcome)

    def _refused(self, url: str, outcome: Outcome, error: Exception) -> None:
        """Makes the end of a page whose answer a spider middleware refused."""
        if isinstance(error, IgnoreRequest):
            outcome.phase, outcome.reason, outcome.detail = Phase.DROPPED, Drop.IGNORED, sendable(str(error))
        else:
            self._raised(url, outcome, error)

    async def _call(
        self, callback: Any, argument: Any, request: Request, harvest: Harvest, outbox: Outbox, outcome: Outcome
    ) -> Outcome:
        try:
            result = callback(argument, **request.cb_kwargs) if request.cb_kwargs else callback(argument)
        except CloseSpider as close:
            outcome.close = close.reason
            return outcome
        except TooSlow as error:
            return too_slow(outcome, error)
        except BaseException as error:
            return self._raised(request.url, outcome, error)
        return await self._collect(result, harvest, outbox, outcome, self.settings.slave_silence)

    async def _collect(
        self, result: Any, harvest: Harvest, outbox: Outbox, outcome: Outcome, silence_s: float | None
    ) -> Outcome:
        """Takes all that a callback yields; an exception keeps what came before it, and an item that fails is lost
        alone.

        A callback that waits for longer than ``silence_s`` has failed: it would hold its slot for ever. One that never
        waits is interrupted at what it yields, so that the rest of the slave gets its turn.
        """
        over_at = monotonic() + TURN_S
        try:
            if isgenerator(result):
                # The common case, without the cost of an asynchronous step per item.
                for thing in result:
                    if thing is not None:
                        await self._take(thing, harvest, outbox)
                    if monotonic() >= over_at:
                        over_at = await _next_turn()
            else:
                async for thing in _patient(iterate(result), silence_s):
                    await self._take(thing, harvest, outbox)
                    if monotonic() >= over_at:
                        over_at = await _next_turn()
        except CloseSpider as close:
            outcome.close = close.reason
        except TooSlow as error:
            return too_slow(outcome, error)
        except BaseException as error:
            return self._raised(harvest.url, outcome, error, harvest.response)
        return with_failed_items(harvest, outcome)

    async def _send_part(self, harvest: Harvest, outbox: Outbox) -> None:
        harvest.ahead.append(outbox.put(harvest.take_part(), harvest.task, whole=False))
        await asyncio.sleep(0)
        if len(harvest.ahead) > PARTS_AHEAD:
            await outbox.safe(harvest.ahead.popleft())
        await outbox.room()

    async def _take(self, thing: Any, harvest: Harvest, outbox: Outbox) -> None:
        if self._announcing.hears_requests and isinstance(thing, LinkBatch | Request):
            await self._take_aloud(thing, harvest, outbox)
        elif isinstance(thing, LinkBatch):
            urls = thing.urls
            for start in range(0, len(urls), PART_LINKS):
                harvest.add_links(thing, urls[start : start + PART_LINKS])
                if harvest.full:
                    await self._send_part(harvest, outbox)
        elif isinstance(thing, Request):
            harvest.add_request(thing)
        else:
            await self._items.take(thing, harvest, bounded=outbox.copied)
        if harvest.full:
            await self._send_part(harvest, outbox)

    async def _take_aloud(self, thing: LinkBatch | Request, harvest: Harvest, outbox: Outbox) -> None:
        """Takes requests one by one, for those who want to hear of each."""
        for request in map(thing.request, thing.urls) if isinstance(thing, LinkBatch) else (thing,):
            if await self._announcing.scheduled(request) and not harvest.add_request(request):
                await self._announcing.dropped(request)
            if harvest.full:
                await self._send_part(harvest, outbox)

    async def _failed(
        self, task: Task, request: Request, error: FetchError, harvest: Harvest, outbox: Outbox
    ) -> Outcome:
        outcome = failed_end(error)
        if outcome.status:
            self._page_log.answered(request.method, request.url, outcome.status, request.headers.get("Referer"))
        again = self._retry.again_after_s(request, error, outcome.status) if self._retry is not None else None
        if again is not None:
            outcome.phase, outcome.retry_in_s = Phase.QUEUED, again
            return outcome
        return await self._told(task, request, error, harvest, outbox, outcome)

    def _requeued(self, before: tuple[Any, ...], request: Request, requeued: Requeued, harvest: Harvest) -> Outcome:
        """Makes the end of a page for which a middleware returned a request."""
        assert self._requeues is not None
        outcome = self._requeues.end(before, requeued, harvest, int(request.meta.get("retry_times", 0)) + 1)
        if requeued.answer is not None:
            add_answer(outcome, requeued.answer)
        return outcome

    async def _told(
        self, task: Task, request: Request, error: Exception, harvest: Harvest, outbox: Outbox, outcome: Outcome
    ) -> Outcome:
        """Tells the errback of a request why it has no answer, if it has one."""
        errback = getattr(self.spider, callback_name(request.errback), None) if request.errback else None
        if errback is None and harvest.errand is None:
            return outcome
        response = None
        if isinstance(error, StatusError):
            error.response = response = response_of(error.answer, request, task.link.depth)
        failure = PageFailure(request, error, response)
        if harvest.errand is not None:
            made = harvest.errand.not_had(failure)
            return await self._collect(made, harvest, outbox, outcome, self.settings.slave_silence)
        return await self._call(errback, failure, _bare(request), harvest, outbox, outcome)

    def _raised(self, url: str, outcome: Outcome, error: BaseException, response: Any = None) -> Outcome:
        """Makes the page's end by what its spider raised. Raises again what the spider did not."""
        if isinstance(error, SessionExpired) or not is_of_a_spider(error):
            raise error
        outcome.phase, outcome.reason, outcome.detail = Phase.FAILED, Failure.CALLBACK, trace_of(error)
        self._complaints.raised(url, error, outcome.detail)
        self._announcing.raised(error, response.request if response is not None else None, response)
        return outcome


def _page_answered() -> None:
    place = PLACE.get()
    if place is not None:
        place.answered()


def _cut_short() -> Outcome:
    return Outcome(Phase.QUEUED, CUT_SHORT, retry_in_s=0.0)


async def _next_turn() -> float:
    """Lets everything else go on for once. When this callback's turn is over."""
    await asyncio.sleep(0)
    return monotonic() + TURN_S


async def _patient(things: AsyncIterator[Any], silence_s: float | None) -> AsyncIterator[Any]:
    """Yields these things. Raises TimeoutError when the next one is longer in coming than that."""
    while True:
        try:
            async with asyncio.timeout(silence_s):
                thing = await anext(things)
        except StopAsyncIteration:
            return
        yield thing


def _listed(start_urls: object) -> list[str]:
    """Returns the start URLs, where looking at them does not use them up."""
    return [url for url in start_urls if isinstance(url, str)] if isinstance(start_urls, list | tuple) else []


def _bare(request: Request) -> Request:
    """Errbacks get no cb_kwargs."""
    return request.replace(cb_kwargs={}) if request.cb_kwargs else request
