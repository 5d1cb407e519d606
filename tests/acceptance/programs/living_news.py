"""A spider for a front page and its articles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from p2pcrawl import Request, Spider


class News(Spider):
    """Takes ``url``, the front page."""

    name = "news"

    def start_requests(self) -> Iterator[Request]:
        yield Request(self.url)

    def parse(self, response: Any) -> Iterator[Any]:
        yield response.follow_all(css="a", callback="article", kind="detail")

    def article(self, response: Any) -> Iterator[Any]:
        yield {"url": response.url, "title": response.title, "visit": response.visit, "changed": response.changed}
