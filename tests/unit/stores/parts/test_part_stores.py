"""What every place for parts promises, whoever keeps it."""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.address import parse_sink
from p2pcrawl.stores.parts.folder_store import FolderStore
from p2pcrawl.stores.parts.ftp_store import FtpStore
from p2pcrawl.stores.parts.object_store import OPTIONS, ObjectStore
from p2pcrawl.stores.parts.part_address import PartAddress, split_address
from p2pcrawl.stores.parts.part_store import Overtaken, PartStore
from tests.servers.file_servers import ftp_server
from tests.unit.stores.parts.memory_store import MemoryStore


@pytest.fixture(params=["memory", "folder", *(pytest.param(each, marks=pytest.mark.slow) for each in ("s3", "ftp"))])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[PartStore]:
    store = store_of(request, tmp_path)
    yield store
    await store.close()


def store_of(request: pytest.FixtureRequest, tmp_path: Path) -> PartStore:
    if request.param == "memory":
        return MemoryStore()
    if request.param == "folder":
        return FolderStore(tmp_path / "not yet" / "there")
    if request.param == "ftp":
        return ftp_store(request.getfixturevalue("ftp")[0], f"not yet/{secrets.token_hex(8)}")
    address = parse_sink(request.getfixturevalue("s3").address(f"shop/{secrets.token_hex(8)}/items.jsonl"))
    return ObjectStore(split_address(address, OPTIONS["s3"]), "s3", "secret")


def ftp_store(port: int, folder: str) -> FtpStore:
    return FtpStore(PartAddress("ada", f"127.0.0.1:{port}", folder, ".jsonl"), "secret")


async def test_file_is_what_was_put_last(place: PartStore) -> None:
    await place.put("_keys/one", b"1")
    await place.put("_keys/one", b"2")

    blob = await place.get("_keys/one")

    assert blob is not None and blob.data == b"2"
    assert await place.get("_keys/two") is None


async def test_file_is_told_of_without_reading_it(place: PartStore) -> None:
    assert await place.facts("full/one") is None
    await place.put("full/one", b"123")

    facts = await place.facts("full/one")

    assert facts is not None and facts.size == 3
    assert abs(facts.modified_at - time.time()) < 60


async def test_file_is_exchanged_by_one_who_has_seen_it(place: PartStore) -> None:
    first = await place.exchange("one", b"1", None)
    second = await place.exchange("one", b"2", first)

    blob = await place.get("one")

    assert blob is not None and (blob.data, blob.tag) == (b"2", second)
    if not place.compares:
        return
    with pytest.raises(Overtaken):
        await place.exchange("one", b"3", first)
    with pytest.raises(Overtaken):
        await place.exchange("one", b"3", None)


async def test_names_are_those_right_in_a_folder(place: PartStore) -> None:
    for name in ("one", "two", "_keys/three"):
        await place.put(name, b"x")

    assert sorted(await place.names("")) == ["one", "two"]
    assert await place.names("_keys") == ["three"]
    assert await place.names("_manifests") == []


async def test_removing_may_be_repeated(place: PartStore) -> None:
    await place.put("one", b"1")

    await place.delete("one")
    await place.delete("one")

    assert await place.get("one") is None


@pytest.mark.slow
async def test_server_that_renames_over_no_file_is_served_too(tmp_path: Path) -> None:
    with ftp_server(tmp_path, renames_over=False) as port:
        store = ftp_store(port, "items")
        for data in (b"1", b"2", b"3"):
            await store.put("one", data)

        blob = await store.get("one")
        names = await store.names("")
        (tmp_path / "items/one").rename(tmp_path / "items/_old-one")  # As a crash between the two renames leaves it.
        old = await store.get("one")
        await store.close()

    assert blob is not None and blob.data == b"3"
    assert names == ["one"]
    assert old is not None and old.data == b"3"


@pytest.mark.slow
async def test_connection_that_the_server_ended_is_made_again(tmp_path: Path) -> None:
    with ftp_server(tmp_path) as port:
        store = ftp_store(port, "items")
        await store.put("one", b"1")
    with ftp_server(tmp_path, port=port):
        blob = await store.get("one")
    await store.close()

    assert blob is not None and blob.data == b"1"


async def test_file_in_the_place_of_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "items").write_text("")

    with pytest.raises(ConfigurationError, match=r"cannot write .*/items: "):
        await FolderStore(tmp_path / "items").put("one", b"1")


async def test_draft_of_a_killed_writer_is_removed_with_the_next_exchange(tmp_path: Path) -> None:
    manifests = tmp_path / "items" / "_manifests"
    manifests.mkdir(parents=True)
    (manifests / ".writer.json.4711").write_bytes(b"{")
    (manifests / ".other.json.4711").write_bytes(b"{")

    await FolderStore(tmp_path / "items").exchange("_manifests/writer.json", b"{}", None)

    assert sorted(path.name for path in manifests.iterdir()) == [".other.json.4711", "writer.json"]
