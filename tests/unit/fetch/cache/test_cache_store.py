"""The stock of answers in one process."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from p2pcrawl.core.caching.stored_answer import StoredAnswer
from p2pcrawl.fetch.cache import cache_store
from p2pcrawl.fetch.cache.cache_file import NAME
from p2pcrawl.fetch.cache.cache_store import CacheStore
from p2pcrawl.model.errors import StorageError

KEY, VARIANT = b"k" * 16, b"v" * 16
MIB = 1 << 20
IT = StoredAnswer("http://a.example/", 200, (("ETag", '"a"'),), 1.0, 2.0, "93.184.216.34", ("accept",), b"c")


@asynccontextmanager
async def opened(folder: Path, bytes_max: int = 64 * MIB, *, packed: bool = False) -> AsyncIterator[CacheStore]:
    store = CacheStore(folder, bytes_max, packed=packed)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


async def bodies(store: CacheStore, key: bytes = KEY) -> list[bytes | None]:
    return [await store.body(found, 3.0) for found in store.find(key)]


def file_of(folder: Path) -> Path:
    return next(folder.rglob(NAME))


def files_of(folder: Path) -> list[Path]:
    return [*file_of(folder).parent.iterdir()]


async def written(folder: Path, *, packed: bool = False, body: bytes = b"body") -> None:
    async with opened(folder, packed=packed) as store:
        assert store.put(KEY, VARIANT, IT, body, 2.0)


async def test_answer_is_there_before_it_is_written_and_after(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        assert store.put(KEY, VARIANT, IT, b"body", 2.0)
        assert await bodies(store) == [b"body"]
        assert store.find(KEY)[0].stored.headers == IT.headers

    async with opened(tmp_path) as later:
        (found,) = later.find(KEY)
        assert await later.body(found, 3.0) == b"body"
        assert (found.stored.fields, found.stored.choice, found.stored.size) == ({"etag": '"a"'}, b"c", 4)


async def test_dropped_answer_is_gone_before_that_is_written(tmp_path: Path) -> None:
    await written(tmp_path)
    async with opened(tmp_path) as store:
        store.put(b"o" * 16, VARIANT, IT, b"other", 2.0)
        store.put(KEY, b"w" * 16, IT, b"second", 2.0)

        store.drop([KEY])

        assert await bodies(store) == []
        assert await bodies(store, b"o" * 16) == [b"other"]
        store.put(KEY, VARIANT, IT, b"third", 2.0)
        assert await bodies(store) == [b"third"]


async def test_processes_see_what_each_other_have_written(tmp_path: Path) -> None:
    async with opened(tmp_path) as one:
        await written(tmp_path)

        assert await bodies(one) == [b"body"]


@pytest.mark.parametrize("size", [0, 100, cache_store.LARGE + 1])
@pytest.mark.parametrize("packed", [True, False])
async def test_bodies_come_back_as_they_were_packed_or_not(size: int, packed: bool, tmp_path: Path) -> None:
    await written(tmp_path, packed=packed, body=b"x" * size)

    async with opened(tmp_path, packed=not packed) as store:
        assert await bodies(store) == [b"x" * size]
    if packed and size:
        assert sum(each.stat().st_size for each in files_of(tmp_path)) < 200_000


async def test_answer_that_would_fill_the_cache_is_not_stored(tmp_path: Path) -> None:
    async with opened(tmp_path, MIB) as store:
        assert not store.put(KEY, VARIANT, IT, bytes(MIB // 4), 2.0)
        assert store.put(KEY, VARIANT, IT, bytes(MIB // 16), 2.0)


async def test_more_than_can_wait_to_be_written_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_store, "PENDING_MAX", 10_000)
    async with opened(tmp_path) as store:
        kept = [store.put(bytes([n]) * 16, VARIANT, IT, bytes(3_500), 2.0) for n in range(9)]

        # The first is on its way to the disk.
        assert kept == [True] * 3 + [False] * 6


async def test_damaged_file_costs_hits_and_one_line_and_no_page(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await written(tmp_path, body=b"x" * 100_000)
    async with opened(tmp_path) as store:
        path = file_of(tmp_path)
        path.write_bytes(path.read_bytes()[:4_096] + b"\xff" * (path.stat().st_size - 4_096))

        for n in range(5):
            store.find(bytes([n]) * 16)
            await bodies(store)
            store.put(bytes([n]) * 16, VARIANT, IT, b"body", 2.0)

    assert len([line for line in caplog.messages if "does not work as it should" in line]) == 1


async def test_file_that_is_no_cache_is_refused_in_one_line(tmp_path: Path) -> None:
    await written(tmp_path)
    for each in files_of(tmp_path):
        each.write_bytes(b"not a database at all" * 1_000)

    with pytest.raises(StorageError, match=r"cannot be opened: .*; delete it"):
        await CacheStore(tmp_path, MIB).open()


async def test_time_of_use_is_written_so_that_what_is_used_stays(tmp_path: Path) -> None:
    await written(tmp_path)
    async with opened(tmp_path) as store:
        await store.body(store.find(KEY)[0], 500.0)

    with sqlite3.connect(file_of(tmp_path)) as db:
        assert db.execute("SELECT used FROM answer").fetchall() == [(500.0,)]
