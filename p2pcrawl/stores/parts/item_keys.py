"""The keys of a part's items, sixteen bytes each in their order, so that an heir can look up which are there."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterable

KEY_BYTES = 16


def short_key(key: str) -> bytes:
    """Returns the short form of an item's key: no two items of a job will ever share one."""
    return hashlib.blake2b(key.encode(), digest_size=KEY_BYTES).digest()


def sorted_keys(keys: Iterable[bytes]) -> bytes:
    """Returns short keys in order, one behind the other."""
    return b"".join(sorted(keys))


def keys_among(wanted: set[bytes], keys: bytes) -> set[bytes]:
    """Returns those of the wanted keys that are among sorted ones."""

    def at(place: int) -> bytes:
        return keys[place * KEY_BYTES : (place + 1) * KEY_BYTES]

    count = len(keys) // KEY_BYTES
    if len(wanted) * count.bit_length() > count:
        return wanted.intersection(map(at, range(count)))
    places = {key: bisect_left(range(count), key, key=at) for key in wanted}
    return {key for key, place in places.items() if at(place) == key}
