"""Controls of what records, counters and items come to when they go from one master to another."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from p2pcrawl.core.buckets.standings import Standing
from p2pcrawl.frontier.records import due_visits, tallies
from p2pcrawl.frontier.records.batch import Ending, ItemRow, KeptItems
from p2pcrawl.frontier.records.due_visits import DueVisit
from p2pcrawl.frontier.records.item_table import ItemTable
from p2pcrawl.frontier.texts.imprint_table import ImprintTable
from p2pcrawl.master.buckets.generation import Generation
from p2pcrawl.master.buckets.handover import Handover
from p2pcrawl.master.buckets.taking import Taking
from p2pcrawl.master.copies import row_forms
from p2pcrawl.master.copies.holdings import Holdings
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.packing import of_text
from p2pcrawl.peer.answers.results import GatheredPage, Gathering
from p2pcrawl.wire.messages.peer_messages import CopyRow, Row

from ..play.options import Options
from .making.control import LIMIT_S, LONG_S, Control
from .making.swaps import swap

# -- counters-not-kept: records move, and what is counted of them does not --------------------

_count = tallies.count


def _count_queued(tally: Counter[str], phase: int, reason: str, by: int) -> None:
    """Counts queued records only; without these the job would never end."""
    if phase == Phase.QUEUED:
        _count(tally, phase, reason, by)


# -- verdicts-of-one: who takes a bucket over does not know which texts were met there -----------


def _learn_nothing_moved(self: ImprintTable, records: Collection[int]) -> None:
    pass


# -- never-given-up: who hands a bucket over keeps its records, too ---------------------------


def _keep_rows(self: Handover, buckets: Collection[int], generation: Generation) -> asyncio.Future[None]:
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    done.set_result(None)
    return done


# -- items-not-copied: copies know that a page is done, and not what it brought ---------------


def _without_items(e: Ending, staged: tuple[int, bytes] | None = None, kept: KeptItems | None = None) -> CopyRow:
    return _copy_of_ending(e, (0, b""))


_copy_of_ending = row_forms.copy_of_ending


# -- items-kept: who hands a bucket over goes on giving out its items -------------------------


def _remove_nothing(self: ItemTable, records: Collection[int]) -> Counter[int]:
    return Counter()


# -- not-taken-in: what is handed over is said to be taken, and is dropped --------------------


async def _take_nothing_in(self: Taking, rows: list[Row], generation: Generation) -> None:
    pass


# -- never-dropped: whoever need not hold a bucket any more goes on holding it ----------------


async def _only_said(self: Holdings, buckets: Collection[int], standings: Mapping[int, Standing]) -> None:
    await self.note(standings)


# -- never-unspooled: links stay in the spool when enough others have them --------------------


async def _unspool_nothing(self: Holdings, numbers: Sequence[int]) -> None:
    pass


# -- items-told-twice: a gathering does not know what it has told already ----------------------


def _all_again(self: Gathering[Any], pages: list[list[Any]]) -> list[GatheredPage]:
    return [GatheredPage(print_, of_text(items), told) for print_, _, items, *told in (*pages, *pages)]


# -- visited-early: whatever is to be visited again is so at once ------------------------------

_due_now = due_visits.due_now
_SOONER_S = 100_000


def _due_at_once(db: sqlite3.Connection, job: int, now: int, limit: int) -> list[DueVisit]:
    return _due_now(db, job, now + _SOONER_S, limit)


# -- items-exchanged: two pages that end at once get each other's items ------------------------

_add_items = ItemTable.add


def _add_exchanged(self: ItemTable, items: Iterable[ItemRow]) -> None:
    rows = list(items)
    if len(rows) > 1 and rows[0].record != rows[1].record and rows[0].job == rows[1].job:
        rows[:2] = rows[0]._replace(data=rows[1].data), rows[1]._replace(data=rows[0].data)
    _add_items(self, rows)


# -- copies-one-behind: a copy gets the items of the page that was copied before it ------------

_lately: deque[tuple[int, bytes]] = deque(maxlen=2)


def _with_items_before(e: Ending, staged: tuple[int, bytes] | None = None, kept: KeptItems | None = None) -> CopyRow:
    copy = _copy_of_ending(e, staged, kept)
    if not copy.items:
        return copy
    _lately.append((copy.items, copy.data))
    copy.items, copy.data = _lately[0]
    return copy


CONTROLS = {
    "items-exchanged": Control(
        "two pages that end at once get each other's items",
        "contents",
        Options(masters=2, pages=60, hosts=12, limit_s=LIMIT_S),
        (swap(ItemTable.add, _add_exchanged),),
    ),
    "copies-one-behind": Control(
        "a copy gets the items of the page that was copied before it",
        "contents",
        Options(masters=2, pages=60, hosts=6, limit_s=LIMIT_S),
        (swap(row_forms.copy_of_ending, _with_items_before),),
    ),
    "visited-early": Control(
        "pages are visited again before they are due",
        "visits",
        Options(scenario="living", masters=3, pages=30, hosts=6, limit_s=LONG_S),
        (swap(due_visits.due_now, _due_at_once),),
    ),
    "verdicts-of-one": Control(
        "who takes a bucket over does not know which texts were met there",
        "duplicates",
        Options(scenario="repeated", masters=3, pages=200, hosts=30, limit_s=LIMIT_S),
        (swap(ImprintTable.learn, _learn_nothing_moved),),
    ),
    "counters-not-kept": Control(
        "what is counted of pages that are through does not follow them",
        "conservation",
        Options(scenario="rolling", masters=3, pages=40, hosts=6, limit_s=LIMIT_S),
        (swap(tallies.count, _count_queued),),
    ),
    "never-given-up": Control(
        "who hands a bucket over keeps its records",
        "conservation",
        Options(scenario="rolling", seed=2, masters=3, pages=40, hosts=6, limit_s=LONG_S),
        (swap(Handover.forget, _keep_rows),),
    ),
    "items-not-copied": Control(
        "copies are told of ended pages without their items",
        "items",
        Options(scenario="massacre", masters=3, pages=40, hosts=6, limit_s=LIMIT_S),
        (swap(row_forms.copy_of_ending, _without_items),),
    ),
    "items-kept": Control(
        "who hands a bucket over keeps the items",
        "items",
        Options(scenario="rolling", masters=3, pages=30, hosts=6, limit_s=LIMIT_S),
        (swap(ItemTable.remove, _remove_nothing),),
    ),
    "not-taken-in": Control(
        "a new owner does not keep what it is handed over",
        "durability",
        Options(scenario="rolling", masters=3, pages=40, hosts=6, limit_s=LIMIT_S),
        (swap(Taking._take_in, _take_nothing_in),),
    ),
    "never-dropped": Control(
        "copies stay where they need not be any more",
        "copies",
        Options(scenario="rolling", masters=4, pages=40, hosts=6, limit_s=LONG_S),
        (swap(Holdings.give_up, _only_said),),
    ),
    "never-unspooled": Control(
        "spools are never emptied",
        "bounds",
        Options(scenario="churn", masters=3, pages=60, hosts=20, limit_s=LONG_S),
        (swap(Holdings.unspool, _unspool_nothing),),
    ),
    "items-told-twice": Control(
        "whoever asks for the items is told some of them twice",
        "answers",
        Options(masters=3, pages=40, hosts=6, seed=1, limit_s=LIMIT_S, draws=("verbs",)),
        (swap(Gathering._fresh, _all_again),),
    ),
}
