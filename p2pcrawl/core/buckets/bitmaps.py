"""Sets of buckets as they travel."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import Final

from p2pcrawl.core.ring.rendezvous import BUCKETS
from p2pcrawl.model.errors import LinkError

REMEMBERED_MAX: Final = 16
"""Of one claim the same buckets are looked up several times, from its coming to its end."""
_BITS: Final = [tuple(j for j in range(8) if byte >> j & 1) for byte in range(256)]


def bitmap_of(buckets: Collection[int]) -> bytes:
    bits = bytearray(BUCKETS // 8)
    for bucket in buckets:
        bits[bucket >> 3] |= 1 << (bucket & 7)
    return bytes(bits)


@lru_cache(REMEMBERED_MAX)
def buckets_of(bitmap: bytes) -> frozenset[int]:
    """Raises LinkError for a bitmap of another size."""
    if len(bitmap) != BUCKETS // 8:
        raise LinkError(f"a bitmap of buckets has {BUCKETS // 8} bytes, not {len(bitmap)}")
    return frozenset([i * 8 + j for i, byte in enumerate(bitmap) if byte for j in _BITS[byte]])
