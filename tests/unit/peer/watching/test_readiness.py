"""Readiness: reasons in words, from all who have some."""

from __future__ import annotations

from pathlib import Path

import pytest

from p2pcrawl.peer.watching import readiness
from p2pcrawl.peer.watching.readiness import Readiness, reasons_of_disk
from tests.unit.peer.api.test_api import Desk, api


def test_who_has_no_reason_against_it_is_ready() -> None:
    assert Readiness().answer() == {"ready": True, "reasons": []}
    assert Readiness(lambda: ()).answer()["ready"]


def test_reasons_of_all_are_told() -> None:
    found = Readiness(lambda: ["one"])
    found.add(lambda: ["two", "three"])

    assert found.answer() == {"ready": False, "reasons": ["one", "two", "three"]}


def test_disk_without_room_is_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(reasons_of_disk(tmp_path)) == []
    monkeypatch.setattr(readiness, "DISK_MIN_BYTES", 1 << 62)

    [reason] = reasons_of_disk(tmp_path)
    assert "full" in reason


def test_folder_that_is_gone_is_a_reason(tmp_path: Path) -> None:
    [reason] = reasons_of_disk(tmp_path / "gone")

    assert "cannot be reached" in reason


@pytest.mark.parametrize(("reasons", "status"), [([], 200), (["taking over"], 503)])
async def test_probe_is_told_by_the_status(reasons: list[str], status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask(self: Desk, what: str, arguments: dict) -> dict:
        return dict(Readiness(lambda: reasons).answer())

    monkeypatch.setattr(Desk, "ask", ask)
    async with api() as (_, session):
        async with session.get("/readyz") as answer:
            assert answer.status == status
            assert (await answer.json())["reasons"] == reasons
        async with session.get("/healthz") as answer:
            assert await answer.json() == {"status": "ok"}
