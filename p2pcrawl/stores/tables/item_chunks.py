"""Items, so many at a time as may be objects of Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

CHUNK_ITEMS = 2000
CHUNK_BYTES = 1024 * 1024
"""An item that is decoded takes up to ten times the room of its bytes."""


def chunks(items: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yields items in lists that are small enough to be decoded as a whole."""
    chunk: list[bytes] = []
    size = 0
    for item in items:
        chunk.append(item)
        size += len(item)
        if len(chunk) == CHUNK_ITEMS or size >= CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
