"""Controls of what is safe on disk, in which order it is said, and of what is counted on: coverage alone tells some of
them, others the laws about single words and transactions.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Sequence
from pathlib import Path

from pybloom_live import BloomFilter

from p2pcrawl.core.buckets.bitmaps import bitmap_of
from p2pcrawl.frontier.copies.copy_store import SpoolRow
from p2pcrawl.frontier.database import schema
from p2pcrawl.frontier.database.known import Key
from p2pcrawl.frontier.database.tables import Layout
from p2pcrawl.frontier.records import merging, tallies
from p2pcrawl.frontier.records.batch import Batch, Committed, NewLink
from p2pcrawl.frontier.records.seen import SeenFilter
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.master.buckets.takeover import Takeover
from p2pcrawl.master.copies.spool import Spool
from p2pcrawl.master.copies.syncing import Syncing
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.crawl.fingerprint import halves
from p2pcrawl.peer.config import Partition
from p2pcrawl.private import secrets
from p2pcrawl.wire.messages.peer_messages import Row, Whole

from ..play.options import Options
from .making.control import LIMIT_S, LONG_S, Control
from .making.swaps import swap

_Share = tuple[NodeId, frozenset[int]]

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


def _new_by_the_filter(self: Store, links: Sequence[NewLink]) -> tuple[Collection[tuple[Key, NewLink]], list[int]]:
    found = []
    for new in links:
        key = (*halves(new.link.fingerprint), new.job)
        if self._filter.add(".".join(map(str, key))):
            found.append((key, new))
    return found, []


# -- moved-unqueued: records that are found to be through elsewhere stay in their queues -------


def _only_count(db: sqlite3.Connection, won: list[tuple[sqlite3.Row, Row]], batch: Batch, result: Committed) -> None:
    for here, row in won:
        tallies.count(batch.tallies[row.job], here["phase"], here["reason"], -1)
        tallies.count(batch.tallies[row.job], row.phase, row.reason, +1)


# -- unspooled-unsaid: links are kept no more, whoever has them --------------------------------


async def _let_go_of_all(self: Spool, rows: list[tuple[int, SpoolRow]]) -> bool:
    await self._holdings.unspool([number for number, _ in rows])
    return True


# -- counted-unnoted: nobody is told that its copies are whole, and they count -----------------


async def _confirm_nothing(self: Syncing, node: NodeId, buckets: frozenset[int]) -> None:
    pass


# -- gaps-whole: copies of what is lacking are called whole ------------------------------------


async def _confirm_all(self: Syncing, node: NodeId, buckets: frozenset[int]) -> None:
    whole = sorted(buckets)
    await self._peers.ask(node, Whole(0, bitmap_of(whole), [self._ownership.counters[b] for b in whole]))


# -- epochs-told-at-once: who lacks an epoch may hear of it before those that follow it --------

_audiences = Takeover._audiences


def _all_at_once(self: Takeover, begun: frozenset[int]) -> tuple[list[_Share], list[_Share]]:
    following, lacking = _audiences(self, begun)
    return [*following, *lacking], []


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
        (swap(SeenFilter.__init__, _small_filter), swap(Store._known_apart, _new_by_the_filter)),
    ),
    "moved-unqueued": Control(
        "records that are through elsewhere stay in their queues",
        "tables",
        Options(scenario="rolling", masters=3, pages=60, hosts=12, limit_s=LIMIT_S),
        (swap(merging._move_in_queue, _only_count),),
        says="times in its queue",
    ),
    "commits-unsynced": Control(
        "what is acknowledged is not synced, though no power is lost",
        "acknowledged",
        Options(masters=3, pages=40, hosts=8, limit_s=LIMIT_S),
        (swap(schema._prepare, _prepare_unsynced),),
        says="a loss of power could take away",
    ),
    "votes-unsynced": Control(
        "a vote is said before the file in which it stands is on the disk, though no power is lost",
        "ballots",
        Options(scenario="majority", masters=3, pages=40, hosts=8, limit_s=LIMIT_S),
        (swap(secrets._draft, _draft_unsynced),),
        says="its disk does not say so",
    ),
    "unspooled-unsaid": Control(
        "links that are kept for want of copies are kept no more, whoever has them",
        "acknowledged",
        Options(scenario="massacre", masters=4, replicas=3, pages=60, hosts=20, limit_s=LIMIT_S),
        (swap(Spool._send, _let_go_of_all),),
        says="no more, which is with",
    ),
    "counted-unnoted": Control(
        "copies are counted whose holders do not know that they are whole",
        "counted",
        Options(scenario="wiped", masters=4, pages=60, hosts=12, limit_s=LIMIT_S),
        (swap(Syncing._confirm_synced, _confirm_nothing),),
        says="and there it is",
    ),
    "gaps-whole": Control(
        "copies of buckets of which something is lacking are called whole",
        "handovers",
        Options(scenario="stores-lost", masters=4, pages=60, hosts=12, limit_s=LIMIT_S),
        (swap(Syncing._confirm_synced, _confirm_all),),
        says="are whole, of which it lacks",
    ),
    "epochs-told-at-once": Control(
        "who lacks an epoch may hear of it before those that follow it",
        "handovers",
        Options(scenario="wiped", masters=4, pages=60, hosts=12, limit_s=LIMIT_S),
        (swap(Takeover._audiences, _all_at_once),),
        says="heard of it",
    ),
}
