"""The caches of a spider, in the folder of its settings, and the way by which robots.txt comes from one."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Final

from p2pcrawl.fetch.cache.cache_store import CacheStore
from p2pcrawl.fetch.cache.http_cache import Count, HttpCache, KnownBy, plain_fingerprint
from p2pcrawl.fetch.components.chain import Chain
from p2pcrawl.fetch.connection.fetcher import Fetcher
from p2pcrawl.fetch.connection.guard import Networks
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import ConfigurationError, IgnoreRequest
from p2pcrawl.model.timings import TIMINGS

_ROBOTS: Final = "\0robots.txt"


class Caches:
    """The caches of one spider: for its pages, and for what hosts want of robots. An async context manager."""

    def __init__(
        self,
        settings: Settings,
        networks: Networks,
        spider: str,
        count: Count,
        identify: KnownBy = plain_fingerprint,
    ) -> None:
        folder = cache_folder(settings.httpcache_dir)
        self._store = CacheStore(folder, settings.httpcache_size_max, packed=settings.httpcache_gzip)
        self.pages = HttpCache(settings, self._store, networks, spider, count, identify)
        # A robots.txt is believed for a day at most, unless nothing is asked for anyway.
        most_s = 0.0 if settings.httpcache_ignore_missing else TIMINGS.robots_ttl_s
        self._robots = HttpCache(settings, self._store, networks, spider + _ROBOTS, count, expiration_s=most_s)

    @classmethod
    def of(cls, settings: Settings, networks: Networks, spider: str, count: Count, identify: KnownBy) -> Caches | None:
        """Returns those that settings ask for, if they do."""
        return cls(settings, networks, spider, count, identify) if settings.httpcache_enabled else None

    async def __aenter__(self) -> Caches:
        """Raises ConfigurationError, and StorageError for a file that cannot be read."""
        await self._store.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._store.close()

    def robots(self, fetcher: Fetcher) -> CachedRobots:
        """Returns the way to one robots.txt."""
        return CachedRobots(self._robots, fetcher)


class CachedRobots:
    """A fetcher that looks into the cache first. ``asked``: some host was asked."""

    def __init__(self, cache: HttpCache, fetcher: Fetcher) -> None:
        self._cache = cache
        self._fetcher = fetcher
        self.asked = False

    async def fetch(self, request: Request, *, cut: int | None = None) -> Answer:
        """Fetches as the fetcher does. What is not to be asked for is not there: its pages come from the cache, too."""
        try:
            answer = await Chain([self._cache], partial(self._ask, cut=cut)).run(request)
        except IgnoreRequest:
            return Answer(request.url, 404, {}, b"", asked=False, answered=False)
        return answer

    async def _ask(self, request: Request, *, cut: int | None) -> Answer:
        self.asked = True
        return await self._fetcher.fetch(request, cut=cut)


def cache_folder(named: str) -> Path:
    """Returns the folder of a cache: what is no whole path is in the user's own folder for caches."""
    path = Path(named)
    if path.is_absolute():
        return path
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        home = Path(base) if os.path.isabs(base) else Path.home() / ".cache"
    except RuntimeError as error:
        raise ConfigurationError("no folder for the HTTP cache: set HTTPCACHE_DIR to a whole path") from error
    return home / "p2pcrawl" / path
