"""Data folders are for their user alone."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from p2pcrawl.frontier.copies import LAYOUT as COPIES
from p2pcrawl.frontier.schema import FILE, LOCK, OURS, FolderLock, open_database
from p2pcrawl.frontier.tables import FRONTIER
from p2pcrawl.private.folders import close_file, make_folder


@pytest.fixture(autouse=True)
def open_to_all() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_new_data_folder_and_all_that_is_in_it_is_for_its_user_alone(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    lock = FolderLock(folder)
    databases = [open_database(folder, layout) for layout in (FRONTIER, COPIES)]
    for database in databases:
        database.execute("PRAGMA user_version=user_version")
        database.execute("CREATE TABLE x(y)")

    assert mode(folder) == 0o700
    names = {path.name for path in folder.iterdir()}
    assert {FILE, f"{FILE}-wal", f"{FILE}-shm", LOCK} <= names
    assert {name: mode(folder / name) for name in names} == dict.fromkeys(names, 0o600)
    for database in databases:
        database.close()
    lock.release()


def test_data_folder_of_an_earlier_version_is_closed_when_it_is_used(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    open_database_there = folder / FILE
    folder.mkdir(mode=0o755)
    open_database(folder).close()
    open_database_there.chmod(0o644)

    FolderLock(folder).release()
    open_database(folder).close()

    assert mode(folder) == 0o700
    assert mode(open_database_there) == 0o600


def test_folder_that_holds_other_things_is_left_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o755)
    (folder / "letter.txt").touch()

    make_folder(folder, OURS)

    assert mode(folder) == 0o755


def test_file_that_is_not_there_need_not_be_closed(tmp_path: Path) -> None:
    close_file(tmp_path / "nothing")
