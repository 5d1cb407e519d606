"""Bytes that gzip made, of pages whose servers do not say so."""

from __future__ import annotations

import zlib
from gzip import BadGzipFile
from typing import Any

INFLATED_MAX = 1 << 30


def gunzip(data: bytes, *, max_size: int = INFLATED_MAX) -> bytes:
    """Returns what gzip made ``data`` of; as much as can be had where the end is missing. Raises BadGzipFile for
    what gzip did not make, and another OSError for what is more than ``max_size`` bytes.
    """
    parts: list[bytes] = []
    left = max_size or INFLATED_MAX
    while data:
        member = zlib.decompressobj(wbits=31)
        try:
            part = member.decompress(data, left + 1)
        except zlib.error as error:
            if parts:  # What follows the members of a file is no member: servers pad.
                break
            raise BadGzipFile(f"gzip did not make this: {error}") from error
        parts.append(part)
        left -= len(part)
        if left < 0:
            raise OSError(f"more than {max_size or INFLATED_MAX} bytes come out of this")
        data = member.unused_data
    return b"".join(parts)


def gzip_magic_number(response: Any) -> bool:
    """Tells whether the body of a response begins as what gzip makes."""
    body: bytes = response.body
    return body[:3] == b"\x1f\x8b\x08"
