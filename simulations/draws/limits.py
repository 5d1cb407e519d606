"""Small limits: pages, ranges, windows and caches of the peers so small that a small web comes to their ends.

A crawl of a hundred pages fits into the first page of every answer, and into every cache. With limits as small as these
there are second pages, splits, merges, evictions and rebuilds in it. Each is one that the code is right with; those
that have to be the same, or in an order, at several places are one here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from random import Random
from typing import Any, Final

DRAWN_SHARE: Final = 0.4
"""Each limit is made small in so many of the runs that have small limits."""
LATER_SHARE: Final = 0.6
"""and each of those that came later."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit of the peers: where it stands, and the small values that it may have."""

    places: tuple[str, ...]
    """``module:NAME`` for a constant, as each module that uses it knows it; ``module:function:parameter`` for the value
    that a parameter has when nobody gives one."""
    values: tuple[int, ...]


def _in(room: str, *names: str) -> tuple[str, ...]:
    return tuple(f"p2pcrawl.{room}:{name}" for name in names)


LIMITS: Final[dict[str, Limit]] = {
    "pulled rows": Limit(_in("master.buckets.takeover", "PULL_ROWS"), (1, 4, 15)),
    "demoted rows": Limit(_in("master.buckets.takeover", "DEMOTE_ROWS"), (1, 4, 15)),
    "portion rows": Limit(_in("master.buckets.taking", "PORTION_ROWS"), (2, 10, 40)),
    "copied rows": Limit(
        (
            *_in("master.copies.copier", "ROWS_MAX"),
            *_in("master.copies.holdings", "ROWS_MAX"),
            *_in("master.copies.syncing", "SEND_ROWS"),
        ),
        (1, 3, 12),
    ),
    "copied bytes": Limit(
        (*_in("master.copies.copier", "BYTES_MAX"), *_in("master.copies.holdings", "BYTES_MAX")), (200, 2_000)
    ),
    "copies under way": Limit(_in("master.copies.copier", "UNDER_WAY_MAX"), (16, 80)),
    "spooled rows": Limit(_in("master.copies.spool", "ROWS_MAX"), (1, 5, 20)),
    "synced leaf": Limit(_in("master.copies.syncing", "LEAF_ROWS"), (1, 4)),
    "synced slice rows": Limit(_in("master.copies.syncing", "SLICE_ROWS"), (10, 100)),
    "ranges mended at once": Limit(_in("master.copies.syncing", "MENDED_AT_ONCE"), (1, 2)),
    "holders on patrol": Limit(_in("master.copies.syncing", "PATROL_HOLDERS"), (1, 2)),
    "digested rows": Limit(_in("frontier.database.digest", "CHUNK_ROWS"), (1, 3)),
    "accounts told": Limit(_in("master.copies.account_keeping", "ACCOUNTS_MAX"), (1, 2)),
    "figures told": Limit(_in("master.copies.account_keeping", "TOLD_FIGURES"), (1, 40)),
    "parcels of links": Limit(_in("master.links.dispatch", "BATCH_MAX"), (1, 3, 12)),
    "links under way": Limit(_in("master.links.dispatch", "HELD_MAX"), (16, 80)),
    "known hosts": Limit(_in("master.links.shard_keys", "_KNOWN_MAX"), (1, 4)),
    "links taken in a turn": Limit(_in("master.slaves.inbox", "PART_LINKS_MAX"), (1, 8)),
    "links of a part": Limit(
        (*_in("slave.pages.harvest", "PART_LINKS"), *_in("slave.pages.harvesting", "PART_LINKS")), (1, 3)
    ),
    "granted at once": Limit(_in("master.slaves.granting", "GRANTS_MAX"), (1, 3)),
    "parked": Limit(_in("master.slaves.granting", "PARKED_MAX"), (1, 4)),
    "rules known": Limit(
        (*_in("master.slaves.session", "RULES_MAX"), *_in("slave.pages.known_rules", "RULES_MAX")), (2, 5)
    ),
    "reported pages": Limit(_in("slave.link.outbox", "PAGES_MAX"), (1, 3)),
    "window of reports": Limit(_in("slave.link.outbox", "WINDOW_BYTES"), (200, 2_000)),
    "orphan pages told": Limit(_in("slave.link.orphans", "BATCH_PAGES"), (1, 2)),
    "remembered by a slave": Limit(_in("slave.pages.memory", "Memory.__init__:capacity"), (2, 20)),
    "loaded queues": Limit(_in("master.jobs.loading", "LOADS_MAX"), (1, 4)),
    "swept queues": Limit(_in("master.jobs.loading", "ACTIVATE"), (1, 4)),
    "hot rows": Limit(_in("core.bench.hot_queues", "HOT_MAX"), (2, 4)),
    "seats": Limit(_in("core.bench.workbench", "Workbench.__init__:hosts_max"), (2, 5)),
    "brought pages": Limit(_in("master.carrying", "PAGES_MAX"), (1, 10)),
    "delivered rows": Limit(_in("master.jobs.outputs", "READ_ROWS"), (1, 5)),
    "pages of results": Limit(_in("frontier.reading.job_items", "PAGES_MAX"), (1, 4, 15)),
    "bytes of results": Limit(_in("frontier.reading.job_items", "BYTES_MAX"), (50, 500)),
    "bytes of items": Limit(
        _in("frontier.records.store", "Store.items_after:bytes_max", "Store.rows_of:bytes_max"), (50, 500)
    ),
    "packed bytes": Limit(_in("model.packing", "PACKED_OVER"), (50, 500)),
    "young prints": Limit(_in("frontier.records.store", "Store.__init__:young_max"), (5, 25)),
    "merged prints": Limit(_in("frontier.records.store", "MERGE_STEP"), (1, 4)),
    "rebuilt prints": Limit(_in("frontier.records.store", "REBUILD_STEP"), (1, 8)),
    "filter": Limit(_in("frontier.records.seen", "SeenFilter.__init__:first_capacity"), (4, 20)),
    "filters": Limit(_in("frontier.records.seen", "SeenFilter.__init__:capacity_max"), (40, 400)),
    "forgotten rows": Limit(_in("frontier.records.bucket_rows", "FORGET_ROWS"), (1, 5)),
    "retried rows": Limit(_in("frontier.records.retried", "RETRY_ROWS"), (1, 2)),
    "abandoned rows": Limit(_in("master.requeue", "ABANDON_ROWS"), (1, 3)),
    "dropped copies": Limit(_in("frontier.copies.copy_store", "DROP_ROWS"), (1, 5)),
    "lent requests": Limit(_in("master.loans.lending", "COUNT_MAX", "FREE_COUNT"), (1, 3)),
    "recalls at once": Limit(_in("master.neighbours.notes", "RECALLS_AT_ONCE"), (1, 2)),
    "messages in flight": Limit(_in("master.neighbours.lane", "IN_FLIGHT_MAX"), (1, 2)),
    "gossip updates": Limit(_in("core.membership.dissemination", "UPDATES_MAX"), (1, 3)),
    "gossip exchanges": Limit(_in("overlay.gossip", "EXCHANGES_MAX"), (1, 2)),
    "voters": Limit(
        (*_in("core.majority.electorate", "VOTERS_WANTED"), *_in("master.majority.mandate", "VOTERS_WANTED")), (3, 5)
    ),
    "slots": Limit(_in("model.crawl.settings", "Settings.__init__:concurrent_requests"), (1, 2, 3)),
}
LATER: Final[dict[str, Limit]] = {
    "marked records": Limit(_in("frontier.database.copied_mark", "STEP"), (1, 1, 5)),
    "links sent ahead": Limit(_in("master.copies.links_first", "SEND_ROWS"), (1, 4)),
    "compared buckets": Limit(_in("master.copies.syncing", "SLICE"), (1, 8)),
    "bytes of parcels": Limit(_in("master.links.dispatch", "BATCH_BYTES_MAX"), (200, 2_000)),
    "bytes of a part": Limit(_in("slave.pages.harvest", "PART_BYTES"), (50, 300)),
    "patience with parts": Limit(_in("slave.pages.harvest", "PATIENT"), (1,)),
    "parts ahead": Limit(_in("slave.pages.harvesting", "PARTS_AHEAD"), (0, 1)),
    "bytes reported": Limit(_in("slave.link.outbox", "BYTES_MAX"), (200, 2_000)),
    "orphan bytes told": Limit(_in("slave.link.orphans", "BATCH_BYTES"), (200, 2_000)),
    "letters at once": Limit(_in("master.jobs.redelivery", "AT_ONCE"), (1, 3)),
    "visits begun at once": Limit(_in("master.revisiting", "BEGUN_MAX"), (1, 4)),
    "cleared rows": Limit(_in("frontier.records.cleared", "CLEAR_ROWS"), (1, 4)),
    "hastened rows": Limit(_in("frontier.records.due_visits", "HASTEN_ROWS"), (1, 10)),
}
"""Those that came later: by dice of their own, so that the others are as they were."""
LIMITS.update(LATER)
APART: Final = frozenset({"slots"})
"""Those that are drawn on their own."""


