"""Controls of who may grant what, and of how a bucket goes from one owner to the next."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping

from p2pcrawl.core.bench.workbench import Workbench
from p2pcrawl.core.buckets.bucket_states import TRANSITIONS, BucketEvent, BucketState, BucketStates
from p2pcrawl.core.buckets.ownership import Ownership
from p2pcrawl.core.ring.paper_rings import Modulo
from p2pcrawl.core.ring.rendezvous import BUCKETS, Rendezvous
from p2pcrawl.master.buckets.caution import Caution
from p2pcrawl.master.buckets.handover import Handover
from p2pcrawl.master.slaves.session import Session
from p2pcrawl.master.slaves.slaves import Slaves
from p2pcrawl.slave.link.fence import Fence

from ..play.options import Options
from .hosts import ask_at_once
from .making.control import LIMIT_S, LONG_S, Control
from .making.swaps import swap

# -- fencing-off: whoever stood still goes on under leases and epochs that are void -----------


def _never_passed(self: Fence) -> bool:
    return False


def _do_not_look(self: Fence) -> None:
    pass


def _none_overdue(self: Slaves, now: float) -> list[Session]:
    return []


async def _watch_no_clock(self: Caution) -> None:
    await asyncio.get_running_loop().create_future()


def _hear_no_charge(self: Caution) -> None:
    pass


# -- grants-on: a master grants from a bucket that its own view gives to another --------------

_take = BucketStates.take


def _keep_serving(self: BucketStates, event: BucketEvent, buckets: Iterable[int]) -> frozenset[int]:
    if event is BucketEvent.LOST:
        return frozenset()
    return _take(self, event, [bucket for bucket in buckets if event in TRANSITIONS[self[bucket]]])


# -- no-waiting: a bucket is served before everybody has let go of it -------------------------


def _all_ready(self: Ownership, buckets: Iterable[int]) -> frozenset[int]:
    return self.states.among(buckets, BucketState.CLAIMED, BucketState.VOUCHED, BucketState.BEGINNING)


# -- no-consent: a bucket is handed over while leases on it are open --------------------------


def _at_once(self: Handover, buckets: Collection[int]) -> asyncio.Future[bool]:
    answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
    answer.set_result(True)
    return answer


# -- hash-mod-n: the ring of the papers ------------------------------------------------------


def _by_modulo(self: Rendezvous[str], copies: int) -> list[tuple[str, ...]]:
    ring = Modulo(self._weights)
    return [ring.owners(bucket, copies) for bucket in range(BUCKETS)]


# -- weights-ignored: each master gets as much as any other ----------------------------------

_make_ring = Rendezvous.__init__


def _without_weights(self: Rendezvous[str], weights: Mapping[str, int]) -> None:
    _make_ring(self, dict.fromkeys(weights, 1))


CONTROLS = {
    "fencing-off": Control(
        "sessions and epochs never end: who stood still goes on with what is another's by now",
        "politeness",
        Options(scenario="pauses", seed=2, masters=3, pages=80, hosts=8, limit_s=LONG_S),
        (
            swap(Fence.passed, _never_passed),
            swap(Fence._look, _do_not_look),
            swap(Slaves.overdue, _none_overdue),
            swap(Caution.watch_clock, _watch_no_clock),
            swap(Caution.condemned, _hear_no_charge),
        ),
    ),
    "grants-on": Control(
        "a master goes on granting from buckets that have left it",
        "ownership",
        Options(scenario="rolling", masters=3, pages=40, hosts=6, limit_s=LIMIT_S),
        (swap(BucketStates.take, _keep_serving),),
    ),
    "no-waiting": Control(
        "a bucket is served, and its hosts are asked, before others have let go of it",
        "fetches",
        # With copies, heirs have what the others have not handed over yet.
        Options(scenario="rolling", seed=4, masters=3, replicas=1, pages=60, hosts=12, limit_s=LIMIT_S),
        (swap(Ownership._ready, _all_ready), swap(Workbench.came_over, ask_at_once)),
    ),
    "no-consent": Control(
        "buckets are handed over while their leases are open",
        "fetches",
        Options(scenario="rolling", masters=3, pages=60, hosts=12, limit_s=LIMIT_S),
        (swap(Handover.can_release, _at_once),),
    ),
    "hash-mod-n": Control(
        "buckets go by hash % n",
        "movement",
        # So few that each table is made anew, and none from the one before.
        Options(scenario="rolling", masters=3, pages=40, hosts=6, limit_s=LIMIT_S),
        (swap(Rendezvous.table, _by_modulo),),
    ),
    "weights-ignored": Control(
        "the ring does not look at weights",
        "balance",
        Options(scenario="mixed-weights", masters=4, slaves=1, pages=20, hosts=4, limit_s=LIMIT_S),
        (swap(Rendezvous.__init__, _without_weights),),
    ),
}
