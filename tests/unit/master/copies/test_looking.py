"""Databases that are looked through beside whoever writes to them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from p2pcrawl.frontier.copies import copy_store as copies
from p2pcrawl.frontier.copies.copy_store import CopyStore
from p2pcrawl.frontier.database.schema import FILE
from p2pcrawl.master.copies import looking
from p2pcrawl.master.copies.holdings import Holdings
from p2pcrawl.model.crawl.fingerprint import pack_halves
from p2pcrawl.model.errors import DamagedError, StorageError
from p2pcrawl.wire.messages.peer_messages import CopyRow
from tests.unit.master.fake_slaves import Slaves, master_of, spec_of


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "FIRST_S", 0.01)
    monkeypatch.setattr(looking, "EVERY_S", 0.01)


def spoil(file: Path) -> None:
    size = file.stat().st_size
    with open(file, "r+b") as database:
        database.seek(size // 2)
        database.write(b"\xa5" * (size // 4))


async def test_master_whose_frontier_is_damaged_ends(tmp_path: Path) -> None:
    async with master_of(tmp_path / "live", Slaves(lambda task: None)) as master:
        await master.submit(spec_of())
        running = asyncio.create_task(master.run())
        await asyncio.sleep(0)
        spoil(tmp_path / "live" / FILE)

        with pytest.raises(DamagedError, match=r"frontier\.db is damaged"):
            async with asyncio.timeout(10):
                await running


async def test_master_whose_copies_are_damaged_is_told(tmp_path: Path) -> None:
    store = CopyStore(tmp_path)
    store.put([CopyRow(n, pack_halves(n, n), 1, 1, b"row" * 100, 0, b"") for n in range(4000)])
    store.close()
    told: asyncio.Future[StorageError] = asyncio.get_running_loop().create_future()
    holdings = Holdings(tmp_path, lambda error: told.done() or told.set_result(error))
    await holdings.open()
    spoil(tmp_path / copies.LAYOUT.file)

    async with asyncio.timeout(10):
        error = await told

    assert isinstance(error, DamagedError) and error.file == copies.LAYOUT.file
    await holdings.close()
