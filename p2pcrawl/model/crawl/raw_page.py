"""A request and its answer as they went over the wire, before anyone interprets them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Truncated = Literal["", "length", "time", "disconnect"]


@dataclass(frozen=True, slots=True)
class RawPage:
    """One request and its answer."""

    url: str
    method: str
    began_at: float
    """When the request was made, in seconds since 1970."""
    ip: str
    """The address that answered; "" where a proxy asked it, and where nobody knows."""
    request_head: bytes
    """All up to the empty line, and that line."""
    request_body: bytes
    status: int
    content_type: str
    """As the answer says; "" where it says nothing."""
    is_encoded: bool
    """The body has a content coding, so that packing it again is no use."""
    head: bytes
    body: bytes | bytearray
    truncated: Truncated
    """Why the body is not all of it: over the limit, out of time, or broken off by the other side."""
