"""A person changes how hosts are asked, and pauses one, while masters die: the owner of the host, and who was asked.

The hosts with most pages are made slower and faster, again and again, and one is left alone for a while. Whoever owns
the host is killed as soon as the call is answered, at times with its disk; what was said must hold at the next owner.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from p2pcrawl.model.errors import P2PCrawlError

from ...kernel.life import NodeDown
from ...play.evidence import HostChange
from ...play.scenario import Scenario
from ...play.stage import Stage
from ...world.web import Host, Web, WebPlan

HOSTS = 4
FAST_S = 0.25
DELAYS_S = (6.0, FAST_S, 3.0)
AWAY_S = 10.0
REST_S = 20.0
AGAIN_S = 1.0


async def faults(stage: Stage) -> None:
    await stage.progress(0.1)
    first, *others = hosts_of(stage.web)
    await changed(stage, first, {"paused": True})
    for turn, host in enumerate(others):
        await stage.until(lambda: stage.spare > 0 and len(stage.up) > 1)
        await stage.sync()
        owners = stage.owners_of(f"http://{host.name}/")
        await changed(stage, host, {"delay_s": DELAYS_S[turn % len(DELAYS_S)]})
        gone = owners[:1] or stage.some(1)
        if turn % 2:
            stage.wipe(gone)
        else:
            stage.crash(gone)
        await stage.pause(AWAY_S)
        stage.start(gone[0])
        await stage.agree()
    await asyncio.sleep(REST_S)
    await changed(stage, first, {"paused": False, "delay_s": 0.5})
    await asyncio.sleep(REST_S)
    for host in others:
        await changed(stage, host, {"delay_s": None})


def hosts_of(web: Web) -> list[Host]:
    """Returns the hosts that are changed: that with most pages, which is paused, and the next ones. Where there is one
    host there is no next one.
    """
    living = [host for host in web.hosts.values() if not (host.dead or host.private)]
    first, *others = sorted(living, key=lambda host: (-len(host.pages), host.name))[:HOSTS]
    if others:
        # The one that wants most patience is to be asked fast.
        others.insert(DELAYS_S.index(FAST_S), others.pop(others.index(max(others, key=lambda host: host.delay_s))))
    return [first, *others]


async def changed(stage: Stage, host: Host, change: dict[str, Any]) -> None:
    """Changes a host; returns when somebody has said that it is."""
    began_s = stage.world.now
    while True:
        with suppress(NodeDown, P2PCrawlError):
            async with asyncio.timeout(60.0):
                answer = await stage.some(1)[0].tell("set-host", {"host": host.name, **change})
            order = answer["set"]
            stage.changes.append(
                HostChange(host.name, began_s, stage.world.now, order["delay_s"], paused=order["paused"])
            )
            return
        await asyncio.sleep(AGAIN_S)


SCENARIO = Scenario(
    "people make hosts slower and faster, and pause one, while their owners are killed",
    faults,
    replicas_min=2,
    masters_min=3,
    web=WebPlan(zipf=1.2, dead_hosts=0.0, delayed_hosts=0.5),
    besides=("limits", "aims", "jobs"),
    share=0.04,
)
