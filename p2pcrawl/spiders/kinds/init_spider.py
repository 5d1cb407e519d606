"""The spider that does something first, such as to log in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from p2pcrawl.spiders.callbacks import several
from p2pcrawl.spiders.spider import Spider


class InitSpider(Spider):
    """Makes the requests of :meth:`init_request` first, and those of its start URLs when :meth:`initialized` is called.

    An older kind of Scrapy's. What it keeps in attributes stays in one slave: cookies of a login are kept by host.
    """

    def start_requests(self) -> Iterable[Any]:
        """Returns what :meth:`init_request` returns."""
        return several(self.init_request())

    def init_request(self) -> Any:
        """Returns the first requests. To be overridden; their callbacks end by returning :meth:`initialized`."""
        return self.initialized()

    def initialized(self, response: Any = None) -> Any:
        """Returns the requests for the start URLs."""
        return super().start_requests()
