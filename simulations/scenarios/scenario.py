"""What a scenario is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from simulations.paths import Law
from simulations.stage import Stage


@dataclass(frozen=True, slots=True)
class Scenario:
    """``faults`` happen while the job runs; when it returns everything is healed, and the job must be finished."""

    summary: str
    faults: Callable[[Stage], Awaitable[None]]
    law: Law | None = None
    """Of the network, if it is not the usual one."""
    replicas_min: int = 1
    """With fewer, what is lost is lost."""
