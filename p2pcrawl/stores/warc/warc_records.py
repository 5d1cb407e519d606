"""Bytes of WARC 1.1 records, each a gzip member of its own, so that a reader can begin at any of them.

https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/ is the format. Digests are SHA-1 in
base 32, which is what tools for replay look pages up by; there is none of whole blocks, as gzip checks these already.
"""

from __future__ import annotations

import struct
import zlib
from base64 import b32encode
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Final, NamedTuple
from uuid import uuid4

from p2pcrawl.model.crawl.raw_page import RawPage

SOFTWARE: Final = "p2pcrawl"
SAME_PAYLOAD: Final = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"

_REQUEST: Final = "application/http; msgtype=request"
_ANSWER: Final = "application/http; msgtype=response"
_END: Final = b"\r\n\r\n"
_LEVEL: Final = 1
"""A third of the CPU of level 6, for files that are a twelfth larger."""
_GZIP_HEAD: Final = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_STORED_MAX: Final = 0xFFFF
_PACKED_TYPES: Final = ("image/", "video/", "audio/", "font/woff", "application/zip", "application/gzip")
"""Of bodies that are compressed by themselves; drawings in text are not."""


class Original(NamedTuple):
    """The record that holds a payload, as those refer to it that have the same one."""

    id: str
    url: str
    date: str


def new_id() -> str:
    """Makes the id of a record, which no other has."""
    return f"<urn:uuid:{uuid4()}>"


def date_of(seconds: float) -> str:
    """Writes a time as WARC 1.1 wants it, in microseconds."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def warcinfo(filename: str, began_at: float) -> bytes:
    """Makes the record that begins a file and says who wrote it."""
    told = {
        "software": f"{SOFTWARE} {version(SOFTWARE)}",
        "format": "WARC File Format 1.1",
        "conformsTo": "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        "description": "request and answer as they were sent; answers without the framing of chunks",
    }
    block = "".join(f"{name}: {value}\r\n" for name, value in told.items()).encode()
    head = _head(
        "warcinfo", new_id(), date_of(began_at), "application/warc-fields", len(block), f"WARC-Filename: {filename}\r\n"
    )
    return _member(head, block)


@dataclass(frozen=True, slots=True)
class PackedPage:
    """The records of one page, ready to be written one behind the other."""

    id: str
    date: str
    digest: str
    answer: bytes
    request: bytes


def pack_page(page: RawPage, sha1: bytes, original: Original | None) -> PackedPage:
    """Makes the records of a page whose body has this digest. With ``original`` the answer refers to that one's
    payload, and has only the head.
    """
    id, date, digest = new_id(), date_of(page.began_at), "sha1:" + b32encode(sha1).decode()
    about = f"WARC-Target-URI: {page.url}\r\n"
    if page.ip:
        about += f"WARC-IP-Address: {page.ip}\r\n"
    answer = _answer_record(page, id, date, f"{about}WARC-Payload-Digest: {digest}\r\n", original)
    block = page.request_head + page.request_body
    head = _head("request", new_id(), date, _REQUEST, len(block), f"{about}WARC-Concurrent-To: {id}\r\n")
    return PackedPage(id, date, digest, answer, _member(head, block))


def _answer_record(page: RawPage, id: str, date: str, fields: str, original: Original | None) -> bytes:
    kind, body = ("response", page.body) if original is None else ("revisit", b"")
    if original is not None:
        fields += (
            f"WARC-Profile: {SAME_PAYLOAD}\r\n"
            f"WARC-Refers-To: {original.id}\r\n"
            f"WARC-Refers-To-Target-URI: {original.url}\r\n"
            f"WARC-Refers-To-Date: {original.date}\r\n"
        )
    if page.truncated:
        fields += f"WARC-Truncated: {page.truncated}\r\n"
    head = _head(kind, id, date, _ANSWER, len(page.head) + len(body), fields)
    packed = page.is_encoded or (page.content_type.startswith(_PACKED_TYPES) and "svg" not in page.content_type)
    if packed and body:
        return _member_with_stored(head + page.head, body + _END)
    return _member(head, page.head, body)


def _head(kind: str, id: str, date: str, content_type: str, length: int, fields: str) -> bytes:
    return (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: {id}\r\nWARC-Date: {date}\r\n{fields}"
        f"Content-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


def _member(*parts: bytes | bytearray) -> bytes:
    """Packs a record that lacks only its end. All at once, for each step lets go of the interpreter."""
    return zlib.compress(b"".join((*parts, _END)), _LEVEL, 16 + zlib.MAX_WBITS)


def _member_with_stored(head: bytes, body: bytes | bytearray) -> bytes:
    """Packs the head and stores the body as it is: packing what is packed gains nothing, and costs five times more."""
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    parts: list[bytes | bytearray] = [_GZIP_HEAD, packer.compress(head), packer.flush(zlib.Z_SYNC_FLUSH)]
    for start in range(0, len(body), _STORED_MAX):
        piece = body[start : start + _STORED_MAX]
        last = start + _STORED_MAX >= len(body)
        parts += [struct.pack("<BHH", last, len(piece), len(piece) ^ 0xFFFF), piece]
    size = (len(head) + len(body)) & 0xFFFFFFFF
    parts.append(struct.pack("<II", zlib.crc32(body, zlib.crc32(head)), size))
    return b"".join(parts)
