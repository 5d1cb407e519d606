"""The scenarios by name. Each is a module with what it does to the machines while they crawl."""

from __future__ import annotations

from ..play.scenario import Scenario
from . import aimed, steady, swarm
from .deaths import (
    alone,
    churn,
    clearing,
    inject,
    living,
    massacre,
    newcomers,
    power_loss,
    repeated,
    rolling,
    scheduled,
    slaves_die,
    wiped,
)
from .losses import away, drawn, lost, set_back
from .network import flapping, hostile_bytes, jostling, lossy, majority, one_way, partition
from .strain import (
    clocks,
    full_disk,
    host_changes,
    hot_host,
    lying_disks,
    mixed_weights,
    pauses,
    sink_away,
    slaves_lie,
    slow_owner,
)
from .wanted import boards, reextraction

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
    "repeated": repeated.SCENARIO,
    "wiped": wiped.SCENARIO,
    "newcomers": newcomers.SCENARIO,
    "flapping": flapping.SCENARIO,
    "one-way": one_way.SCENARIO,
    "jostling": jostling.SCENARIO,
    "majority": majority.SCENARIO,
    "lossy": lossy.SCENARIO,
    "clocks": clocks.SCENARIO,
    "slow-owner": slow_owner.SCENARIO,
    "slaves-die": slaves_die.SCENARIO,
    "slaves-lie": slaves_lie.SCENARIO,
    "mixed-weights": mixed_weights.SCENARIO,
    "full-disk": full_disk.SCENARIO,
    "lying-disks": lying_disks.SCENARIO,
    "hot-host": hot_host.SCENARIO,
    "host-changes": host_changes.SCENARIO,
    "hostile-bytes": hostile_bytes.SCENARIO,
    "sink-away": sink_away.SCENARIO,
    "inject": inject.SCENARIO,
    "clearing": clearing.SCENARIO,
    "living": living.SCENARIO,
    "scheduled": scheduled.SCENARIO,
    "boards": boards.SCENARIO,
    "reextraction": reextraction.SCENARIO,
    "aimed": aimed.SCENARIO,
    "stores-away": away.AWAY,
    "blackout": away.BLACKOUT,
    "forgotten": away.FORGOTTEN,
    "stores-lost": lost.LOST,
    "one-by-one": lost.ONE_BY_ONE,
    "lost-in-handover": lost.BEYOND,
    "set-back": set_back.SET_BACK,
    "losses": drawn.SCENARIO,
    "swarm": swarm.SCENARIO,
}

__all__ = ["SCENARIOS", "Scenario"]
