"""Scenarios: what each is made of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from p2pcrawl.peer.config import Partition
from p2pcrawl.spiders.spider import Spider

from ..kernel.paths import Law
from ..world.web import WebPlan
from .aims import Aim
from .faults import Fault
from .options import DRAWS, Options
from .spiders import Walker
from .stage import Stage

USUAL_WEB = WebPlan()


@dataclass(frozen=True, slots=True)
class Scenario:
    """``faults`` happen while the job runs; when it returns everything is healed, and the job must be finished."""

    summary: str
    faults: Callable[[Stage], Awaitable[None]]
    law: Law | None = None
    """Of the network, if it is not the usual one."""
    replicas_min: int = 1
    """With fewer, what is lost is lost."""
    masters_min: int = 1
    """With fewer, it is another scenario."""
    web: WebPlan = USUAL_WEB
    """What the web is like, but for its size."""
    slaves_min: int = 0
    """Slave machines per master that it needs."""
    sinks_min: int = 0
    """Sinks that it needs."""
    weights: tuple[int, ...] = (1,)
    """Of the masters, in turn."""
    partition: Partition = Partition.AVAILABLE
    """What the parts of a divided cluster do."""
    parts: Callable[[Options], Sequence[Fault | Aim]] | None = None
    """What ``faults`` does, where that is drawn before anything begins: it can be taken apart."""
    spider: type[Spider] = Walker
    keeps_raw_pages: bool = False
    """Machines keep the answers that they get."""
    drawn: bool = True
    """Seeds of a swarm may have it,"""
    besides: tuple[str, ...] = DRAWS
    """and draw these besides,"""
    pages_max: int = 240
    """and no more pages than these."""
    hosts_max: int = 30
    """Their web lies on no more hosts than these: with few it takes longer to crawl."""
    share: float = 0.0
    """Of the seeds that have enough copies, by dice of its own: what the others draw is as it was before there was this
    scenario. Without it, all that are drawn are as likely."""
