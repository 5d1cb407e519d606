"""Built-in spider middlewares as classes that people subclass: they are made and called as people's own are."""

from __future__ import annotations

from typing import Any, Self

from p2pcrawl.fetch.components.status import HttpStatus
from p2pcrawl.model.crawl.domains import is_within, read_domains
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.crawl.url import host_of
from p2pcrawl.model.errors import IgnoreRequest
from p2pcrawl.spiders.hooks.crawl_handle import CrawlHandle
from p2pcrawl.spiders.page.response import Response


class HttpErrorMiddleware:
    """Refuses responses whose status nobody asked for."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @classmethod
    def from_crawler(cls, crawler: CrawlHandle) -> Self:
        return cls(crawler.settings)

    def process_spider_input(self, response: Response, spider: Any = None) -> None:
        handled = getattr(spider, "handle_httpstatus_list", None)
        HttpStatus(self._settings, None if handled is None else tuple(handled)).process_answer(
            response.request, response.answer
        )


class OutputMiddleware:
    """Passes on of a callback's output what :meth:`wants` says, item by item and request by request."""

    @classmethod
    def from_crawler(cls, crawler: CrawlHandle) -> Self:
        return cls()

    def process_spider_output(self, response: Response, result: Any, spider: Any = None) -> Any:
        for each in result:
            if not isinstance(each, Request) or self.wants(each, response, spider):
                yield each

    async def process_spider_output_async(self, response: Response, result: Any, spider: Any = None) -> Any:
        async for each in result:
            if not isinstance(each, Request) or self.wants(each, response, spider):
                yield each

    def wants(self, request: Request, response: Response, spider: Any) -> bool:
        """Tells whether a request goes on."""
        return True


class OffsiteMiddleware(OutputMiddleware):
    """Leaves out requests beyond the spider's ``allowed_domains``: on either side, of spiders or of fetches."""

    crawler: CrawlHandle | None = None

    @classmethod
    def from_crawler(cls, crawler: CrawlHandle) -> Self:
        made = cls()
        made.crawler = crawler
        return made

    def spider_opened(self, spider: Any) -> None:
        """Does nothing: the domains of a spider are read at each request."""

    def process_request(self, request: Request, spider: Any = None) -> None:
        """Raises IgnoreRequest for what is not to be fetched."""
        if spider is None and self.crawler is not None:
            spider = self.crawler.spider
        if not self._may_go(request, spider):
            raise IgnoreRequest(f"{host_of(request.url)} is beyond allowed_domains")

    def wants(self, request: Request, response: Response, spider: Any) -> bool:
        return self._may_go(request, spider)

    def should_follow(self, request: Request, spider: Any) -> bool:
        """Tells whether a request's host is one of the spider's."""
        domains, _ = read_domains(getattr(spider, "allowed_domains", None) or ())
        return not domains or is_within(host_of(request.url), domains)

    def _may_go(self, request: Request, spider: Any) -> bool:
        return bool(request.dont_filter or request.meta.get("allow_offsite")) or self.should_follow(request, spider)


class DepthMiddleware(OutputMiddleware):
    """Leaves depth to the crawl, which counts it by itself; it is there to be subclassed."""


class RefererMiddleware(OutputMiddleware):
    """Leaves the Referer to the crawl, which adds it by itself; it is there to be subclassed."""


class UrlLengthMiddleware(OutputMiddleware):
    """Leaves long URLs to the crawl, which filters them by itself; it is there to be subclassed."""
