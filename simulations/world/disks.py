"""The disk of a machine: what its process has synced stays, also when the power goes."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from random import Random

from .caches import Cache
from .damages import FILES, LOSE, damage, is_sound, tables_of
from .world import World

MEMORY = Path("/dev/shm")
MEMORY_FREE_MIN = 2 << 30
_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)


def place_for_disks() -> str:
    """Chooses where the folders of simulated disks lie: in memory if there is plenty, for what is written there needs
    not outlive the run; wherever TMPDIR says, if that is set.
    """
    if "TMPDIR" in os.environ or not os.access(MEMORY, os.W_OK):
        return tempfile.gettempdir()
    free = shutil.disk_usage(MEMORY).free
    return str(MEMORY) if free >= MEMORY_FREE_MIN else tempfile.gettempdir()


@contextmanager
def folder_for_disks(prefix: str) -> Iterator[str]:
    """Makes a folder where disks lie, and takes it away in the end; no signal that stops a run comes in between."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)
    folder = tempfile.mkdtemp(prefix=prefix, dir=place_for_disks())
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPS)
        yield folder
    finally:
        try:
            signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)
        finally:
            # One that came just before raises here. There is no second one: whoever is stopped ignores the next.
            signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)
            shutil.rmtree(folder)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPS)


class Disk:
    """One data folder, with real files. It outlives the lives of its machine."""

    def __init__(self, world: World, folder: Path) -> None:
        self.world = world
        self.folder = folder
        self.cache = Cache(folder, Random(f"{world.seed}/{folder.name}/disk"))
        self._dice = Random(f"{world.seed}/{folder.name}/damages")
        self._spoiled: dict[Path, int] = {}
        """The databases that can be read, and whose damage shows all the same, by the numbers of their files."""

    def begin(self) -> None:
        """Begins a life that writes here."""
        self.folder.mkdir(parents=True, exist_ok=True)

    def lose_power(self) -> None:
        """Ends a life without power: what was not synced is there or not."""
        if self.cache.lose_power():
            self._tell()

    def spoil(self, file: str, how: str) -> str:
        """Turns a bit of a database over, or tears one of its pages. Returns what was done, if anything was. Only
        between two lives.
        """
        path = self.folder / file
        if how == LOSE:
            return self._lose(path)
        tables = tables_of(path) if path.exists() else None
        told = damage(path, how, self._dice) if path.exists() else ""
        if told:
            self._lost()
            # SQLite drops the rest of a log that makes no sense, and reads what was before, and it takes tables for
            # what they say they are; whoever compares them sets the database aside, and makes another.
            if told.endswith("-wal") or tables_of(path) != tables:
                self._spoiled[path] = path.stat().st_ino
            self._tell()
        return told

    def _lose(self, path: Path) -> str:
        """Takes a database away. Returns what was done, if it was there."""
        if not path.exists():
            return ""
        self._lost()
        self._spoiled.pop(path, None)
        for end in ("", "-wal", "-shm"):
            path.with_name(f"{path.name}{end}").unlink(missing_ok=True)
        self._tell()
        return f"{path.name} is gone"

    def damage(self, file: str) -> None:
        """Overwrites the middle half of a file, and its first page. Only between two lives."""
        self._lost()
        path = self.folder / file
        size = path.stat().st_size
        with open(path, "r+b") as damaged:
            damaged.write(b"\xa5" * 4096)
            damaged.seek(size // 4)
            damaged.write(b"\xa5" * (size // 2))
        self._tell()

    def snapshot(self) -> Path:
        """Copies everything as it is at this moment, beside it; returns where that is."""
        kept = self.folder.with_name(f"{self.folder.name}.snapshot")
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(self.folder, kept)
        return kept

    def set_back(self) -> None:
        """Makes everything as it was when it was last copied. Only between two lives."""
        self.wipe()
        shutil.copytree(self.folder.with_name(f"{self.folder.name}.snapshot"), self.folder)
        self._tell()

    def wipe(self) -> None:
        """Takes everything away, if there is anything. Only between two lives."""
        self._lost()
        self._spoiled.clear()
        self.cache.forget()
        if self.folder.exists():
            shutil.rmtree(self.folder)

    def _tell(self) -> None:
        """Tells who keeps account of what lies on disks what can be read in the databases of this one."""
        for path in (self.folder / file for file in FILES):
            if (witness := self.world.moments.disks) is not None and self._is_readable(path):
                reader = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
                # What was damaged twice, or before a snapshot, may have other tables than those that were made.
                with closing(reader), suppress(sqlite3.DatabaseError):
                    witness.tap(self.folder.name, reader, [])

    def _is_readable(self, path: Path) -> bool:
        return path.exists() and path.stat().st_ino != self._spoiled.get(path) and is_sound(path)

    def _lost(self) -> None:
        """Tells who keeps account of what lies on disks that this one is no more."""
        if (witness := self.world.moments.disks) is not None:
            witness.lost(self.folder.name)
