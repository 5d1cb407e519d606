"""Retries as people's middlewares and callbacks ask for them."""

from __future__ import annotations

import logging
from typing import Any, Self

from p2pcrawl.fetch.components.status import StatusError
from p2pcrawl.model.choosing.reading import Readings
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.errors import FetchError
from p2pcrawl.spiders.aids.log_formatter import level_named
from p2pcrawl.spiders.aids.page_facts import response_status_message
from p2pcrawl.spiders.hooks.crawl_handle import CrawlHandle
from p2pcrawl.spiders.loading.retried_kinds import retried_kinds
from p2pcrawl.spiders.page.response import Response

log = logging.getLogger(__name__)


def get_retry_request(
    request: Request,
    *,
    spider: Any,
    reason: str | Exception | type[Exception] = "unspecified",
    max_retry_times: int | None = None,
    priority_adjust: int | None = None,
    logger: logging.Logger = log,
    give_up_log_level: int | str | None = None,
    stats_base_key: str = "retry",
) -> Request | None:
    """Returns the request to make in place of one that failed; None when it has been made often enough.

    Its ``meta["retry_times"]`` counts, also the retries that the crawl made by itself.
    """
    settings, stats = spider.crawler.settings, spider.crawler.stats
    times = int(request.meta.get("retry_times", 0)) + 1
    if max_retry_times is None:
        max_retry_times = request.meta.get("max_retry_times", settings.getint("RETRY_TIMES"))
    told = reason if isinstance(reason, str) else _name_of(reason)
    if times > (max_retry_times or 0):
        stats.inc_value(f"{stats_base_key}/max_reached")
        level = level_named(give_up_log_level, logging.DEBUG)
        logger.log(level, "gave up %s after %d attempts: %s", request, times, told, extra={"spider": spider})
        return None
    logger.debug("%s is to be tried again after %d attempts: %s", request, times, told, extra={"spider": spider})
    stats.inc_value(f"{stats_base_key}/count")
    stats.inc_value(f"{stats_base_key}/reason_count/{told}")
    again = request.replace(dont_filter=True, priority=request.priority + (priority_adjust or 0))
    again.meta["retry_times"] = times
    return again


class RetryMiddleware:
    """Asks again for answers of RETRY_HTTP_CODES and for fetches that failed; for those that subclass it.

    Leave the built-in one out (``"...retry.RetryMiddleware": None``), or it comes first.
    """

    EXCEPTIONS_TO_RETRY: tuple[type[BaseException], ...] = (FetchError, OSError)

    def __init__(self, settings: Readings) -> None:
        self.max_retry_times = settings.getint("RETRY_TIMES")
        self.retry_http_codes = {int(code) for code in settings.getlist("RETRY_HTTP_CODES")}
        self.priority_adjust = 0
        if names := settings.getlist("RETRY_EXCEPTIONS"):
            self.EXCEPTIONS_TO_RETRY = retried_kinds([name for name in names if isinstance(name, str)])
        self.crawler: CrawlHandle | None = None

    @classmethod
    def from_crawler(cls, crawler: CrawlHandle) -> Self:
        made = cls(crawler.settings)
        made.crawler = crawler
        return made

    def process_response(self, request: Request, response: Response, spider: Any = None) -> Request | Response:
        if request.meta.get("dont_retry") or response.status not in self.retry_http_codes:
            return response
        return self._retry(request, response_status_message(response.status), spider) or response

    def process_exception(self, request: Request, exception: Exception, spider: Any = None) -> Request | None:
        wanted = isinstance(exception, self.EXCEPTIONS_TO_RETRY) and not isinstance(exception, StatusError)
        if not wanted or request.meta.get("dont_retry"):
            return None
        return self._retry(request, exception, spider)

    def _retry(self, request: Request, reason: Any, spider: Any = None) -> Request | None:
        if spider is None:
            spider = self.crawler.spider if self.crawler is not None else None
        most = request.meta.get("max_retry_times", self.max_retry_times)
        return get_retry_request(
            request, spider=spider, reason=reason, max_retry_times=most, priority_adjust=self.priority_adjust
        )


def _name_of(reason: Exception | type[Exception]) -> str:
    kind = reason if isinstance(reason, type) else type(reason)
    return f"{kind.__module__}.{kind.__qualname__}"
