"""Checks whether the log that a crash has left beside a database is whole.

SQLite takes from a log what comes before the first frame whose sum is wrong, and drops the rest without a word: after a
power cut the last transaction may have been written in part. But each commit is synced before the next begins. So
where *two* commits follow behind the first bad frame, the first of them was on disk, and the log was damaged later.
What this does not find: damage to the very last transaction, and a log that was cut short.

The format: https://www.sqlite.org/walformat.html
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import BinaryIO, Final

_HEADER: Final = struct.Struct(">8I")
"""Magic, version, page size, sequence, two salts, two sums."""
_FRAME: Final = struct.Struct(">4I")
"""Page, size of the database if it is a commit, two salts."""
_FRAME_BYTES: Final = 24
_MAGICS: Final = {0x377F0682: "<", 0x377F0683: ">"}
_TAKEN_AT: Final = 16
"""Where the index of a log, beside it, says how many frames are good."""


def broken_log(path: Path) -> str:
    """Returns what is wrong with a database's log, or "". Nothing is changed. Raises OSError and
    sqlite3.DatabaseError.
    """
    log = path.with_name(f"{path.name}-wal")
    try:
        with open(log, "rb") as file:
            header = file.read(_HEADER.size)
            if len(header) < _HEADER.size or not file.read(1):
                return ""
            if not _whole(header):
                return f"the head of {log.name} makes no sense"
            commits = list(_commits(file, header))
    except FileNotFoundError:
        return ""
    if len(commits) < 2:
        return ""
    taken = _frames_taken(path)
    dropped = sum(1 for frame in commits if frame > taken)
    return f"{log.name} makes no sense from frame {taken + 1} on" if dropped > 1 else ""


def _whole(header: bytes) -> bool:
    """Tells whether the sums are those of what is before them."""
    magic, *_, first, second = _HEADER.unpack(header)
    if magic not in _MAGICS:
        return False
    words = struct.unpack(f"{_MAGICS[magic]}6I", header[:24])
    one = two = 0
    for at in range(0, 6, 2):
        one = (one + words[at] + two) & 0xFFFFFFFF
        two = (two + words[at + 1] + one) & 0xFFFFFFFF
    return (one, two) == (first, second)


def _commits(file: BinaryIO, header: bytes) -> Iterator[int]:
    """Yields the numbers of the frames, from 1, that end a transaction of this log; older ones may follow."""
    _, _, page, _, *salts, _, _ = _HEADER.unpack(header)
    number = 0
    while True:
        file.seek(_HEADER.size + number * (_FRAME_BYTES + page))
        frame = file.read(_FRAME.size)
        if len(frame) < _FRAME.size:
            return
        number += 1
        _, size, *of = _FRAME.unpack(frame)
        if size and of == salts:
            yield number


def _frames_taken(path: Path) -> int:
    """Counts the frames that SQLite takes for good. A connection that may only read leaves the log as it is."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        connection.execute("PRAGMA user_version").fetchone()
        index = path.with_name(f"{path.name}-shm").read_bytes()[: _TAKEN_AT + 4]
    return int(struct.unpack_from("=I", index, _TAKEN_AT)[0]) if len(index) == _TAKEN_AT + 4 else 0
