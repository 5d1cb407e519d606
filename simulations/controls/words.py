"""Controls of what masters say: words that are given before what they say is so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from p2pcrawl.core.buckets.copy_ledger import Copying
from p2pcrawl.core.buckets.ownership import Ownership
from p2pcrawl.core.buckets.standings import Standing
from p2pcrawl.core.control import PAUSED
from p2pcrawl.core.control import Control as StateOfJob
from p2pcrawl.master.buckets.handover import Handover
from p2pcrawl.master.copies.copier import Copier
from p2pcrawl.master.majority.roll import Roll
from p2pcrawl.master.steering import LOOK_S, Steering

from ..play.options import Options
from .making.control import LIMIT_S, Control
from .making.swaps import swap


def _safe_at_once(self: Copier, then: Callable[[], None]) -> None:
    then()


def _nothing_dropped(self: Ownership, buckets: Iterable[int]) -> dict[int, Standing]:
    return {}


def _as_before(self: StateOfJob, state: str, reason: str = "", certificate: bytes = b"") -> StateOfJob:
    return self._replace(state=state, reason=reason, certificate=certificate)


def _nothing_open(self: Handover) -> Iterator[int]:
    return iter(())


async def _not_saved(self: Roll) -> None:
    self.electorate.changed = False


def _as_it_was(self: Copying, holder: Any, buckets: Collection[int] | None = None) -> None:
    """Goes on counting the copies of one that is another process, or has another disk, by now."""


_look_after = Steering._look_after


async def _look_after_paused_jobs(self: Steering) -> None:
    """Lets jobs go on that a person has paused, as if they had ended and news of them had come."""
    looks = asyncio.create_task(_look_after(self))
    try:
        while True:
            await asyncio.sleep(LOOK_S)
            for job in [job for job in self._master.jobs.values() if job.state == PAUSED]:
                if self._has_news(job):
                    await self._open_again(job)
    finally:
        looks.cancel()


CONTROLS = {
    "paused-goes-on": Control(
        "a job that was paused goes on by itself, under its next version, while something of it is queued",
        "verbs",
        Options(masters=2, pages=60, hosts=4, seed=4, limit_s=LIMIT_S, draws=("verbs",)),
        (swap(Steering._look_after, _look_after_paused_jobs),),
    ),
    "lost-copies-counted": Control(
        "the copies of one that came back with an empty disk are counted as before",
        "counted",
        Options(scenario="wiped", masters=3, pages=160, hosts=8, limit_s=LIMIT_S),
        (swap(Copying._void, _as_it_was),),
    ),
    "settled-at-once": Control(
        "links are called settled before their copies have been acknowledged",
        "acknowledged",
        Options(masters=3, pages=60, hosts=8, limit_s=LIMIT_S),
        (swap(Copier.when_safe, _safe_at_once),),
    ),
    "dropped-unnoted": Control(
        "who drops its copies of a bucket says that it has all of it",
        "handovers",
        Options(scenario="rolling", masters=3, pages=60, hosts=8, limit_s=LIMIT_S),
        (swap(Ownership.dropped, _nothing_dropped),),
    ),
    "versions-stay": Control(
        "a job's state changes, and its version does not",
        "endings",
        Options(masters=2, pages=30, hosts=4, limit_s=LIMIT_S),
        (swap(StateOfJob.then, _as_before),),
    ),
    "open-let-go": Control(
        "buckets are let go of while their hosts are being asked",
        "permissions",
        Options(scenario="rolling", masters=3, pages=160, hosts=40, limit_s=LIMIT_S),
        (swap(Handover._open, _nothing_open),),
    ),
    "votes-unwritten": Control(
        "who has voted has it not on its disk",
        "ballots",
        Options(scenario="majority", masters=3, pages=40, hosts=6, limit_s=LIMIT_S),
        (swap(Roll._save, _not_saved),),
    ),
}
