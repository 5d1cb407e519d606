"""The answers in a WARC file, each with the request that it was given to, and one record of it read whole."""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from p2pcrawl.model.errors import StorageError
from p2pcrawl.stores.warc.members import FoundRecord, head_fields, record_fields, whole_records

_PIECE: Final = 1 << 16
HEAD_END: Final = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class WarcAnswer:
    """An answer, and where its record is. ``refers``: the id of the record that has its body, where it has not;
    ``digest``: that of the body.
    """

    record: str
    url: str
    date: str
    status: int
    place: int
    refers: str
    digest: str
    truncated: str
    method: str = "GET"
    request_body: bytes = b""

    @property
    def is_revisit(self) -> bool:
        return bool(self.refers)


def stored_answers(path: Path, stopped: Callable[[int], None] = lambda place: None) -> Iterator[WarcAnswer]:
    """Yields the answers of a file, up to the first record that is not whole, or no gzip member of its own: ``stopped``
    is given its place. Raises OSError.
    """
    with io.FileIO(path) as file:
        waiting: WarcAnswer | None = None
        end = 0
        for member in whole_records(file):
            fields, block = record_fields(member.head)
            if _has_more(member, fields):
                stopped(member.offset)
                break
            end = member.offset + member.length
            kind = fields.get("warc-type", "")
            if kind == "request" and waiting is not None and fields.get("warc-concurrent-to") == waiting.record:
                yield _with_request(waiting, fields, block, path, member.offset)
                waiting = None
            elif kind in ("response", "revisit"):
                if waiting is not None:
                    yield waiting
                waiting = _answer(fields, block, member.offset)
        else:
            if end < os.fstat(file.fileno()).st_size:
                stopped(end)
        if waiting is not None:
            yield waiting


def _has_more(member: FoundRecord, fields: dict[str, str]) -> bool:
    """Tells whether there is more in a gzip member than one record."""
    length = fields.get("content-length", "")
    own, mark, _ = member.head.partition(HEAD_END)
    return bool(mark) and length.isdigit() and member.unpacked > len(own) + 2 * len(HEAD_END) + int(length)


def read_record(path: Path, place: int, limit: int) -> tuple[dict[str, str], bytes]:
    """Reads the record at a place: its fields, and its whole block. Raises StorageError for what is none, OSError."""
    unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)
    whole = bytearray()
    descriptor = os.open(path, os.O_RDONLY)
    try:
        while not unpacker.eof:
            piece = unpacker.unconsumed_tail or os.pread(descriptor, _PIECE, place)
            if not piece:
                raise StorageError(f"{path} has no whole record at {place}")
            if not unpacker.unconsumed_tail:
                place += len(piece)
            whole += unpacker.decompress(piece, _PIECE * 16)
            if len(whole) > limit:
                raise StorageError(f"a record of {path} is over {limit} bytes")
    except zlib.error as error:
        raise StorageError(f"{path} has no whole record at {place}: {error}") from error
    finally:
        os.close(descriptor)
    own, _, block = bytes(whole).partition(HEAD_END)
    fields = head_fields(own.partition(b"\r\n")[2])
    with suppress(ValueError):
        block = block[: int(fields.get("content-length", len(block)))]
    return fields, block


def _answer(fields: dict[str, str], block: bytes, place: int) -> WarcAnswer | None:
    status = block.partition(b"\n")[0].split()
    url = fields.get("warc-target-uri", "").strip("<>")
    if len(status) < 2 or not status[1].isdigit() or not url.startswith("http"):
        return None
    digest = fields.get("warc-payload-digest", "")
    refers = (fields.get("warc-refers-to") or digest) if fields["warc-type"] == "revisit" else ""
    return WarcAnswer(
        fields.get("warc-record-id", ""),
        url,
        fields.get("warc-date", ""),
        int(status[1]),
        place,
        refers,
        digest,
        fields.get("warc-truncated", ""),
    )


def _with_request(answer: WarcAnswer, fields: dict[str, str], block: bytes, path: Path, place: int) -> WarcAnswer:
    if block.startswith(b"GET "):
        return answer
    head, _, body = block.partition(HEAD_END)
    expected = int(fields.get("content-length", "0")) - len(head) - len(HEAD_END)
    if len(body) < expected:
        # Only the beginning of long records is looked at.
        _, block = read_record(path, place, expected + (1 << 20))
        head, _, body = block.partition(HEAD_END)
    method = head.partition(b" ")[0].decode("latin-1")
    return replace(answer, method=method, request_body=body[: max(0, expected)])
