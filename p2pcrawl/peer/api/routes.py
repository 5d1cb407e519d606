"""The HTTP API of a peer: questions are free to ask on this machine, changes need the token.

A submitted spider is code, so the token is asked for on loopback too, and the Host header is checked: a page in
somebody's browser cannot talk to a peer by way of a name that it made resolve to 127.0.0.1.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol, cast

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from p2pcrawl.core.control import VERBS
from p2pcrawl.fetch.signing.key_directory import PATH as DIRECTORY_PATH
from p2pcrawl.fetch.signing.key_directory import KeyDirectory
from p2pcrawl.model.cluster.node import Address, format_address
from p2pcrawl.model.errors import ConfigurationError, P2PCrawlError
from p2pcrawl.model.redaction import redacted
from p2pcrawl.peer.api.listener import BODY_S, Handler, HttpListener
from p2pcrawl.peer.api.tokens import Doorkeeper, body_digest

log = logging.getLogger(__name__)
_http_log = logging.getLogger(f"{__name__}.http")


def _is_ours(record: logging.LogRecord) -> bool:
    """Tells whether a failure is to be logged in full: what strangers send that is no HTTP is theirs."""
    error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
    if isinstance(error, HttpProcessingError):
        log.debug("a request that is no HTTP was refused: %s", error.message)
        return False
    return True


_http_log.addFilter(_is_ours)

BODY_MAX = 16 * 1024 * 1024
CALLED_MAX = 200
"""Characters by which a job can be called."""
_DIGEST = web.RequestKey("digest", str)
"""What the digest of a request's body has to be; "" if any."""


class ApiPeer(Protocol):
    """The interface that the API needs of a peer."""

    async def ask(self, what: str, arguments: dict[str, Any]) -> Any:
        """Answers a question: ``status``, ``jobs``, ``job``, ``known``, ``owner``, ``why``. Raises P2PCrawlError."""
        ...

    async def tell(self, what: str, arguments: dict[str, Any]) -> Any:
        """Does something: ``submit``, ``inject``, ``pause``, ``drain`` and so on. Raises P2PCrawlError."""
        ...

    def results(self, job: int | str) -> AsyncIterator[bytes]:
        """Gathers the items of a job, from all masters, in pieces of whole lines."""
        ...

    def pages(self, job: int | str) -> AsyncIterator[bytes]:
        """Gathers its pages that have items, each as a line of JSON, with what is told beside them."""
        ...


