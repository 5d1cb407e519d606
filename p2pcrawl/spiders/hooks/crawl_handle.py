"""The crawl, as its spider and its components see it in one slave: what people call ``crawler``."""

from __future__ import annotations

from typing import Any

from p2pcrawl.model.crawl.fingerprint import fingerprint
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.spiders.hooks.crawl_stats import CrawlStats
from p2pcrawl.spiders.hooks.signal_bus import SignalBus


class CrawlHandle:
    """One job in one slave. ``spidercls``: the spider's class; ``spider`` is None until it was made."""

    def __init__(self, settings: Settings, spidercls: type[Any]) -> None:
        self.settings = settings
        self.spidercls = spidercls
        self.spider: Any = None
        self.stats = CrawlStats()
        self.signals = SignalBus(self)
        self.request_fingerprinter = RequestFingerprints(settings)


class RequestFingerprints:
    """The identities of requests, by which a page is known to have been asked for."""

    def __init__(self, settings: Settings) -> None:
        self._names = {name.lower() for name in settings.fingerprint_headers}

    def fingerprint(self, request: Request) -> bytes:
        """Returns the 16 bytes that a request is known by."""
        told = [(name, value) for name, value in request.headers.items() if name.lower() in self._names]
        return fingerprint(request.url, request.method, request.body, told)
