"""How often a peer has been suspected, as its data folder remembers it."""

from __future__ import annotations

from pathlib import Path

import pytest

from p2pcrawl.model.cluster.node import INCARNATION_MAX
from p2pcrawl.peer.lead import INCARNATION_FILE, read_incarnation, write_incarnation


def test_what_was_written_is_read_and_none_is_nothing(tmp_path: Path) -> None:
    assert read_incarnation(tmp_path) == 0

    write_incarnation(tmp_path, 7)

    assert read_incarnation(tmp_path) == 7


@pytest.mark.parametrize("content", [b"", b"xx", b"-5", b"9" * 30, str(INCARNATION_MAX).encode(), b"\xff\xfe"])
def test_damaged_file_is_told_in_one_line_and_counts_for_nothing(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / INCARNATION_FILE).write_bytes(content)

    assert read_incarnation(tmp_path) == 0

    [line] = [record.getMessage() for record in caplog.records]
    assert "incarnation is damaged" in line