class Api:
    """Listens until closed."""

    def __init__(self, desk: ApiPeer, token: str, token_path: Path, directory: KeyDirectory | None = None) -> None:
        """``directory``: of the keys that requests are signed with. Raises ValueError for what is no token."""
        self._directory = directory
        self._desk = desk
        self._doorkeeper = Doorkeeper(token)
        self._token_path = token_path
        self._runner: web.AppRunner | None = None
        self._server: asyncio.Server | None = None
        self._listener: HttpListener | None = None
        self.address = Address("")

    async def open(self, host: str, ports: Sequence[int]) -> Address:
        """Listens on the first of these ports that nobody has. Raises ConfigurationError when it cannot."""
        app = web.Application(client_max_size=BODY_MAX, middlewares=[self._watch, self._guard])
        app.router.add_get("/", self._root)
        if self._directory is not None:
            app.router.add_get(DIRECTORY_PATH, self._bot_keys)
        app.router.add_get("/jobs/{job}/{what:items|pages}", self._gathered)
        app.router.add_get("/{what:overview|status|jobs|owner|job|known|why}", self._question)
        app.router.add_post(f"/{{what:submit|inject|set|forget|drain|keys|{'|'.join(VERBS)}}}", self._change)
        # A body is small and comes as it is: nothing of a stranger is inflated, not even to be thrown away.
        self._runner = web.AppRunner(app, access_log=None, logger=_http_log, auto_decompress=False)
        await self._runner.setup()
        self._listener = HttpListener(cast(Callable[[], asyncio.Protocol], self._runner.server))
        try:
            self._server = await self._listen(self._listener, host, ports)
        except OSError as error:
            await self._runner.cleanup()
            where = format_address(host, ports[-1])
            reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
            raise ConfigurationError(f"the API cannot listen on {where} ({reason}): choose another --api") from error
        bound = self._server.sockets[0].getsockname()
        self.address = format_address(str(bound[0]), int(bound[1]))
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
        if self._runner is not None:
            await self._runner.cleanup()

    def counters(self) -> dict[str, int]:
        """Counts its connections; see :meth:`HttpListener.counters`."""
        return self._listener.counters() if self._listener is not None else {}

    # -- who may ask --------------------------------------------------------------------------

    @web.middleware
    async def _watch(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        assert self._listener is not None
        return await self._listener.watch(request, handler)

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if self._directory is not None and request.path == DIRECTORY_PATH and request.method in ("GET", "HEAD"):
            # For everybody, under whatever name: it is signed for one, and nothing of it is secret.
            return await handler(request)
        if not _is_address(request.host or ""):
            return _refusal(403, f"this API does not answer to the name {request.host!r:.200}; use its address")
        if _is_of_another_page(request):
            return _refusal(403, "this API does not answer to pages of other sites")
        if request.method not in ("GET", "HEAD"):
            said = request.headers.get("Authorization", "")
            digest = self._doorkeeper.admits(said, request.method, request.raw_path)
            if digest is None:
                return _refusal(401, f"this call needs the bearer token in {self._token_path}")
            request[_DIGEST] = digest
        try:
            return await handler(request)
        except web.HTTPException as error:
            return _refusal(error.status, error.text or error.reason)
        except ConfigurationError as error:
            return _refusal(400, str(error))
        except P2PCrawlError as error:
            return _refusal(503, str(error))
        except ConnectionError:
            # Whoever asked went away, and there is nobody to tell.
            return _refusal(503, "the connection was lost")
        except Exception:
            log.exception("%s %.200s failed", request.method, request.raw_path)
            return _refusal(500, "the call failed; see the peer's log")

    async def _bot_keys(self, request: web.Request) -> web.Response:
        assert self._directory is not None
        body, headers = self._directory.answer(time.time())
        return web.Response(body=body, headers=headers)

    # -- calls --------------------------------------------------------------------------------

    async def _root(self, request: web.Request) -> web.Response:
        nonce = self._doorkeeper.nonce()
        return web.json_response({"p2pcrawl": 1, "token_file": str(self._token_path), "nonce": nonce})

    async def _question(self, request: web.Request) -> web.Response:
        answer = await self._desk.ask(request.match_info["what"], dict(request.query))
        return web.json_response(text=redacted(json.dumps(answer)))

    async def _change(self, request: web.Request) -> web.Response:
        try:
            async with asyncio.timeout(BODY_S):
                body = await request.read()
        except TimeoutError:
            return _refusal(408, f"the body did not arrive in {BODY_S:g} s")
        if request[_DIGEST] not in ("", body_digest(body)):
            return _refusal(401, "the body is not the one that was signed")
        try:
            arguments = json.loads(body, parse_constant=_refuse_constant) if body else {}
        except (ValueError, RecursionError) as error:
            raise ConfigurationError(f"the body is not JSON: {error}") from error
        if not isinstance(arguments, dict):
            raise ConfigurationError("the body must be a JSON object")
        return web.json_response(await self._desk.tell(request.match_info["what"], {**request.query, **arguments}))

    async def _gathered(self, request: web.Request) -> web.StreamResponse:
        job = request.match_info["job"]
        if len(job) > CALLED_MAX:
            raise ConfigurationError(f"there is no job {job[:40]!r}...")
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        try:
            gather = self._desk.results if request.match_info["what"] == "items" else self._desk.pages
            async for piece in gather(job):
                if not response.prepared:
                    await response.prepare(request)
                await response.write(piece)
        except P2PCrawlError as error:
            if not response.prepared:
                raise
            log.warning("the items of job %.80s were cut short: %s", job, error)
            # The end of the body is missing, which is how the other end learns of it.
            response.force_close()
            if request.transport is not None:
                request.transport.abort()
            return response
        if not response.prepared:
            await response.prepare(request)
        await response.write_eof()
        return response


def _is_address(host: str) -> bool:
    """Tells whether ``host`` is an address, or this machine: no name that someone else could have made resolve here."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    name = name.strip("[]").lower()
    if name == "localhost":
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_of_another_page(request: web.Request) -> bool:
    """Tells whether a browser says that a page from elsewhere wants this, be it as an image or a script."""
    origin, site = request.headers.get("Origin"), request.headers.get("Sec-Fetch-Site", "none")
    return (origin is not None and origin != f"http://{request.host}") or site not in ("none", "same-origin")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _refusal(status: int, text: str) -> web.Response:
    return web.json_response({"error": text}, status=status)
