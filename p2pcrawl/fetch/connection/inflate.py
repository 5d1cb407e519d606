"""Content codings undone, never allocating more than asked for.

A few bytes can inflate to terabytes. Each decoder is therefore told how much it may give, and is
asked for one byte more than the limit to find out whether there is more.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable
from typing import Final, Protocol

import brotli

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

from p2pcrawl.model.errors import FetchError
from p2pcrawl.model.outcome import Failure

ACCEPT_ENCODING: Final = "gzip, deflate, br, zstd"

_CODINGS_MAX: Final = 4
"""Codings of one body; nobody needs two."""
_MEMBERS_MAX: Final = 10_000
_PIECE_BYTES: Final = 64 * 1024
_ZSTD_OPTIONS: Final[dict[int, int]] = {zstd.DecompressionParameter.window_log_max: 23}
"""8 MiB of window, all that RFC 9659 lets a server use; a frame may ask for gigabytes."""
_GZIP: Final = 16 + zlib.MAX_WBITS
_NO_CODING: Final = frozenset({"", "identity", "none", "binary", "utf-8"})
"""What servers write when they mean that nothing was done."""


def inflate(body: bytes, encoding: str, limit: int) -> bytes:
    """Undoes the codings of a Content-Encoding header, the last one first.

    Raises FetchError: INFLATE_LIMIT when more than ``limit`` bytes would come out of any coding,
    BAD_ENCODING for an unknown coding and for bytes that are not what the header says.
    """
    for decode in _decoders(encoding):
        if body:
            body = decode(body, limit + 1)
            if len(body) > limit:
                raise FetchError(Failure.INFLATE_LIMIT, f"the {encoding} body inflates to more than {limit} bytes")
    return body


def inflate_prefix(body: bytes, encoding: str, limit: int) -> bytes:
    """Inflates at most the first ``limit`` bytes, of a ``body`` that may be a prefix only."""
    for decode in _decoders(encoding):
        if body:
            body = decode(body, limit, partial=True)
    return body


class _Decoder:
    """A coding's name and the function that undoes it."""

    __slots__ = ("_decode", "_name")

    def __init__(self, name: str, decode: Callable[[bytes, int], tuple[bytes, bool]]) -> None:
        self._name = name
        self._decode = decode

    def __call__(self, body: bytes, room: int, partial: bool = False) -> bytes:
        """Inflates up to about ``room`` bytes; fewer only if the body is complete or ``partial`` is asked for."""
        try:
            inflated, complete = self._decode(body, room)
        except (zlib.error, brotli.error, zstd.ZstdError, EOFError) as error:
            raise FetchError(Failure.BAD_ENCODING, f"the body is not {self._name}: {error}") from error
        if not complete and not partial and len(inflated) < room:
            raise FetchError(Failure.BAD_ENCODING, f"the {self._name} body ends too early")
        return inflated[:room] if len(inflated) > room else inflated


def _decoders(encoding: str) -> list[_Decoder]:
    single = _DECODERS.get(encoding)
    if single is not None:
        return [single]
    names = [name for part in encoding.lower().split(",") if (name := part.strip()) not in _NO_CODING]
    if len(names) > _CODINGS_MAX:
        raise FetchError(Failure.BAD_ENCODING, f"the body has {len(names)} content codings")
    try:
        return [_DECODERS[name] for name in reversed(names)]
    except KeyError as error:
        raise FetchError(Failure.BAD_ENCODING, f"unknown content coding {encoding[:100]!r}") from error


def _gzip(body: bytes, room: int) -> tuple[bytes, bool]:
    """Inflates all members; rubbish after a complete member is ignored, as browsers do."""
    return _members(lambda: zlib.decompressobj(_GZIP), b"\x1f\x8b", body, room)


def _deflate(body: bytes, room: int) -> tuple[bytes, bool]:
    """Inflates with the zlib header that the standard asks for, or without, as some servers send it."""
    decoder = zlib.decompressobj()
    try:
        return decoder.decompress(body, room), decoder.eof
    except zlib.error:
        decoder = zlib.decompressobj(-zlib.MAX_WBITS)
        return decoder.decompress(body, room), decoder.eof


def _brotli(body: bytes, room: int) -> tuple[bytes, bool]:
    decoder = brotli.Decompressor()
    inflated: bytes = decoder.process(body, output_buffer_limit=room)
    parts, got = [inflated], len(inflated)
    while got < room and not decoder.is_finished() and not decoder.can_accept_more_data():
        inflated = decoder.process(b"", output_buffer_limit=room - got)
        parts.append(inflated)
        got += len(inflated)
    return parts[0] if len(parts) == 1 else b"".join(parts), decoder.is_finished()


def _zstd(body: bytes, room: int) -> tuple[bytes, bool]:
    """Inflates all frames."""
    return _members(lambda: zstd.ZstdDecompressor(options=_ZSTD_OPTIONS), b"", body, room)


class _Stream(Protocol):
    """The interface that the decoders of one gzip member and of one zstd frame share."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


def _members(new: Callable[[], _Stream], magic: bytes, body: bytes, room: int) -> tuple[bytes, bool]:
    decoder = new()
    first = decoder.decompress(body, room)
    rest = len(decoder.unused_data)
    if not rest or len(first) >= room:
        return first, decoder.eof
    # A decoder copies what it leaves over, so that a million empty members would cost hours if each
    # were given all that remains.
    parts, room, at = [first], room - len(first), len(body) - rest
    for _ in range(_MEMBERS_MAX):
        if not body.startswith(magic, at):
            return b"".join(parts), True
        decoder = new()
        while not decoder.eof and at < len(body) and room > 0:
            piece = body[at : at + _PIECE_BYTES]
            part = decoder.decompress(piece, room)
            parts.append(part)
            room -= len(part)
            at += len(piece) - len(decoder.unused_data)
        if not decoder.eof or room <= 0 or at >= len(body):
            return b"".join(parts), decoder.eof
    raise FetchError(Failure.BAD_ENCODING, f"the body has more than {_MEMBERS_MAX} compressed members")


_DECODERS: Final = {
    "gzip": _Decoder("gzip", _gzip),
    "x-gzip": _Decoder("gzip", _gzip),
    "deflate": _Decoder("deflate", _deflate),
    "br": _Decoder("br", _brotli),
    "zstd": _Decoder("zstd", _zstd),
}
