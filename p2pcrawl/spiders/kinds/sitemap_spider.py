"""The spider that takes a site's pages from its sitemaps."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from re import Pattern
from typing import Any

from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.spiders.formats.sitemap_entries import (
    Sitemap,
    iterloc,
    lastmod_s,
    plain_chunks,
    sitemap_urls_from_robots,
    text_entries,
)
from p2pcrawl.spiders.page.limit import limited
from p2pcrawl.spiders.page.links import normalise
from p2pcrawl.spiders.page.response import Response
from p2pcrawl.spiders.page.typed_urls import checked_url
from p2pcrawl.spiders.spider import Spider

SITEMAP_SIZE = 50 * 1024 * 1024
"""Bytes of an inflated sitemap that are read: the protocol allows no more. DOWNLOAD_MAXSIZE, if that is more."""


class SitemapSpider(Spider):
    """Takes pages from sitemaps: those of ``sitemap_urls``, which may be robots.txt files and indexes of sitemaps.

    ``sitemap_rules`` are pairs of a pattern and a callback; the first that is found in a page's URL gets it.
    ``sitemap_follow`` are patterns of which one must be found in the URL of a sitemap that an index names. With
    ``sitemap_alternate_links`` the translations of a page that a sitemap names are taken, too.
    """

    sitemap_urls: Iterable[str] = ()
    sitemap_rules: Iterable[tuple[Pattern[str] | str, Callable[..., Any] | str]] = (("", "parse"),)
    sitemap_follow: Iterable[Pattern[str] | str] = ("",)
    sitemap_alternate_links: bool = False

    def __init__(self, *args: Any, **arguments: Any) -> None:
        # As they were given: what stands beside it among a spider's bases may take none.
        super().__init__(*args, **arguments)
        # Under the names by which spiders know them that parse sitemaps themselves.
        self._cbs = [(re.compile(pattern), _method(self, callback)) for pattern, callback in self.sitemap_rules]
        self._follow = [re.compile(pattern) for pattern in self.sitemap_follow]

    def start_requests(self) -> Iterable[Any]:
        """Yields a Request for each of ``sitemap_urls``. Raises ConfigurationError for what is no URL."""
        urls = self.sitemap_urls
        if not urls:
            self.logger.warning("spider %s has no sitemap_urls", self.name)
        for url in filter(None, re.split(r"[\s,]+", urls)) if isinstance(urls, str) else urls:
            yield Request(checked_url(url, f"sitemap_urls of spider {self.name}"), self._parse_sitemap)

    def sitemap_filter(self, entries: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
        """Yields the entries to go on with, dicts of text (``loc``, ``lastmod``...): all of them unless overridden."""
        yield from entries

    def _parse_sitemap(self, response: Response) -> Iterator[Request]:
        if response.url.endswith("/robots.txt"):
            for url in sitemap_urls_from_robots(response.body, response.url):
                yield from _requests(self, url, response, self._parse_sitemap)
            return
        sitemap = _sitemap_of(self, response)
        is_index = sitemap.type == "sitemapindex"
        entries: Iterator[dict[str, Any]] = _Entries(sitemap)
        if sitemap.type not in ("urlset", "sitemapindex"):
            # A list of URLs is one, too.
            first = next(entries := text_entries(_pieces_of(self, response)), None)
            if first is None:
                self.logger.warning("%s is no sitemap: it is left out", response.url)
                return
            entries = chain([first], entries)
        for entry in self.sitemap_filter(entries):
            for url in iterloc([entry], self.sitemap_alternate_links):
                callback = self._callback_for(url, is_index=is_index)
                if callback is not None:
                    yield from _requests(self, url, response, callback, lastmod_s(entry))

    def _callback_for(self, url: str, *, is_index: bool) -> Callable[..., Any] | None:
        if is_index:
            return self._parse_sitemap if any(pattern.search(url) for pattern in self._follow) else None
        return next((callback for pattern, callback in self._cbs if pattern.search(url)), None)

    def _get_sitemap_body(self, response: Response) -> bytes | None:
        # For spiders that override it, or parse sitemaps themselves: all of it, inflated. None: no sitemap.
        return None if response.is_html else b"".join(_pieces_of(self, response))


def _sitemap_of(spider: SitemapSpider, response: Response) -> Sitemap:
    """Reads the sitemap piece by piece, unless the spider has its own way to get its body."""
    if type(spider)._get_sitemap_body is SitemapSpider._get_sitemap_body:
        return limited(Sitemap)(_pieces_of(spider, response))
    return limited(Sitemap)(spider._get_sitemap_body(response) or b"")


def _pieces_of(spider: SitemapSpider, response: Response) -> Iterator[bytes]:
    size_max = max(SITEMAP_SIZE, spider.settings.download_maxsize)
    try:
        yield from plain_chunks(response.body, size_max)
    except ValueError as error:
        spider.logger.warning("%s is a sitemap of %s: the rest is left out", response.url, error)


def _requests(
    spider: SitemapSpider, url: str, response: Response, callback: Callable[..., Any], changed_s: float = 0.0
) -> Iterator[Request]:
    absolute = normalise(url, response.url)
    if absolute is None:
        spider.logger.debug("%s names %r, which is no URL", response.url, url[:200])
    else:
        request = Request(absolute, callback)
        if changed_s:
            request.changed_at = changed_s
        yield request


def _method(spider: SitemapSpider, callback: Callable[..., Any] | str) -> Callable[..., Any]:
    if not isinstance(callback, str):
        return callback
    method: Callable[..., Any] | None = getattr(spider, callback, None)
    if method is None:
        raise ConfigurationError(f"sitemap_rules of spider {spider.name} name {callback!r}, which is no method of it")
    return method


class _Entries:
    """The entries of a sitemap, each step counted as the library's work."""

    def __init__(self, sitemap: Sitemap) -> None:
        self.type = sitemap.type
        self._next = limited(iter(sitemap).__next__)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self

    def __next__(self) -> dict[str, Any]:
        return self._next()
