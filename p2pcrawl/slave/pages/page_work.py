"""The work on one page: its fetch, its callback or errback, and what its end comes to."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from p2pcrawl.fetch.components.chain import Redirected
from p2pcrawl.fetch.components.referrer import page_policy
from p2pcrawl.fetch.components.status import Retry, StatusError
from p2pcrawl.fetch.connection.guard import Blocked
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.crawl.request import NO_CALLBACK, Request, callback_name
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.crawl.url import origin_of
from p2pcrawl.model.errors import (
    CloseSpider,
    ConfigurationError,
    FetchError,
    IgnoreRequest,
    StorageError,
    TooSlow,
)
from p2pcrawl.model.outcome import Drop, Failure
from p2pcrawl.slave.hooks.announcing import Announcing
from p2pcrawl.slave.hooks.inline_fetches import PLACE
from p2pcrawl.slave.hooks.own_lines import told_by_own
from p2pcrawl.slave.hooks.page_log import PageLog
from p2pcrawl.slave.link.fence import Fence, SessionExpired
from p2pcrawl.slave.link.outbox import Outbox
from p2pcrawl.slave.middlewares.peoples import Requeued, seen_response
from p2pcrawl.slave.middlewares.spider_side import SpiderSide
from p2pcrawl.slave.pages.harvest import Harvest
from p2pcrawl.slave.pages.harvesting import Harvesting
from p2pcrawl.slave.pages.known_rules import KnownRules, MissingRules
from p2pcrawl.slave.pages.page_ends import (
    add_answer,
    answered_end,
    error_to_tell,
    failed_end,
    left_out_end,
    redirected_end,
    too_slow,
)
from p2pcrawl.slave.pages.requeue_end import RequeueEnds
from p2pcrawl.slave.pages.traces import sendable
from p2pcrawl.slave.pages.travel import request_of
from p2pcrawl.slave.revisits.visit import META as REVISIT
from p2pcrawl.slave.revisits.visit import Visit, visit_for
from p2pcrawl.spiders.failure import PageFailure
from p2pcrawl.spiders.hooks.crawl_handle import CrawlHandle
from p2pcrawl.spiders.loading.trial import error_line
from p2pcrawl.spiders.page.answer_kinds import response_of
from p2pcrawl.spiders.page.limit import limited
from p2pcrawl.spiders.page.response import Response
from p2pcrawl.spiders.page_types.verdict import TypedBy
from p2pcrawl.wire.messages.slave_messages import Outcome, Task

_page_policy = limited(page_policy)


class PageWork:
    """Works on the pages of one job. ``run`` fetches through the chain of components, of which ``retry`` is the one
    that has pages tried again, if any has; ``requeues``: the ends of pages that people's middlewares put others in the
    place of, if there are any.
    """

    def __init__(
        self,
        handle: CrawlHandle,
        settings: Settings,
        run: Callable[[Request], Coroutine[Any, Any, Answer]],
        harvesting: Harvesting,
        *,
        announcing: Announcing,
        side: SpiderSide,
        rules: KnownRules,
        page_log: PageLog,
        retry: Retry | None = None,
        requeues: RequeueEnds | None = None,
        period: Callable[[Task, TypedBy | None], float | str] | None = None,
    ) -> None:
        """``period``: when a page is asked again, where that is not as the settings have it."""
        self._handle, self._spider = handle, handle.spider
        self._settings, self._silence_s = settings, settings.slave_silence
        self._run = run
        self._harvesting = harvesting
        self._announcing = announcing
        self._side = side
        self._rules = rules
        self._page_log = page_log
        self._retry = retry
        self._requeues = requeues
        self._period = period

    async def page(self, harvest: Harvest, outbox: Outbox, fence: Fence) -> Outcome:
        """Works on a page from its request to its end. Raises MissingRules, SessionExpired and StorageError, at which
        it has not ended.
        """
        try:
            request = request_of(harvest.task, self._settings.referrer_policy)
            if self._period is not None and harvest.errand is None:
                request.meta[REVISIT] = self._period(harvest.task, None)
            visit = visit_for(harvest.task, request, self._settings) if harvest.errand is None else None
        except ConfigurationError as error:
            return Outcome(Phase.DROPPED, Drop.INVALID, str(error))
        if visit is None:
            return await self._fetched(request, None, harvest, outbox, fence)
        visit.ask(request)
        outcome = await self._fetched(request, visit, harvest, outbox, fence)
        if self._period is not None and harvest.response is not None:
            visit.recur_after(self._period(harvest.task, harvest.response.taken_for))
        visit.learn(outcome)
        return outcome

    async def _fetched(
        self, request: Request, visit: Visit | None, harvest: Harvest, outbox: Outbox, fence: Fence
    ) -> Outcome:
        """Asks for a page, and works on what comes of it."""
        url = harvest.url
        before = self._requeues.snapshot(request) if self._requeues is not None else ()
        try:
            try:
                answer = await fence.guard(self._run(request))
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
            why = self._rules.why_unreachable(origin_of(url))
            return await self._told(request, error_to_tell(error, why), harvest, outbox, left_out_end(error, why))
        except FetchError as error:
            return await self._failed(request, error, visit, harvest, outbox)
        except Exception as error:
            again = self._retry.again_after_s(request, error) if self._retry is not None else None
            if again is not None:
                return Outcome(Phase.QUEUED, Failure.MIDDLEWARE, error_line(error), retry_in_s=again)
            return self._harvesting.raised(request.url, Outcome(Phase.FAILED, answered=True), error)
        return await self._answered(request, answer, visit, harvest, outbox)

    async def _answered(
        self, request: Request, answer: Answer, visit: Visit | None, harvest: Harvest, outbox: Outbox
    ) -> Outcome:
        """Gives an answer to what it is for: the item that waits for it, or a callback."""
        request.meta["download_latency"] = answer.latency_s
        outcome = answered_end(answer)
        if self._settings.referer_enabled:
            try:
                harvest.page_policy = _page_policy(answer.headers, answer.body)
            except TooSlow as error:
                return too_slow(outcome, error)
        response = harvest.response = seen_response(answer, request)
        if response.article_reader is not self._settings.article_reader:
            response.article_reader = self._settings.article_reader
        if not told_by_own(self._handle, "crawled", request, response):
            self._page_log.answered(request.method, request.url, answer.status, request.headers.get("Referer"))
        if harvest.errand is not None:
            made = harvest.errand.had(response)
            return await self._harvesting.collect(made, harvest, outbox, outcome, self._silence_s)
        await self._announcing.received(request, response)
        if visit is not None:
            try:
                if visit.is_unchanged(response, outcome):
                    return outcome
            except TooSlow as error:
                return too_slow(outcome, error)
            visit.mark(response)
        return await self._called_back(response, harvest, outbox, outcome)

    async def _called_back(self, response: Response, harvest: Harvest, outbox: Outbox, outcome: Outcome) -> Outcome:
        """Gives a page to the callback that it is for."""
        request: Request = response.request
        name = harvest.task.link.callback or "_parse"
        callback = getattr(self._spider, name, None)
        if callback is None:
            if name != NO_CALLBACK.__name__:
                outcome.phase, outcome.reason = Phase.FAILED, Failure.CALLBACK
                outcome.detail = f"spider {self._spider.name} has no method {name}"
            return outcome
        if request.callback is not None:
            request.callback = callback
        if not self._side.empty:
            refused = await self._side.refused(response)
            if refused is not None and (request.errback or isinstance(refused, IgnoreRequest)):
                self._refused(request.url, outcome, refused)
                return await self._told(request, refused, harvest, outbox, outcome)
            callback = self._side.around(callback, response, refused)
        return await self._call(callback, response, request, harvest, outbox, outcome)

    def _refused(self, url: str, outcome: Outcome, error: Exception) -> None:
        """Makes the end of a page whose answer a spider middleware refused."""
        if isinstance(error, IgnoreRequest):
            outcome.phase, outcome.reason, outcome.detail = Phase.DROPPED, Drop.IGNORED, sendable(str(error))
        else:
            self._harvesting.raised(url, outcome, error)

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
            return self._harvesting.raised(request.url, outcome, error)
        return await self._harvesting.collect(result, harvest, outbox, outcome, self._silence_s)

    async def _failed(
        self, request: Request, error: FetchError, visit: Visit | None, harvest: Harvest, outbox: Outbox
    ) -> Outcome:
        outcome = failed_end(error)
        if outcome.status:
            self._page_log.answered(request.method, request.url, outcome.status, request.headers.get("Referer"))
        if visit is not None and isinstance(error, StatusError) and visit.ends_without_page(error, outcome):
            return outcome
        again = self._retry.again_after_s(request, error, outcome.status) if self._retry is not None else None
        if again is not None:
            outcome.phase, outcome.reason, outcome.retry_in_s = Phase.QUEUED, error.kind, again
            return outcome
        return await self._told(request, error, harvest, outbox, outcome)

    def _requeued(self, before: tuple[Any, ...], request: Request, requeued: Requeued, harvest: Harvest) -> Outcome:
        """Makes the end of a page for which a middleware returned a request."""
        assert self._requeues is not None
        outcome = self._requeues.end(before, requeued, harvest, int(request.meta.get("retry_times", 0)) + 1)
        if requeued.answer is not None:
            add_answer(outcome, requeued.answer)
        return outcome

    async def _told(
        self, request: Request, error: Exception, harvest: Harvest, outbox: Outbox, outcome: Outcome
    ) -> Outcome:
        """Tells the errback of a request why it has no answer, if it has one."""
        errback = getattr(self._spider, callback_name(request.errback), None) if request.errback else None
        if errback is None and harvest.errand is None:
            return outcome
        response = None
        if isinstance(error, StatusError):
            error.response = response = response_of(error.answer, request, harvest.task.link.depth)
        failure = PageFailure(request, error, response)
        if harvest.errand is not None:
            made = harvest.errand.not_had(failure)
            return await self._harvesting.collect(made, harvest, outbox, outcome, self._silence_s)
        return await self._call(errback, failure, _bare(request), harvest, outbox, outcome)


def _page_answered() -> None:
    place = PLACE.get()
    if place is not None:
        place.answered()


def _bare(request: Request) -> Request:
    """Returns a request as errbacks get it, without cb_kwargs."""
    return request.replace(cb_kwargs={}) if request.cb_kwargs else request
