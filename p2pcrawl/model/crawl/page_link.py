"""A link: what is known of a URL before anybody has fetched it."""

from __future__ import annotations

from typing import NamedTuple

FILE_CALLBACK = "p2pcrawl_media"
"""The callback of a file that an item waits for, which travels with it: no method of a spider."""


class Link(NamedTuple):
    """A URL that a page led to, or that a job starts at, with all that is to be known for fetching it.

    Declared here and nowhere else. A slave makes it, and whatever a link is part of later holds it, on its way to its
    owner, in the frontier and its copies, and back to a slave as a task. On the wire it is an array in this order, of
    which ``wire.messages.bounds`` says what it may hold: one fact more is another version of the wire.
    """

    url: str
    fingerprint: bytes
    depth: int = 0
    priority: int = 0
    kind: str = "index"
    callback: str = ""
    """The spider's method that gets the answer; "" for the default."""
    seed: bool = False
    """A start URL."""
    referer: str = ""
    """The page that led to it; "" if none is to be told of."""
    extra: bytes = b""
    """What else the request asks for (see slave.pages.travel); empty for a plain GET."""
