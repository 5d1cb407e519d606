"""The spider that everybody writes, as Scrapy shows it: ``benchmarks.speed`` runs it beside the others."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

from p2pcrawl import Request, Response, Spider


class Idiomatic(Spider):
    """Selects with CSS, joins each link by itself, and makes a request of each."""

    custom_settings = MappingProxyType({"ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8"})

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        yield {"url": response.url, "title": response.css("title::text").get()}
        for href in response.css("a::attr(href)").getall():
            url = response.urljoin(href)
            if url.startswith("http://127."):
                yield Request(url)
