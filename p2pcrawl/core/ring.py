"""Who gets a key: rendezvous hashing with bounded load.

Each node's score for a key is a hash of both; the highest score wins. When a node leaves, only its
keys move; when one joins, it takes keys from all and nothing moves between the others. A key whose
node is full goes to the next in its order.
"""

from __future__ import annotations

from collections.abc import Iterable

import xxhash

_SIGN = 1 << 63


def key_hash(key: str) -> int:
    """A stable 64-bit hash, signed so that SQLite can hold it."""
    value = xxhash.xxh3_64_intdigest(key.encode("utf-8", "surrogatepass"))
    return value - (1 << 64) if value >= _SIGN else value


def preference(key: int, nodes: Iterable[int]) -> list[int]:
    """The nodes in the order in which the key prefers them."""
    packed = (key & 0xFFFF_FFFF_FFFF_FFFF).to_bytes(8, "big")
    return sorted(nodes, key=lambda node: xxhash.xxh3_64_intdigest(packed, seed=node), reverse=True)
