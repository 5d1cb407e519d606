"""Identity of a request: 16 bytes over method, canonical URL, body and chosen headers.

BLAKE2b, so that nobody can make a page vanish by building a URL that collides with it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import NewType

from p2pcrawl.model.crawl.url import canonical

Fingerprint = NewType("Fingerprint", bytes)

SIZE = 16


def fingerprint(
    url: str,
    method: str = "GET",
    body: bytes = b"",
    headers: Iterable[tuple[str, str]] = (),
    salt: str = "",
) -> Fingerprint:
    """Returns the identity of a request. ``salt`` sets it apart from its equals, as ``dont_filter`` asks."""
    text = canonical(url)
    if method == "GET" and not body and not headers and not salt:
        return Fingerprint(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=SIZE).digest())
    state = blake2b(digest_size=SIZE, person=b"p2pcrawl-request")
    parts = [method, text, salt, *sorted(f"{name.lower()}:{value}" for name, value in headers)]
    for part in (*(p.encode("utf-8", "surrogatepass") for p in parts), body):
        state.update(len(part).to_bytes(8, "big"))
        state.update(part)
    return Fingerprint(state.digest())


def own_fingerprint(identity: bytes, salt: str = "") -> Fingerprint:
    """Returns the identity of a request that is known by these bytes and nothing else, whatever their number."""
    state = blake2b(digest_size=SIZE, person=b"p2pcrawl-own-id")
    state.update(len(identity).to_bytes(8, "big"))
    state.update(identity)
    state.update(salt.encode())
    return Fingerprint(state.digest())


def pack_halves(hi: int, lo: int) -> Fingerprint:
    """Packs a fingerprint from the two signed halves that a database holds."""
    return Fingerprint(hi.to_bytes(8, "big", signed=True) + lo.to_bytes(8, "big", signed=True))


halves: Callable[[bytes], tuple[int, int]] = struct.Struct(">qq").unpack
"""The two signed halves of a fingerprint, for a database."""
