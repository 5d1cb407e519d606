"""The spider for plain URLs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from p2pcrawl.model.crawl.url import host_of
from p2pcrawl.spiders.page.response import Response
from p2pcrawl.spiders.spider import Spider


class Links(Spider):
    """Follows links within the start hosts and tells url, status, title and depth of each page."""

    name = "links"

    def __init__(self, name: str | None = None, **arguments: Any) -> None:
        super().__init__(name, **arguments)
        if not self.allowed_domains:
            # Without "www.", since sites commonly send visitors from one form to the other.
            self.allowed_domains = list(dict.fromkeys(host_of(url).removeprefix("www.") for url in self.start_urls))

    def parse(self, response: Response, **cb_kwargs: Any) -> Iterator[Any]:
        yield {"url": response.url, "status": response.status, "title": response.title, "depth": response.depth}
        yield response.follow_all()
