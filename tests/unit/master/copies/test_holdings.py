"""What a master keeps for others, when it cannot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from p2pcrawl.frontier.copies.copy_store import CopyStore
from p2pcrawl.master.copies.holdings import Holdings
from p2pcrawl.model.errors import DiskFullError, StorageError
from p2pcrawl.wire.messages.peer_messages import Copied, Copy
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
