"""Damage to simulated databases: what is tried either shows, or says the same as before."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest

from p2pcrawl.frontier.database.log_integrity import broken_log
from simulations.world.damages import WAYS, damage, is_sound, tables_of
from simulations.world.disk_errors import KINDS, DiskError
from simulations.world.disks import Disk
from simulations.world.world import World


def logged(folder: Path, commits: int = 12) -> Path:
    """A database of a killed process: all that was committed is in its log."""
    path = folder / "data.db"
    with (
        closing(sqlite3.connect(path, isolation_level=None)) as db,
        closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as other,
    ):
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("CREATE TABLE t (number INTEGER PRIMARY KEY, filling TEXT NOT NULL)")
        db.execute("CREATE INDEX by_filling ON t (filling)")
        for number in range(commits):
            db.execute("INSERT INTO t VALUES (?, ?)", (number, f"{number} " + "x" * 2000))
        other.execute("SELECT count(*) FROM t").fetchone()
        db.close()
    return path


def rows(path: Path) -> list[Any] | None:
    """What is there; None where SQLite finds that it makes no sense."""
    try:
        with closing(sqlite3.connect(path)) as db:
            sound = db.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok"
            return db.execute("SELECT * FROM t ORDER BY number").fetchall() if sound else None
    except sqlite3.DatabaseError:
        return None


@pytest.mark.parametrize("how", WAYS)
def test_what_is_damaged_shows_or_says_the_same_as_before(how: str, tmp_path: Path) -> None:
    whole, places = rows(logged(tmp_path)), set()
    for seed in range(30):
        folder = tmp_path / str(seed)
        folder.mkdir()
        path = logged(folder)

        told = damage(path, how, Random(seed))

        assert told.startswith(how)
        assert broken_log(path) or rows(path) in (None, whole)
        places.add(told.rpartition(" ")[2])
    assert places == {"data.db", "data.db-wal"}


class Witness:
    """Somebody who is told what lies on disks."""

    def __init__(self) -> None:
        self.read = 0
        self.losses = 0

    def tap(self, node: str, connection: sqlite3.Connection, changes: list[tuple[Any, ...]]) -> bool:
        self.read += 1
        return True

    def committed(self, node: str, changes: list[tuple[Any, ...]]) -> None: ...

    def lost(self, node: str) -> None:
        self.losses += 1


def test_nobody_is_told_what_is_before_the_damage_in_a_log_for_its_database_is_set_aside(tmp_path: Path) -> None:
    in_log = set()
    with World(1) as world:
        for name in map(str, range(12)):
            world.moments.disks = witness = Witness()
            disk = Disk(world, tmp_path / name)
            disk.begin()
            path = logged(disk.folder)
            for suffix in "", "-wal":
                path.with_name(f"data.db{suffix}").rename(path.with_name(f"copies.db{suffix}"))

            told = disk.spoil("copies.db", "flip")

            assert witness.losses == 1
            if told.endswith("-wal"):
                in_log.add(name)
                assert witness.read == 0
    assert in_log


def test_nobody_is_told_what_is_in_tables_that_are_not_those_that_were_made(tmp_path: Path) -> None:
    others = 0
    with World(1) as world:
        for name in map(str, range(20)):
            world.moments.disks = witness = Witness()
            disk = Disk(world, tmp_path / name)
            disk.begin()
            path = disk.folder / "copies.db"
            with closing(sqlite3.connect(path)) as db:
                db.execute(f"CREATE TABLE t ({', '.join(f'column_{n} INTEGER' for n in range(150))})")
            made = tables_of(path)

            disk.spoil("copies.db", "flip")

            if is_sound(path) and tables_of(path) != made:
                others += 1
                disk.lose_power()
                assert (witness.losses, witness.read) == (1, 0)
    assert others


class Puzzled(Witness):
    """One that asks for what is not there."""

    def tap(self, node: str, connection: sqlite3.Connection, changes: list[tuple[Any, ...]]) -> bool:
        super().tap(node, connection, changes)
        connection.execute("SELECT nothing FROM t")
        return True


def test_database_of_other_tables_than_were_made_counts_as_not_there_whatever_left_it(tmp_path: Path) -> None:
    with World(1) as world:
        world.moments.disks = witness = Puzzled()
        disk = Disk(world, tmp_path / "n")
        disk.begin()
        with closing(sqlite3.connect(disk.folder / "copies.db")) as db:
            db.execute("CREATE TABLE t (number)")
        disk.snapshot()

        disk.set_back()

    assert (witness.losses, witness.read) == (1, 1)


def write(path: Path, told: list[str]) -> None:
    """Queries, changes and commits again and again, and tells what was refused."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("CREATE TABLE IF NOT EXISTS t (number)")
        for number in range(4):
            try:
                db.execute("SELECT count(*) FROM t").fetchone()
                db.execute("BEGIN")
                db.execute("INSERT INTO t VALUES (?)", (number,))
                db.execute("COMMIT")
            except sqlite3.OperationalError as error:
                assert not db.in_transaction
                told.append(f"{number} {error.sqlite_errorname}")


@pytest.mark.parametrize(
    ("kind", "refused"),
    [
        ("read", ["1 SQLITE_IOERR_READ"]),
        ("write", ["1 SQLITE_IOERR_WRITE"]),
        ("commit", ["1 SQLITE_IOERR_FSYNC"]),
        ("full", ["1 SQLITE_FULL"]),
        ("sync", []),
    ],
)
def test_disk_refuses_one_call_and_keeps_the_others(kind: str, refused: list[str], tmp_path: Path) -> None:
    told: list[str] = []
    struck: list[str] = []

    async def work() -> None:
        write(tmp_path / "n" / "data.db", told)

    with World(1) as world:
        node = world.node("n")
        disk = Disk(world, tmp_path / "n")
        disk.begin()
        node.cache, node.disk_error = disk.cache, DiskError(kind, 2, lambda: struck.append(kind))
        world.run(node.start(work))  # type: ignore[arg-type]

    assert kind in KINDS
    assert told == refused
    assert len(struck) == len(refused)
    with closing(sqlite3.connect(tmp_path / "n" / "data.db")) as db:
        assert [n for (n,) in db.execute("SELECT number FROM t")] == ([0, 2, 3] if refused else [0, 1, 2, 3])
