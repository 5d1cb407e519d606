"""Folders for what is unpacked go with their process, or with the next one where it was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from benchmarks.kit.parent import ends_with_us
from p2pcrawl.private.passing_folder import PassingFolder

KIND = "p2pcrawl-tried-"
HOLDS = f"""
import time
from p2pcrawl.private.passing_folder import PassingFolder
held = PassingFolder({KIND!r})
print(held.path, flush=True)
time.sleep(3600)
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def holder(temporary: Path) -> tuple[subprocess.Popen[str], Path]:
    """Another process with such a folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS],
        env=os.environ | {"TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=ends_with_us(),
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_folder_of_a_killed_process_goes_when_the_next_one_makes_its_own(temporary: Path) -> None:
    process, theirs = holder(temporary)
    (theirs / "spider.py").write_text("")

    while_it_lives = PassingFolder(KIND)
    assert theirs.is_dir()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    after_it = PassingFolder(KIND)

    assert not theirs.exists()
    assert while_it_lives.path.is_dir() and after_it.path.is_dir()
    while_it_lives.remove()
    after_it.remove()
    assert list(temporary.iterdir()) == []


def test_what_only_has_the_name_of_such_a_folder_stays(temporary: Path) -> None:
    elsewhere = temporary / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / ".held").touch()
    (temporary / f"{KIND}link").symlink_to(elsewhere)
    (temporary / f"{KIND}file").touch()
    (temporary / f"{KIND}unmarked").mkdir()
    before = set(temporary.iterdir())

    PassingFolder(KIND).remove()

    assert set(temporary.iterdir()) == before
    assert (elsewhere / ".held").exists()


def test_folder_that_is_removed_again_closes_no_file_of_others(temporary: Path) -> None:
    folder = PassingFolder(KIND)
    folder.remove()
    others = [os.open(temporary, os.O_RDONLY) for _ in range(3)]

    folder.remove()

    assert not folder.path.exists()
    for other in others:
        os.close(other)
