"""Controls of what hosts ask for."""

from __future__ import annotations

from collections.abc import Collection

from p2pcrawl.core.bench.workbench import Workbench
from p2pcrawl.core.hosts.politeness import HostNote
from p2pcrawl.fetch.components.robots import RobotsRules
from p2pcrawl.master.copies.holdings import Holdings

from ..play.options import Options
from .control import LIMIT_S, Control
from .swaps import swap

# -- hosts-forgotten: what a host asks for stays with the master that it told it to -----------


def _tell_nothing(self: Workbench, buckets: Collection[int], now: float) -> dict[int, HostNote]:
    return {}


def ask_at_once(self: Workbench, buckets: Collection[int], now: float) -> None:
    """Breaks ``Workbench.came_over``: hosts of new buckets do not wait, though others may have asked them a moment
    ago.
    """


async def _hold_nothing(self: Holdings, buckets: Collection[int]) -> dict[int, HostNote]:
    return {}


# -- robots-ignored ---------------------------------------------------------------------------


def _allow(self: RobotsRules, url: str) -> bool:
    return True


CONTROLS = {
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
