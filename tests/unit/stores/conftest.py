"""Documents read back strictly, by the standard library, whatever their format."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import pytest

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_PACKERS: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress, ".zst": zstd.compress}
_UNPACKERS: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.decompress, ".zst": zstd.decompress}
FORMATS = ("jsonl", "json", "csv", "xml")


@dataclass(frozen=True)
class Kind:
    """A format, plain or compressed."""

    format: str
    packing: str

    @property
    def extension(self) -> str:
        return f".{self.format}{self.packing}"

    def packed(self, text: str) -> bytes:
        data = text.encode()
        return _PACKERS[self.packing](data)

    def read(self, path: Path) -> list[tuple[str, str]]:
        """The (id, text) pairs of a document; raises when it is not whole and valid."""
        data = path.read_bytes()
        assert data or not self.packing, "no bytes at all are no packed file"
        text = _UNPACKERS[self.packing](data).decode()
        return [(str(one), other) for one, other in _READERS[self.format](text)]

    def document(self, pairs: list[tuple[str, str]]) -> bytes:
        """A document as other programs write it."""
        match self.format:
            case "jsonl":
                text = "".join(json.dumps({"id": one, "text": other}) + "\n" for one, other in pairs)
            case "json":
                text = json.dumps([{"id": one, "text": other} for one, other in pairs], indent=4)
            case "csv":
                written = io.StringIO(newline="")
                csv.writer(written).writerows([("id", "text"), *pairs])
                text = written.getvalue()
            case _:
                inner = "".join(f"\n  <item>\n<id>{one}</id><text>{other}</text></item>" for one, other in pairs)
                text = f"<items>{inner}\n</items>"
        return self.packed(text)


def _read_jsonl(text: str) -> list[tuple[str, str]]:
    assert not text or text.endswith("\n")
    return [(item["id"], item["text"]) for item in map(json.loads, text.split("\n")[:-1])]


def _read_json(text: str) -> list[tuple[str, str]]:
    return [(item["id"], item["text"]) for item in json.loads(text)]


def _read_csv(text: str) -> list[tuple[str, str]]:
    header, *rows = list(csv.reader(io.StringIO(text, newline=""), strict=True)) or [[]]
    assert all(len(row) == len(header) for row in rows)
    return [(row[header.index("id")], row[header.index("text")]) for row in rows]


def _read_xml(text: str) -> list[tuple[str, str]]:
    root = ElementTree.fromstring(text)
    assert root.tag == "items"
    return [(item.findtext("id") or "", item.findtext("text") or "") for item in root]


_READERS: dict[str, Callable[[str], list[tuple[str, str]]]] = {
    "jsonl": _read_jsonl,
    "json": _read_json,
    "csv": _read_csv,
    "xml": _read_xml,
}

KINDS = [Kind(format, packed) for format in FORMATS for packed in _PACKERS]


@pytest.fixture(params=KINDS, ids=lambda kind: kind.extension)
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param
