"""The protocol that serves a connection of the API: aiohttp's, but what that refuses by itself is told as the rest."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Final

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from p2pcrawl.peer.api.gate import error_answer

log = logging.getLogger(__name__)
_http_log = logging.getLogger(f"{__name__}.http")

LINE_MAX: Final = 64 * 1024
"""Bytes of a request's first line: with the longest parameters that there are, however they are written."""


def _is_ours(record: logging.LogRecord) -> bool:
    """Tells whether a failure is to be logged in full: what strangers send that is no HTTP is theirs."""
    error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
    if isinstance(error, HttpProcessingError):
        log.debug("a request that is no HTTP was refused: %s", error.message)
        return False
    return True


_http_log.addFilter(_is_ours)


class _Serving(web.RequestHandler):
    """One connection."""

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answers what is no request that a handler could be given, and closes the connection."""
        super().handle_error(request, status, exc, message)
        answer = error_answer(status, "this is no request that can be read" if status < 500 else "the call failed")
        answer.force_close()
        return answer


def serving_protocol(server: web.Server) -> asyncio.Protocol:
    """Makes the protocol of a connection."""
    # A body is small and comes as it is: nothing of a stranger is inflated, not even to be thrown away.
    options: dict[str, Any] = {"access_log": None, "auto_decompress": False, "max_line_size": LINE_MAX}
    return _Serving(server, loop=asyncio.get_running_loop(), logger=_http_log, **options)
