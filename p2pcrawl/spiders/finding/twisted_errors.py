"""Twisted's errors, answered by ours: what errbacks and middlewares of public spiders import to ask what went wrong.

Twisted itself is not answered: these names alone, and only where Twisted is not installed. Where it is, they are its
own, and a failure is asked for them by the same table.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.machinery import PathFinder
from types import MappingProxyType
from typing import Final

from p2pcrawl.model.errors import (
    CannotResolveHostError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    FetchError,
)

_OF_CONNECTIONS: Final[Mapping[str, type[BaseException]]] = MappingProxyType(
    {
        "DNSLookupError": CannotResolveHostError,
        "ConnectionRefusedError": DownloadConnectionRefusedError,
        "TimeoutError": DownloadTimeoutError,
        "TCPTimedOutError": DownloadTimeoutError,
        "ConnectError": FetchError,
        "ConnectionAborted": DownloadFailedError,
        "ConnectionClosed": DownloadFailedError,
        "ConnectionDone": DownloadFailedError,
        "ConnectionLost": DownloadFailedError,
        "NoRouteError": DownloadFailedError,
        "SSLError": DownloadFailedError,
    }
)
_OF_ANSWERS: Final[Mapping[str, type[BaseException]]] = MappingProxyType(
    {
        "ResponseFailed": DownloadFailedError,
        "ResponseNeverReceived": DownloadFailedError,
    }
)
TWISTED_ERRORS: Final[Mapping[str, Mapping[str, type[BaseException]]]] = MappingProxyType(
    {
        "twisted.internet.error": _OF_CONNECTIONS,
        "twisted.web.client": _OF_ANSWERS,
        "twisted.web._newclient": _OF_ANSWERS,
    }
)
"""Modules of Twisted, and which of our errors stand for those in them."""

TWISTED_PACKAGES: Final = frozenset({"twisted", "twisted.internet", "twisted.web"})
"""Packages that are answered for what lies in them, and hold nothing else."""


def answers_for_twisted(name: str) -> bool:
    """Tells whether a module of Twisted is answered by ours: it is in the table, and Twisted is not installed."""
    return (name in TWISTED_PACKAGES or name in TWISTED_ERRORS) and PathFinder.find_spec("twisted") is None


def counterpart(kind: type[BaseException]) -> type[BaseException]:
    """Returns the error of ours that stands for one of Twisted's; any other class as it is."""
    return TWISTED_ERRORS.get(kind.__module__, {}).get(kind.__name__, kind)
