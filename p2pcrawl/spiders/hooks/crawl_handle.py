"""The crawl, as its spider and its components see it in one slave: what people call ``crawler``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.spiders.hooks.crawl_stats import CrawlStats
from p2pcrawl.spiders.hooks.signal_bus import SignalBus
from p2pcrawl.spiders.requests.fingerprinter import Fingerprinter, RequestFingerprinter


class CrawlHandle:
    """One job in one slave. ``spidercls``: the spider's class; ``spider`` is None until it was made."""

    def __init__(self, settings: Settings, spidercls: type[Any]) -> None:
        self.settings = settings
        self.spidercls = spidercls
        self.spider: Any = None
        self.engine: Any = None
        """What queues, fetches and closes; there is none before the crawl begins."""
        self.logformatter: Any = None
        """The lines of the log for those who make their own; there is none before the crawl begins."""
        self.stats = CrawlStats()
        self.signals = SignalBus(self)
        self.request_fingerprinter: Fingerprinter = RequestFingerprinter(self)
        self.built_in: Mapping[str, Any] = {}
        """The components of the crawl's own chain, by their names, for the classes that stand for them."""
        self.parts: dict[str, list[Any]] = {}
        """People's components, by their kinds."""

    def get_downloader_middleware(self, cls: type[Any]) -> Any:
        """Returns the first downloader middleware of a class, one of people's own; None without any."""
        return self._part("downloader middleware", cls)

    def get_spider_middleware(self, cls: type[Any]) -> Any:
        """Returns the first spider middleware of a class, one of people's own; None without any."""
        return self._part("spider middleware", cls)

    def get_item_pipeline(self, cls: type[Any]) -> Any:
        """Returns the first pipeline of a class; None without any."""
        return self._part("pipeline", cls)

    def get_addon(self, cls: type[Any]) -> Any:
        """Returns the first add-on of a class; None without any."""
        return self._part("addon", cls)

    def get_extension(self, cls: type[Any]) -> Any:
        """Returns the first extension of a class, one of people's own; None without any."""
        return self._part("extension", cls)

    def _part(self, kind: str, cls: type[Any]) -> Any:
        return next((each for each in self.parts.get(kind, ()) if isinstance(each, cls)), None)
