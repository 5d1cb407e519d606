"""Raw pages in WARC files, as a library reads them that is not ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from warcio.archiveiterator import ArchiveIterator


def answers_in(folder: Path) -> Iterator[tuple[str, str]]:
    """Yields URL and status of each answer in the files of a folder; raises where a file is not whole."""
    for path in sorted(folder.glob("*.warc.gz")):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                if record.rec_type in ("response", "revisit"):
                    yield record.rec_headers.get_header("WARC-Target-URI"), record.http_headers.get_statuscode()
                record.raw_stream.read()
