"""Errors, branched by who can act on them.

Every error that p2pcrawl raises on purpose descends from :class:`P2PCrawlError`. Faces print its
message as one line (a traceback only with ``--debug``) and exit with its ``exit_code``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final, Self

from p2pcrawl.model.outcome import Failure


class P2PCrawlError(Exception):
    """The root: its message is one clear line that says what to do."""

    exit_code = 1


class ConfigurationError(P2PCrawlError):
    """A mistake in what the user typed or wrote: a bad URL, setting, spider, output or data folder."""

    exit_code = 2


class NotThere(ConfigurationError):
    """Raised where something is named that there is not: a job, a master, a host."""


class NotNow(ConfigurationError):
    """Raised where something cannot be done to a job or a master as it stands; it could be, in another state."""


class BadRequest(ConfigurationError, ValueError):
    """Raised where a request is made of what cannot be sent: its URL, a header, a cookie, a callback."""


class StorageError(P2PCrawlError):
    """The data folder or an output could not be read or written."""


class DiskFullError(StorageError):
    """No room is left on a disk; what was acknowledged is safe and the crawl can be resumed."""


class DamagedError(StorageError):
    """A file of the data folder does not hold what was written there. ``file``: its name, without the folder; ``how``
    it is damaged."""

    exit_code = 2

    def __init__(self, message: str, file: str, how: str) -> None:
        super().__init__(message)
        self.file = file
        self.how = how


class LinkError(P2PCrawlError):
    """The other end of a link spoke nonsense, another version, or went away."""


class Mismatch(LinkError):
    """The other end is there, and as both are set up they will never talk: other keys, versions or certificates."""


class OtherCluster(Mismatch):
    """The other end has our key, and another cluster's name, ring, or way of being divided."""


class CopiedIdentity(Mismatch):
    """Raised when another process has our identity: its file, or the data folder that it lies in, was copied."""


class FetchError(P2PCrawlError):
    """One page could not be fetched. ``kind`` decides about retries, the message explains.

    What is made is of the class below that errbacks ask for, where there is one for the kind.
    """

    def __new__(cls, kind: Failure, message: str) -> FetchError:
        wanted = _BY_KIND.get(kind, cls) if cls is FetchError else cls
        return super().__new__(wanted)

    def __init__(self, kind: Failure, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class NamedFetchError(FetchError):
    """A failure with a class of its own. People's middlewares raise these, too, with a message or without one."""

    usual: ClassVar[Failure] = Failure.NETWORK
    """The kind of those that are raised without one."""

    def __new__(cls, *told: object) -> Self:
        return Exception.__new__(cls, *told)

    def __init__(self, *told: object) -> None:
        kind, rest = (told[0], told[1:]) if told and isinstance(told[0], Failure) else (self.usual, told)
        super().__init__(kind, " ".join(map(str, rest)) or str(kind))


class CannotResolveHostError(NamedFetchError):
    """The name of a host could not be looked up."""

    usual = Failure.DNS


class DownloadConnectionRefusedError(NamedFetchError):
    """A host did not take a connection."""

    usual = Failure.CONNECT


class DownloadTimeoutError(NamedFetchError):
    """A host took too long, with connecting, answering, or the whole answer."""

    usual = Failure.TOTAL_TIMEOUT


class DownloadCancelledError(NamedFetchError):
    """An answer was left before its end: it is too large."""

    usual = Failure.TOO_LARGE


class DownloadFailedError(NamedFetchError):
    """An answer was not had, or not whole: the connection broke, or what came is not HTTP."""

    usual = Failure.LOST_CONNECTION


_BY_KIND: Final[Mapping[Failure, type[FetchError]]] = {
    Failure.DNS: CannotResolveHostError,
    Failure.NO_NAME: CannotResolveHostError,
    Failure.CONNECT: DownloadConnectionRefusedError,
    Failure.CONNECT_TIMEOUT: DownloadTimeoutError,
    Failure.FIRST_BYTE_TIMEOUT: DownloadTimeoutError,
    Failure.TOTAL_TIMEOUT: DownloadTimeoutError,
    Failure.TOO_LARGE: DownloadCancelledError,
    Failure.LOST_CONNECTION: DownloadFailedError,
    Failure.NETWORK: DownloadFailedError,
    Failure.PROTOCOL: DownloadFailedError,
    Failure.PROXY: DownloadFailedError,
    Failure.TLS: DownloadFailedError,
}


class TooSlow(P2PCrawlError):
    """The library's own work on an answer took too long. Its page fails, and is not tried again."""


class NotConfigured(Exception):
    """Raised by a component when it is made: it does not want to take part in this crawl."""


class NotSupported(Exception):
    """Raised for what an answer or a request does not have, such as selectors of a page that is no text."""


class DropItem(Exception):
    """Raised by a pipeline's ``process_item``: the item is not wanted. ``log_level``: at which that is told, if not at
    the usual one.
    """

    log_level: str | int | None = None

    def __init__(self, *told: object, log_level: str | int | None = None) -> None:
        super().__init__(*told)
        self.log_level = log_level


class IgnoreRequest(Exception):
    """Raised by a component of the chain: this request is dropped, not failed."""


class CloseSpider(Exception):
    """Raised by a callback: the crawl ends after what is in flight, with ``reason``."""

    def __init__(self, reason: str = "cancelled") -> None:
        super().__init__(reason)
        self.reason = reason


class DontCloseSpider(Exception):
    """Raised by a handler of spider_idle: the crawl is not to end yet."""


class ScrapyDeprecationWarning(Warning):
    """The category of warnings that filters in people's code name; none is given here."""
