"""Raw pages that are made up, and WARC files read back by a library that is not ours."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec import json
from warcio.archiveiterator import ArchiveIterator

from p2pcrawl.model.crawl.raw_page import RawPage


@dataclass(frozen=True)
class Read:
    """A record, as warcio reads it; its digests are right."""

    kind: str
    url: str
    fields: dict[str, str]
    head: bytes
    body: bytes


def records_in(data: bytes) -> list[Read]:
    """Reads whole records, and raises for what is none and for wrong digests."""
    found = []
    for record in ArchiveIterator(io.BytesIO(data), check_digests="raise"):
        fields = dict(record.rec_headers.headers)
        body = record.raw_stream.read()
        head = record.http_headers.to_bytes() if record.http_headers else b""
        found.append(Read(record.rec_type, fields.get("WARC-Target-URI", ""), fields, head, body))
    return found


def index_of_folder(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    """Reads all indexes, each of which is sorted: keys and what is told of them."""
    found = []
    for path in sorted(folder.glob("*.cdxj")):
        lines = path.read_bytes().splitlines()
        assert lines == sorted(lines)
        for line in lines:
            key, _, told = line.split(b" ", 2)
            found.append((key.decode(), json.decode(told)))
    return found


def raw_page_of(number: int, body: bytes = b"", **fields: Any) -> RawPage:
    """Makes a page; its body is its own unless one is given."""
    path = f"/p/{number}"
    body = body or b"<p>page %d" % number
    told = {
        "url": f"http://site.example{path}",
        "method": "GET",
        "began_at": 1_700_000_000.25 + number,
        "ip": "127.0.0.1",
        "request_head": f"GET {path} HTTP/1.1\r\nHost: site.example\r\n\r\n".encode(),
        "request_body": b"",
        "status": 200,
        "content_type": "text/html; charset=utf-8",
        "is_encoded": False,
        "head": b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n",
        "body": body,
        "truncated": "",
    }
    return RawPage(**told | fields)


@pytest.fixture
def warcs(tmp_path: Path) -> Callable[[], list[Path]]:
    """Lists the files that have their names."""
    return lambda: sorted(tmp_path.glob("*.warc.gz"))
