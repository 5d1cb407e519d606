"""The file of the HTTP cache: bounded, private, shared, whole after kills."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from p2pcrawl.fetch.cache.cache_file import NAME, VARIANTS_MAX, CacheFile, Put
from p2pcrawl.model.errors import ConfigurationError

MIB = 1 << 20


def key(number: int) -> bytes:
    return number.to_bytes(16, "big")


def put(number: int, body: bytes, at: float = 0.0, variant: bytes = b"v") -> Put:
    return Put(key(number), variant, at, b"head", body)


def held(file: CacheFile, count: int) -> list[int]:
    return [number for number in range(count) if file.rows(key(number))]


def path_of(folder: Path) -> Path:
    return next(folder.rglob(NAME))


def test_what_is_written_is_there_for_others_until_it_is_dropped(tmp_path: Path) -> None:
    one, other = CacheFile(tmp_path), CacheFile(tmp_path)

    one.write([put(1, b"old"), put(1, b"new"), put(2, b"two")], [], [], MIB)
    (row,) = other.rows(key(1))

    assert (row.head, other.body(row.id, row.variant)) == (b"head", b"new")
    other.write([], [key(1)], [], MIB)
    assert one.rows(key(1)) == []
    assert one.body(row.id, row.variant) is None


def test_many_that_begin_at_once_share_one_file(tmp_path: Path) -> None:
    def use(number: int) -> None:
        file = CacheFile(tmp_path)
        file.write([put(number, b"body")], [], [], MIB)
        file.close()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(use, range(8)))

    assert held(CacheFile(tmp_path), 8) == list(range(8))


def test_body_of_a_row_that_has_been_replaced_is_not_taken_for_it(tmp_path: Path) -> None:
    file = CacheFile(tmp_path)
    file.write([put(1, b"one")], [], [], MIB)
    (row,) = file.rows(key(1))

    file.write([put(2, b"two", variant=b"w")], [key(1)], [], MIB)

    assert file.body(row.id, row.variant) is None


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    file = CacheFile(tmp_path)
    body = bytes(8_000)
    file.write([put(n, body, at=n) for n in range(100)], [], [], MIB)
    (first,) = file.rows(key(0))

    file.write([put(n, body, at=n) for n in range(100, 200)], [], [(1_000.0, first.id)], MIB)

    left = held(file, 200)
    assert 0 in left
    assert 199 in left
    assert 1 not in left
    assert file.taken <= MIB


def test_file_stays_within_its_bound_and_shrinks_with_it(tmp_path: Path) -> None:
    file = CacheFile(tmp_path)
    for number in range(600):
        file.write([put(number, os.urandom(number * 97 % 20_000), at=number)], [], [], 2 * MIB)
    full = path_of(tmp_path).stat().st_size

    file.write([put(1_000, b"x", at=1_000)], [], [], MIB // 2)
    file.close()

    assert full <= 2.2 * MIB
    assert path_of(tmp_path).stat().st_size <= MIB


def test_answers_of_one_request_are_bounded(tmp_path: Path) -> None:
    file = CacheFile(tmp_path)

    file.write([put(1, b"", variant=key(n)) for n in range(5 * VARIANTS_MAX)], [], [], MIB)

    assert len(file.rows(key(1))) == VARIANTS_MAX


def test_change_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    file = CacheFile(tmp_path)
    file.write([put(1, b"one")], [], [], MIB)

    with pytest.raises(sqlite3.Error):
        file.write([put(2, b"two"), put(3, b"", variant=None)], [key(1)], [], MIB)  # type: ignore[arg-type]

    assert held(file, 4) == [1]
    file.write([put(4, b"four")], [], [], MIB)
    assert held(file, 5) == [1, 4]


def test_nobody_else_reads_it_whatever_the_folder_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)

    CacheFile(tmp_path).write([put(1, b"secret")], [], [], MIB)

    path = path_of(tmp_path)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()} == {0o600}


def test_link_that_was_planted_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    CacheFile(tmp_path).close()
    inner = path_of(tmp_path).parent
    inner.rename(tmp_path / "old")
    inner.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(ConfigurationError, match="is not a folder"):
        CacheFile(tmp_path)


def test_cache_of_another_version_is_refused_by_name(tmp_path: Path) -> None:
    CacheFile(tmp_path).close()
    with sqlite3.connect(path_of(tmp_path)) as db:
        db.execute("PRAGMA user_version = 99")

    with pytest.raises(ConfigurationError, match="another version of p2pcrawl: delete it"):
        CacheFile(tmp_path)


_WRITER = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from p2pcrawl.fetch.cache.cache_file import CacheFile, Put
file, number = CacheFile(Path(sys.argv[1])), 0
while True:
    number += 1
    body = number.to_bytes(4, "big") * 5_000
    file.write([Put(n.to_bytes(16, "big"), b"v", number, b"head", body) for n in range(3)], [], [], 1 << 20)
    print(number, flush=True)
"""


def test_killed_writers_leave_whole_answers_of_one_change(tmp_path: Path) -> None:
    for _ in range(3):
        writer = subprocess.Popen([sys.executable, "-c", _WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        for _ in range(20):
            said = int(writer.stdout.readline())
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        writer.stdout.close()

        file = CacheFile(tmp_path)
        bodies = {file.body(row.id, row.variant) for n in range(3) for row in file.rows(key(n))}

        (body,) = bodies
        assert body is not None
        assert body == body[:4] * 5_000
        assert int.from_bytes(body[:4], "big") >= said
        file.close()
