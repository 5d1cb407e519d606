"""The pages that a feed or a sitemap lists, where a board names one among its entries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from p2pcrawl.spiders.formats.news_entries import news_entries
from p2pcrawl.spiders.formats.sitemap_entries import Sitemap, iterloc, lastmod_s, plain_chunks
from p2pcrawl.spiders.page.limit import limited
from p2pcrawl.spiders.page.links import normalise
from p2pcrawl.spiders.page.response import Response

SITEMAP_SIZE = 50 * 1024 * 1024


class ListedPage(NamedTuple):
    """One of them, and when it was changed, in seconds since 1970, or 0."""

    url: str
    changed_s: float = 0.0
    is_list: bool = False
    """It is a sitemap itself."""
    is_news: bool = False
    """It is an entry of a feed."""


def listed_pages(response: Response) -> Iterator[ListedPage]:
    """Yields the pages that an answer lists; none of what is no feed and no sitemap. Raises TooSlow."""
    if response.is_html:
        return
    sitemap = limited(Sitemap)(plain_chunks(response.body, SITEMAP_SIZE))
    if sitemap.type in ("urlset", "sitemapindex"):
        for entry in _each(sitemap):
            for url in iterloc([entry]):
                if (absolute := normalise(url, response.url)) is not None:
                    yield ListedPage(absolute, lastmod_s(entry), sitemap.type == "sitemapindex")
        return
    for entry in news_entries(response):
        absolute = normalise(str(entry.get("url") or ""), response.url)
        if entry.get("url") and absolute is not None:
            yield ListedPage(absolute, is_news=True)


def _each(sitemap: Sitemap) -> Iterator[dict[str, object]]:
    step = limited(iter(sitemap).__next__)
    while True:
        try:
            yield step()
        except StopIteration:
            return
