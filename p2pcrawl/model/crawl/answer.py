"""A host's answer, before anyone interprets it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Answer:
    """Status, headers (case-insensitive, first value by ``[]``) and the inflated body."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    latency_s: float = 0.0
    """From sending the request to the head of the answer."""
    ip: str = ""
    set_cookies: tuple[str, ...] = ()
    flags: list[str] = field(default_factory=list)
    protocol: str = ""
    """As ``HTTP/1.1``."""
    usage: Mapping[str, Any] | None = None
    """What the site says about the use of its content; None where nobody asked for it."""
    forbidden: str = ""
    """The kind of the statement that forbids the crawl's purpose; "" for none."""
    asked: bool = True
    """The host was asked for it; False: it comes from a cache, and costs the host nothing."""
    answered: bool = True
    """It came from a host, or was confirmed by it; False: a cache had it when the host was not asked, or failed."""
