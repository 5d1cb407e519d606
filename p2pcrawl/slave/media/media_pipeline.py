"""The base of pipelines that have files fetched for items. It parks each item until its files are had (docs/media.md).

What people override has the names, the arguments and the effects that they know from Scrapy, also in the forms of
older versions, which know neither ``item`` nor ``crawler``. The methods may be async.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, ClassVar, Self

from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import IgnoreRequest
from p2pcrawl.slave.media.media_store import writes_begun
from p2pcrawl.spiders.aids.awaited import ensure_awaitable
from p2pcrawl.spiders.loading.parked import FileException, Parked
from p2pcrawl.spiders.loading.pipelines import NothingReturned

log = logging.getLogger(__name__)

REASONS_MAX = 20
"""Warnings of one pipeline about files that could not be had."""


class MediaInfo:
    """The spider and the lists that methods of media pipelines get as ``info``."""

    def __init__(self, spider: Any) -> None:
        self.spider = spider
        self.downloading: set[bytes] = set()
        self.downloaded: dict[bytes, Any] = {}
        self.waiting: dict[bytes, Any] = {}


class MediaPipeline:
    """Asks for the requests that ``get_media_requests`` makes of an item, and gives ``item_completed`` what
    ``media_downloaded`` made of the answers.
    """

    LOG_FAILED_RESULTS: ClassVar[bool] = True
    SpiderInfo: ClassVar[type] = MediaInfo
    MEDIA_NAME = "media"

    def __init__(self, download_func: Any = None, settings: Any = None, *, crawler: Any = None) -> None:
        self.crawler = crawler
        self.settings: Any = crawler.settings if crawler is not None else settings
        self.spiderinfo = MediaInfo(getattr(crawler, "spider", None))
        self._reasons: set[str] = set()
        self.allow_redirects = bool((self.settings or {}).get("MEDIA_ALLOW_REDIRECTS"))

    @classmethod
    def from_crawler(cls, crawler: Any) -> Self:
        """Makes the pipeline, by ``from_settings`` where a subclass has one."""
        by_settings = getattr(cls, "from_settings", None)
        made: Self = by_settings(crawler.settings) if by_settings is not None else cls._made(crawler)
        made.crawler = crawler
        made.settings = crawler.settings
        made.spiderinfo = MediaInfo(crawler.spider)
        made.allow_redirects = crawler.settings.getbool("MEDIA_ALLOW_REDIRECTS")
        return made

    @classmethod
    def _made(cls, crawler: Any) -> Any:
        return called(cls, crawler=crawler, settings=crawler.settings)

    def open_spider(self, spider: Any = None) -> None:
        self.spiderinfo = MediaInfo(spider if spider is not None else self.crawler.spider)

    def process_item(self, item: Any, spider: Any = None) -> Any:
        """Returns the item, parked until its files are had."""
        info = self.spiderinfo
        waiting = _listed(self.get_media_requests(item, info))
        if not self.allow_redirects:
            for request in waiting:
                request.meta.setdefault("dont_redirect", True)
        return Parked(item, self, waiting)

    # -- to be overridden ---------------------------------------------------------------------

    def get_media_requests(self, item: Any, info: MediaInfo) -> Any:
        """Returns or yields the requests for an item's files."""
        raise NotImplementedError(f"{type(self).__name__}.get_media_requests is not defined")

    def media_to_download(self, request: Request, info: MediaInfo, *, item: Any = None) -> Any:
        """Returns the result for a file that is there already; None: ask for it."""

    def media_downloaded(self, response: Any, request: Request, info: MediaInfo, *, item: Any = None) -> Any:
        """Returns what is made of an answer. Raises FileException when nothing can be made of it."""
        raise NotImplementedError(f"{type(self).__name__}.media_downloaded is not defined")

    def media_failed(self, failure: Any, request: Request, info: MediaInfo) -> Any:
        """Hears that a file could not be had."""
        return failure

    def item_completed(self, results: list[tuple[bool, Any]], item: Any, info: MediaInfo) -> Any:
        """Returns the item with what was made of its files: (True, result) or (False, failure) for each request."""
        for ok, failure in results:
            if not ok and self.LOG_FAILED_RESULTS:
                self._tell(failure)
        return item

    # -- as a crawl uses it -------------------------------------------------------------------

    async def check_place(self) -> None:
        return

    async def known_result(self, request: Request, item: Any) -> Any:
        return await ensure_awaitable(accepting(self.media_to_download, request, self.spiderinfo, item=item))

    async def result_of(self, request: Request, response: Any, item: Any) -> Any:
        """Returns what ``media_downloaded`` does, when all is written that it began to write; also where it raises."""
        with writes_begun() as begun:
            try:
                result = await ensure_awaitable(
                    accepting(self.media_downloaded, response, request, self.spiderinfo, item=item)
                )
            finally:
                written = await asyncio.gather(*begun, return_exceptions=True)
        for write in written:
            if isinstance(write, BaseException):
                raise write
        return result

    def note_failure(self, request: Request, failure: Any) -> None:
        with suppress(FileException, IgnoreRequest):
            accepting(self.media_failed, failure, request, self.spiderinfo)

    async def item_with(self, results: list[tuple[bool, Any]], item: Any) -> Any:
        completed = await ensure_awaitable(self.item_completed(results, item, self.spiderinfo))
        if completed is None:
            raise NothingReturned(f"{type(self).__name__}.item_completed returned None: return the item")
        return completed

    def inc_stats(self, status: str) -> None:
        """Counts a file."""
        if self.crawler is not None:
            self.crawler.stats.inc_value(f"{self.MEDIA_NAME}_count")
            self.crawler.stats.inc_value(f"{self.MEDIA_NAME}_status_count/{status}")

    def setting(self, name: str, default: Any) -> Any:
        """Returns a setting: that with the name of the pipeline's class before it, if there is one."""
        settings = self.settings if self.settings is not None else Settings()
        value = settings.get(f"{type(self).__name__.upper()}_{name}")
        if value is None:
            value = settings.get(name)
        return default if value is None else value

    def _tell(self, failure: Any) -> None:
        """Logs that a file could not be had: the first for each reason as a warning, for there may be a million."""
        url, error = getattr(failure.request, "url", ""), failure.value
        reason = f"{type(error).__name__}: {error}".replace(url, "").strip(": ")[:200]
        level = logging.DEBUG
        if reason not in self._reasons and len(self._reasons) < REASONS_MAX:
            self._reasons.add(reason)
            level = logging.WARNING
        name = type(self).__name__
        log.log(
            level, "%s: no %s at %s: %s; others like it are told at level DEBUG", name, self.MEDIA_NAME, url, reason
        )


def called(cls: Any, *arguments: Any, **named: Any) -> Any:
    """Makes an object of a class, with those of the named arguments that its ``__init__`` takes."""
    parameters = inspect.signature(cls.__init__).parameters.values()
    if not any(p.kind is p.VAR_KEYWORD for p in parameters):
        names = {p.name for p in parameters}
        named = {name: value for name, value in named.items() if name in names}
    return cls(*arguments, **named)


def accepting(method: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Calls a method, with those of the named arguments that it takes."""
    parameters = inspect.signature(method).parameters.values()
    if not any(p.kind is p.VAR_KEYWORD for p in parameters):
        names = {p.name for p in parameters}
        named = {name: value for name, value in named.items() if name in names}
    return method(*arguments, **named)


def _listed(requests: Any) -> list[Request]:
    if requests is None:
        return []
    if isinstance(requests, Request) or not isinstance(requests, Iterable):
        requests = [requests]
    listed = [each for each in requests if each is not None]
    for each in listed:
        if not isinstance(each, Request):
            raise TypeError(f"get_media_requests gives requests, not {type(each).__name__}")
    return listed
