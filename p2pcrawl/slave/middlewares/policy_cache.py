"""The HTTP cache as people change it: by a policy of their own, or by a middleware that stands in its place.

A policy narrows what the crawl's own rules say: what it does not want stored is not stored, and what it does not think
fresh is asked for again. What the rules keep out (``no-store``, a status that is tried again) it cannot let in.
"""

from __future__ import annotations

from inspect import isawaitable
from typing import Any, Self
from weakref import WeakKeyDictionary

from p2pcrawl.fetch.cache.http_cache import Count, HttpCache
from p2pcrawl.fetch.cache.spiders_caches import Caches
from p2pcrawl.fetch.components.chain import Component
from p2pcrawl.fetch.connection.guard import Networks
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.cache_policy import CachePolicy
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import NotConfigured
from p2pcrawl.slave.middlewares.peoples import seen_response
from p2pcrawl.spiders.finding.objects import load_object
from p2pcrawl.spiders.hooks.crawl_handle import CrawlHandle
from p2pcrawl.spiders.hooks.crawl_stats import CrawlStats
from p2pcrawl.spiders.page.response import Response


class DummyPolicy:
    """Thinks all of it fresh, and wants all of it stored; the rules of ``dummy`` stand beneath."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def should_cache_request(self, request: Request) -> bool:
        """Tells whether the cache has to do with a request at all."""
        return True

    def should_cache_response(self, response: Response, request: Request) -> bool:
        """Tells whether an answer that came is to be stored."""
        return True

    def is_cached_response_fresh(self, cachedresponse: Response, request: Request) -> bool:
        """Tells whether what is stored is the answer; else the host is asked."""
        return True

    def is_cached_response_valid(self, cachedresponse: Response, response: Response, request: Request) -> bool:
        """Tells whether what is stored is the answer after all, now that the host has answered."""
        return True


class RFC2616Policy(DummyPolicy):
    """Thinks fresh what RFC 9111 lets be used; its rules stand beneath."""

    def is_cached_response_valid(self, cachedresponse: Response, response: Response, request: Request) -> bool:
        return response.status == 304


class PolicyCache(Component):
    """The cache of a spider, with a policy of people's own that is asked beside its rules."""

    order = HttpCache.order

    def __init__(self, pages: HttpCache, policy: Any, count: Count) -> None:
        self._pages = pages
        self._count = count
        self._policy = policy
        self._doubted: WeakKeyDictionary[Request, Answer] = WeakKeyDictionary()

    async def process_request(self, request: Request) -> Answer | None:
        """Answers from the cache what the policy thinks fresh. Raises IgnoreRequest as the cache does."""
        if not self._policy.should_cache_request(request):
            return None
        got = self._pages.process_request(request)
        answer: Answer | None = await got if got is not None else None
        if answer is None or self._policy.is_cached_response_fresh(seen_response(answer, request), request):
            return answer
        self._doubted[request] = answer
        self._pages.ask_anew(request)
        return None

    async def process_answer(self, request: Request, answer: Answer) -> Answer:
        """Stores what the policy wants stored."""
        doubted = self._doubted.pop(request, None)
        if answer.asked and answer.status != 304:
            response = seen_response(answer, request)
            if doubted is not None and self._policy.is_cached_response_valid(
                seen_response(doubted, request), response, request
            ):
                self._pages.dismiss(request)
                self._count("httpcache/revalidate")
                doubted.asked = doubted.answered = True
                return doubted
            if not self._policy.should_cache_response(response, request):
                self._pages.dismiss(request)
        got: Any = self._pages.process_answer(request, answer)
        answered: Answer = await got if isawaitable(got) else got
        return answered

    async def process_error(self, request: Request, error: Exception) -> Answer | None:
        self._doubted.pop(request, None)
        return await self._pages.process_error(request, error)


class HttpCacheMiddleware:
    """Answers from the HTTP cache, and keeps what hosts answer: by the cache of the crawl."""

    def __init__(self, settings: Settings, stats: CrawlStats) -> None:
        if not settings.getbool("HTTPCACHE_ENABLED"):
            raise NotConfigured
        self.stats = stats
        self.crawler: CrawlHandle | None = None

    @classmethod
    def from_crawler(cls, crawler: CrawlHandle) -> Self:
        made = cls(crawler.settings, crawler.stats)
        made.crawler = crawler
        return made

    def spider_opened(self, spider: Any) -> None:
        """Does nothing: the crawl opens its cache."""

    def spider_closed(self, spider: Any) -> None:
        """Does nothing: the crawl closes its cache."""

    async def process_request(self, request: Request, spider: Any = None) -> Response | None:
        return await self._shown(self._cache.process_request(request), request)

    async def process_response(self, request: Request, response: Response, spider: Any = None) -> Response:
        answer = response.answer
        got: Any = self._cache.process_answer(request, answer)
        got = await got if isawaitable(got) else got
        return response if got is answer else await self._shown(got, request) or response

    async def process_exception(self, request: Request, exception: Exception, spider: Any = None) -> Response | None:
        return await self._shown(self._cache.process_error(request, exception), request)

    @property
    def _cache(self) -> Component:
        parts = self.crawler.built_in if self.crawler is not None else {}
        cache: Component = parts.get("HttpCache") or parts["PolicyCache"]
        return cache

    async def _shown(self, got: Any, request: Request) -> Response | None:
        answer = await got if isawaitable(got) else got
        shown: Response | None = None if answer is None else seen_response(answer, request)
        return shown


def cache_of(settings: Settings, networks: Networks, handle: CrawlHandle) -> tuple[Caches | None, Component | None]:
    """Returns the caches of a spider, and the component that answers from them; Nones where it has none. Raises
    ConfigurationError for a policy that is not there, and what making it raises.
    """
    named, kind = settings.httpcache_policy, None
    if settings.httpcache_enabled and not isinstance(named, CachePolicy):
        kind = load_object(named)
        ruled = isinstance(kind, type) and issubclass(kind, RFC2616Policy)
        settings = settings.updated({"httpcache_policy": CachePolicy.RFC9111 if ruled else CachePolicy.DUMMY})
    counts, known_by = handle.stats.inc_value, handle.request_fingerprinter.fingerprint
    caches = Caches.of(settings, networks, handle.spider.name, counts, known_by)
    if caches is None:
        return None, None
    return caches, caches.pages if kind is None else PolicyCache(caches.pages, kind(handle.settings), counts)


def stands_for_cache(handle: CrawlHandle) -> bool:
    """Tells whether a middleware of people's own stands in the place of the cache."""
    return any(isinstance(each, HttpCacheMiddleware) for each in handle.parts["downloader middleware"])
