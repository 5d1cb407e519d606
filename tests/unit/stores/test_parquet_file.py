"""A local Parquet file: whole when it is there, with each item once, whatever the moment of a crash."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from p2pcrawl.model.errors import ConfigurationError, StorageError
from p2pcrawl.stores.files.local_sink import LocalSink, Position
from p2pcrawl.stores.files.opening import open_local_sink

ITEMS = [json.dumps({"n": n, "title": f"title {n}"}).encode() for n in range(12)]


def opened(path: Path, *, replace: bool = False) -> LocalSink:
    return open_local_sink(str(path), replace=replace)


def numbers(path: Path) -> list[int]:
    found: list[int] = pq.read_table(path)["n"].to_pylist()
    return found


def written(path: Path, items: list[bytes], *, replace: bool = False) -> None:
    """One crawl from its beginning to its end."""
    sink = opened(path, replace=replace)
    sink.resume(None)
    sink.write(items)
    sink.finish()
    sink.close()


def test_items_are_there_once_and_in_order(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"

    written(path, ITEMS)

    assert numbers(path) == list(range(12))
    assert os.listdir(tmp_path) == ["out.parquet"]


def test_second_crawl_appends_or_replaces(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    written(path, ITEMS[:4])

    written(path, ITEMS[4:6])
    appended = numbers(path)
    written(path, ITEMS[6:8], replace=True)

    assert appended == list(range(6))
    assert numbers(path) == [6, 7]


@pytest.mark.parametrize("replace", [False, True], ids=["append", "replace"])
def test_crash_at_any_step_leaves_each_item_once(
    replace: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is copied at every step, and from each copy, at the position stored then or at the one before, the
    crawl goes on to its end.
    """
    folder = tmp_path / "0"
    folder.mkdir()
    written(folder / "out.parquet", [b'{"n": 100}'])
    copies: list[tuple[Path, list[Position | None]]] = []
    stored: list[Position | None] = [None]

    def copied() -> None:
        copy = tmp_path / str(len(copies) + 1)
        shutil.copytree(folder, copy)
        copies.append((copy, stored[-2:]))

    def between_copies(step: Callable[..., Any]) -> Callable[..., Any]:
        def stepped(*arguments: Any) -> None:
            copied()
            step(*arguments)
            copied()

        return stepped

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", between_copies(os.replace))
        patched.setattr(os, "unlink", between_copies(os.unlink))
        sink = opened(folder / "out.parquet", replace=replace)
        stored.append(sink.resume(None))
        for start in (0, 4, 8):
            sink.write(ITEMS[start : start + 4])
            copied()
            position = sink.sync()
            copied()
            stored.append(position)
            copied()
            if start != 0:
                sink.finish()  # Items follow after all.
                copied()
        sink.close()
        copied()

    for copy, positions in copies:
        for position in positions:
            life = tmp_path / "life"
            shutil.copytree(copy, life)
            go_on(life / "out.parquet", position, replace)
            assert numbers(life / "out.parquet") == ([] if replace else [100]) + list(range(12)), (copy, position)
            assert os.listdir(life) == ["out.parquet"]
            shutil.rmtree(life)
    assert len(copies) > 15


def go_on(path: Path, position: Position | None, replace: bool) -> None:
    sink = opened(path, replace=replace)
    if position is None:
        sink.resume(None)
        position = {"count": 0}
    else:
        sink.resume(position)
    sink.write(ITEMS[position["count"] :])
    sink.sync()
    sink.finish()
    sink.close()


def test_crawl_that_is_stopped_leaves_a_file_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    sink = opened(path)
    sink.resume(None)
    sink.write(ITEMS[:5])
    position = sink.sync()
    sink.write(ITEMS[5:7])
    sink.close()
    stopped = numbers(path)

    go_on(path, position, replace=False)

    assert stopped == list(range(5))
    assert numbers(path) == list(range(12))


def test_every_column_holds_all_that_came(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    items = [{"price": 1, "tags": ["a"]}, {"price": 2.5, "stock": True}, {"stock": "few", "id": 1 << 60}, {}]

    written(path, [json.dumps(item).encode() for item in items])

    assert pq.read_table(path).to_pylist() == [
        {"price": 1.0, "tags": '["a"]', "stock": None, "id": None},
        {"price": 2.5, "tags": None, "stock": "true", "id": None},
        {"price": None, "tags": None, "stock": "few", "id": 1 << 60},
        {"price": None, "tags": None, "stock": None, "id": None},
    ]


@pytest.mark.parametrize(("old", "new", "both"), [(1, 2.5, [1.0, 2.5]), ((1 << 60), 0.5, [str(1 << 60), "0.5"])])
def test_column_of_an_older_file_gets_wider_without_losing_anything(
    old: Any, new: Any, both: list[Any], tmp_path: Path
) -> None:
    path = tmp_path / "out.parquet"
    written(path, [json.dumps({"x": old}).encode()])

    written(path, [json.dumps({"x": new}).encode()])

    assert pq.read_table(path)["x"].to_pylist() == both


def test_crawl_without_items_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"

    written(path, [])

    assert pq.read_table(path).num_rows == 0


def test_fields_beyond_all_columns_are_kept_beside_them(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"

    written(path, [json.dumps({f"field {n}": n for n in range(1002)}).encode()])

    [row] = pq.read_table(path).to_pylist()
    assert len(row) == 1001
    assert json.loads(row["_more"]) == {"field 1000": 1000, "field 1001": 1001}


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: path.write_bytes(b"PAR1 and no more"), "is no whole Parquet file"),
        (lambda path: pq.write_table(pa.table({"tags": [["a"]]}), path), "has a column 'tags' of the type list<"),
    ],
    ids=["damaged", "other-types"],
)
def test_file_that_rows_cannot_be_added_to_is_left_alone(
    make: Callable[[Path], object], said: str, tmp_path: Path
) -> None:
    path = tmp_path / "out.parquet"
    make(path)
    before = path.read_bytes()

    with pytest.raises(ConfigurationError, match=said):
        opened(path).resume(None)

    assert path.read_bytes() == before


def test_file_that_was_exchanged_meanwhile_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    sink = opened(path)
    sink.resume(None)
    sink.write(ITEMS[:5])
    sink.sync()
    sink.finish()
    sink.write(ITEMS[5:])
    position = sink.sync()
    sink.close()
    pq.write_table(pa.table({"n": [1]}), path)

    with pytest.raises(StorageError, match="is not the file that this crawl wrote"):
        opened(path).resume(position)


def test_two_crawls_cannot_write_one_file(tmp_path: Path) -> None:
    first = opened(tmp_path / "out.parquet")
    first.resume(None)

    with pytest.raises(ConfigurationError, match="is being written by another crawl"):
        opened(tmp_path / "out.parquet").resume(None)
    first.close()
