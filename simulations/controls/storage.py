"""Controls of what is safe on disk, and of who has to know a page before another is done."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Collection, Sequence
from contextlib import closing
from pathlib import Path

from pybloom_live import BloomFilter

from p2pcrawl.frontier.records.batch import NewLink
from p2pcrawl.frontier.records.known import Key
from p2pcrawl.frontier.records.seen import SeenFilter
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.model.crawl.fingerprint import halves

from ..kernel.paths import Dice
from ..play.options import Options
from ..world.disks import Disk
from .control import LIMIT_S, Control
from .swaps import swap

SYNC_S = 12.0
"""Between two moments at which a disk without fsync has really all."""
SYNCED = ".synced"
"""In a data folder: what would be left after a loss of power."""


# -- fsync-off: commits are said to be durable and are not ------------------------------------


def _begin(self: Disk) -> None:
    if not (self.folder / SYNCED).exists():
        (self.folder / SYNCED).mkdir(parents=True)
        first_s = SYNC_S * Dice(self.world.seed, self.folder, "sync").roll()
        self.world.loop.world_at(self.world.now + first_s, _sync, self)


def _sync(disk: Disk) -> None:
    """Writes the system's caches back; it does so by its own clock, whatever happens to the process."""
    if not disk.folder.exists():
        return
    _copy(disk.folder, disk.folder / SYNCED)
    disk.world.loop.world_at(disk.world.now + SYNC_S, _sync, disk)


def _lose_power(self: Disk) -> None:
    for file in self.folder.iterdir():
        if file.is_file():
            file.unlink()
    _copy(self.folder / SYNCED, self.folder)


def _copy(source: Path, target: Path) -> None:
    """Copies the files of a folder, its databases as they are committed. What lies in folders within is never
    changed.
    """
    for file in sorted(source.iterdir()):
        if file.suffix == ".db":
            with closing(sqlite3.connect(file)) as old, closing(sqlite3.connect(target / file.name)) as new:
                old.backup(new)
        elif file.is_file() and not file.name.endswith(("-wal", "-shm")):
            shutil.copy(file, target / file.name)


# -- bloom-authority: what the filter calls seen is not looked up -----------------------------

FILTER_ERRORS = 0.2


def _small_filter(self: SeenFilter, first_capacity: int = 50, capacity_max: int = 16_000_000) -> None:
    self._capacity_max = capacity_max
    self._capacity = self._room = first_capacity
    self._filters = [BloomFilter(first_capacity, FILTER_ERRORS)]
    self.complete = False


def _new_by_the_filter(self: Store, links: Sequence[NewLink]) -> Collection[tuple[Key, NewLink]]:
    found = []
    for new in links:
        key = (*halves(new.link.fingerprint), new.job)
        if self._filter.add(".".join(map(str, key))):
            found.append((key, new))
    return found


CONTROLS = {
    "fsync-off": Control(
        "a loss of power takes what was committed in the last seconds",
        "coverage",
        Options(scenario="power-loss", masters=4, replicas=1, pages=80, hosts=80, limit_s=LIMIT_S),
        (swap(Disk.begin, _begin), swap(Disk.lose_power, _lose_power)),
    ),
    "bloom-authority": Control(
        "what a filter takes for seen is not looked up",
        "coverage",
        Options(seed=3, masters=2, pages=60, hosts=6, limit_s=LIMIT_S),
        (swap(SeenFilter.__init__, _small_filter), swap(Store._new_links, _new_by_the_filter)),
    ),
}
