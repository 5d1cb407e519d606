"""The identities of requests: ours, and those of fingerprinters that people write."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol, Self

from p2pcrawl.model.crawl.fingerprint import Fingerprint, fingerprint, own_fingerprint
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.spiders.page.links import normalise

SCRAPYS = frozenset({"scrapy.utils.request.RequestFingerprinter", "p2pcrawl.utils.request.RequestFingerprinter"})
"""Names of the fingerprinter that is there by default."""

Identify = Callable[[Request, str], Fingerprint]


class Fingerprinter(Protocol):
    """A class of people's own that says which requests are one page: those of the same bytes."""

    def fingerprint(self, request: Request) -> bytes: ...


class RequestFingerprinter:
    """Knows requests by method, canonical URL, body and the headers of FINGERPRINT_HEADERS, as crawls do by default."""

    def __init__(self, crawler: Any = None) -> None:
        self._headers = tuple(crawler.settings.fingerprint_headers) if crawler is not None else ()

    @classmethod
    def from_crawler(cls, crawler: Any) -> Self:
        """Makes the fingerprinter of a crawl."""
        return cls(crawler)

    def fingerprint(self, request: Request) -> bytes:
        """Returns the 16 bytes that a request is known by."""
        return request_fingerprint(request, include_headers=self._headers)


def request_fingerprint(
    request: Request, *, include_headers: Iterable[bytes | str] | None = None, keep_fragments: bool = False
) -> bytes:
    """Returns the 16 bytes that a request is known by: the same for URLs that name one page. With ``keep_fragments``
    the fragment sets pages apart.
    """
    names = {(n if isinstance(n, str) else n.decode("latin-1")).lower() for n in include_headers or ()}
    told = tuple((name, value) for name, value in request.headers.lines if name.lower() in names) if names else ()
    url, _, fragment = request.url.partition("#")
    salt = f"#{fragment}" if keep_fragments and fragment else ""
    return fingerprint(normalise(url) or url, request.method, request.body, told, salt)


def identify_by(fingerprinter: Any) -> Identify | None:
    """Returns the identity that a fingerprinter of people's own gives to a request, and a salt; None for the default
    one.
    """
    if type(fingerprinter) is RequestFingerprinter:
        return None

    def identity(request: Request, salt: str) -> Fingerprint:
        given = fingerprinter.fingerprint(request)
        if not isinstance(given, bytes):
            kind = type(given).__name__
            raise TypeError(f"{type(fingerprinter).__name__}.fingerprint must return bytes, not {kind}")
        return own_fingerprint(given, salt)

    return identity
