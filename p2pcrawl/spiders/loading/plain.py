"""The spider for plain URLs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from p2pcrawl.model.crawl.domains import sites_of
from p2pcrawl.model.crawl.request import Kind
from p2pcrawl.spiders.extracting.main_parts import Extract, extract_named, extracted
from p2pcrawl.spiders.page.links import LinkBatch
from p2pcrawl.spiders.page.response import Response
from p2pcrawl.spiders.page_types.known_types import KnownTypes
from p2pcrawl.spiders.page_types.verdict import kind_for
from p2pcrawl.spiders.spider import Spider


class Links(Spider):
    """Follows links within the start hosts and tells url, status, title and depth of each page; with ``extract``, what
    stands on it.
    """

    name = "links"

    def __init__(self, name: str | None = None, *, extract: str = "", **arguments: Any) -> None:
        super().__init__(name, **arguments)
        self.extract = extract_named(extract)
        self._known = KnownTypes()
        if not self.allowed_domains:
            self.allowed_domains = sites_of(self.start_urls)

    def parse(self, response: Response, **cb_kwargs: Any) -> Iterator[Any] | AsyncIterator[Any]:
        return self._described(response) if self.extract is None else self._extracted(response, self.extract)

    def _described(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url, "status": response.status, "title": response.title, "depth": response.depth}
        yield response.follow_all()

    async def _extracted(self, response: Response, extract: Extract) -> AsyncIterator[Any]:
        # Its links first: they are there even if nothing else can be read from it.
        if extract is Extract.ARTICLE:
            for batch in self._guessed(response):
                yield batch
        else:
            yield response.follow_all()
        if (found := await extracted(response, extract)) is not None:
            yield {"url": response.url, **found}

    def _guessed(self, response: Response) -> Iterator[LinkBatch]:
        """Yields the links of a page, each for the queue of what its page is guessed to be."""
        self._known.learn(response.url, response.page_verdict)
        links = response.follow_all().urls
        kinds = {link: kind_for(self._known.guess(link).type) for link in links}
        for kind in Kind:
            if some := [link for link in links if kinds[link] is kind]:
                yield response.follow_all(some, kind=kind)
