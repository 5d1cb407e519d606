"""Foreign exceptions of a fetch, as failures that the retry policy knows."""

from __future__ import annotations

import asyncio
import errno
import ssl

import aiohttp
from aiohttp import http_exceptions

from p2pcrawl.fetch.connection.dial import REFUSED_ERRNO
from p2pcrawl.fetch.connection.guard import Blocked
from p2pcrawl.fetch.connection.names import NO_NAME_ERRNOS
from p2pcrawl.fetch.connection.round_trip import DroppedConnection, HeadTimeout
from p2pcrawl.fetch.connection.socks import SocksRefused, SocksUnusable
from p2pcrawl.model.errors import FetchError, P2PCrawlError
from p2pcrawl.model.outcome import Failure

_OUR_ERRNOS = frozenset(
    {
        errno.ENETUNREACH,
        errno.ENETDOWN,
        errno.EADDRNOTAVAIL,
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOBUFS,
    }
)


def fetch_error(error: Exception) -> FetchError | Blocked | None:
    """Returns what to raise in place of ``error``; None when it is ours already, or no failure of a fetch."""
    if isinstance(error, P2PCrawlError):
        return None
    if isinstance(error, OSError) and (refusal := _refusal(error)):
        return Blocked(refusal)
    kind = _kind(error)
    return None if kind is None else FetchError(kind, _message(kind, error))


def _refusal(error: OSError) -> str:
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    return (
        (cause.strerror or str(cause)).replace(f"[Errno {REFUSED_ERRNO}] ", "") if cause.errno == REFUSED_ERRNO else ""
    )


def _kind(error: Exception) -> Failure | None:
    """Maps an exception to a failure, narrow types first: aiohttp's exceptions inherit from one another."""
    match error:
        case HeadTimeout():
            return Failure.FIRST_BYTE_TIMEOUT
        case aiohttp.ConnectionTimeoutError():
            return Failure.CONNECT_TIMEOUT
        case TimeoutError() | asyncio.TimeoutError():
            return Failure.TOTAL_TIMEOUT
        case SocksRefused() | SocksUnusable() | aiohttp.ClientProxyConnectionError() | aiohttp.ClientHttpProxyError():
            return Failure.PROXY
        case aiohttp.ClientConnectorDNSError():
            return Failure.NO_NAME if error.os_error.errno in NO_NAME_ERRNOS else Failure.DNS
        case aiohttp.ClientSSLError() | aiohttp.ServerFingerprintMismatch() | ssl.SSLError():
            return Failure.TLS
        case aiohttp.ClientConnectorError():
            return Failure.NETWORK if error.os_error.errno in _OUR_ERRNOS else Failure.CONNECT
        case aiohttp.ClientPayloadError():
            return _payload_kind(error)
        case DroppedConnection() | aiohttp.ClientOSError() | aiohttp.ServerDisconnectedError():
            return Failure.LOST_CONNECTION
        case aiohttp.InvalidURL() | UnicodeError():
            # Nobody has such a name.
            return Failure.NO_NAME
        case aiohttp.ClientResponseError() | http_exceptions.HttpProcessingError() | ValueError():
            return Failure.PROTOCOL
        case aiohttp.ClientError() | OSError():
            return Failure.LOST_CONNECTION
        case _:
            return None


def _payload_kind(error: BaseException) -> Failure:
    """Says what a broken body is: one that broke off was lost with its connection; one that makes no sense is not
    HTTP.
    """
    cause = error.__cause__
    broken_off = isinstance(cause, http_exceptions.ContentLengthError | http_exceptions.TransferEncodingError)
    return Failure.LOST_CONNECTION if cause is None or broken_off else Failure.PROTOCOL


_PLAIN = {
    Failure.FIRST_BYTE_TIMEOUT: "no answer in time",
    Failure.CONNECT_TIMEOUT: "no connection in time",
    Failure.TOTAL_TIMEOUT: "the answer was not complete in time",
}


def _message(kind: Failure, error: Exception) -> str:
    plain = _PLAIN.get(kind)
    if plain is not None:
        return plain
    if isinstance(error, aiohttp.ClientConnectorError):
        error = error.os_error
    text = error.message if isinstance(error, aiohttp.ClientResponseError) else str(error)
    return " ".join((text or type(error).__name__).split())[:300]
