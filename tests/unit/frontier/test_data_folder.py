"""Data folders: of this version, whole, and used by one process."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from p2pcrawl.frontier.database.schema import FILE, LOCK, open_database, open_for_reading
from p2pcrawl.frontier.database.tables import FRONTIER
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.model.errors import ConfigurationError, DamagedError, P2PCrawlError
from tests.unit.frontier.batches import batch_of, end, grant, link, load, store_with_job


def test_folder_in_use_is_refused_with_the_process_that_uses_it(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from p2pcrawl.frontier.records.store import Store; "
        f"store = Store(Path({str(tmp_path)!r})); print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        holder.stdout.readline()
        with pytest.raises(ConfigurationError, match=f"in use by process {holder.pid}"):
            Store(tmp_path)
        holder.kill()
        holder.wait()
        holder.stdin.close()

    Store(tmp_path).close()


def test_folder_of_another_version_is_refused(tmp_path: Path) -> None:
    store_with_job(tmp_path).close()
    with sqlite3.connect(tmp_path / FILE) as db:
        db.execute(f"PRAGMA user_version={FRONTIER.format + 1}")
    db.close()

    with pytest.raises(ConfigurationError, match=f"data format {FRONTIER.format + 1}"):
        Store(tmp_path)
    with pytest.raises(ConfigurationError, match=f"data format {FRONTIER.format + 1}"):
        open_for_reading(tmp_path)


def of_format_4(folder: Path) -> None:
    """A folder from before pages were visited again."""
    with sqlite3.connect(folder / FILE) as db:
        db.execute("DROP INDEX record_turn")
        for column in ("due", "turn", "told", "past", "page_type"):
            db.execute(f"ALTER TABLE record DROP COLUMN {column}")
        db.execute("PRAGMA user_version=4")
    db.close()


def of_format_1(folder: Path) -> None:
    """A folder as the first version left it."""
    of_format_4(folder)
    with sqlite3.connect(folder / FILE) as db:
        db.execute("DROP TABLE statistic")
        db.execute("ALTER TABLE record DROP COLUMN visit")
        db.execute("ALTER TABLE item DROP COLUMN marks")
        db.execute("ALTER TABLE sink DROP COLUMN place")
        db.execute("PRAGMA user_version=1")
    db.close()


def test_folder_of_format_1_is_brought_to_this_one_with_all_that_is_in_it(tmp_path: Path) -> None:
    store_with_job(tmp_path).close()
    of_format_1(tmp_path)

    store = Store(tmp_path)
    try:
        [queued] = load(store, "http://start.example/")
        store.commit(batch_of([link("http://a.example/")]))
    finally:
        store.close()
    with closing(sqlite3.connect(tmp_path / FILE)) as db:
        columns = {row[1] for row in db.execute("PRAGMA table_info(record)")}
        version = db.execute("PRAGMA user_version").fetchone()

    assert (queued.link.url, queued.visit) == ("http://start.example/", 0)
    assert "visit" in columns
    assert version == (FRONTIER.format,)
    Store(tmp_path).close()


def test_items_of_a_folder_of_format_4_are_of_the_visit_that_ended_last(tmp_path: Path) -> None:
    store = store_with_job(tmp_path)
    [start] = load(store, "http://start.example/")
    batch = batch_of()
    grant(batch, start)
    end(batch, start, items=[b"{}"])
    store.commit(batch)
    store.close()
    of_format_4(tmp_path)
    with sqlite3.connect(tmp_path / FILE) as db:
        db.execute("UPDATE record SET visit = 3")
    db.close()

    store = Store(tmp_path)
    ended = store.pages_after(1, 0, 10, 1000)[0]
    store.close()
    with sqlite3.connect(tmp_path / FILE) as db:
        db.execute("UPDATE record SET phase = 0")
    db.close()
    store = Store(tmp_path)
    begun = store.pages_after(1, 0, 10, 1000)[0]
    store.close()

    assert [page.visit for page in ended] == [3]
    assert [page.visit for page in begun] == [2]


def test_folder_whose_upgrade_was_interrupted_is_upgraded_by_the_next_start(tmp_path: Path, monkeypatch) -> None:
    store_with_job(tmp_path).close()
    of_format_1(tmp_path)
    broken = replace(FRONTIER, upgrades={1: (*FRONTIER.upgrades[1], "this is no statement")})

    with pytest.raises(P2PCrawlError):
        open_database(tmp_path, broken)

    Store(tmp_path).close()


def test_folder_of_format_1_can_be_read_without_changing_it(tmp_path: Path) -> None:
    store_with_job(tmp_path).close()
    of_format_1(tmp_path)
    before = (tmp_path / FILE).read_bytes()

    reader = open_for_reading(tmp_path)
    try:
        rows = reader.execute("SELECT url, visit FROM record").fetchall()
    finally:
        reader.close()

    assert rows == [("http://start.example/", 0)]
    assert (tmp_path / FILE).read_bytes() == before


def test_database_of_someone_else_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / FILE) as db:
        db.execute("CREATE TABLE theirs (x)")
    db.close()
    before = (tmp_path / FILE).read_bytes()

    with pytest.raises(ConfigurationError, match="not written by p2pcrawl"):
        Store(tmp_path)

    assert (tmp_path / FILE).read_bytes() == before


def test_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"hello, world\n" * 1000)

    with pytest.raises(DamagedError, match="damaged"):
        Store(tmp_path)
    with pytest.raises(DamagedError, match="damaged"):
        open_for_reading(tmp_path)


@pytest.mark.parametrize("part", [0.02, 0.3, 0.6, 0.9])
def test_cut_database_is_told_in_one_line_and_holds_no_lock(tmp_path: Path, part: float) -> None:
    store = store_with_job(tmp_path)
    store.commit(batch_of(link(f"http://a.example/{n}") for n in range(3000)))
    store.close()
    whole = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(whole[: int(len(whole) * part)])

    with pytest.raises(P2PCrawlError) as refused:
        store = Store(tmp_path)
        try:
            store.recover()
            store.census(1)
            store.queues_after(None, 100)
        finally:
            store.close()

    assert "\n" not in str(refused.value)
    (tmp_path / FILE).write_bytes(whole)
    Store(tmp_path).close()


@pytest.mark.parametrize("left", [[], ["frontier.db-wal"]])
def test_emptied_database_is_refused_and_nothing_beside_it_is_touched(tmp_path: Path, left: list[str]) -> None:
    store_with_job(tmp_path).close()
    (tmp_path / FILE).write_bytes(b"")
    for name in left:
        (tmp_path / name).write_bytes(b"what was not yet in it")

    for _ in range(2):
        with pytest.raises(DamagedError, match="damaged \\(it is empty\\)"):
            Store(tmp_path)
    with pytest.raises(DamagedError, match="damaged"):
        open_for_reading(tmp_path)

    assert [(tmp_path / name).read_bytes() for name in left] == [b"what was not yet in it"] * len(left)


def test_missing_database_whose_log_is_there_is_refused(tmp_path: Path) -> None:
    store_with_job(tmp_path).close()
    (tmp_path / FILE).rename(tmp_path / f"{FILE}-wal")

    with pytest.raises(DamagedError, match="it is missing"):
        Store(tmp_path)


def test_folder_whose_making_was_interrupted_is_a_new_one(tmp_path: Path) -> None:
    (tmp_path / LOCK).write_text("1234")
    (tmp_path / f"{FILE}.new").write_bytes(b"half of it")

    store_with_job(tmp_path).close()

    assert sorted(path.name for path in tmp_path.iterdir()) == [FILE, LOCK]


def test_folder_without_a_crawl_is_refused_for_reading(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="not a p2pcrawl data folder"):
        open_for_reading(tmp_path)


def test_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(ConfigurationError):
        Store(tmp_path / "file" / "data")


def test_reading_beside_a_live_crawl_sees_the_last_commit(tmp_path: Path) -> None:
    store = store_with_job(tmp_path)
    try:
        store.commit(batch_of([link("http://a.example/")]))
        reader = open_for_reading(tmp_path)

        count = reader.execute("SELECT count(*) FROM record").fetchone()[0]

        reader.close()
        assert count == 2
    finally:
        store.close()