def drawn_limits(seed: int) -> dict[str, int]:
    """Draws which limits are small in a run, and how small."""
    drawn: dict[str, int] = {}
    for dice, those in (
        (Random(f"{seed}/limits"), LIMITS.keys() - LATER.keys() - APART),
        (Random(f"{seed}/later limits"), LATER),
    ):
        for name in (name for name in LIMITS if name in those):
            if dice.random() < DRAWN_SHARE:
                drawn[name] = dice.choice(LIMITS[name].values)
    return drawn


def drawn_slots(seed: int) -> dict[str, int]:
    """Draws how few requests slaves have open at once."""
    return {"slots": Random(f"{seed}/slots").choice(LIMITS["slots"].values)}


@contextmanager
def limited(limits: Mapping[str, int]) -> Iterator[None]:
    """Puts these limits in force for the block. Raises LookupError for a limit that is not where it is said to be."""
    with ExitStack() as stack:
        for name, value in limits.items():
            for place in LIMITS[name].places:
                stack.enter_context(_put(place, value))
        yield


@contextmanager
def _put(place: str, value: int) -> Iterator[None]:
    module, name, *parameter = place.split(":")
    home: Any = import_module(module)
    if not parameter:
        if not isinstance(vars(home).get(name), int):
            raise LookupError(f"{place} is no limit")
        real = vars(home)[name]
        setattr(home, name, value)
        try:
            yield
        finally:
            setattr(home, name, real)
        return
    for part in name.split("."):
        home = vars(home)[part]
    defaults, of_words = home.__defaults__, home.__kwdefaults__
    if not isinstance(signature(home).parameters[parameter[0]].default, int):
        raise LookupError(f"{place} is no limit")
    if parameter[0] in (of_words or ()):
        home.__kwdefaults__ = {**of_words, parameter[0]: value}
    else:
        names = [each.name for each in signature(home).parameters.values() if each.kind is each.POSITIONAL_OR_KEYWORD]
        place_of = names.index(parameter[0]) - len(names)
        home.__defaults__ = (*defaults[:place_of], value, *defaults[len(defaults) + place_of + 1 :])
    try:
        yield
    finally:
        home.__defaults__, home.__kwdefaults__ = defaults, of_words
