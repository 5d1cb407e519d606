"""The routes of the dashboard: its page at ``/``, and the files that it is made of."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from aiohttp import web

from p2pcrawl.model.cluster.node import Address
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.peer.api.page_files import INDEX, PageFile, page_files, page_headers

PATH: Final = "/"
MEMBERS_S: Final = 1.0
"""The page is not kept waiting for the addresses of others."""


class DashboardPages:
    """Serves the dashboard to everybody: it says nothing before it has asked the API."""

    def __init__(self, others: Callable[[], Awaitable[Iterable[Address]]]) -> None:
        """``others`` returns the addresses of the APIs that the page may try when this one is gone."""
        self._others = others
        self._files = page_files()

    def routes(self) -> list[web.RouteDef]:
        return [web.get(PATH, self._index), web.get("/static/{name}", self._file)]

    async def _index(self, request: web.Request) -> web.Response:
        others: Iterable[Address] = ()
        try:
            async with asyncio.timeout(MEMBERS_S):
                others = await self._others()
        except (P2PCrawlError, TimeoutError):
            pass
        file = self._files[INDEX]
        # Its policy changes with the members, so it is always sent.
        return _answer(request, file, page_headers(file, others))

    async def _file(self, request: web.Request) -> web.Response:
        file = self._files.get(request.match_info["name"])
        if file is None:
            raise web.HTTPNotFound(text="there is no such file")
        headers = page_headers(file)
        if request.headers.get("If-None-Match") == file.etag:
            return web.Response(status=304, headers=headers)
        return _answer(request, file, headers)


def _answer(request: web.Request, file: PageFile, headers: dict[str, str]) -> web.Response:
    if "gzip" in request.headers.get("Accept-Encoding", ""):
        return web.Response(body=file.packed, headers={**headers, "Content-Encoding": "gzip"})
    return web.Response(body=file.body, headers=headers)
