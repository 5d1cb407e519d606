"""Built-in downloader middlewares around a fetch, as classes that people subclass: robots.txt, credentials, the time it
may take, counts, packing. Those that need a component of the crawl's own chain ask that one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Generator
from typing import Any, Self

from p2pcrawl.fetch.components.standard import HttpAuth
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.errors import NotConfigured
from p2pcrawl.slave.middlewares.fetch_stats import FetchStats
from p2pcrawl.spiders.hooks.crawl_handle import CrawlHandle
from p2pcrawl.spiders.hooks.crawl_stats import CrawlStats
from p2pcrawl.spiders.page.response import Response


class RobotsTxtMiddleware:
    """Keeps to robots.txt, as the crawl knows it: a page whose rules are not known yet waits for them elsewhere."""

    def __init__(self, crawler: CrawlHandle) -> None:
        if not crawler.settings.getbool("ROBOTSTXT_OBEY"):
            raise NotConfigured
        self.crawler = crawler
        self._check = crawler.built_in.get("RobotsCheck")

    @classmethod
    def from_crawler(cls, crawler: CrawlHandle) -> Self:
        return cls(crawler)

    def process_request(self, request: Request, spider: Any = None) -> Awaitable[None]:
        """Raises IgnoreRequest for what robots.txt forbids; what it returns may be awaited, or not."""
        if self._check is not None:
            self._check.process_request(request)
        return _NothingMore()


class HttpAuthMiddleware:
    """Gives requests to one domain the credentials of the settings, or the spider's ``http_user`` and the rest."""

    def __init__(self) -> None:
        self._component: HttpAuth | None = None

    @classmethod
    def from_crawler(cls, crawler: CrawlHandle) -> Self:
        made, settings = cls(), crawler.settings
        made._take(settings["HTTP_USER"], settings["HTTP_PASS"], settings["HTTP_AUTH_DOMAIN"])
        return made

    def spider_opened(self, spider: Any) -> None:
        """Takes the spider's credentials. Raises AttributeError where they have no ``http_auth_domain``."""
        if user := getattr(spider, "http_user", ""):
            self._take(user, getattr(spider, "http_pass", ""), spider.http_auth_domain)

    def process_request(self, request: Request, spider: Any = None) -> None:
        if self._component is not None:
            self._component.process_request(request)

    def _take(self, user: str, password: str, domain: str) -> None:
        self._component = HttpAuth(user, password, domain) if user and domain else None


class DownloadTimeoutMiddleware:
    """Gives requests without a ``download_timeout`` that of the settings, or the spider's own."""

    def __init__(self, timeout: float = 60.0) -> None:
        self._timeout_s = timeout

    @classmethod
    def from_crawler(cls, crawler: CrawlHandle) -> Self:
        return cls(crawler.settings.getfloat("DOWNLOAD_TIMEOUT"))

    def spider_opened(self, spider: Any) -> None:
        self._timeout_s = float(getattr(spider, "download_timeout", None) or self._timeout_s)

    def process_request(self, request: Request, spider: Any = None) -> Any:
        if self._timeout_s:
            request.meta.setdefault("download_timeout", self._timeout_s)


class DownloaderStats:
    """Counts requests, answers and failures."""

    def __init__(self, stats: CrawlStats) -> None:
        self.stats = stats
        self._component = FetchStats(stats)

    @classmethod
    def from_crawler(cls, crawler: CrawlHandle) -> Self:
        if not crawler.settings.getbool("DOWNLOADER_STATS"):
            raise NotConfigured
        return cls(crawler.stats)

    def process_request(self, request: Request, spider: Any = None) -> Any:
        self._component.process_request(request)

    def process_response(self, request: Request, response: Response, spider: Any = None) -> Any:
        self._component.process_answer(request, response.answer)
        return response

    def process_exception(self, request: Request, exception: Exception, spider: Any = None) -> Any:
        self._component.process_error(request, exception)


class HttpCompressionMiddleware:
    """Leaves what hosts pack to the crawl, which has unpacked it before any middleware sees it."""

    def __init__(self, stats: CrawlStats | None = None, *, crawler: CrawlHandle | None = None) -> None:
        self.stats = stats if stats is not None or crawler is None else crawler.stats

    @classmethod
    def from_crawler(cls, crawler: CrawlHandle) -> Self:
        return cls(crawler.stats)

    def process_request(self, request: Request, spider: Any = None) -> Any:
        return None

    def process_response(self, request: Request, response: Response, spider: Any = None) -> Any:
        return response


class _NothingMore(Awaitable[None]):
    """Stands for work that is done already: it is awaited by those who await, and left alone by the others."""

    def __await__(self) -> Generator[None, None, None]:
        yield from ()
