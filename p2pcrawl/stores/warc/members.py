"""The records of a WARC file one by one, each a gzip member of its own: where they are, and how they begin."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_PIECE: Final = 1 << 17
"""Read at once. Whoever unpacks copies what is left of it behind each record, and many are small."""
_HEAD_MAX: Final = 1 << 17
"""Bytes of a record that are looked at: its head, and that of the answer, which aiohttp limits to less."""


@dataclass(frozen=True, slots=True)
class FoundRecord:
    """A whole record: where it is, as much of it as is looked at, and how long it is unpacked."""

    offset: int
    length: int
    head: bytes
    unpacked: int


def record_fields(head: bytes) -> tuple[dict[str, str], bytes]:
    """Returns a record's own fields, and its block as far as it is there."""
    own, _, block = head.partition(b"\r\n\r\n")
    return head_fields(own.partition(b"\r\n")[2]), block


def head_fields(text: bytes) -> dict[str, str]:
    """Reads header lines up to the first that is empty; the first one of a name counts."""
    found: dict[str, str] = {}
    for line in text.split(b"\n"):
        if not line.rstrip(b"\r"):
            break
        name, _, value = line.decode("utf-8", "replace").partition(":")
        found.setdefault(name.strip().lower(), value.strip())
    return found


def whole_records(file: io.FileIO) -> Iterator[FoundRecord]:
    """Yields the whole gzip members from the beginning of a file; stops at the first that is not."""
    offset, rest = 0, b""
    while True:
        unpacker, head, length, size = zlib.decompressobj(16 + zlib.MAX_WBITS), b"", 0, 0
        while not unpacker.eof:
            piece = rest or file.read(_PIECE)
            if not piece:
                return
            try:
                # What is packed small may unpack to a gigabyte.
                unpacked = unpacker.decompress(piece, _PIECE)
            except zlib.error:
                return
            rest = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
            length, size = length + len(piece) - len(rest), size + len(unpacked)
            if len(head) < _HEAD_MAX:
                head += unpacked[: _HEAD_MAX - len(head)]
        yield FoundRecord(offset, length, head, size)
        offset += length
