"""Controls of jobs that are deleted, and of masters that are forgotten."""

from __future__ import annotations

from p2pcrawl.core import control
from p2pcrawl.core.control import DELETED
from p2pcrawl.master.copies.holdings import Holdings
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.overlay.gossip import GossipDriver

from ..play.options import Options
from .control import LIMIT_S, Control
from .swaps import swap

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


_SMALL = Options(scenario="clearing", masters=4, pages=120, hosts=10, seed=1, limit_s=LIMIT_S)

CONTROLS = {
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
}
