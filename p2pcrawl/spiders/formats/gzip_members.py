"""Files that gzip made, inflated piece by piece. They have one member or several, one after the other.

Whoever wrote one may have written millions of empty members: reading them costs no more than it must, and ends.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Final

MAGIC: Final = b"\x1f\x8b"
PIECE_SIZE: Final = 65_536
MEMBERS_MAX: Final = 10_000
"""What comes after these is left out. Those who write members of 64 KiB, as bgzip does, have 600 MB in so many."""


def inflated(body: bytes) -> Iterator[bytes]:
    """Yields the content in pieces, up to where the file breaks off or turns into something else. Raises zlib.error
    where a member is damaged.
    """
    # Read through a window: what a member leaves over is copied for the next one.
    view, at = memoryview(body), 0
    for _ in range(MEMBERS_MAX):
        if not body.startswith(MAGIC, at):
            return
        inflater = zlib.decompressobj(wbits=31)
        while not inflater.eof:
            given: bytes | memoryview = inflater.unconsumed_tail
            if not given:
                given = view[at : at + PIECE_SIZE]
                at += len(given)
            piece = inflater.decompress(given, PIECE_SIZE)
            if piece:
                yield piece
            elif not given:
                return
        at -= len(inflater.unused_data)
