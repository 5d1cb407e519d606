"""The port between a slave and the web: who brings the answer to a request.

:class:`p2pcrawl.fetch.connection.client.HttpClient` does so over HTTP. Whatever stands in its place (a web that is made
up, a store
of pages kept from earlier) keeps the same promises.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from p2pcrawl.fetch.connection.guard import Networks
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings


class Fetcher(Protocol):
    """Answers requests, any number at once."""

    async def fetch(self, request: Request, *, cut: int | None = None) -> Answer:
        """Fetches ``request``. Returns the answer, whatever its status, with its body inflated.

        ``cut``: take so many bytes of the body and leave the rest, in place of failing for a body that is too large.

        Raises FetchError with the kind of the failure, or Blocked when the address is out of bounds. A cancelled
        fetch leaves nothing open behind.
        """
        ...


OpenFetcher = Callable[[Settings, Networks], AbstractAsyncContextManager[Fetcher]]
"""Opens the fetcher of one job in one slave; leaving its context closes it."""
