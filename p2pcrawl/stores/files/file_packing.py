"""Compression of files: members that stand one behind the other, so that a file can be cut between any two."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_GZIP_BITS = 31
_GZIP_LEVEL = 6
_ZSTD_LEVEL = 3


class DamagedMember(Exception):
    """Bytes that are not what a member is made of."""


class Unpacking(Protocol):
    """The reading of one member, as zlib's objects do it."""

    eof: bool
    unused_data: bytes
    unconsumed_tail: bytes

    def decompress(self, data: bytes, length_max: int) -> bytes:
        """Returns some of the text. Raises DamagedMember."""
        ...


@dataclass(frozen=True, slots=True)
class Packing:
    """A way to compress a file."""

    name: str
    compressor: Callable[[], Any]
    """Makes an object that compresses one member, by ``compress`` and a last ``flush``."""
    reader: Callable[[], Unpacking]

    def whole(self, text: bytes) -> bytes:
        """Returns a member with this text."""
        member = self.compressor()
        packed: bytes = member.compress(text) + member.flush()
        return packed


class _GzipReader:
    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP_BITS)
        self.eof, self.unused_data, self.unconsumed_tail = False, b"", b""

    def decompress(self, data: bytes, length_max: int) -> bytes:
        try:
            text = self._member.decompress(data, length_max)
        except zlib.error as error:
            raise DamagedMember(str(error)) from None
        self.eof, self.unused_data = self._member.eof, self._member.unused_data
        self.unconsumed_tail = self._member.unconsumed_tail
        return text


class _ZstdReader:
    """The reading of one frame. It keeps what it has not used by itself, so there is never a tail."""

    unconsumed_tail = b""

    def __init__(self) -> None:
        self._frame = zstd.ZstdDecompressor()
        self.eof, self.unused_data = False, b""

    def decompress(self, data: bytes, length_max: int) -> bytes:
        try:
            pieces = [self._frame.decompress(data, length_max)]
            while not (self._frame.eof or self._frame.needs_input):
                pieces.append(self._frame.decompress(b"", length_max))
        except zstd.ZstdError as error:
            raise DamagedMember(str(error)) from None
        self.eof, self.unused_data = self._frame.eof, self._frame.unused_data
        return b"".join(pieces)


GZIP = Packing("gzip", lambda: zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, _GZIP_BITS), _GzipReader)
ZSTD = Packing("zstd", lambda: zstd.ZstdCompressor(_ZSTD_LEVEL), _ZstdReader)
