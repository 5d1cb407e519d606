"""WARC files whose writer was killed: cut back to the last whole record, indexed, and given their names.

Each record is a gzip member, so what is whole can be told without trusting anything else: a member that ends, and whose
checksum is right.
"""

from __future__ import annotations

import io
import logging
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from p2pcrawl.stores.warc.cdxj import REVISIT, index_line, mime_of
from p2pcrawl.stores.warc.members import FoundRecord, head_fields, record_fields, whole_records
from p2pcrawl.stores.warc.warc_file import ENDING, OPEN, finish, lock, unfinished
from p2pcrawl.stores.warc.warc_records import SOFTWARE

log = logging.getLogger(__name__)

_OURS: Final = re.compile(r".+-\d{14}-\d{5}-.+-\d+" + re.escape(ENDING + OPEN)).fullmatch


def mend(folder: Path) -> None:
    """Ends what was left open in a folder by processes that are gone, and logs what cannot be ended.

    Files that somebody still writes are left alone, and those of other programs.
    """
    for open_file in sorted(folder.glob(f"*{ENDING}{OPEN}")):
        if not _OURS(open_file.name):
            continue
        try:
            _mend_one(open_file.with_name(open_file.name.removesuffix(OPEN)))
        except (FileNotFoundError, BlockingIOError):
            # Somebody else has ended it, or still writes it.
            continue
        except OSError as error:
            log.warning("%s cannot be ended: %s", open_file, error.strerror or error)


def _mend_one(path: Path) -> None:
    descriptor = os.open(unfinished(path), os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    with io.FileIO(descriptor, "r+b") as file:
        if not lock(descriptor):
            log.warning("%s stays as it is: without locks nobody can tell whether it is still written", path)
            return
        if not os.path.samestat(os.stat(unfinished(path)), os.fstat(descriptor)):
            return
        size, whole, records, lines = os.fstat(descriptor).st_size, 0, 0, []
        for member, line in _indexed(file, path.name):
            if not whole and b"software: " + SOFTWARE.encode() not in member.head:
                return
            whole, records = member.offset + member.length, records + (member.offset > 0)
            if line:
                lines.append(line)
        if whole < size:
            file.truncate(whole)
        finish(file, path, records, lines)
        log.info(
            "%s was left by a process that is gone: it has %d records, %d bytes cut off", path, records, size - whole
        )


def _indexed(file: io.FileIO, filename: str) -> Iterator[tuple[FoundRecord, bytes]]:
    """Yields each whole record, with the line of the answer that is certain by then; b"" where none is."""
    waiting, waits_for = b"", ""
    last: FoundRecord | None = None
    for member in whole_records(file):
        fields, block = record_fields(member.head)
        kind, told = fields.get("warc-type", ""), b""
        if kind == "request" and fields.get("warc-concurrent-to") == waits_for:
            # Only what was asked for with GET answers for its URL.
            told, waiting = (waiting if block.startswith(b"GET ") else b""), b""
        elif waiting:
            told, waiting = waiting, b""
        if kind in ("response", "revisit"):
            waiting, waits_for = _line_of(fields, block, member, filename), fields.get("warc-record-id", "")
        last = member
        yield member, told
    if waiting and last is not None:
        yield last, waiting


def _line_of(fields: dict[str, str], block: bytes, member: FoundRecord, filename: str) -> bytes:
    status, _, rest = block.partition(b"\n")
    headers = head_fields(rest)
    return index_line(
        fields.get("warc-target-uri", ""),
        fields.get("warc-date", ""),
        mime=REVISIT if fields["warc-type"] == "revisit" else mime_of(headers.get("content-type", "")),
        status=status.decode("latin-1").split()[1],
        digest=fields.get("warc-payload-digest", ""),
        offset=member.offset,
        length=member.length,
        filename=filename,
    )
