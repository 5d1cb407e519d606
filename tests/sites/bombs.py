"""Compressed bodies that inflate to far more than they look: zeros without end, made piece by piece.

Each generator yields a correct body of ``size`` zeros in its coding, so that a decoder without a limit would really
inflate all of it. Nothing here ever holds more than one piece.
"""

from __future__ import annotations

import gzip
import struct
import sys
import zlib
from collections.abc import Callable, Iterator

import brotli

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

GIB = 1024**3
BLOCK = bytes(1024**2)

Bomb = Callable[[int], Iterator[bytes]]


def gzip_bomb(size: int = GIB) -> Iterator[bytes]:
    """Yields one gzip member."""
    yield b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
    check = 0
    for piece in _deflated_zeros(size):
        check = zlib.crc32(BLOCK, check)
        yield piece
    yield b"\x03\x00" + struct.pack("<II", check, size & 0xFFFFFFFF)


def gzip_members_bomb(size: int = GIB) -> Iterator[bytes]:
    """Many gzip members, one after the other."""
    member = gzip.compress(BLOCK, 9, mtime=0)
    for _ in range(size // len(BLOCK)):
        yield member


def gzip_twice_bomb(size: int = GIB) -> Iterator[bytes]:
    """A gzip bomb, gzipped: for ``Content-Encoding: gzip, gzip``."""
    outer = zlib.compressobj(9, zlib.DEFLATED, 31)
    for piece in gzip_bomb(size):
        if data := outer.compress(piece):
            yield data
    yield outer.flush()


def deflate_bomb(size: int = GIB) -> Iterator[bytes]:
    """Deflate in the zlib wrapper, as the standard asks."""
    yield b"\x78\xda"
    check = 1
    for piece in _deflated_zeros(size):
        check = zlib.adler32(BLOCK, check)
        yield piece
    yield b"\x03\x00" + struct.pack(">I", check)


def raw_deflate_bomb(size: int = GIB) -> Iterator[bytes]:
    """Deflate without a wrapper, as some servers send it."""
    yield from _deflated_zeros(size)
    yield b"\x03\x00"


def brotli_bomb(size: int = GIB) -> Iterator[bytes]:
    """A few kilobytes in all."""
    packer = brotli.Compressor(quality=3)
    for _ in range(size // len(BLOCK)):
        yield packer.process(BLOCK) + packer.flush()
    yield packer.finish()


def zstd_bomb(size: int = GIB) -> Iterator[bytes]:
    """Yields one frame."""
    packer = zstd.ZstdCompressor()
    for _ in range(size // len(BLOCK)):
        yield packer.compress(BLOCK, mode=zstd.ZstdCompressor.FLUSH_BLOCK)
    yield packer.flush()


def zstd_frames_bomb(size: int = GIB) -> Iterator[bytes]:
    """Many frames, one after the other."""
    frame = zstd.compress(BLOCK)
    for _ in range(size // len(BLOCK)):
        yield frame


def zstd_window_bomb(size: int = GIB) -> Iterator[bytes]:
    """A frame, written by hand, that asks its decoder for a window of 2 GiB; 128 KiB of zeros in each 4 bytes."""
    window_log, block_bytes = 31, 128 * 1024
    yield b"\x28\xb5\x2f\xfd\x00" + bytes([(window_log - 10) << 3])
    blocks = size // block_bytes
    for number in range(blocks):
        yield struct.pack("<I", block_bytes << 3 | 1 << 1 | (number == blocks - 1))[:3] + b"\x00"


def _deflated_zeros(size: int) -> Iterator[bytes]:
    """``size`` zeros as one piece per block; each ends in a full flush, so that they can be repeated."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    piece = packer.compress(BLOCK) + packer.flush(zlib.Z_FULL_FLUSH)
    for _ in range(size // len(BLOCK)):
        yield piece
