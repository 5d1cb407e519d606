"""What every place for parts promises, whoever keeps it."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.address import parse_sink
from p2pcrawl.stores.parts.folder_store import FolderStore
from p2pcrawl.stores.parts.object_store import ObjectStore
from p2pcrawl.stores.parts.part_store import Overtaken, PartStore
from tests.unit.stores.parts.memory_store import MemoryStore

OPTIONS = frozenset({"endpoint", "region"})


@pytest.fixture(params=["memory", "folder", pytest.param("s3", marks=pytest.mark.slow)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> PartStore:
    if request.param == "memory":
        return MemoryStore()
    if request.param == "folder":
        return FolderStore(tmp_path / "not yet" / "there")
    address = parse_sink(request.getfixturevalue("s3").address("items.jsonl"), OPTIONS)
    return ObjectStore(address, "key", "crawls", f"shop/{secrets.token_hex(8)}")


async def test_file_is_what_was_put_last(place: PartStore) -> None:
    await place.put("_keys/one", b"1")
    await place.put("_keys/one", b"2")

    blob = await place.get("_keys/one")

    assert blob is not None and blob.data == b"2"
    assert await place.get("_keys/two") is None


async def test_file_is_exchanged_by_one_who_has_seen_it(place: PartStore) -> None:
    first = await place.exchange("one", b"1", None)
    second = await place.exchange("one", b"2", first)

    blob = await place.get("one")

    assert blob is not None and (blob.data, blob.tag) == (b"2", second)
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


async def test_file_in_the_place_of_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "items").write_text("")

    with pytest.raises(ConfigurationError, match=r"cannot write .*/items: "):
        await FolderStore(tmp_path / "items").put("one", b"1")
