"""Parts as whoever reads them sees them."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
from collections.abc import Mapping
from typing import Any

import pyarrow.parquet as pq

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def counting(files: Mapping[str, bytes]) -> list[str]:
    """The names of the parts that some manifest lists."""
    manifests = [json.loads(data) for name, data in files.items() if name.startswith("_manifests/")]
    return [part["name"] for manifest in manifests for part in manifest["parts"]]


def globbed(files: Mapping[str, bytes]) -> list[str]:
    """The names of what somebody finds who asks for all parts."""
    return [name for name in files if name.startswith("part-")]


def items_of(name: str, data: bytes) -> list[dict[str, Any]]:
    """The items of a part, whatever its format."""
    if name.endswith(".parquet"):
        rows: list[dict[str, Any]] = pq.read_table(io.BytesIO(data)).to_pylist()
        return rows
    text = gzip.decompress(data) if name.endswith(".gz") else zstd.decompress(data) if name.endswith(".zst") else data
    if ".csv" in name:
        return list(csv.DictReader(io.StringIO(text.decode(), newline=""), strict=True))
    return [json.loads(line) for line in text.decode().splitlines()]


def numbers(files: Mapping[str, bytes], names: list[str]) -> list[int]:
    """The field ``n`` of all items of these parts, in order."""
    return sorted(int(item["n"]) for name in names for item in items_of(name, files[name]))
