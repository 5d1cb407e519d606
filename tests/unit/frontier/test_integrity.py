"""Databases that do not hold any more what was written to them."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from pathlib import Path

import pytest

from p2pcrawl.frontier.database.integrity import look_through, look_through_beside
from p2pcrawl.frontier.database.log_integrity import broken_log
from p2pcrawl.frontier.database.schema import FILE
from p2pcrawl.frontier.reading.inquiry import Inquiry
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.errors import DamagedError
from tests.unit.frontier.batches import batch_of, link, store_with_job

LOG = f"{FILE}-wal"
FRAME = 24 + 4096


def filled(folder: Path) -> bytes:
    """A closed store of some hundred pages; what is in its file."""
    store = store_with_job(folder)
    store.commit(batch_of(link(f"http://a.example/{n}") for n in range(3000)))
    store.close()
    return (folder / FILE).read_bytes()


@pytest.mark.parametrize("page", [1, 0.2, 0.5, 0.9])
def test_page_that_was_overwritten_in_the_middle_is_found_when_the_store_is_opened(tmp_path: Path, page: float) -> None:
    whole = bytearray(filled(tmp_path))
    at = 4096 * int(page if page >= 1 else page * len(whole) / 4096)
    whole[at : at + 4096] = random.Random(3).randbytes(4096)
    (tmp_path / FILE).write_bytes(whole)

    with pytest.raises(DamagedError, match=r"frontier\.db is damaged") as refused:
        Store(tmp_path)

    assert refused.value.file == FILE and "\n" not in str(refused.value)
    assert (tmp_path / FILE).read_bytes() == whole


@pytest.mark.parametrize(
    ("was", "became"),
    [
        ("url TEXT NOT NULL, extra", "urm TEXT NOT NULL, extra"),
        ("url TEXT NOT NULL, extra", "url TEXU NOT NULL, extra"),
        ("callback TEXT NOT NULL", "callbacj TEXT NOT NULL"),
        ("visit INTEGER NOT NULL DEFAULT 0", "visit INTEGER NOT NULL DEFAULT 1"),
        ("WHERE job = NEW.job", "WHERE job < NEW.job"),
        ("WHERE turn > 0", "WHERE turn > 1"),
        ("WHERE phase = 2", "WHERE phase = 3"),
        ("page TEXT NOT NULL, found", "page TEXT NOT NULL, fount"),
    ],
)
def test_table_of_which_a_letter_has_turned_over_is_found_when_the_store_is_opened(
    tmp_path: Path, was: str, became: str
) -> None:
    store_with_job(tmp_path).close()
    Store(tmp_path, clustered=True).close()
    whole = (tmp_path / FILE).read_bytes()
    assert was.encode() in whole
    (tmp_path / FILE).write_bytes(whole.replace(was.encode(), became.encode()))

    with pytest.raises(DamagedError, match="is not as it was made"):
        Store(tmp_path, clustered=True)


def test_text_that_is_none_any_more_is_damage_and_no_bug(tmp_path: Path) -> None:
    filled(tmp_path)
    with sqlite3.connect(tmp_path / FILE) as db:
        db.execute("UPDATE record SET url = CAST(x'68ff' AS TEXT) WHERE id = 7")
        db.execute("UPDATE record SET phase = ? WHERE id = 7", (int(Phase.FAILED),))
    db.close()
    store = Store(tmp_path)

    with pytest.raises(DamagedError, match="UTF-8"):
        store.troubles(1, 10)

    store.close()


def test_phase_that_there_is_not_is_damage_and_no_bug(tmp_path: Path) -> None:
    filled(tmp_path)
    with sqlite3.connect(tmp_path / FILE) as db:
        db.execute("UPDATE record SET phase = 77")
    db.close()
    store = Store(tmp_path)

    with pytest.raises(DamagedError, match="phase 77"):
        store.census(1)
    with Inquiry(tmp_path) as inquiry, pytest.raises(DamagedError, match="phase 77"):
        inquiry.find("http://a.example/7")

    store.close()


def test_database_is_looked_through_for_a_bounded_time_only(tmp_path: Path) -> None:
    filled(tmp_path)
    with sqlite3.connect(tmp_path / FILE) as db:
        cut, whole = look_through(db, 0.0), look_through(db, 60.0)
    db.close()

    assert cut == ("", False) and whole == ("", True)


def test_damage_is_found_beside_a_store_that_is_in_use(tmp_path: Path) -> None:
    filled(tmp_path)
    store = Store(tmp_path)
    before = look_through_beside(tmp_path / FILE, lambda: False)
    with open(tmp_path / FILE, "r+b") as file:
        file.seek(4096 * 50)
        file.write(random.Random(3).randbytes(4096))

    after = look_through_beside(tmp_path / FILE, lambda: False)

    assert (before.damage, before.through) == ("", True)
    assert after.damage
    with pytest.raises(DamagedError):
        store.close()
        Store(tmp_path)


# -- logs that a crash has left -----------------------------------------------------------------


def crashed(folder: Path, commits: int = 6) -> Path:
    """A folder as a killed process leaves it, with transactions that are in the log only."""
    store = store_with_job(folder / "live")
    for number in range(commits):
        store.commit(batch_of([link(f"http://a.example/{number}")]))
    killed = folder / "killed"
    shutil.copytree(folder / "live", killed, ignore=shutil.ignore_patterns("*-shm"))
    store.close()
    return killed


def records(folder: Path) -> int:
    store = Store(folder)
    try:
        return store.size()
    finally:
        store.close()


def flip(file: Path, at: int) -> None:
    data = bytearray(file.read_bytes())
    data[at] ^= 0x40
    file.write_bytes(data)


def test_log_of_a_killed_process_is_whole(tmp_path: Path) -> None:
    killed = crashed(tmp_path)

    assert broken_log(killed / FILE) == ""
    assert records(killed) == 7


@pytest.mark.parametrize("where", [0, 9, 17, 25, 32 + 24 + 100, 32 + 2 * FRAME + 4000])
def test_log_that_was_damaged_in_the_middle_is_refused_and_left_as_it_was(tmp_path: Path, where: int) -> None:
    """Negative control: SQLite itself goes on without a word, and without what was committed."""
    killed = crashed(tmp_path)
    flip(killed / LOG, where)
    before = (killed / LOG).read_bytes()

    with pytest.raises(DamagedError, match=r"frontier\.db-wal"):
        Store(killed)

    assert (killed / LOG).read_bytes() == before
    with sqlite3.connect(killed / FILE) as db:
        assert db.execute("PRAGMA quick_check").fetchone() == ("ok",)
        assert db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'record'").fetchone()
    db.close()


def test_last_transaction_that_was_torn_by_a_power_cut_is_no_damage(tmp_path: Path) -> None:
    killed = crashed(tmp_path)
    flip(killed / LOG, (killed / LOG).stat().st_size - 10)

    assert broken_log(killed / FILE) == ""
    assert records(killed) == 6


def torn(folder: Path, name: str, links: int) -> Path:
    """A folder as a power cut leaves it in the middle of a commit, of whose frames the first one was not written."""
    store = Store(folder)
    store.commit(batch_of([link(f"http://{name}.example/")]))
    before = (folder / LOG).read_bytes()
    store.commit(batch_of([link(f"http://{name}.example/{number}") for number in range(links)]))
    cut = folder.with_name(name)
    shutil.copytree(folder, cut, ignore=shutil.ignore_patterns("*-shm"))
    store.close()
    after = (cut / LOG).read_bytes().ljust(len(before))
    flip(cut / LOG, next(at for at in range(len(after)) if after[at : at + 1] != before[at : at + 1]))
    return cut


def test_second_power_cut_in_the_middle_of_a_commit_is_no_damage_beside_the_first(tmp_path: Path) -> None:
    store_with_job(tmp_path / "live").close()

    first = torn(tmp_path / "live", "first", links=1000)
    second = torn(first, "second", links=1)

    assert broken_log(second / FILE) == ""
    assert records(second) == 3


@pytest.mark.parametrize("size", [0, 10, 32, 40])
def test_log_of_which_nothing_can_be_told_is_no_damage(tmp_path: Path, size: int) -> None:
    killed = crashed(tmp_path)
    os.truncate(killed / LOG, size)

    assert broken_log(killed / FILE) == ""
