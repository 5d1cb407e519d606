"""The exceptions that RETRY_EXCEPTIONS names, as classes of ours and of people's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from p2pcrawl.model.errors import ConfigurationError, DownloadFailedError, DownloadTimeoutError
from p2pcrawl.spiders.finding.objects import load_object
from p2pcrawl.spiders.finding.twisted_errors import TWISTED_ERRORS

_OURS: Final[Mapping[str, type[BaseException]]] = MappingProxyType(
    {
        "OSError": DownloadFailedError,
        "IOError": DownloadFailedError,
        "builtins.OSError": DownloadFailedError,
        "twisted.internet.defer.TimeoutError": DownloadTimeoutError,
        "scrapy.core.downloader.handlers.http11.TunnelError": DownloadFailedError,
    }
)
"""What stands for Scrapy's default names that are not among Twisted's errors."""


def retried_kinds(names: Iterable[str]) -> tuple[type[BaseException], ...]:
    """Returns the classes whose failures are tried again. Raises ConfigurationError for a name that is none."""
    return tuple(_kind_of(name.replace(":", ".")) for name in names)


def _kind_of(name: str) -> type[BaseException]:
    module, _, own = name.rpartition(".")
    known = _OURS.get(name) or TWISTED_ERRORS.get(module, {}).get(own)
    if known is not None:
        return known
    try:
        found: Any = load_object(name.replace("scrapy.exceptions.", "p2pcrawl.exceptions."))
    except ConfigurationError as error:
        raise ConfigurationError(f"{error} (RETRY_EXCEPTIONS names {name})") from error
    if not (isinstance(found, type) and issubclass(found, BaseException)):
        raise ConfigurationError(f"RETRY_EXCEPTIONS: {name} is no class of exceptions")
    return found
