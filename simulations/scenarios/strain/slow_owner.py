"""One machine's disk and network are slow: alive, and late with everything."""

from __future__ import annotations

from dataclasses import replace

from ...kernel.paths import Law
from ...play.scenario import Scenario
from ...play.stage import Stage

DISK_S = 0.4
SLOW = Law(latency_s=0.15, jitter_s=0.1, bytes_per_s=200_000.0)


async def faults(stage: Stage) -> None:
    (machine,) = stage.some(1)
    network = stage.world.network
    machine.node.executor_delay_s = DISK_S
    network.set_law(SLOW, source=machine.node)
    network.set_law(replace(SLOW, bytes_per_s=None), target=machine.node)
    await stage.progress(0.5)
    victim = stage.random.choice([m for m in stage.machines if m is not machine])
    stage.crash([victim], power=True)
    await stage.pause(12.0)
    stage.start(victim)
    await stage.agree()


SCENARIO = Scenario("one machine's disk and network are slow while another crashes", faults)
