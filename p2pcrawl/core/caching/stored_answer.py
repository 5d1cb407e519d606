"""An answer as it lies in a cache, and how old it is (RFC 9111, sections 3.1 to 3.2 and 4.2.3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from p2pcrawl.core.caching.directives import Fields, age_of, http_date_of, joined_fields, list_of

_OF_THE_CONNECTION: Final = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authentication-info",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "transfer-encoding",
        "upgrade",
    }
)
_OF_THE_BODY: Final = frozenset({"content-encoding", "content-length", "content-range"})
"""What a 304 says of these is not of the body that is stored."""


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """An answer without its body. Times are of the wall clock: others read them later, in other processes."""

    url: str
    status: int
    headers: tuple[tuple[str, str], ...]
    asked_at: float
    """When the request was sent that it answers, or that last said that it is still good."""
    answered_at: float
    ip: str = ""
    chosen_by: tuple[str, ...] = ()
    """Names of the fields of a request that the host chose it by, in lower case (Vary)."""
    choice: bytes = b""
    """A digest of what these fields were."""
    size: int = 0
    """Bytes of the body."""
    packed: bool = False
    """The body is stored compressed."""

    @property
    def fields(self) -> dict[str, str]:
        return joined_fields(self.headers)

    def date(self, fields: Fields) -> float:
        """Returns when it was made at the host, which is when it came where the host does not say."""
        date = http_date_of(fields, "date")
        return self.answered_at if date is None else date

    def age_s(self, fields: Fields, now: float) -> float:
        """Returns its age, on the way included."""
        apparent_s = max(0.0, self.answered_at - self.date(fields))
        told_s = age_of(fields) + max(0.0, self.answered_at - self.asked_at)
        return max(apparent_s, told_s) + max(0.0, now - self.answered_at)

    def freshened(self, headers: Iterable[tuple[str, str]], asked_at: float, answered_at: float) -> StoredAnswer:
        """Returns it with what a 304 says in place of what it said itself."""
        news = [(name, value) for name, value in kept(headers) if name.lower() not in _OF_THE_BODY]
        # An age that an earlier answer had is not of this one.
        said = {name.lower() for name, _ in news} | {"age", "date"}
        old = [(name, value) for name, value in self.headers if name.lower() not in said]
        return replace(self, headers=(*old, *news), asked_at=asked_at, answered_at=answered_at)


def kept(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Returns the headers that are stored: all but those of the connection that they came by."""
    lines = list(headers)
    named = list_of(joined_fields(lines).get("connection", ""))
    dropped = _OF_THE_CONNECTION.union(named)
    return [(str(name), str(value)) for name, value in lines if name.lower() not in dropped]
