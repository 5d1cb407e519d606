"""The fetcher of requests that no spider made: robots.txt and what is asked for beside it.

They pass the few components that stand for who we are and by which way we come, and none that stand for a spider's
wishes (cookies, credentials, redirects, robots.txt itself).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from p2pcrawl.fetch.components.chain import Chain, Component, Redirected
from p2pcrawl.fetch.connection.fetcher import Fetcher
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Request


class PlainFetcher:
    """Fetches through those of the components that are meant for every request."""

    def __init__(self, fetcher: Fetcher, components: Iterable[Component]) -> None:
        self._fetcher = fetcher
        self._components = [component for component in components if component.everywhere]

    async def fetch(self, request: Request, *, cut: int | None = None) -> Answer:
        """Fetches as the fetcher beneath it does; what a component wants to be asked again is asked again, once."""
        if not self._components:
            return await self._fetcher.fetch(request, cut=cut)
        chain = Chain(self._components, partial(self._fetcher.fetch, cut=cut))
        try:
            return await chain.run(request)
        except Redirected as again:
            return await chain.run(again.request)
