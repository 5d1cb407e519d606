"""The quotes site has the markup that tutorials use, and a hundred different quotes."""

from __future__ import annotations

from urllib.parse import urljoin

import aiohttp
from parsel import Selector

from tests.sites.quotes import QuotesSite


async def test_following_next_links_finds_every_quote_once() -> None:
    site = QuotesSite()
    url: str | None = await site.start()
    texts: list[str] = []

    async with aiohttp.ClientSession() as session:
        while url:
            page = Selector(await (await session.get(url)).text())
            texts += page.css("div.quote span.text::text").getall()
            href = page.css("li.next a::attr(href)").get()
            url = href and urljoin(url, href)
    await site.stop()

    assert texts == [quote.text for quote in site.quotes]
    assert len(set(texts)) == 100
    assert len(site.hits) == 10


async def test_every_link_of_a_quote_leads_to_a_page() -> None:
    site = QuotesSite()
    start = await site.start()

    async with aiohttp.ClientSession() as session:
        page = Selector(await (await session.get(start)).text())
        hrefs = set(page.css("div.quote a::attr(href)").getall())
        titles = []
        for href in hrefs:
            async with session.get(urljoin(start, href)) as response:
                assert response.status == 200
                titles += Selector(await response.text()).css("h3.author-title::text").getall()
    await site.stop()

    assert len(set(titles)) == len({quote.author for quote in site.quotes[:10]})
