"""Which encoding a body is in, found as browsers do.

A byte-order mark wins, then the charset of Content-Type, then what the first 4,096 bytes declare. Without any of them:
UTF-8 if it is UTF-8, else the likeliest of the web's legacy encodings.
"""

from __future__ import annotations

from functools import lru_cache

import charset_normalizer
from w3lib.encoding import (
    html_body_declared_encoding,
    http_content_type_encoding,
    read_bom,
    resolve_encoding,
)

PRESCAN_SIZE = 4096
GUESS_SIZE = 8192
_BOM_STARTS = (b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe", b"\x00\x00\xfe\xff")
_LEGACY = [
    "cp1252",
    "cp1251",
    "cp1250",
    "shift_jis",
    "euc_jp",
    "gb18030",
    "big5",
    "euc_kr",
    "koi8_r",
    "iso8859_2",
    "cp1253",
    "cp1254",
    "cp1255",
    "cp1256",
    "cp1257",
    "cp874",
]


def encoding_of(body: bytes, content_type: str = "") -> str:
    """The Python name of the encoding. Never raises; text that cannot be placed is ``cp1252``, as in browsers."""
    if body.startswith(_BOM_STARTS):
        bom = read_bom(body)[0]
        if bom is not None:
            return bom
    return charset_of(content_type) or _declared(body[:PRESCAN_SIZE]) or _guessed(body)


@lru_cache(maxsize=256)
def charset_of(content_type: str) -> str | None:
    """The encoding that a Content-Type names, if it is one that exists."""
    return http_content_type_encoding(content_type) if content_type else None


def decoded(body: bytes, encoding: str) -> str:
    """The text; what cannot be read is replaced."""
    if encoding == "utf-8":
        return body.decode("utf-8-sig" if body.startswith(b"\xef\xbb\xbf") else "utf-8", "replace")
    try:
        text = body.decode(encoding, "replace")
    except (LookupError, UnicodeError):
        text = body.decode("cp1252", "replace")
    return text.removeprefix("\ufeff")


def _declared(head: bytes) -> str | None:
    declared = html_body_declared_encoding(head)
    if declared and declared.startswith(("utf-16", "utf-32")):
        # It was read as ASCII, so it cannot be that: the standard says UTF-8.
        return "utf-8"
    return declared


def _guessed(body: bytes) -> str:
    try:
        body.decode("utf-8")
        return "utf-8"
    except UnicodeDecodeError:
        pass
    start = next((at for at, byte in enumerate(body[:GUESS_SIZE]) if byte >= 0x80), 0)
    sample = body[: GUESS_SIZE if start < GUESS_SIZE else 0] or body[:GUESS_SIZE]
    if b"\x00" in sample:
        return "cp1252"
    best = charset_normalizer.from_bytes(sample, cp_isolation=_LEGACY, steps=5, chunk_size=512).best()
    return (resolve_encoding(best.encoding) if best else None) or "cp1252"
