"""Looking at a file that is there already, without changing it."""

from __future__ import annotations

import io
import mmap
import os
import tempfile
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from p2pcrawl.stores.files.file_packing import DamagedMember, Packing

FIRST = 1 << 20
"""Bytes of the start that are kept of a text not needed as a whole."""
_CHUNK = 1 << 14  # What follows a member in a chunk is copied once per member: small members ask for small chunks.
_PIECE = 1 << 20
_BOUNDARIES = 64


class DamagedPacking(Exception):
    """The file is not a sequence of complete members of its compression."""


@dataclass(slots=True)
class Existing:
    """A text: its start, its last byte, and all of it where that was asked for."""

    size: int
    first: bytes
    last: bytes
    whole: bytes | mmap.mmap = b""
    boundaries: list[tuple[int, int]] = field(default_factory=list)
    """The last ends of members, latest last: (length of the text, length of the file)."""

    def end_without(self, trailing: bytes, end: int | None = None) -> int:
        """Returns the position where the whole text ends, looking back from ``end``, when ``trailing`` bytes do not
        count.
        """
        end = self.size if end is None else end
        while end > 0:
            start = max(0, end - 4096)
            kept = self.whole[start:end].rstrip(trailing)
            if kept:
                return start + len(kept)
            end = start
        return 0


@contextmanager
def examined(file: io.FileIO, *, packing: Packing | None, whole: bool) -> Iterator[Existing]:
    """Yields what is in ``file``, which must not be empty. Raises DamagedPacking."""
    if packing is None:
        with _mapped(file) as text:
            yield Existing(len(text), text[:FIRST], text[-1:], text)
        return
    if not whole:
        yield _unpacked(file, None, packing)
        return
    # As long as the text, so not in memory; and beside the output rather than in a /tmp that may be small.
    with tempfile.TemporaryFile(dir=os.path.dirname(os.path.abspath(str(file.name)))) as copy:
        unzipped = _unpacked(file, copy, packing)
        copy.flush()
        if unzipped.size == 0:  # Nothing cannot be mapped.
            yield unzipped
            return
        with _mapped(copy) as unzipped.whole:
            yield unzipped


@contextmanager
def _mapped(file: io.FileIO | io.BufferedRandom) -> Iterator[mmap.mmap]:
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        yield text


def _unpacked(file: io.FileIO, copy: io.BufferedRandom | None, packing: Packing) -> Existing:
    first, last, size, read = b"", b"", 0, 0
    boundaries: deque[tuple[int, int]] = deque(maxlen=_BOUNDARIES)
    member = packing.reader()
    begun = False
    file.seek(0)
    while data := file.read(_CHUNK):
        read += len(data)
        while data:
            if not begun and boundaries and not data.strip(b"\0"):
                break  # Padding behind the last member.
            begun = True
            try:
                piece = member.decompress(data, _PIECE)
            except DamagedMember as error:
                raise DamagedPacking(str(error)) from None
            size += len(piece)
            if len(first) < FIRST:
                first += piece[: FIRST - len(first)]
            last = piece[-1:] or last
            if copy is not None:
                copy.write(piece)
            if member.eof:
                data = member.unused_data
                boundaries.append((size, read - len(data)))
                member, begun = packing.reader(), False
            else:
                data = member.unconsumed_tail
    if begun:
        raise DamagedPacking("it ends in the middle")
    return Existing(size, first, last, boundaries=list(boundaries))
