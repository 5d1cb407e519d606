"""The disk of a machine: what its process has committed stays, also when the power goes."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from .world import World

MEMORY = Path("/dev/shm")
MEMORY_FREE_MIN = 2 << 30


def place_for_disks() -> str:
    """Chooses where the folders of simulated disks lie: in memory if there is plenty, for what is written there needs
    not outlive the run; wherever TMPDIR says, if that is set.
    """
    if "TMPDIR" in os.environ or not os.access(MEMORY, os.W_OK):
        return tempfile.gettempdir()
    free = shutil.disk_usage(MEMORY).free
    return str(MEMORY) if free >= MEMORY_FREE_MIN else tempfile.gettempdir()


class Disk:
    """One data folder, with real files. It outlives the lives of its machine."""

    def __init__(self, world: World, folder: Path) -> None:
        self.world = world
        self.folder = folder

    def begin(self) -> None:
        """Begins a life that writes here."""
        self.folder.mkdir(parents=True, exist_ok=True)

    def lose_power(self) -> None:
        """Ends a life without power. All that was written had been synced."""

    def damage(self, file: str) -> None:
        """Overwrites the middle half of a file, and its first page. Only between two lives."""
        path = self.folder / file
        size = path.stat().st_size
        with open(path, "r+b") as damaged:
            damaged.write(b"\xa5" * 4096)
            damaged.seek(size // 4)
            damaged.write(b"\xa5" * (size // 2))

    def wipe(self) -> None:
        """Takes everything away, if there is anything. Only between two lives."""
        if self.folder.exists():
            shutil.rmtree(self.folder)
