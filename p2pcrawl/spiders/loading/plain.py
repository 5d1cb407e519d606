"""The spider for plain URLs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from p2pcrawl.model.crawl.domains import sites_of
from p2pcrawl.spiders.extracting.main_parts import Extract, extract_named, extracted
from p2pcrawl.spiders.page.response import Response
from p2pcrawl.spiders.spider import Spider


class Links(Spider):
    """Follows links within the start hosts and tells url, status, title and depth of each page; with ``extract``, what
    stands on it.
    """

    name = "links"

    def __init__(self, name: str | None = None, *, extract: str = "", **arguments: Any) -> None:
        super().__init__(name, **arguments)
        self.extract = extract_named(extract)
        if not self.allowed_domains:
            self.allowed_domains = sites_of(self.start_urls)

    def parse(self, response: Response, **cb_kwargs: Any) -> Iterator[Any] | AsyncIterator[Any]:
        return self._described(response) if self.extract is None else self._extracted(response, self.extract)

    def _described(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url, "status": response.status, "title": response.title, "depth": response.depth}
        yield response.follow_all()

    async def _extracted(self, response: Response, extract: Extract) -> AsyncIterator[Any]:
        # Its links first: they are there even if nothing else can be read from it.
        yield response.follow_all()
        if (found := await extracted(response, extract)) is not None:
            yield {"url": response.url, **found}
