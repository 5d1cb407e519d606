"""Bytes that gzip made, of pages whose servers do not say so."""

from __future__ import annotations

import zlib
from gzip import BadGzipFile
from typing import Any

from p2pcrawl.spiders.formats.gzip_members import MAGIC, inflated

INFLATED_MAX = 1 << 30


def gunzip(data: bytes, *, max_size: int = INFLATED_MAX) -> bytes:
    """Returns what gzip made ``data`` of; as much as can be had where the end is missing or damaged. Raises
    BadGzipFile for what gzip did not make, and another OSError for what is more than ``max_size`` bytes.
    """
    if data and not data.startswith(MAGIC):
        raise BadGzipFile("gzip did not make this")
    parts: list[bytes] = []
    left = max_size or INFLATED_MAX
    try:
        for part in inflated(data):
            parts.append(part)
            left -= len(part)
            if left < 0:
                raise OSError(f"more than {max_size or INFLATED_MAX} bytes come out of this")
    except zlib.error as error:
        if not parts:
            raise BadGzipFile(f"gzip did not make this: {error}") from error
    return b"".join(parts)


def gzip_magic_number(response: Any) -> bool:
    """Tells whether the body of a response begins as what gzip makes."""
    body: bytes = response.body
    return body[:3] == b"\x1f\x8b\x08"
