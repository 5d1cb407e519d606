"""Imprints: what a page's text says in a few bits, and the page's items, which travel with it in a link.

The link goes to the owner of the text, as others go to the owner of their host: the first half of its fingerprint is
made of the text, and says the bucket. The owner stores it with its verdict, in one transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from p2pcrawl.model.crawl.fingerprint import SIZE, Fingerprint
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.texts.imprint_url import IMPRINT_CALLBACK, imprint_url, is_imprint
from p2pcrawl.model.texts.text_signatures import NEAR_MAX, band_key
from p2pcrawl.wire.messages.bounds import Count

ITEMS_BYTES_MAX = 256 * 1024
"""Bytes of the items of a page whose text is asked for."""
SOONER = 1 << 20
"""What is added to the priority of its page: few items are to wait at any time."""


class Imprint(Struct, array_like=True, frozen=True):
    """The imprint of one visit of a page."""

    signature: Annotated[bytes, Meta(min_length=8, max_length=16)]
    near: Annotated[int, Meta(ge=0, le=NEAR_MAX)]
    """Bits that may differ; 0: the signature is that of an equal text."""
    band: Annotated[int, Meta(ge=0, le=NEAR_MAX)]
    """The band of the signature that is looked for."""
    page: Annotated[bytes, Meta(min_length=SIZE, max_length=SIZE)]
    """The fingerprint of the page,"""
    visit: Count
    """and which visit of it this is."""
    items: list[bytes]
    first: str = ""
    """The verdict: the page that was met before with this text, or nearly; "": none."""
    distance: Annotated[int, Meta(ge=0, le=NEAR_MAX)] = 0
    """The bits between the two."""

    @property
    def fingerprint(self) -> Fingerprint:
        """The identity of its record: one for each band, page and visit. So what is fetched twice in a visit, and
        agrees in any band, comes out once.
        """
        page = blake2b(self.page, digest_size=8, salt=b"%d" % self.band, person=b"p2p-imprint")
        page.update(self.visit.to_bytes(8, "big"))
        return Fingerprint(band_key(self.signature, self.near, self.band) + page.digest())

    @property
    def is_last(self) -> bool:
        """True if no band is left in which the text could be found."""
        return self.band >= self.near


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Imprint).decode


def imprint_link(imprint: Imprint, url: str, depth: int, priority: int) -> Link:
    """Makes the link in which an imprint travels; ``url``, ``depth`` and ``priority`` are those of its page."""
    return Link(
        url=imprint_url(url, imprint.band, imprint.visit),
        fingerprint=imprint.fingerprint,
        depth=depth,
        priority=priority,
        kind="imprint",
        callback=IMPRINT_CALLBACK,
        extra=_encode(imprint),
    )


def imprint_of(link: Link) -> Imprint | None:
    """Reads the imprint that a link is; None for what is none."""
    if not is_imprint(link.url):
        return None
    try:
        imprint = _decode(link.extra)
    except msgspec.MsgspecError:
        return None
    return imprint if imprint.band <= imprint.near and imprint.fingerprint == link.fingerprint else None


def with_imprint(link: Link, imprint: Imprint) -> Link:
    """Returns a link with its imprint changed."""
    return link._replace(extra=_encode(imprint))


def travels(items: Sequence[bytes]) -> bool:
    """Tells whether items are few enough to travel with an imprint."""
    return sum(map(len, items)) <= ITEMS_BYTES_MAX
