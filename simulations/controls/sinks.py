"""Controls of what is brought into sinks."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from p2pcrawl.core.buckets.ownership import Ownership
from p2pcrawl.frontier.records.item_table import ItemTable
from p2pcrawl.master.jobs.delivery import Delivery
from p2pcrawl.model.crawl.sink_spec import SINKS_MAX
from p2pcrawl.stores.sink import SinkPage

from ..play.options import Options
from .making.control import LIMIT_S, Control
from .making.swaps import swap

_SMALL = Options(scenario="sink-away", sinks=2, masters=3, pages=60, hosts=10, limit_s=LIMIT_S)

# -- cursor-first: how far a sink has come is noted before it has taken the batch --------------

_bring = Delivery._bring


async def _note_and_bring(self: Delivery, pages: list[SinkPage], places: list[int]) -> None:
    self.cursor = replace(self.cursor, last=places[len(pages) - 1])
    await _bring(self, pages, places)


# -- marked-by-all: records go to others as if every sink had their items ----------------------


def _mark_all(self: ItemTable, number: int, job: int, marks: int) -> int:
    return (1 << SINKS_MAX) - 1


# -- new-keys: an item has another key each time that it is brought ----------------------------

_numbers = count()


def _key_of_its_own(self: SinkPage, place: int, *, history: bool = False) -> str:
    return f"{self.job}-{self.fingerprint}-{place}-{next(_numbers)}"


# -- taken-for-first: what is fetched again out of reach of who knew it is brought unseen ---------


def _misses_nothing(self: Ownership, bucket: int) -> bool:
    return False


CONTROLS = {
    "cursor-first": Control(
        "a sink is noted to have a batch before it has taken it",
        "delivered",
        _SMALL,
        (swap(Delivery._bring, _note_and_bring),),
    ),
    "marked-by-all": Control(
        "records move as if every sink had their items",
        "delivered",
        replace(_SMALL, seed=2),
        (swap(ItemTable._marks, _mark_all),),
    ),
    "marked-unbrought": Control(
        "records say at once that every sink has their items",
        "delivered",
        replace(_SMALL, seed=2),
        (swap(ItemTable._marks, _mark_all),),
        says="which it has not",
    ),
    "new-keys": Control(
        "an item has another key each time that it is brought",
        "delivered",
        _SMALL,
        (swap(SinkPage.key, _key_of_its_own),),
    ),
    "taken-for-first": Control(
        "pages of buckets that lack something are brought as if nobody could have brought them",
        "delivered",
        Options(
            scenario="stores-away", seed=801, masters=4, replicas=1, pages=60, hosts=10, buckets=1, limit_s=LIMIT_S
        ),
        (swap(Ownership.misses, _misses_nothing),),
    ),
}
