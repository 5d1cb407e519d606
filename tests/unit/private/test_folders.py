"""Data folders are for their user alone."""

from __future__ import annotations

import os
import resource
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from p2pcrawl.frontier.copies.copy_store import LAYOUT as COPIES
from p2pcrawl.frontier.database.schema import FILE, LOCK, OURS, FolderLock, open_database
from p2pcrawl.frontier.database.tables import FRONTIER
from p2pcrawl.master.jobs.admission import with_code
from p2pcrawl.model.crawl.job import JobId, JobSpec, SpiderRef
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.peer.acquaintances import Acquaintances
from p2pcrawl.peer.lead import write_incarnation
from p2pcrawl.private.folders import close_file, make_folder, private


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


def test_code_and_notes_in_a_data_folder_that_is_left_open_are_for_their_user_alone(tmp_path: Path) -> None:
    # A data folder that holds other things keeps its mode; code that others could write would run as us.
    tmp_path.chmod(0o777)
    (tmp_path / "old").write_text("as an earlier version left it")

    spec = JobSpec(JobId(7), "its", SpiderRef(file="/home/somebody/spider.py"), code="KEY = 'of a service'")
    write_incarnation(tmp_path, 7)
    Acquaintances(tmp_path).save([])
    kept = with_code(tmp_path, spec)
    with open(tmp_path / "old", "w", opener=private) as file:
        file.write("as it is now")

    assert {path.name: mode(path) for path in tmp_path.rglob("*") if path.is_dir()} == {"jobs": 0o700, "7": 0o700}
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == 5
    assert {mode(path) for path in files} == {0o600}
    assert Path(kept.spider.file).read_text() == spec.code


@pytest.mark.parametrize("name", ["", "..", "a/..", "../../escape.py", "/etc/passwd", "/"])
def test_code_of_a_job_is_kept_in_its_folder_whatever_its_file_is_called(tmp_path: Path, name: str) -> None:
    kept = with_code(tmp_path, JobSpec(JobId(7), "its", SpiderRef(file=name), code="pass"))

    assert Path(kept.spider.file).parent == tmp_path / "jobs" / "7"
    assert Path(kept.spider.file).read_text() == "pass"


def test_link_that_somebody_planted_is_not_written_through(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (tmp_path / "incarnation").symlink_to(precious)

    write_incarnation(tmp_path, 7)

    assert precious.read_text() == "mine"


def test_folder_on_a_full_disk_is_told_in_one_line(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        with pytest.raises(ConfigurationError, match="cannot use the data folder"):
            FolderLock(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
