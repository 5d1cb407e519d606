"""Controls of what masters say: words that are given before what they say is so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from p2pcrawl.core.buckets.copy_ledger import Copying
from p2pcrawl.core.buckets.ownership import Ownership
from p2pcrawl.core.buckets.standings import Standing
from p2pcrawl.core.control import PAUSED
from p2pcrawl.core.control import Control as StateOfJob
from p2pcrawl.core.majority.consent import Consent
from p2pcrawl.master.buckets.handover import Handover
from p2pcrawl.master.buckets.takeover import Takeover
from p2pcrawl.master.copies.copier import Copier
from p2pcrawl.master.jobs import job as known_jobs
from p2pcrawl.master.jobs.job_stats import put_together
from p2pcrawl.master.majority.roll import Roll
from p2pcrawl.master.slaves.slaves import Slaves
from p2pcrawl.master.steering import LOOK_S, Steering
from p2pcrawl.model.cluster.node import NodeId

from ..play.options import Options
from .making.control import LIMIT_S, Control
from .making.swaps import Swap, swap


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


_Shares = list[tuple[NodeId, frozenset[int]]]


_audiences = Takeover._audiences


def _following_only(self: Takeover, begun: frozenset[int]) -> tuple[_Shares, _Shares]:
    return _audiences(self, begun)[0], []


def _since_ever(self: Ownership, bucket: int) -> int:
    return 0


def _promised_nothing(self: Consent, now: float) -> Mapping[NodeId, int]:
    return {}


def _recount(self: Consent, now: float) -> None:
    """Takes the consent of one voter for that of most."""
    self._until = max((at for _, _, at in self._agreed.values()), default=-self._timings.grant_s)
    self._until += self._timings.grant_s
    self._stood = True


def _go_on(self: Slaves) -> None:
    pass


_ROLLING = Options(scenario="rolling", masters=3, pages=60, hosts=12, limit_s=LIMIT_S)
_MAJORITY = Options(scenario="majority", masters=4, pages=60, hosts=8, limit_s=LIMIT_S)
_SLOW_PAGES = replace(_MAJORITY, draws=("web",))


# -- sizes-of-one: of the greatest and the least that masters know the first one's word counts ----


def _word_of_one(group: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    return dict(other) | dict(one)


CONTROLS = {
    "sizes-of-one": Control(
        "of the greatest and the least value that masters know the first one's word counts",
        "statements",
        Options(masters=4, pages=60, hosts=8, seed=1, limit_s=LIMIT_S, draws=("settings",)),
        (Swap(known_jobs, "put_together", put_together, _word_of_one),),
        says="and of the pages that the web gave",
    ),
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
    "epochs-half-told": Control(
        "a bucket is served under an epoch of which only those that follow it are told",
        "handovers",
        Options(masters=3, pages=30, hosts=6, limit_s=LIMIT_S),
        (swap(Takeover._audiences, _following_only),),
        says="has not said to have heard",
    ),
    "nothing-since-ever": Control(
        "whoever takes a bucket over says that nothing was acknowledged in it before",
        "handovers",
        _ROLLING,
        (swap(Ownership.since, _since_ever),),
        says="says that nothing was acknowledged",
    ),
    "promises-forgotten": Control(
        "a voter agrees to one view while it has promised to stand by another",
        "consents",
        _MAJORITY,
        (swap(Consent._promised, _promised_nothing),),
        says="to stand by another",
    ),
    "one-for-most": Control(
        "the consent of one voter is taken for that of most",
        "consents",
        _MAJORITY,
        (swap(Consent.recount, _recount),),
        says="has not the consent of most",
    ),
    "open-without-consent": Control(
        "what slaves have open goes on when the consent of most is over",
        "consents",
        _SLOW_PAGES,
        (swap(Slaves.halt, _go_on),),
        says="had the consent of most till",
    ),
}
