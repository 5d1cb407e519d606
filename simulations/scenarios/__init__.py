"""The scenarios by name. Each is a module with what it does to the machines while they crawl."""

from __future__ import annotations

from simulations.scenarios import (
    churn,
    clocks,
    flapping,
    lossy,
    massacre,
    one_way,
    partition,
    pauses,
    power_loss,
    rolling,
    slow_owner,
    steady,
    wiped,
)
from simulations.scenarios.scenario import Scenario

SCENARIOS: dict[str, Scenario] = {
    "steady": steady.SCENARIO,
    "rolling": rolling.SCENARIO,
    "churn": churn.SCENARIO,
    "power-loss": power_loss.SCENARIO,
    "pauses": pauses.SCENARIO,
    "partition": partition.SCENARIO,
    "massacre": massacre.SCENARIO,
    "wiped": wiped.SCENARIO,
    "flapping": flapping.SCENARIO,
    "one-way": one_way.SCENARIO,
    "lossy": lossy.SCENARIO,
    "clocks": clocks.SCENARIO,
    "slow-owner": slow_owner.SCENARIO,
}

__all__ = ["SCENARIOS", "Scenario"]
