"""The spider that reads the news: front pages again and again, articles once, and once more when they are amended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from p2pcrawl import Request, Spider
from p2pcrawl.spiders.page.response import Response

from ..world.pins import EPOCH_S


class NewsReader(Spider):
    """Follows front pages to front pages and articles. A front page that is gone, it tells of."""

    name = "news"

    def start_requests(self) -> Iterator[Request]:
        for url in self.start_urls:
            yield Request(url, self.parse, errback=self.gone)

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        for row in response.css("li"):
            url = row.css("a::attr(href)").get("")
            if row.css("a.front"):
                yield Request(url, self.parse, errback=self.gone)
                continue
            request = Request(url, self.read, kind="detail")
            if amended := row.css("b::text").get():
                request.changed_at = EPOCH_S + float(amended)
            yield request

    def read(self, response: Response, **_: Any) -> Iterator[Any]:
        yield {"url": response.url, "visit": response.visit, "text": response.css("p::text").getall()}

    def gone(self, failure: Any) -> Iterator[Any]:
        yield {"url": failure.request.url, "gone": True}
