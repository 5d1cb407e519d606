"""The HTTP API of a peer, made from the table of its operations: questions are free to ask where it listens on this
machine only, and need a token elsewhere; changes need the token everywhere.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Protocol

from aiohttp import web

from p2pcrawl.fetch.signing.key_directory import PATH as DIRECTORY_PATH
from p2pcrawl.fetch.signing.key_directory import KeyDirectory
from p2pcrawl.model.cluster.node import Address, format_address
from p2pcrawl.model.errors import ConfigurationError, P2PCrawlError
from p2pcrawl.model.redaction import redacted
from p2pcrawl.peer.api.arguments import body_arguments, head_arguments
from p2pcrawl.peer.api.dashboard_pages import PATH as DASHBOARD_PATH
from p2pcrawl.peer.api.dashboard_pages import DashboardPages
from p2pcrawl.peer.api.gate import Gate
from p2pcrawl.peer.api.listener import Handler, HttpListener
from p2pcrawl.peer.api.openapi import openapi_document
from p2pcrawl.peer.api.reference_page import reference_routes
from p2pcrawl.peer.api.serving import serving_protocol
from p2pcrawl.peer.api.table.every_operation import OPERATIONS
from p2pcrawl.peer.api.table.operation import Operation
from p2pcrawl.peer.api.tokens import Doorkeeper

log = logging.getLogger(__name__)

BODY_MAX = 16 * 1024 * 1024
COMPRESSED_MIN = 16 * 1024
"""Bytes of an answer from which on it is compressed for those who take that: the ring is, lists of hosts are."""


class ApiPeer(Protocol):
    """The interface that the API needs of a peer. Its words are those of the table."""

    async def ask(self, what: str, arguments: dict[str, Any]) -> Any:
        """Answers a question: ``status``, ``jobs``, ``job``, ``known``, ``owner``, ``why``. Raises P2PCrawlError."""
        ...

    async def tell(self, what: str, arguments: dict[str, Any]) -> Any:
        """Does something: ``submit``, ``inject``, ``pause``, ``drain`` and so on. Raises P2PCrawlError."""
        ...

    def stream(self, what: str, arguments: dict[str, Any]) -> AsyncIterator[bytes]:
        """Answers in pieces, as they come: ``items``, ``pages``. Raises P2PCrawlError."""
        ...


@cache
def _document() -> dict[str, Any]:
    """Makes the document once: everybody may ask for it, as often as he likes."""
    return openapi_document(OPERATIONS)


class Api:
    """Listens until closed."""

    def __init__(
        self,
        desk: ApiPeer,
        token: str,
        token_path: Path,
        directory: KeyDirectory | None = None,
        *,
        read_token: str | None = None,
    ) -> None:
        """``directory``: of the keys that requests are signed with. Raises ValueError for what is no token."""
        self._directory = directory
        self._desk = desk
        self._doorkeeper = Doorkeeper(token, read_token=read_token)
        self._token_path = token_path
        for_everybody = {DIRECTORY_PATH} if directory is not None else set()
        self._gate = Gate(self._doorkeeper, token_path, for_everybody, {DASHBOARD_PATH})
        self._dashboard = DashboardPages(self._others)
        self._runner: web.AppRunner | None = None
        self._streams: set[asyncio.Task[Any]] = set()
        """What is being answered in pieces."""
        self._server: asyncio.Server | None = None
        self._listener: HttpListener | None = None
        self.address = Address("")

    async def open(self, host: str, ports: Sequence[int]) -> Address:
        """Listens on the first of these ports that nobody has. Raises ConfigurationError when it cannot."""
        app = web.Application(client_max_size=BODY_MAX, middlewares=[self._watch, self._gate.middleware])
        app.add_routes([*self._routes(), *reference_routes(), *self._dashboard.routes()])
        if self._directory is not None:
            app.router.add_get(DIRECTORY_PATH, self._bot_keys)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        assert self._runner.server is not None
        self._listener = HttpListener(partial(serving_protocol, self._runner.server))
        try:
            self._server = await self._listen(self._listener, host, ports)
        except OSError as error:
            await self._runner.cleanup()
            where = format_address(host, ports[-1])
            reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
            raise ConfigurationError(f"the API cannot listen on {where} ({reason}): choose another --api") from error
        bound = self._server.sockets[0].getsockname()
        self.address = format_address(str(bound[0]), int(bound[1]))
        self._gate.reading_is_free = ip_address(str(bound[0])).is_loopback
        return self.address

    async def _listen(self, listener: HttpListener, host: str, ports: Sequence[int]) -> asyncio.Server:
        loop = asyncio.get_running_loop()
        for port in ports[:-1]:
            with suppress(OSError):
                return await loop.create_server(listener.connection, host, port)
        return await loop.create_server(listener.connection, host, ports[-1])

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for stream in self._streams:
            # Some have no end of their own.
            stream.cancel()
        if self._runner is not None:
            await self._runner.cleanup()

    def counters(self) -> dict[str, int]:
        """Counts its connections; see :meth:`HttpListener.counters`."""
        return self._listener.counters() if self._listener is not None else {}

    @web.middleware
    async def _watch(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        assert self._listener is not None
        return await self._listener.watch(request, handler)

    # -- calls --------------------------------------------------------------------------------

    def _routes(self) -> list[web.RouteDef]:
        """Makes a route of each operation. What has no word for the peer has a handler of its own here."""
        own: dict[str, Callable[[], Any]] = {
            "getNonce": self._nonce,
            "getDocument": _document,
            "getHealth": lambda: {"status": "ok"},
        }
        routes = []
        for each in OPERATIONS:
            serve = partial(self._serve, each, own[each.id] if not each.what else None)
            # A HEAD would have to be in the document, too, and says nothing that a GET does not.
            only = {"allow_head": False} if not each.changes else {}
            routes.append(web.route(each.method, each.path, serve, **only))
        return routes

    async def _serve(
        self, operation: Operation, own: Callable[[], Any] | None, request: web.Request
    ) -> web.StreamResponse:
        self._gate.check(request, operation.rank)
        query = list(request.query.items())
        arguments = head_arguments(operation, request.match_info, query, request.headers)
        if operation.changes:
            arguments |= body_arguments(operation, await self._gate.body(request))
            return web.json_response(await self._desk.tell(operation.what, arguments))
        if operation.stream:
            return await self._streamed(operation, arguments, request)
        if own is not None:
            return web.json_response(own())
        answer = await self._desk.ask(operation.what, arguments)
        status = 503 if operation.unready and not answer["ready"] else 200
        text = redacted(json.dumps(answer))
        response = web.json_response(text=text, status=status)
        if len(text) >= COMPRESSED_MIN:
            response.enable_compression()
        return response

    async def _streamed(
        self, operation: Operation, arguments: dict[str, Any], request: web.Request
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": operation.stream})
        task = asyncio.current_task()
        assert task is not None
        self._streams.add(task)
        try:
            async for piece in self._desk.stream(operation.what, arguments):
                if not response.prepared:
                    await response.prepare(request)
                await response.write(piece)
        except P2PCrawlError as error:
            if not response.prepared:
                raise
            log.warning("the answer to %s %.200s was cut short: %s", request.method, request.raw_path, error)
            # The end of the body is missing, which is how the other end learns of it.
            response.force_close()
            if request.transport is not None:
                request.transport.abort()
            return response
        finally:
            self._streams.discard(task)
        if not response.prepared:
            await response.prepare(request)
        await response.write_eof()
        return response

    # -- what the API answers by itself -------------------------------------------------------

    def _nonce(self) -> dict[str, Any]:
        return {"p2pcrawl": 1, "token_file": str(self._token_path), "nonce": self._doorkeeper.nonce()}

    async def _others(self) -> list[Address]:
        """Lists the APIs of the other members, for the dashboard. Beyond loopback nobody is told who has shown no
        token.
        """
        if not self._gate.reading_is_free:
            return []
        told = await self._desk.ask("members", {})
        return [each["api"] for each in told["members"] if each["api"] != self.address]

    async def _bot_keys(self, request: web.Request) -> web.Response:
        assert self._directory is not None
        body, headers = self._directory.answer(time.time())
        return web.Response(body=body, headers=headers)
