"""File systems of their own, small enough to be filled."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted_disk(folder: Path, size: str) -> Iterator[Path]:
    """Makes a file system of this size in a new folder. Only root can: others skip, and say so."""
    folder.mkdir()
    if os.geteuid() != 0:
        pytest.skip("NOT SHOWN HERE: a full disk needs a tmpfs, and only root can mount one")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"NOT SHOWN HERE: a full disk needs a tmpfs, and mount says: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)
