"""The spider that simulations run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from p2pcrawl import Spider
from p2pcrawl.spiders.response import Response


class Walker(Spider):
    """Follows every link and takes one item from each page."""

    name = "walker"

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        yield {"url": response.url}
        yield response.follow_all()
