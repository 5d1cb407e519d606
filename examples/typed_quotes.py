"""A spider with types, as ``mypy --strict`` likes it: ``p2pcrawl crawl examples/typed_quotes.py -o quotes.jsonl``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

from p2pcrawl import Request, Response, Spider
from p2pcrawl.http import Headers, HtmlResponse


@dataclass
class Quote:
    """What is kept of a quote."""

    text: str
    author: str
    page: int


class TypedQuotes(Spider):
    """Takes quotes from a list of pages, and the day of birth of each author."""

    name = "typed-quotes"
    start_urls = ["https://quotes.toscrape.com/"]
    custom_settings = {"DEPTH_LIMIT": 3}

    async def start(self) -> AsyncIterator[Any]:
        for url in self.start_urls:
            yield Request(url, self.parse, cb_kwargs={"number": 1}, headers={"Accept": "text/html"})

    def parse(self, response: Response, number: int) -> Iterator[Quote | Request]:
        for quote in response.css("div.quote"):
            text, author = quote.css(".text::text").get(""), quote.css(".author::text").get("")
            yield Quote(text=text, author=author, page=number)
            yield response.follow(quote.css("a[href*='/author/']")[0], self.author, kind="detail")
        for link in response.css("li.next a::attr(href)").getall():
            yield response.follow(link, cb_kwargs={"number": number + 1}, errback=self.failed)

    def author(self, response: Response) -> dict[str, str | None]:
        headers: Headers = response.headers
        assert isinstance(response, HtmlResponse)
        return {
            "born": response.xpath("//span[@class='author-born-date']/text()").get(),
            "type": headers["Content-Type"].decode(),
            "path": response.urljoin("/"),
        }

    def failed(self, failure: Any) -> None:
        self.logger.warning("%s failed", failure.request.url)
