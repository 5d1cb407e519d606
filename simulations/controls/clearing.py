"""Controls of jobs that are deleted, of masters that are forgotten, and of what is told of what went with these."""

from __future__ import annotations

from collections.abc import Sequence

from p2pcrawl.core import control
from p2pcrawl.core.buckets.ownership import Ownership
from p2pcrawl.core.buckets.standings import Standing, left_behind
from p2pcrawl.core.control import DELETED
from p2pcrawl.core.ring.rendezvous import BUCKETS
from p2pcrawl.master.copies.holdings import Holdings
from p2pcrawl.master.jobs.completion import Completion
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.master.jobs.lifecycle import limit_reached
from p2pcrawl.master.neighbours.absences import Absences
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.overlay.gossip import GossipDriver
from p2pcrawl.wire.messages.peer_messages import JobAtMaster

from ..play.options import Options
from .making.control import LIMIT_S, LONG_S, Control
from .making.swaps import swap

# -- deleted-kept: whoever holds copies of a deleted job keeps them ----------------------------


async def _drop_nothing(self: Holdings, job: int) -> int:
    return 0


# -- deleted-undone: what others know of a deleted job counts more than that it was deleted -----

_then = control.Control.then


def _then_least(self: control.Control, state: str, reason: str = "", certificate: bytes = b"") -> control.Control:
    after = _then(self, state, reason, certificate)
    return after._replace(version=0) if state == DELETED else after


# -- forgotten-missed: nobody hears that a master is forgotten ---------------------------------


def _dismiss_nobody(self: GossipDriver, id: NodeId) -> None:
    pass


# -- loss-silent: nobody says that something is out of reach ----------------------------------

_broken = Ownership.broken


def _none_broken(self: Ownership) -> list[int]:
    return []


# -- loss-elsewhere: other buckets are named --------------------------------------------------


def _others_broken(self: Ownership) -> list[int]:
    return sorted((bucket + 1) % BUCKETS for bucket in _broken(self))


# -- loss-for-ever: what others have is not joined to what is here ----------------------------


def _only_hear(self: Ownership, bucket: int, theirs: Standing) -> None:
    ours = self.standing(bucket)
    if theirs.epoch > ours.epoch:
        self._stand(bucket, left_behind(ours, theirs.epoch, ours.epoch))


# -- missing-unnamed: nobody says who is missing ----------------------------------------------


def _nobody_missing(self: Absences) -> dict[NodeId, float]:
    return {}


_SMALL = Options(scenario="clearing", masters=4, pages=120, hosts=10, seed=1, limit_s=LIMIT_S)
_AWAY = Options(scenario="stores-away", masters=3, pages=40, hosts=6, limit_s=LIMIT_S)


# -- limits-passed-over: a job goes on when it has all that it was to have --------------------


def _goes_on(job: Job, ran_s: float) -> str:
    return ""


def _nothing_closes(self: Completion, job: Job, own: JobAtMaster, replies: Sequence[JobAtMaster | None]) -> bool:
    return False


CONTROLS = {
    "limits-passed-over": Control(
        "a job goes on when it has all the pages that it was to have",
        "closed",
        Options(masters=2, pages=120, hosts=4, seed=2, limit_s=LONG_S, draws=("closings",)),
        (swap(limit_reached, _goes_on), swap(Completion._closes, _nothing_closes)),
    ),
    "deleted-kept": Control(
        "copies of a deleted job are kept",
        "deleted",
        _SMALL,
        (swap(Holdings.drop_job, _drop_nothing),),
    ),
    "deleted-undone": Control(
        "a master that comes back with a deleted job brings it back to all",
        "deleted",
        _SMALL,
        (swap(control.Control.then, _then_least),),
    ),
    "forgotten-missed": Control(
        "nobody hears that a dead master is forgotten",
        "statements",
        _SMALL,
        (swap(GossipDriver.dismiss, _dismiss_nobody),),
    ),
    "loss-silent": Control(
        "nobody says that something is out of reach", "told", _AWAY, (swap(Ownership.broken, _none_broken),)
    ),
    "loss-elsewhere": Control(
        "other buckets than those of which something is out of reach are named",
        "told",
        _AWAY,
        (swap(Ownership.broken, _others_broken),),
    ),
    "loss-for-ever": Control(
        "what was out of reach is said to be so when it is back",
        "told",
        _AWAY,
        (swap(Ownership.join_standing, _only_hear),),
    ),
    "missing-unnamed": Control(
        "nobody says which masters are missing", "told", _AWAY, (swap(Absences.missing, _nobody_missing),)
    ),
}
