"""What a master keeps for others, when it cannot."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from p2pcrawl.core.buckets.standings import Standing, standing_at
from p2pcrawl.frontier.copies.copy_store import CopyStore
from p2pcrawl.master.copies.holdings import Holdings
from p2pcrawl.model.cluster.account import Account, AccountKey
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.errors import DiskFullError, LinkError, StorageError
from p2pcrawl.wire.messages.peer_messages import Copied, Copy, CopyRow, Delivered
from tests.unit.master.fake_slaves import until


async def test_who_cannot_store_copies_says_so_to_its_master(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[StorageError] = []
    holdings = Holdings(tmp_path, told.append)
    await holdings.open()

    assert isinstance(await holdings.copy(Copy(1, [])), Copied)
    assert told == []

    def full(*_: Any) -> None:
        raise DiskFullError("no room")

    monkeypatch.setattr(CopyStore, "put", full)
    with pytest.raises(DiskFullError):
        await holdings.copy(Copy(2, []))

    await until(lambda: [str(error) for error in told] == ["no room"])
    await holdings.close()


async def test_nothing_is_called_stored_behind_what_could_not_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    holdings = Holdings(tmp_path, lambda error: None)
    await holdings.open()
    standings = {7: standing_at(3)}

    def full(*_: Any) -> None:
        raise DiskFullError("no room")

    with monkeypatch.context() as failing:
        failing.setattr(CopyStore, "set_standings", full)
        with pytest.raises(DiskFullError):
            await holdings.note(standings)

    # There is room again; but what is known of the bucket in memory is not on the disk.
    with pytest.raises(DiskFullError):
        await holdings.note(standings)
    await holdings.close()


async def test_standing_is_on_the_disk_though_nobody_waits_for_it_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory has it for stored from the call on: it would not be written again."""
    holdings, real, goes_on = Holdings(tmp_path, pytest.fail), CopyStore.set_standings, threading.Event()
    await holdings.open()

    def slow(store: CopyStore, standings: Mapping[int, Standing]) -> None:
        goes_on.wait(10.0)
        real(store, standings)

    monkeypatch.setattr(CopyStore, "set_standings", slow)
    first, second = (asyncio.ensure_future(holdings.note({bucket: standing_at(3)})) for bucket in (1, 2))
    await asyncio.sleep(0)
    second.cancel()
    goes_on.set()
    await first
    await holdings.close()

    again = Holdings(tmp_path, pytest.fail)
    await again.open()
    assert again.standings.keys() == {1, 2}
    await again.close()


async def test_holder_takes_marks_of_the_copies_that_it_has(tmp_path: Path) -> None:
    holdings = Holdings(tmp_path, pytest.fail)
    await holdings.open()
    one, other = (CopyRow(3, letter * 16, 7, 9, b"row", 1, b"{}") for letter in (b"a", b"b"))
    await holdings.copy(Copy(1, [one, other]))

    await holdings.mark(Delivered(2, 7, 2, [3, 3], b"a" * 16 + b"c" * 16, [9, 9], [1, 1]))

    rows, _ = await holdings.rows([3], b"")
    assert [row.marks for row in rows] == [2, 0]
    await holdings.close()


@pytest.mark.parametrize(
    "said",
    [
        Delivered(2, 7, 1, [3], b"a" * 15, [], []),
        Delivered(2, 7, 1, [3], b"a" * 16, [9, 9], [1]),
        Delivered(2, 7, 1, [], b"a" * 32, [9, 9], [1, 1]),
        Delivered(2, 7, 1, [3], b"a" * 17, [9], [1]),
        Delivered(2, 7, 1, [3, 3], b"a" * 31, [9, 9], [1, 1]),
    ],
)
async def test_marks_that_do_not_fit_each_other_are_refused(tmp_path: Path, said: Delivered) -> None:
    holdings = Holdings(tmp_path, pytest.fail)
    await holdings.open()

    with pytest.raises(LinkError):
        await holdings.mark(said)
    await holdings.close()


async def test_account_that_is_stored_when_nobody_waits_for_it_any_more_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    holdings = Holdings(tmp_path, lambda error: None)
    await holdings.open()
    key, going = AccountKey(NodeId("a" * 40), "1" * 32, 7), threading.Event()
    store = CopyStore.set_accounts

    def slowly(self: CopyStore, accounts: Sequence[Account]) -> None:
        going.wait(5.0)
        store(self, accounts)

    monkeypatch.setattr(CopyStore, "set_accounts", slowly)
    telling = asyncio.create_task(holdings.keep_accounts([Account(key, 33, {"fetches": 5})]))
    await asyncio.sleep(0.01)
    telling.cancel()  # The link is closed that brought it.
    going.set()
    await holdings.keep_accounts([Account(key, 8, {"fetches": 2})])

    await holdings.close()
    again = Holdings(tmp_path, lambda error: None)
    await again.open()

    assert again.account(key) == Account(key, 33, {"fetches": 5})
    await again.close()


async def test_copies_on_their_way_to_the_disk_are_not_overlooked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever takes over what it holds would leave them where they are."""
    holdings, real, goes_on = Holdings(tmp_path, pytest.fail), CopyStore.put, threading.Event()
    await holdings.open()

    def slow(store: CopyStore, *what: Any) -> int:
        goes_on.wait(10.0)
        return real(store, *what)

    monkeypatch.setattr(CopyStore, "put", slow)
    came = asyncio.ensure_future(holdings.copy(Copy(1, [CopyRow(3, bytes(16), 7, 0, b"row", 0, b"")])))
    await asyncio.sleep(0)
    sizes, there = (asyncio.ensure_future(asked) for asked in (holdings.sizes({3}), holdings.has_rows({3})))
    await asyncio.sleep(0.05)
    goes_on.set()

    assert await sizes == {3: 1}
    assert await there
    await came
    await holdings.close()
