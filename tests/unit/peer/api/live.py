"""A small cluster that is really there, for tests that speak HTTP to it from outside: two masters on a loop of their
own in a thread, one job that is finished and one that is paused.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest

from p2pcrawl.peer.peer import Peer
from tests.own_environment import own_environment
from tests.unit.peer.test_peer import Site, peer, site_of, spider

T = TypeVar("T")
LIMIT_S = 60.0

SCHEDULE = "each-winter"


@dataclass
class LiveCluster:
    """What tests know of it."""

    loop: asyncio.AbstractEventLoop
    site: Site
    one: Peer
    two: Peer
    finished: int = 0
    paused: int = 0
    missing: list[int] = field(default_factory=lambda: [7])

    def do(self, what: Coroutine[Any, Any, T]) -> T:
        """Runs something on its loop, and waits for it."""
        return asyncio.run_coroutine_threadsafe(what, self.loop).result(LIMIT_S)


async def _until(seen: Callable[[], Coroutine[Any, Any, bool]]) -> None:
    async with asyncio.timeout(LIMIT_S):
        while not await seen():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def _begin(live: LiveCluster, folder: Path) -> None:
    async def met() -> bool:
        told = [(await each.ask("members", {}))["members"] for each in (live.one, live.two)]
        return all(len(members) == 2 for members in told)

    async def certified() -> bool:
        status = await live.one.ask("job", {"job": live.finished})
        return bool(status["certificate"]) and status["settled"]

    await _until(met)
    live.site.broken = set(live.missing)
    job = await live.two.submit(spider(folder, live.site))
    live.finished = job.id
    await job.wait()
    await _until(certified)
    live.site.slow_s = 0.05
    other = await live.one.submit(str(folder / "small.py"), name="resting")
    live.paused = other.id
    await other.pause()
    crawl = {"name": "links", "urls": [live.site.url(0)]}
    await live.one.tell("schedule-add", {"name": SCHEDULE, "cron": "@yearly", "crawl": crawl})


@contextmanager
def live_cluster(folder: Path) -> Iterator[LiveCluster]:
    """Runs until left, with folders of its own for what peers keep."""
    with pytest.MonkeyPatch.context() as patch:
        for name, own in own_environment(folder).items():
            patch.setenv(name, own)
        yield from _run(folder)


def _run(folder: Path) -> Iterator[LiveCluster]:
    begun: list[LiveCluster] = []
    failure: list[BaseException] = []
    ready, stop = threading.Event(), asyncio.Event()

    async def live() -> None:
        one = peer(data=str(folder / "one"))
        async with site_of() as site, one, peer(one.address) as two:
            cluster = LiveCluster(asyncio.get_running_loop(), site, one, two)
            await _begin(cluster, folder)
            begun.append(cluster)
            ready.set()
            await stop.wait()

    def run() -> None:
        try:
            asyncio.run(live())
        except BaseException as error:
            failure.append(error)
        finally:
            ready.set()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert ready.wait(LIMIT_S) and begun, failure
        yield begun[0]
    finally:
        if begun:
            begun[0].loop.call_soon_threadsafe(stop.set)
        thread.join(LIMIT_S)
