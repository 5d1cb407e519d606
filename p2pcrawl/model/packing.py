"""The items of a page that are many, packed: what travels and is kept of them is a fraction of what they are.

Items are lines of JSON, of which none begins with a zero byte; what is packed does.
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable

from p2pcrawl.model.errors import StorageError

PACKED_OVER = 1024 * 1024
"""Bytes of items that are left as they are."""
UNPACKED_MAX = 256 * 1024 * 1024
"""Bytes of the items of one page, where they are to be packed."""
PACKED_MAX = 40 * 1024 * 1024
"""The same, packed: a record goes to its copies in one message."""
_PACKED = b"\x00z"
_LEVEL = 1


def packed(parts: Iterable[bytes]) -> bytes:
    """Joins the parts by newlines, and packs them if that is long. A part may be packed itself."""
    lines = [unpacked(part) for part in parts]
    if sum(map(len, lines)) <= PACKED_OVER:
        return b"\n".join(lines)
    press = zlib.compressobj(_LEVEL)
    pieces = [_PACKED]
    for number, line in enumerate(lines):
        if number:
            pieces.append(press.compress(b"\n"))
        pieces.append(press.compress(line))
    pieces.append(press.flush())
    return b"".join(pieces)


def packed_size(items: Iterable[bytes]) -> int:
    """Returns about how many bytes these items will add when they are packed with others."""
    press = zlib.compressobj(_LEVEL)
    return sum(len(press.compress(item)) for item in items) + len(press.flush())


def in_text(data: bytes) -> str | list[str]:
    """Writes items as they travel in JSON, which has no bytes."""
    return [b64encode(data).decode()] if data.startswith(_PACKED) else data.decode()


def of_text(text: str | list[str]) -> bytes:
    """Reads the items that :func:`in_text` wrote down. Raises StorageError for what it did not."""
    if isinstance(text, str):
        return text.encode()
    try:
        (encoded,) = text
        return unpacked(b64decode(encoded, validate=True))
    except ValueError as error:
        raise StorageError(f"the items of a page are damaged: {error}") from error


def unpacked(data: bytes) -> bytes:
    """Unpacks items joined by newlines, whether they were packed or not. Raises StorageError for what is neither."""
    if not data.startswith(_PACKED):
        return data
    press = zlib.decompressobj()
    try:
        items = press.decompress(memoryview(data)[len(_PACKED) :], UNPACKED_MAX)
    except zlib.error as error:
        raise StorageError(f"the items of a page are damaged: {error}") from error
    if not press.eof:
        raise StorageError("the items of a page are damaged: they have no end, or are over the limit")
    return items
