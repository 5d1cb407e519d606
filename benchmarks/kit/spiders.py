"""The spiders that the scenarios crawl with: ``-a start_urls=URL -a allowed_domains="HOST HOST"``."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

from p2pcrawl import Response, Spider


class Everything(Spider):
    """One item per page, and all its links. Sites of benchmarks have many hosts, all on this machine."""

    custom_settings = MappingProxyType({"ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8"})

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        yield {"url": response.url, "title": response.title}
        yield response.follow_all()
