"""What is said of a board of a job that was changed."""

from __future__ import annotations

from typing import Any

import pytest

from p2pcrawl.cli.boards import board_changes
from p2pcrawl.cli.boards.board_changes import run_board_put


class FakeRemote:
    """A cluster that has one job."""

    def __init__(self, was: str) -> None:
        self._answer = {"job": 7, "name": "news", "board": "wine", "state": "in force", "was": was, "entries": 1,
                        "gone": 0, "missing": []}  # fmt: skip

    def job(self, called: str) -> int:
        return 7

    def change(self, method: str, path: str, body: Any) -> dict[str, Any]:
        return self._answer


@pytest.mark.parametrize(
    ("was", "is_told"), [("", False), ("in force", False), ("removed", True), ("limits.pages", True)]
)
def test_how_a_board_that_is_back_gets_its_queue_back_is_told(
    was: str, is_told: bool, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "wine.toml"
    file.write_text('entries = ["https://wine.example/"]')
    monkeypatch.setattr(board_changes.Remote, "find", lambda *_: FakeRemote(was))

    code = run_board_put("POST", "news", str(file), None, None, as_json=False)

    printed = capsys.readouterr()
    assert code == 0
    assert "board wine of job 7 (news) is in force, 1 entry put in" in printed.out
    assert ("p2pcrawl retry 7 --reason board-gone" in printed.err) is is_told
