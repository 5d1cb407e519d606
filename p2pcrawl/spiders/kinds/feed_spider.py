"""The spider for news feeds."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from p2pcrawl.model.crawl.request import Request
from p2pcrawl.spiders.callbacks import iterate
from p2pcrawl.spiders.formats.news_entries import news_entries
from p2pcrawl.spiders.page.links import normalise
from p2pcrawl.spiders.page.response import Response
from p2pcrawl.spiders.spider import Spider

_KINDS = ("application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml")


class FeedSpider(Spider):
    """Calls :meth:`parse_entry` for each entry of a feed: RSS, Atom or JSON Feed.

    ``start_urls`` are feeds, or pages that name their feeds in ``<link rel="alternate">``, which are fetched then.
    """

    def parse_entry(self, response: Response, entry: dict[str, Any]) -> Any:
        """Makes items and requests of an entry: unless overridden, the entry is the item.

        It holds what the feed says of ``id``, ``url``, ``title``, ``summary``, ``content``, ``author``, ``published``,
        ``updated``, ``categories``, ``enclosures`` and ``feed``.
        """
        return entry

    async def _parse(self, response: Response, **cb_kwargs: Any) -> AsyncIterator[Any]:
        if response.is_html:
            for request in _named(self, response):
                yield request
            return
        count = 0
        for entry in news_entries(response):
            count += 1
            async for each in iterate(self.parse_entry(response, entry)):
                yield each
        if not count:
            self.logger.warning("%s has no entries of a feed", response.url)


def _named(spider: FeedSpider, response: Response) -> list[Request]:
    links = [node.attributes for node in response.tree.css("link[rel][href]")]
    feeds = [
        normalise(link["href"] or "", response.base_url)
        for link in links
        if "alternate" in (link["rel"] or "").lower().split()
        and (link.get("type") or "").partition(";")[0].strip().lower() in _KINDS
    ]
    if not feeds:
        spider.logger.warning("%s is a page that names no feed", response.url)
    return [Request(url) for url in dict.fromkeys(feeds) if url is not None]
