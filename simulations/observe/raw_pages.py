"""Reads the raw pages that a machine has stored from its files, without the code that reads them for masters."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

FOLDER: Final = "raw"
"""Within a machine's data folder."""


class StoredAnswer(NamedTuple):
    """An answer as a file has it."""

    url: str
    date: str
    status: int
    body: bytes


def stored_in(folder: Path) -> Iterator[StoredAnswer]:
    """Reads what a folder has."""
    for path in sorted(folder.glob("*.warc.gz")):
        rest = gzip.decompress(path.read_bytes())
        while rest:
            head, _, rest = rest.partition(b"\r\n\r\n")
            fields = dict(line.split(": ", 1) for line in head.decode().splitlines() if ": " in line)
            size = int(fields["Content-Length"])
            block, rest = rest[:size], rest[size + len(b"\r\n\r\n") :]
            if fields["WARC-Type"] == "response":
                said, _, body = block.partition(b"\r\n\r\n")
                yield StoredAnswer(fields["WARC-Target-URI"], fields["WARC-Date"], int(said.split()[1]), body)
