"""The class that people write."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any, Self

from p2pcrawl.model.choosing.ranked_settings import RankedSettings
from p2pcrawl.model.crawl.domains import is_within, read_domains
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.crawl.url import host_of
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.callbacks import iterate
from p2pcrawl.spiders.hooks.crawl_handle import CrawlHandle
from p2pcrawl.spiders.page.response import Response
from p2pcrawl.spiders.page.typed_urls import checked_url


class Spider:
    """The class that people write: says where a crawl starts, and what it takes from each page.

    There is one instance in each slave: attributes are not shared between slaves.
    """

    name: str = ""
    """The class's name in lower case unless given."""
    start_urls: Iterable[str] = ()
    allowed_domains: Iterable[str] = ()
    """Hosts to stay within, their subdomains included; empty: no bound."""
    custom_settings: Mapping[str, Any] | None = None
    handle_httpstatus_list: Iterable[int] | None = None
    """Statuses besides 2xx that callbacks get, in the place of HTTPERROR_ALLOWED_CODES."""
    settings: Settings = Settings()
    crawler: CrawlHandle
    """The crawl in this slave: its settings, stats and signals. It is there when the spider has been made, and not yet
    in ``__init__``."""

    has_own_name = False
    """Whether a name was given, to this class or one that it inherits from."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if cls.__dict__.get("name"):
            cls.has_own_name = True
        elif not cls.has_own_name or "name" in cls.__dict__:
            cls.name = cls.__name__.lower()

    def __init__(self, name: str | None = None, **arguments: Any) -> None:
        """``arguments`` (``-a NAME=VALUE``) become attributes."""
        if name is not None:
            self.name = name
        elif not self.name:
            self.name = type(self).__name__.lower()
        self.__dict__.update(arguments)
        if self.start_urls is Spider.start_urls:
            # A list, for spiders that add to it.
            self.start_urls = []
        # "-a start_urls=URL" is text, and so is a forgotten pair of brackets.
        for attribute in ("start_urls", "allowed_domains"):
            value = getattr(self, attribute)
            if isinstance(value, str):
                setattr(self, attribute, [part for part in re.split(r"[\s,]+", value) if part])

    @classmethod
    def from_crawler(cls, crawler: CrawlHandle, *args: Any, **kwargs: Any) -> Self:
        """Makes the spider of a crawl. Override it to connect to signals; call this one first."""
        spider = cls(*args, **kwargs)
        spider._set_crawler(crawler)
        return spider

    def _set_crawler(self, crawler: CrawlHandle) -> None:
        # The name that spiders call which were written for Scrapy, and make themselves by hand.
        self.crawler, self.settings = crawler, crawler.settings

    @classmethod
    def update_settings(cls, settings: RankedSettings) -> None:
        """Says the spider's settings: ``custom_settings``, unless it is overridden to say more."""
        settings.setdict(cls.custom_settings, "spider")

    @classmethod
    def handles_request(cls, request: Request) -> bool:
        """Tells whether a request is for the host that the spider is called by, or for one of ``allowed_domains``."""
        hosts, _ = read_domains(cls.allowed_domains)
        return is_within(host_of(request.url), frozenset((cls.name.lower(), *hosts)))

    @staticmethod
    def close(spider: Spider, reason: str) -> Any:
        """Is called at the end in each slave, and calls the spider's ``closed(reason)``, if there is one."""
        closed = getattr(spider, "closed", None)
        return closed(reason) if callable(closed) else None

    @property
    def logger(self) -> logging.LoggerAdapter[logging.Logger]:
        """A logger by the spider's name."""
        return logging.LoggerAdapter(logging.getLogger(self.name), {"spider": self})

    def log(self, message: object, level: int = logging.DEBUG, **keywords: Any) -> None:
        self.logger.log(level, message, **keywords)

    async def start(self) -> AsyncIterator[Any]:
        """Yields the first requests (items are fine too). Unless overridden, those of :meth:`start_requests`."""
        async for each in iterate(self.start_requests()):
            yield each

    def start_requests(self) -> Iterable[Any]:
        """Yields a Request for each of ``start_urls``. Raises ConfigurationError for what is no URL."""
        if not self.start_urls and hasattr(self, "start_url"):
            raise ConfigurationError(f"spider {self.name} has start_url, but it is start_urls (a list) that counts")
        for url in self.start_urls:
            yield Request(checked_url(url, f"start_urls of spider {self.name}"))

    def parse(self, *response: Any, **cb_kwargs: Any) -> Any:
        """Handles the answers of requests that name no other callback: gets the response, and ``cb_kwargs``."""
        raise NotImplementedError(
            f"{type(self).__name__}.parse callback is not defined: write it, or give each Request a callback"
        )

    def _parse(self, response: Response, **cb_kwargs: Any) -> Any:
        # The default callback: kinds of spiders have another one, and leave parse() to whoever writes it.
        return self.parse(response, **cb_kwargs)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"
