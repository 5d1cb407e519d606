"""Single pages, got as a crawl would get them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack

from p2pcrawl.fetch.components.chain import Chain, Component, Redirected
from p2pcrawl.fetch.components.own_headers import Home
from p2pcrawl.fetch.components.plain_fetcher import PlainFetcher
from p2pcrawl.fetch.components.robots import RobotsRules, fetch_robots
from p2pcrawl.fetch.components.standard import default_components
from p2pcrawl.fetch.components.status import StatusError
from p2pcrawl.fetch.connection.client import HttpClient
from p2pcrawl.fetch.connection.fetcher import Fetcher
from p2pcrawl.fetch.connection.guard import Blocked, Networks, endpoints_of, opened_by
from p2pcrawl.fetch.proxies.pooled_fetcher import proxy_pool
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.crawl.url import origin_of
from p2pcrawl.model.errors import FetchError, IgnoreRequest, P2PCrawlError
from p2pcrawl.private.presence import addresses_here
from p2pcrawl.slave.middlewares.peoples import Requeued, seen_response
from p2pcrawl.spiders.page.response import Response

Assemble = Callable[[list[Component]], list[Component]]


class PageGetter:
    """Gets single pages through the chain that a crawl has. robots.txt is asked for, and only told of."""

    def __init__(self, settings: Settings, assemble: Assemble = list) -> None:
        """``assemble``: what makes the chain of a crawl out of the built-in components, where it has others."""
        self._settings = settings
        self._agent = settings.robots_agent
        self._networks = Networks((), settings.allow_private_networks, endpoints_of(addresses_here()))
        # What robots.txt and usage signals forbid is told and fetched all the same.
        self._home = Home()
        defaults = default_components(
            settings.updated({"robotstxt_obey": False, "purpose_forbidden": "mark"}),
            lambda origin: None,
            home=self._home,
        )
        self._components = assemble(defaults)
        self._client = HttpClient(settings, self._networks)
        self._fetcher: Fetcher = self._client
        self._chain = Chain(self._components, self._fetched)
        self._opened = AsyncExitStack()

    async def open(self) -> None:
        await self._opened.enter_async_context(self._client)
        if self._settings.proxy_pool:
            pool = proxy_pool(self._settings, self._client, self._networks)
            self._fetcher = await self._opened.enter_async_context(pool)

    async def close(self) -> None:
        await self._opened.aclose()

    async def get(self, request: Request, told: Callable[[str], None]) -> Response:
        """Fetches a URL, and returns the page where the redirects end, whatever its status. Raises P2PCrawlError when
        there is none.
        """
        self._welcome(request.url)
        self._home.welcome(request.url)
        for _ in range(self._settings.redirect_max_times + 1):
            found = await self._step(request, told)
            if isinstance(found, Response):
                return found
            request = found
        raise P2PCrawlError(f"{request.url} leads elsewhere more than {self._settings.redirect_max_times} times")

    async def _step(self, request: Request, told: Callable[[str], None]) -> Response | Request:
        """Fetches one request. Returns the page, or the request that is to be made in its place."""
        try:
            answer = await self._chain.run(request)
        except Redirected as redirect:
            told(f"  {redirect.status}, on to {redirect.request.url}")
            return redirect.request
        except Requeued as requeued:
            told(f"  {requeued.by} returned a request, on to {requeued.request.url}")
            return requeued.request
        except StatusError as error:
            answer = error.answer
        except FetchError as error:
            raise P2PCrawlError(f"{request.url} could not be fetched: {error.kind}: {error}") from error
        except Blocked as error:
            raise P2PCrawlError(f"{request.url} is out of bounds: {error}") from error
        except IgnoreRequest as error:
            raise P2PCrawlError(f"{request.url} is left alone: {error}") from error
        # As callbacks would have it: a middleware may have made another one of it.
        page: Response = seen_response(answer, request)
        return page

    async def _fetched(self, request: Request) -> Answer:
        return await self._fetcher.fetch(request)

    async def robots(self, url: str) -> str:
        """Says in words what robots.txt allows of a URL."""
        origin = origin_of(url)
        try:
            text = await fetch_robots(PlainFetcher(self._fetcher, self._components), origin, self._settings, _no_pause)
        except Blocked as error:
            return f"not asked: {error}"
        rules = RobotsRules(text, self._agent)
        delay = f", Crawl-delay {rules.crawl_delay:g} s" if rules.crawl_delay else ""
        reason = f" ({text.reason})" if text.reason else ""
        if text.verdict == "disallow":
            return f"could not be had{reason}: a crawl would leave the page alone"
        if rules.allowed(url):
            return f"allows it{reason}{delay}"
        return f"forbids it to {self._agent!r}: a crawl would leave the page alone{delay}"

    def _welcome(self, url: str) -> None:
        """Opens the URL's host, as for a start URL: what the user asked for may be on this machine, or in a private
        network.
        """
        if host := opened_by(url):
            self._networks.open(host)


async def _no_pause(host: str) -> None:
    pass
