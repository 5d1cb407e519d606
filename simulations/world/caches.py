"""Caches of simulated disks: what was written and is not safe yet, for a system keeps it in memory till it is synced.

While the power is there nobody sees a difference. When it goes, whatever was not synced is there, or not, or in part:
a sector with what was written to it, the next one with what was there before. What is in a file is safe when that was
synced, its name when its folder was. Of a database, which writes and syncs by itself, it is known from how it was told
to sync when a transaction is safe; SQLite syncs the folder of a new log itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from random import Random
from stat import S_ISDIR
from typing import Final, NamedTuple

SECTOR = 512
_LOG_HEAD: Final = 32
"""The bytes at the beginning of a log, which SQLite syncs before it writes anything behind them."""
DRAWN, LOST = UNSYNCED = ("drawn", "lost")
"""What becomes of writes that were not synced: each by its own dice, or all are gone."""
_DATABASE: Final = ".db"
"""In the name of a database, of its log, and of whatever else SQLite has beside it."""
_TORN: Final = ("none", "all", "prefix", "prefix", "some", "some")


class _Entry(NamedTuple):
    """A name that is safe, and what is in the file that it names."""

    inode: int
    content: bytes


class Cache:
    """The writes to one data folder that are not safe. It outlives processes: the system keeps it."""

    def __init__(self, folder: Path, dice: Random) -> None:
        self.unsynced = DRAWN
        """What the next loss of power does: one of UNSYNCED."""
        self._folder = folder
        self._dice = dice
        self._contents: dict[int, bytes] = {}
        """What is safe of each file that was synced, by its inode."""
        self._names: dict[Path, dict[str, _Entry]] = {}
        """The names that are safe, by their folders."""
        self._files: dict[Path, bytes] = {}
        """Of databases and their logs, with writes that are not safe: what they were before."""

    # -- what is told -------------------------------------------------------------------------

    def synced(self, number: int) -> None:
        """Hears that an open file was synced, or a folder."""
        found = os.fstat(number)
        there = self._inodes()
        if (path := there.get(found.st_ino)) is None:
            return
        if S_ISDIR(found.st_mode):
            self._names[path] = {
                name: _Entry(inode, self._contents.get(inode, b"")) for name, inode in _files_in(path).items()
            }
            # Another file may get the inode of one that is gone.
            self._contents = {inode: content for inode, content in self._contents.items() if inode in there}
        else:
            self._contents[found.st_ino] = path.read_bytes()

    def writes(self, database: Path) -> None:
        """Hears that a database is about to be written to, and that this will not be synced for now."""
        for path in (database, _log_of(database)):
            self._files.setdefault(path, path.read_bytes() if path.exists() else b"")

    def wrote(self, database: Path) -> None:
        """Hears that all that was written to a database has been synced."""
        for path in (database, _log_of(database)):
            self._files.pop(path, None)

    # -- how it stands ------------------------------------------------------------------------

    @property
    def has_unsynced(self) -> bool:
        """True if a database has been written to and not synced."""
        return bool(self._files)

    def is_safe(self, path: Path) -> bool:
        """Tells whether a file outlives a loss of power at this moment, with its name and what is in it."""
        number = path.stat().st_ino
        safe = self._names.get(path.parent, {}).get(path.name)
        return safe is not None and safe.inode == number and self._contents.get(number) == path.read_bytes()

    # -- what becomes of it -------------------------------------------------------------------

    def cut_short(self, database: Path, before: bytes) -> None:
        """Lets a process die while it writes to the log of a database, in which was what is given: only the beginning
        of what it has written is there.
        """
        log = _log_of(database)
        now = log.read_bytes()
        before = now[:_LOG_HEAD] + before[_LOG_HEAD:]
        log.write_bytes(_torn(before, now, "none" if self._dice.random() < 0.5 else "begun", self._dice))

    def lose_power(self) -> bool:
        """Takes away what was not safe, or some of it. Tells whether databases were among that."""
        databases = bool(self._files)
        for path, before in sorted(self._files.items()):
            if path.exists():
                now = path.read_bytes()
                head = now[:_LOG_HEAD] if path.name.endswith("-wal") else b""
                path.write_bytes(self._left(head + before[len(head) :], now))
        for folder in [each for each in self._walk() if each.is_dir()]:
            names, there = self._names.get(folder, {}), _files_in(folder)
            for name in sorted({*names, *there}):
                self._settle(folder / name, names.get(name), there.get(name))
        self.forget()
        for folder in [each for each in self._walk() if each.is_dir()]:
            there = _files_in(folder)
            self._contents.update({inode: (folder / name).read_bytes() for name, inode in there.items()})
            self._names[folder] = {name: _Entry(inode, self._contents[inode]) for name, inode in there.items()}
        return databases

    def forget(self) -> None:
        """Begins anew, with nothing that is safe."""
        self._contents.clear()
        self._names.clear()
        self._files.clear()

    def _settle(self, path: Path, safe: _Entry | None, inode: int | None) -> None:
        """Decides about one name, and what is in the file that it names."""
        if safe is not None and safe.inode == inode:
            content, now = self._contents.get(inode, b""), path.read_bytes()
            if content != now:
                path.write_bytes(self._left(content, now))
        elif self.unsynced == LOST or self._dice.random() < 0.5:
            # It is as if the name had never been given, or taken away.
            path.unlink(missing_ok=True)
            if safe is not None:
                path.write_bytes(safe.content)
        elif inode is not None:
            content, now = self._contents.get(inode, b""), path.read_bytes()
            path.write_bytes(self._left(content, now))

    def _left(self, before: bytes, now: bytes) -> bytes:
        """Returns what is left of a file."""
        if before == now:
            return now
        return before if self.unsynced == LOST else _torn(before, now, self._dice.choice(_TORN), self._dice)

    def _inodes(self) -> dict[int, Path]:
        """Returns what is there, by its inode."""
        found, folders = {}, [self._folder] if self._folder.exists() else []
        for folder in folders:
            found[folder.stat().st_ino] = folder
            for entry in os.scandir(folder):
                if entry.is_dir(follow_symlinks=False):
                    folders.append(folder / entry.name)
                else:
                    found[entry.inode()] = folder / entry.name
        return found

    def _walk(self) -> Iterator[Path]:
        if self._folder.exists():
            yield self._folder
            yield from sorted(self._folder.rglob("*"))


def _torn(before: bytes, now: bytes, how: str, dice: Random) -> bytes:
    """Returns a file of which some sectors have what was written last, and some what was there before."""
    size = max(len(before), len(now))
    places = range(0, size, SECTOR)
    old, new = before.ljust(size, b"\0"), now.ljust(size, b"\0")
    written = [at for at in places if old[at : at + SECTOR] != new[at : at + SECTOR]]
    match how:
        case "none":
            return before
        case "all":
            kept = set(written)
        case "prefix":
            kept = set(written[: dice.randint(0, len(written))])
        case "begun":
            kept = set(written[: dice.randrange(len(written))])
        case _:
            kept = {at for at in written if dice.random() < 0.5}
    end = len(now) if how == "all" else max([len(before), *(min(at + SECTOR, len(now)) for at in kept)])
    return b"".join((new if at in kept else old)[at : at + SECTOR] for at in places)[:end]


def _files_in(folder: Path) -> dict[str, int]:
    """Returns the inode of each file in a folder, by its name; databases are left out."""
    return {e.name: e.inode() for e in os.scandir(folder) if e.is_file() and _DATABASE not in e.name}


@lru_cache(256)
def _log_of(database: Path) -> Path:
    return database.with_name(f"{database.name}-wal")
