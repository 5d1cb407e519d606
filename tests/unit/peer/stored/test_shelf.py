"""The raw pages on the machine of a peer: found, also in files that are being written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from p2pcrawl.model.crawl.fingerprint import fingerprint
from p2pcrawl.peer.stored import shelf as shelves
from p2pcrawl.peer.stored.shelf import INDEX, Shelf
from p2pcrawl.stores.warc.place import WarcPlace
from p2pcrawl.stores.warc.warc_folder import WarcFolder
from tests.unit.stores.warc.conftest import raw_page_of

LIMIT = 1_000_000


def key_of(number: int) -> bytes:
    return fingerprint(f"http://site.example/p/{number}")


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Shelf]:
    shelf = Shelf(folder / "raw", folder)
    try:
        yield shelf
    finally:
        await shelf.close()


async def dates(shelf: Shelf, job: int, numbers: Sequence[int]) -> dict[bytes, str]:
    """Asks again while files are gone through."""
    while True:
        found = await shelf.dates(job, [key_of(number) for number in numbers])
        if found is not None:
            return found
        await asyncio.sleep(0.001)


async def test_pages_in_a_file_that_is_being_written_are_found_before_and_after_it_has_its_name(tmp_path: Path) -> None:
    place = WarcPlace(tmp_path / "raw")
    place.make()
    warcs = WarcFolder(place)
    await warcs.keep(raw_page_of(1))
    async with opened(tmp_path) as shelf:
        before = await dates(shelf, 1, [1, 2])
        await warcs.keep(raw_page_of(2))
        meanwhile = await dates(shelf, 1, [1, 2])
        later = await dates(shelf, 2, [1, 2])
        while_open = await shelf.page(key_of(2), LIMIT)
        await warcs.close()
        when_named = await shelf.page(key_of(2), LIMIT)

    assert set(before) == set(meanwhile) == {key_of(1)}, "a job reads what was there when it began"
    assert set(later) == {key_of(1), key_of(2)}
    assert while_open is not None and while_open == when_named and while_open.body == b"<p>page 2"


async def test_index_that_is_damaged_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelves, "AGAIN_S", 0.0)
    place = WarcPlace(tmp_path / "raw")
    place.make()
    warcs = WarcFolder(place)
    await warcs.keep(raw_page_of(1))
    await warcs.close()
    (tmp_path / INDEX).write_bytes(b"this is no database" * 100)

    async with opened(tmp_path) as shelf:
        found = await dates(shelf, 1, [1])

    assert set(found) == {key_of(1)}


async def test_peer_without_a_folder_has_no_pages(tmp_path: Path) -> None:
    shelf = Shelf(None, tmp_path)

    found, page = await shelf.dates(1, [key_of(1)]), await shelf.page(key_of(1), LIMIT)

    assert found == {} and page is None
