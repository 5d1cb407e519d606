"""The past of a page: what its visits so far have learnt, and the next one is to know."""

from __future__ import annotations

from dataclasses import dataclass

PAST_MAX = 2_048
"""Bytes, packed: it is with every record that is visited again, and with its copies."""
VALIDATOR_MAX = 500
"""Characters of a validator that are kept. A longer one is not sent back: what is cut is another."""
ADAPTIVE = -1
"""In place of a period: one that follows how often the page changes."""


@dataclass(frozen=True, slots=True)
class PagePast:
    """The memory of a page that is visited again.

    ``visits``, ``changes`` and ``seconds`` weigh the visits since the first: of each, what is earlier counts less.
    """

    etag: str = ""
    modified: str = ""
    """Its validators, as the host sent them."""
    digest: bytes = b""
    """Of what the page says; see spiders.page.content_digest."""
    own: int = 0
    """The period that its request asked for, in seconds, or ``ADAPTIVE``; 0: that of its kind."""
    asked: int = 0
    """When it was last answered, in seconds since 1970."""
    period: int = 0
    """How long after that it was to be asked again."""
    visits: float = 0.0
    changes: float = 0.0
    seconds: float = 0.0
    gone: int = 0
    """How often in a row it was not there."""
    kind: str = ""
    """What it showed to be when it was there, in place of the kind that its request said; "": nobody looked."""
