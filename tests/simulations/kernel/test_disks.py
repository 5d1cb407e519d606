"""Disks of simulated machines: what was committed stays, the rest goes with the process."""

from __future__ import annotations

import asyncio
import fcntl
import os
import socket
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from p2pcrawl.private.secrets import replace_secret
from simulations.kernel.moments import COMMITS, Moment
from simulations.model.stores import StandingRow, Stores
from simulations.record.disk_taps import DiskTaps
from simulations.world import disks
from simulations.world.caches import DRAWN, LOST
from simulations.world.disks import Disk, place_for_disks
from simulations.world.world import World


def table(path: Path) -> list[int]:
    connection = sqlite3.connect(path)
    try:
        return [number for (number,) in connection.execute("SELECT number FROM t ORDER BY number")]
    finally:
        connection.close()


async def write(path: Path, numbers: range, commit: bool) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("CREATE TABLE IF NOT EXISTS t (number)")
    connection.execute("BEGIN")
    connection.executemany("INSERT INTO t VALUES (?)", [(n,) for n in numbers])
    if commit:
        connection.execute("COMMIT")
    await asyncio.sleep(1000)


def test_a_crash_keeps_what_was_committed_and_rolls_back_the_open_transaction(tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    with World(1) as world:
        node = world.node("n")

        async def scenario() -> None:
            for number, commit in ((0, True), (1, False), (2, True)):
                node.start(write, path, range(10 * number, 10 * number + 2), commit)
                await asyncio.sleep(1)
                node.crash()

        world.run(scenario())

    assert table(path) == [0, 1, 20, 21]


async def store_one(path: Path) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO held VALUES (1, 0, 2, 7, 0, 0)")
    connection.execute("COMMIT")
    await asyncio.sleep(1000)


def test_what_the_first_transaction_of_a_life_stores_has_come_and_was_not_found(tmp_path: Path) -> None:
    path, stores = tmp_path / "copies.db", Stores()
    with closing(sqlite3.connect(path)) as before, before:
        before.execute(
            "CREATE TABLE held (bucket, hi, lo, job, stamp, marks, PRIMARY KEY (bucket, hi, lo, job)) WITHOUT ROWID"
        )
        before.execute("INSERT INTO held VALUES (1, 0, 1, 7, 0, 0)")
    with World(1) as world:
        ears: Any = SimpleNamespace()
        world.moments.disks = DiskTaps(stores, lambda: 5.0, ears)

        async def scenario() -> None:
            world.node("n").start(store_one, path)
            await asyncio.sleep(1)

        world.run(scenario())

    assert stores.store("n").held == {(0, 1, 7): 0, (0, 2, 7): 0}
    assert stores.store("n").came == {(0, 2, 7): 5.0}


def test_who_keeps_account_of_disks_knows_what_is_left_of_one_that_is_set_back_or_damaged(tmp_path: Path) -> None:
    stores, ears = Stores(), SimpleNamespace(has_lost=lambda node: None)
    with World(1) as world:
        world.moments.disks = DiskTaps(stores, lambda: 5.0, cast("Any", ears))
        disk = Disk(world, tmp_path / "n")
        disk.begin()
        (disk.folder / "frontier.db").write_bytes(b"\x5a" * 8192)
        with closing(sqlite3.connect(disk.folder / "copies.db")) as connection, connection:
            connection.execute("CREATE TABLE standing (bucket INTEGER PRIMARY KEY, epoch, lack, base, pieces)")
            connection.execute("INSERT INTO standing VALUES (7, 3, 0, 0, '')")
        disk.snapshot()

        disk.set_back()
        assert stores.store("n").standings == {7: StandingRow(3, 0, 0, "")}
        disk.damage("frontier.db")
        assert stores.store("n").standings == {7: StandingRow(3, 0, 0, "")}
        disk.damage("copies.db")
        assert stores.store("n").standings == {}


async def write_logged(path: Path, rounds: range, synchronous: str = "FULL") -> None:
    """Commits again and again, several pages each time."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute(f"PRAGMA synchronous={synchronous}")
    connection.execute("CREATE TABLE IF NOT EXISTS t (number, filling)")
    for number in rounds:
        connection.execute("BEGIN")
        for _ in range(5):
            connection.execute("INSERT INTO t VALUES (?, ?)", (number, "x" * 3000))
        connection.execute("COMMIT")
        await asyncio.sleep(1)


def left_by(seed: int, folder: Path, *, power: bool, unsynced: str = DRAWN, synchronous: str = "FULL") -> list[int]:
    """Tells what is left of six commits, in the middle of the fourth of which the process died, or its machine."""
    with World(seed) as world:
        node = world.node("n")
        disk = Disk(world, folder / "n")
        node.cache = disk.cache
        disk.begin()
        disk.cache.unsynced = unsynced
        commits = 0

        def strike(moment: Moment) -> None:
            nonlocal commits
            commits += moment.phase == COMMITS
            if commits == 4 and node.up:
                if power:
                    node.lose_power()
                    disk.lose_power()
                else:
                    node.crash()

        async def scenario() -> None:
            world.moments.listen(strike)
            node.start(write_logged, disk.folder / "data.db", range(6), synchronous)
            await asyncio.sleep(20)

        world.run(scenario())
    return table(folder / "n" / "data.db")


def test_whoever_dies_in_the_middle_of_a_commit_leaves_all_of_it_or_nothing_and_what_was_before(tmp_path: Path) -> None:
    before, after = [number for number in range(3) for _ in range(5)], [number for number in range(4) for _ in range(5)]

    crashed = [left_by(seed, tmp_path / f"crash {seed}", power=False) for seed in range(6)]
    without_power = [left_by(seed, tmp_path / f"power {seed}", power=True) for seed in range(12)]
    nothing_more = [left_by(seed, tmp_path / f"lost {seed}", power=True, unsynced=LOST) for seed in range(3)]

    assert crashed == [before] * 6
    assert sorted(without_power, key=len)[:: len(without_power) - 1] == [before, after]
    assert all(left in (before, after) for left in without_power)
    assert nothing_more == [before] * 3


def test_commits_that_are_not_synced_go_with_the_power_and_not_with_the_process(tmp_path: Path) -> None:
    before = [number for number in range(3) for _ in range(5)]

    crashed = left_by(1, tmp_path / "crash", power=False, synchronous="NORMAL")
    without_power = left_by(1, tmp_path / "power", power=True, unsynced=LOST, synchronous="NORMAL")

    assert crashed == before
    assert len(without_power) < len(before)


def left_of_files(seed: int, folder: Path) -> tuple[str | None, str | None, str | None]:
    """Tells what a loss of power leaves of a file that was replaced in order, of one that was renamed and not synced,
    and of one that was written over.
    """

    async def write() -> None:
        home = folder / "n"
        for content in ("old", "new and longer"):
            replace_secret(home / "in order", content.encode())
            (home / "draft").write_text(content)
            (home / "draft").rename(home / "renamed")
            (home / "written").write_text(content)
            if content == "old":
                for name in ("renamed", "written"):
                    with open(home / name) as file:  # noqa: ASYNC230
                        os.fsync(file.fileno())
                replace_secret(home / "in order", content.encode())

    with World(seed) as world:
        node = world.node("n")
        disk = Disk(world, folder / "n")
        node.cache = disk.cache
        disk.begin()
        world.run(node.start(write))  # type: ignore[arg-type]
        node.lose_power()
        disk.lose_power()
    paths = (folder / "n" / name for name in ("in order", "renamed", "written"))
    return tuple(path.read_text() if path.exists() else None for path in paths)  # type: ignore[return-value]


def test_files_that_were_not_synced_are_what_they_were_or_empty_or_new_after_a_loss_of_power(tmp_path: Path) -> None:
    left = [left_of_files(seed, tmp_path / str(seed)) for seed in range(20)]

    assert {in_order for in_order, _, _ in left} == {"new and longer"}
    assert {renamed for _, renamed, _ in left} == {"old", "", "new and longer"}
    assert {written for _, _, written in left} == {"old", "new and longer"}


def test_a_lock_dies_with_its_process(tmp_path: Path) -> None:
    taken: list[str] = []

    async def lock(name: str) -> None:
        with open(tmp_path / "lock", "a") as file:  # noqa: ASYNC230
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            taken.append(name)
            await asyncio.sleep(1000)

    with World(1) as world:
        node = world.node("n")

        async def scenario() -> None:
            node.start(lock, "first")
            await asyncio.sleep(1)
            with pytest.raises(BlockingIOError):
                await node.start(lock, "second")
            node.restart(lock, "third")
            await asyncio.sleep(1)

        world.run(scenario())

    assert taken == ["first", "third"]


async def in_thread(call: Callable[[], Any], told: list[str]) -> None:
    pool = ThreadPoolExecutor(1)
    await asyncio.get_running_loop().run_in_executor(pool, call)
    told.append("answered")
    await asyncio.sleep(1000)


@pytest.mark.parametrize(
    ("crash_after_s", "happened", "answered"), [(0.4, [], []), (0.6, ["done"], []), (1.1, ["done"], ["answered"])]
)
def test_a_life_may_end_before_a_call_acts_or_before_anybody_knows_that_it_did(
    crash_after_s: float, happened: list[str], answered: list[str]
) -> None:
    done: list[str] = []
    told: list[str] = []
    with World(1) as world:
        node = world.node("n")
        node.executor_delay_s = 1.0

        async def scenario() -> None:
            node.start(in_thread, lambda: done.append("done"), told)
            await asyncio.sleep(crash_after_s)
            node.crash()
            await asyncio.sleep(5)

        world.run(scenario())

    assert (done, told) == (happened, answered)


def test_a_process_has_a_number_of_its_own_and_talks_to_itself_over_a_socket_pair() -> None:
    pids: list[int] = []

    async def talk() -> bytes:
        pids.append(os.getpid())
        left, right = socket.socketpair()
        _, writer = await asyncio.open_connection(sock=left)
        reader, answering = await asyncio.open_connection(sock=right)
        writer.write(b"hello")
        try:
            return await reader.readexactly(5)
        finally:
            writer.close()
            answering.close()

    with World(1) as world:
        node = world.node("n")

        async def scenario() -> list[bytes]:
            return [await node.restart(talk), await node.restart(talk)]

        assert world.run(scenario()) == [b"hello", b"hello"]

    assert len(set(pids)) == 2
    assert os.getpid() not in pids


def test_a_full_disk_keeps_what_was_committed_and_takes_nothing_more_until_there_is_room(tmp_path: Path) -> None:
    refused: list[int] = []

    async def write_all(numbers: range) -> None:
        connection = sqlite3.connect(tmp_path / "data.db", isolation_level=None)
        connection.execute("CREATE TABLE IF NOT EXISTS t (number)")
        for number in numbers:
            connection.execute("BEGIN")
            connection.execute("INSERT INTO t VALUES (?)", (number,))
            try:
                connection.execute("COMMIT")
            except sqlite3.OperationalError as error:
                assert error.sqlite_errorcode == sqlite3.SQLITE_FULL
                assert not connection.in_transaction
                refused.append(number)
            await asyncio.sleep(1)

    with World(1) as world:
        node = world.node("n")

        async def scenario() -> None:
            outcome = node.start(write_all, range(6))
            await asyncio.sleep(1.5)
            node.disk_full = True
            await asyncio.sleep(2)
            node.disk_full = False
            await outcome

        world.run(scenario())

    assert refused == [2, 3]
    assert table(tmp_path / "data.db") == [0, 1, 4, 5]


def test_disks_lie_where_tmpdir_says_and_else_in_memory_if_there_is_plenty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disks, "MEMORY", tmp_path)
    monkeypatch.setattr(disks, "MEMORY_FREE_MIN", 0)
    monkeypatch.delenv("TMPDIR", raising=False)
    in_memory = place_for_disks()
    monkeypatch.setattr(disks, "MEMORY_FREE_MIN", 1 << 60)
    too_little = place_for_disks()
    monkeypatch.setattr(disks, "MEMORY_FREE_MIN", 0)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "elsewhere"))

    assert in_memory == str(tmp_path)
    assert too_little != str(tmp_path)
    assert place_for_disks() != str(tmp_path)
