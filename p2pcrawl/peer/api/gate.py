"""The gate of the API: refuses what comes under a foreign name or for a foreign page, and whoever has no token.

A submitted spider is code, so the token is asked for on loopback too, and the Host header is checked: a page in
somebody's browser cannot talk to a peer by way of a name that it made resolve to 127.0.0.1.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from collections.abc import Container
from pathlib import Path
from typing import Final

from aiohttp import web

from p2pcrawl.model.errors import ConfigurationError, NotNow, NotThere, P2PCrawlError
from p2pcrawl.peer.api.listener import BODY_S, Handler
from p2pcrawl.peer.api.table.operation import Rank
from p2pcrawl.peer.api.tokens import READ_TOKEN_FILE, Doorkeeper, body_digest

log = logging.getLogger(__name__)

_DIGEST: Final = web.RequestKey("digest", str)
"""What the digest of a request's body has to be; "" if any."""


class Gate:
    """Stands before all handlers, and turns their errors into answers."""

    def __init__(
        self, doorkeeper: Doorkeeper, token_path: Path, for_everybody: Container[str] = (), led_to: Container[str] = ()
    ) -> None:
        """``for_everybody``: the paths that are answered under whatever name they are asked for; ``led_to``: those that
        a link on another page may lead to.
        """
        self._doorkeeper = doorkeeper
        self._token_path = token_path
        self._for_everybody = for_everybody
        self._led_to = led_to
        self.reading_is_free = False
        """Where nobody but this machine's users can come."""

    @web.middleware
    async def middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Lets a request pass, or answers why not."""
        if request.path in self._for_everybody and request.method in ("GET", "HEAD"):
            return await handler(request)
        if not _is_address(request.host or ""):
            return error_answer(403, f"this API does not answer to the name {request.host!r:.200}; use its address")
        if _is_of_another_page(request) and not (request.path in self._led_to and _follows_link(request)):
            return error_answer(403, "this API does not answer to pages of other sites")
        try:
            return await handler(request)
        except web.HTTPException as error:
            response = error_answer(error.status, error.text or error.reason)
            if allowed := error.headers.get("Allow"):
                response.headers["Allow"] = allowed
            if error.status == 401:
                response.headers["WWW-Authenticate"] = "Bearer"
            return response
        except NotThere as error:
            return error_answer(404, str(error))
        except NotNow as error:
            return error_answer(409, str(error))
        except ConfigurationError as error:
            return error_answer(400, str(error))
        except P2PCrawlError as error:
            return error_answer(503, str(error))
        except ConnectionError:
            # Whoever asked went away, and there is nobody to tell.
            return error_answer(503, "the connection was lost")
        except Exception:
            log.exception("%s %.200s failed", request.method, request.raw_path)
            return error_answer(500, "the call failed; see the peer's log")

    def check(self, request: web.Request, rank: Rank) -> None:
        """Raises HTTPUnauthorized for who has no token for this call, and HTTPForbidden where it is for reading only.

        A token that is wrong is refused where none is asked for, too: whoever sends it believes something else.
        """
        said = request.headers.get("Authorization", "")
        if rank is Rank.OPEN or (rank is Rank.READ and self.reading_is_free and not said):
            return
        reading = rank is Rank.READ
        digest = self._doorkeeper.admits(said, request.method, request.raw_path, reading=reading)
        if digest is not None:
            request[_DIGEST] = digest
            return
        if not reading and self._doorkeeper.admits(said, request.method, request.raw_path, reading=True) is not None:
            raise web.HTTPForbidden(text=f"this token is for reading only; a change needs that in {self._token_path}")
        also = f", or that in {READ_TOKEN_FILE} beside it" if reading else ""
        raise web.HTTPUnauthorized(text=f"this call needs the bearer token in {self._token_path}{also}")

    async def body(self, request: web.Request) -> bytes:
        """Reads the body of a call that was let pass. Raises HTTPRequestTimeout, and HTTPUnauthorized for another one
        than was signed.
        """
        try:
            async with asyncio.timeout(BODY_S):
                body = await request.read()
        except TimeoutError:
            raise web.HTTPRequestTimeout(text=f"the body did not arrive in {BODY_S:g} s") from None
        if request[_DIGEST] not in ("", body_digest(body)):
            raise web.HTTPUnauthorized(text="the body is not the one that was signed")
        return body


def error_answer(status: int, text: str) -> web.Response:
    """Makes the answer to a request that is not granted."""
    return web.json_response({"error": text}, status=status)


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


def _follows_link(request: web.Request) -> bool:
    """Tells whether somebody goes to this address: what comes is shown alone, and no script elsewhere sees it."""
    headers = request.headers
    return (
        request.method == "GET"
        and "Origin" not in headers
        and (headers.get("Sec-Fetch-Mode"), headers.get("Sec-Fetch-Dest")) == ("navigate", "document")
    )
