"""The scenarios by name. Each is a module with what it does to the machines while they crawl."""

from __future__ import annotations

from simulations.scenarios import (
    alone,
    churn,
    clocks,
    flapping,
    full_disk,
    hostile_bytes,
    hot_host,
    lossy,
    majority,
    massacre,
    mixed_weights,
    newcomers,
    one_way,
    partition,
    pauses,
    power_loss,
    rolling,
    slaves_die,
    slaves_lie,
    slow_owner,
    steady,
    swarm,
    wiped,
)
from simulations.scenarios.scenario import Scenario

SCENARIOS: dict[str, Scenario] = {
    "steady": steady.SCENARIO,
    "rolling": rolling.SCENARIO,
    "alone": alone.SCENARIO,
    "churn": churn.SCENARIO,
    "power-loss": power_loss.SCENARIO,
    "pauses": pauses.SCENARIO,
    "partition": partition.SCENARIO,
    "partition-isolated": partition.ISOLATED,
    "partition-bridge": partition.BRIDGE,
    "partition-ring": partition.RING,
    "massacre": massacre.SCENARIO,
    "wiped": wiped.SCENARIO,
    "newcomers": newcomers.SCENARIO,
    "flapping": flapping.SCENARIO,
    "one-way": one_way.SCENARIO,
    "majority": majority.SCENARIO,
    "lossy": lossy.SCENARIO,
    "clocks": clocks.SCENARIO,
    "slow-owner": slow_owner.SCENARIO,
    "slaves-die": slaves_die.SCENARIO,
    "slaves-lie": slaves_lie.SCENARIO,
    "mixed-weights": mixed_weights.SCENARIO,
    "full-disk": full_disk.SCENARIO,
    "hot-host": hot_host.SCENARIO,
    "hostile-bytes": hostile_bytes.SCENARIO,
    "swarm": swarm.SCENARIO,
}

__all__ = ["SCENARIOS", "Scenario"]
