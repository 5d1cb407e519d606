"""Controls of what is safe on disk, and of who has to know a page before another is done."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Sequence
from pathlib import Path

from pybloom_live import BloomFilter

from p2pcrawl.frontier.database import schema
from p2pcrawl.frontier.database.known import Key
from p2pcrawl.frontier.database.tables import Layout
from p2pcrawl.frontier.records.batch import NewLink
from p2pcrawl.frontier.records.seen import SeenFilter
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.model.crawl.fingerprint import halves
from p2pcrawl.peer.config import Partition
from p2pcrawl.private import secrets

from ..play.options import Options
from .making.control import LIMIT_S, LONG_S, Control
from .making.swaps import swap

# -- fsync-off: commits are said to be durable and are not ------------------------------------

_prepare = schema._prepare


def _prepare_unsynced(connection: sqlite3.Connection, path: Path, layout: Layout) -> None:
    _prepare(connection, path, layout)
    connection.execute("PRAGMA synchronous=OFF")


# -- drafts-unsynced: small files get their names before they are on the disk ------------------


def _draft_unsynced(path: Path, content: bytes) -> Path:
    draft = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    draft.write_bytes(content)
    return draft


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
        "what is committed is not synced: a loss of power takes it, or some of it",
        "coverage",
        Options(scenario="power-loss", masters=4, replicas=1, pages=80, hosts=80, limit_s=LIMIT_S),
        (swap(_prepare, _prepare_unsynced),),
    ),
    "drafts-unsynced": Control(
        "small files get their names before they are on the disk: a loss of power leaves empty ones, and voters forget",
        "finish",
        Options(
            scenario="lying-disks",
            seed=3,
            masters=3,
            pages=60,
            hosts=20,
            partition=str(Partition.MAJORITY),
            limit_s=LONG_S,
        ),
        (swap(secrets._draft, _draft_unsynced),),
    ),
    "bloom-authority": Control(
        "what a filter takes for seen is not looked up",
        "coverage",
        Options(seed=3, masters=2, pages=60, hosts=6, limit_s=LIMIT_S),
        (swap(SeenFilter.__init__, _small_filter), swap(Store._new_links, _new_by_the_filter)),
    ),
}
