"""The disk of a machine: what its process has committed stays, also when the power goes."""

from __future__ import annotations

import shutil
from pathlib import Path

from simulations.world import World


class Disk:
    """One data folder, with real files. It outlives the lives of its machine."""

    def __init__(self, world: World, folder: Path) -> None:
        self.world = world
        self.folder = folder

    def begin(self) -> None:
        """A life begins that writes here."""
        self.folder.mkdir(parents=True, exist_ok=True)

    def lose_power(self) -> None:
        """The life has ended without power. All that was written had been synced."""

    def wipe(self) -> None:
        """Takes everything away. Only between two lives."""
        shutil.rmtree(self.folder)
