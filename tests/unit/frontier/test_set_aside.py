"""Databases that are damaged, and give way to new ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from p2pcrawl.core.buckets.standings import Standing
from p2pcrawl.frontier.copies import copy_store as copies
from p2pcrawl.frontier.copies.copy_store import CopyStore
from p2pcrawl.frontier.copies.set_aside import note_missing, set_aside
from p2pcrawl.frontier.database.schema import FILE, FolderLock
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.model.errors import ConfigurationError
from tests.unit.frontier.batches import batch_of, copy_row, link, store_with_job

COPIES = copies.LAYOUT.file
NONSENSE = b"no database at all" * 1000


def folder_of(tmp_path: Path) -> str:
    """A folder with a record, a copy and two standings; the id of its store."""
    store = store_with_job(tmp_path)
    store.commit(batch_of([link("http://a.example/1")]))
    id = store.store_id()
    store.close()
    held = CopyStore(tmp_path)
    held.put([copy_row(7, 1, 2, 1, 3, b"row")])
    held.set_standings({7: Standing(5), 8: Standing(9, 4, 3)})
    held.close()
    return id


def look(tmp_path: Path) -> tuple[str, int, int, dict[int, tuple[int, int]]]:
    """The id of the store, its records, the copies and the standings."""
    store = Store(tmp_path)
    held = CopyStore(tmp_path)
    try:
        return store.store_id(), store.size(), held.count(), held.standings()
    finally:
        held.close()
        store.close()


def test_frontier_gives_way_to_an_empty_one_and_no_bucket_is_whole_any_more(tmp_path: Path) -> None:
    before = folder_of(tmp_path)
    (tmp_path / FILE).write_bytes(NONSENSE)

    kept = set_aside(tmp_path, FILE)

    id, records, held, standings = look(tmp_path)
    assert id != before
    assert (records, held, standings) == (0, 1, {7: Standing(5, 5), 8: Standing(9, 9)})
    assert kept.read_bytes() == NONSENSE


def test_copies_give_way_to_none_and_the_records_stay_in_what_is_another_store_now(tmp_path: Path) -> None:
    before = folder_of(tmp_path)
    (tmp_path / COPIES).write_bytes(NONSENSE)

    kept = set_aside(tmp_path, COPIES)

    id, records, held, standings = look(tmp_path)
    assert id != before
    assert (records, held, standings) == (2, 0, {})
    assert kept.read_bytes() == NONSENSE


def test_no_bucket_is_whole_any_more_when_the_frontier_is_not_there(tmp_path: Path) -> None:
    before = folder_of(tmp_path)
    (tmp_path / FILE).unlink()

    missing = note_missing(tmp_path)

    id, records, held, standings = look(tmp_path)
    assert missing == FILE
    assert id != before
    assert (records, held, standings) == (0, 1, {7: Standing(5, 5), 8: Standing(9, 9)})


def test_records_are_in_another_store_when_the_copies_are_not_there(tmp_path: Path) -> None:
    before = folder_of(tmp_path)
    (tmp_path / COPIES).unlink()

    missing = note_missing(tmp_path)

    id, records, held, standings = look(tmp_path)
    assert missing == COPIES
    assert id != before
    assert (records, held, standings) == (2, 0, {})


def test_nothing_is_missing_where_both_are_there_or_neither_is(tmp_path: Path) -> None:
    assert note_missing(tmp_path / "new") == ""

    folder_of(tmp_path)
    before = look(tmp_path)

    assert note_missing(tmp_path) == ""
    assert look(tmp_path) == before


def test_missing_one_is_told_of_until_there_is_a_new_one(tmp_path: Path) -> None:
    folder_of(tmp_path)
    (tmp_path / FILE).unlink()

    assert [note_missing(tmp_path), note_missing(tmp_path)] == [FILE, FILE]
    assert look(tmp_path)[3] == {7: Standing(5, 5), 8: Standing(9, 9)}
    assert note_missing(tmp_path) == ""


@pytest.mark.parametrize("files", [(FILE, COPIES), (COPIES, FILE)])
def test_both_give_way_one_after_the_other(tmp_path: Path, files: tuple[str, str]) -> None:
    folder_of(tmp_path)
    for file in files:
        (tmp_path / file).write_bytes(NONSENSE)

    kept = [set_aside(tmp_path, file) for file in files]

    assert look(tmp_path)[1:] == (0, 0, {})
    assert [file.read_bytes() for file in kept] == [NONSENSE] * 2


def test_log_goes_with_its_database_and_nothing_that_was_kept_before_is_overwritten(tmp_path: Path) -> None:
    kept = []
    for n in range(3):
        (tmp_path / FILE).write_bytes(NONSENSE + bytes([n]))
        (tmp_path / f"{FILE}-wal").write_bytes(b"log")
        kept.append(set_aside(tmp_path, FILE))

    assert [file.read_bytes()[-1] for file in kept] == [0, 1, 2]
    assert [Path(f"{file}-wal").read_bytes() for file in kept] == [b"log"] * 3
    assert not list(tmp_path.glob(f"{FILE}-*"))


def test_folder_in_use_is_left_alone(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path)
    (tmp_path / FILE).write_bytes(NONSENSE)

    with pytest.raises(ConfigurationError, match="in use"):
        set_aside(tmp_path, FILE)

    assert (tmp_path / FILE).read_bytes() == NONSENSE
    lock.release()
