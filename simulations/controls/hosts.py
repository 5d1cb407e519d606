"""Controls of what hosts ask for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from p2pcrawl.core.bench.workbench import Workbench
from p2pcrawl.core.hosts.politeness import Host, HostNote, Pace
from p2pcrawl.fetch.components.robots import RobotsRules
from p2pcrawl.master.copies.holdings import Holdings
from p2pcrawl.master.copies.host_orders import HostOrders
from p2pcrawl.model.cluster.node import NodeId

from ..play.options import Options
from .making.control import LIMIT_S, LONG_S, Control
from .making.swaps import swap

# -- hosts-forgotten: what a host asks for stays with the master that it told it to -----------


def _tell_nothing(self: Workbench, buckets: Collection[int], now: float) -> dict[int, HostNote]:
    return {}


def ask_at_once(self: Workbench, buckets: Collection[int], now: float) -> None:
    """Breaks ``Workbench.came_over``: hosts of new buckets do not wait, though others may have asked them a moment
    ago.
    """


async def _hold_nothing(self: Holdings, buckets: Collection[int]) -> dict[int, HostNote]:
    return {}


# -- some-left-alone: hosts are not asked again for long ---------------------------------------

LEFT_ALONE_S = 30.0
_may_begin = Host.may_begin


def _spare_some(self: Host, now: float, pace: Pace) -> bool:
    spared = self.key % 3 == 0 and self.answered and now < self.spaced_from + LEFT_ALONE_S
    return not spared and _may_begin(self, now, pace)


# -- robots-ignored ---------------------------------------------------------------------------


def _allow(self: RobotsRules, url: str) -> bool:
    return True


# -- order-untold: what a person says of a host stays with the master that was asked -----------


async def _tell_nobody(self: HostOrders, node: NodeId, patience_s: float = 0.0) -> None:
    pass


# -- order-faster: a delay that a person has set takes the place of what the host asks for, too --


def _as_ordered(self: Host, pace: Pace) -> float:
    return 0.0 if self.ordered_s is not None else _asked_delay_s(self, pace)


_asked_delay_s = Host.asked_delay_s
_CHANGES = Options(scenario="host-changes", masters=3, pages=150, hosts=12, limit_s=2 * LIMIT_S)


# -- throttle-stays: a host is asked as often as in the beginning, however long its answers take ----


def _as_it_was(self: Host, pace: Pace, latency_s: float, status: int) -> None:
    self.throttle_s = 0.0


# -- down-at-once: a host is taken for one that is down with the first request that it does not answer --


def _down_at_once(self: Host, now: float, pace: Pace, deaf_s: float, *, ours: bool) -> None:
    _unanswered(self, now, pace, deaf_s, ours=ours)
    self.down = True


_unanswered = Host._unanswered
_SLOW = Options(masters=2, pages=80, hosts=8, seed=7, limit_s=LONG_S, draws=("settings", "web"))

CONTROLS = {
    "throttle-stays": Control(
        "a host that is throttled is asked again at once, however long its answers take",
        "throttling",
        _SLOW,
        (swap(Host._throttle, _as_it_was),),
    ),
    "down-at-once": Control(
        "a host is taken for one that is down with the first request that it does not answer",
        "coverage",
        Options(masters=2, pages=80, hosts=6, seed=3, limit_s=LONG_S, draws=("absences",)),
        (swap(Host._unanswered, _down_at_once),),
        says="its host was not, or was back in time",
    ),
    "order-untold": Control(
        "what a person says of a host is told to nobody: its owner, or the next one, asks as before",
        "politeness",
        _CHANGES,
        (swap(HostOrders._tell, _tell_nobody),),
    ),
    "order-faster": Control(
        "a host is asked as fast as a person says, whatever its robots.txt wants",
        "politeness",
        replace(_CHANGES, masters=4, pages=250),
        (swap(Host.asked_delay_s, _as_ordered),),
    ),
    "some-left-alone": Control(
        "one host in three is left alone for half a minute after each answer",
        "healing",
        Options(masters=3, pages=60, hosts=8, limit_s=LONG_S),
        (swap(Host.may_begin, _spare_some),),
        says="nobody has asked",
    ),
    "hosts-forgotten": Control(
        "a new owner knows nothing of its hosts, and asks them at once",
        "politeness",
        Options(scenario="rolling", masters=3, pages=60, hosts=12, limit_s=LIMIT_S),
        (
            swap(Workbench.notes, _tell_nothing),
            swap(Workbench.came_over, ask_at_once),
            swap(Holdings.notes, _hold_nothing),
        ),
    ),
    "robots-ignored": Control(
        "what robots.txt forbids is fetched",
        "robots",
        Options(masters=2, pages=60, hosts=6, limit_s=LIMIT_S),
        (swap(RobotsRules.allowed, _allow),),
    ),
}
