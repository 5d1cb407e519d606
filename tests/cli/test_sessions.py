"""Slaves whose master stands still, dies or is left: real processes, judged by what reaches the web."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from aiohttp import web

from p2pcrawl import Peer
from p2pcrawl.master.slaves.session import Session
from p2pcrawl.model.timings import TIMINGS
from p2pcrawl.wire.messages.slave_messages import OrphanPage, Orphans
from tests.cli.conftest import environment
from tests.cli.peers import Cluster, asked
from tests.unit.peer.test_peer import lead_of

pytestmark = pytest.mark.slow

HOSTS = 12
PAGES = 20
LIMIT_S = 60.0


@dataclass
class Visit:
    url: str
    begun_at: float
    ended_at: float | None = None
    answered: bool = False


class SlowSite:
    """Hosts on loopback whose pages take their time; knows when each request began and how it ended."""

    def __init__(self) -> None:
        self.slow_s = 0.0
        self.visits: list[Visit] = []
        self.port = 0

    async def page(self, request: web.Request) -> web.Response:
        visit = Visit(str(request.url), time.monotonic())
        self.visits.append(visit)
        try:
            if request.path != "/":
                await asyncio.sleep(self.slow_s)
            visit.answered = True
        finally:
            visit.ended_at = time.monotonic()
        links = "".join(f'<a href="/{n}">{n}</a>' for n in range(1, PAGES))
        return web.Response(text=f"<html><title>t</title>{links}</html>", content_type="text/html")

    def spider(self, folder: Path) -> Path:
        path = folder / "slow.py"
        seeds = [f"http://127.0.0.{n}:{self.port}/" for n in range(1, HOSTS + 1)]
        path.write_text(
            "from p2pcrawl import Spider\n"
            "class Slow(Spider):\n"
            "    name = 'slow'\n"
            f"    start_urls = {seeds!r}\n"
            "    custom_settings = {'ROBOTSTXT_OBEY': False, 'DOWNLOAD_DELAY': 0}\n"
            "    def parse(self, response):\n"
            "        yield {'url': response.url}\n"
            "        yield response.follow_all()\n"
            f"        with open({str(folder / 'read')!r}, 'a') as file:\n"
            "            file.write(response.url + '\\n')\n"
        )
        return path

    def read(self, folder: Path) -> set[str]:
        """The pages that the spider of that folder is through with."""
        return set((folder / "read").read_text().split())

    def since(self, at: float) -> list[Visit]:
        return [visit for visit in self.visits if visit.begun_at > at]


@asynccontextmanager
async def slow_site(slow_s: float):
    site = SlowSite()
    site.slow_s = slow_s
    app = web.Application()
    app.router.add_get("/{path:.*}", site.page)
    # The end of a request that its client gives up is to be seen.
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "0.0.0.0", 0).start()
    site.port = runner.addresses[0][1]
    try:
        yield site
    finally:
        await runner.cleanup()


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch) -> Iterator[Cluster]:
    # Peers in this process and those beside it are of the same user.
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    with Cluster(tmp_path) as cluster:
        yield cluster


def held_afar(api: str) -> int:
    """The leases of a master's slaves that are not its own processes."""
    slaves = asked(api, "status")["here"]["slaves"]
    return sum(slave["leases"] for slave in slaves if slave["at"] != "here")


def loads(api: str) -> list[int]:
    return [member["slaves"] for member in asked(api, "status")["members"]]


async def until(condition: Callable[[], bool], what: str) -> None:
    try:
        async with asyncio.timeout(LIMIT_S):
            while not await asyncio.to_thread(condition):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"not within {LIMIT_S:g} s: {what}") from None


@pytest.mark.soak
async def test_slave_of_a_master_that_stands_still_stops_and_goes_on_with_it(cluster: Cluster, tmp_path: Path) -> None:
    # Longer than a session, so that what waits in the slave for a slot would be asked for when the session is over.
    async with slow_site(slow_s=TIMINGS.void_s + 0.5) as site:
        master = await asyncio.to_thread(cluster.start, "--slaves", 1, "--role", "master")
        await asyncio.to_thread(cluster.run, "submit", site.spider(tmp_path), "--peer", master.api)
        await until(lambda: len([v for v in site.visits if not v.url.endswith("/")]) > 10, "slow pages are open")

        stopped_at = time.monotonic()
        master.process.send_signal(signal.SIGSTOP)
        try:
            await asyncio.sleep(TIMINGS.void_s + 2.0)
        finally:
            resumed_at = time.monotonic()
            master.process.send_signal(signal.SIGCONT)
        seen = list(site.visits)
        await until(lambda: bool(site.since(resumed_at)), "the crawl goes on")

    assert [v.url for v in site.since(stopped_at + TIMINGS.void_s) if v.begun_at < resumed_at] == []
    ended = [v.ended_at for v in seen if v.begun_at < resumed_at]
    assert all(at is not None and at < stopped_at + TIMINGS.void_s + 1.0 for at in ended)
    assert not all(v.answered for v in seen)
    assert "renewed" in master.log


async def test_what_a_slave_could_not_report_to_a_dead_master_reaches_the_next(
    cluster: Cluster, tmp_path: Path
) -> None:
    adopted: list[OrphanPage] = []

    async def adopt(session: Session, orphans: Orphans) -> None:
        adopted.extend(orphans.pages)

    async with slow_site(slow_s=1.0) as site:
        first = await asyncio.to_thread(cluster.start, "--slaves", 0, "--role", "master")
        # It has more slaves than the first, which therefore gets the one that comes.
        async with Peer(bind="127.0.0.1:0", role="master", slaves=2, join=[first.address]) as second:
            lead = lead_of(second)
            slaves = lead.master.slaves

            def is_open_there(visit: Visit) -> bool:
                bucket = lead.master.bucket_of_url(visit.url, "host")
                return visit.ended_at is None and lead.cluster.ownership.owner(bucket) is not None

            slaves.on_orphans = adopt
            await until(lambda: max(loads(first.api)) == 2, "the load of the second is known")
            await asyncio.to_thread(cluster.start, "--slaves", 1, "--role", "slave")
            await until(lambda: loads(first.api) == [2, 2], "the slave works for the first")
            await second.submit(str(site.spider(tmp_path)))
            await until(lambda: held_afar(first.api) > 3, "the slave has pages of the first")
            await until(lambda: any(map(is_open_there, list(site.visits))), "the slave asks for them")

            first.process.send_signal(signal.SIGSTOP)
            open_then = {visit.url for visit in filter(is_open_there, site.visits)}
            await until(lambda: open_then <= site.read(tmp_path), "they have come, and the spider has read them")
            first.process.kill()
            killed_at = time.monotonic()
            await until(
                lambda: any(s.remote and s.greeted for s in list(slaves.sessions.values())), "the slave has come"
            )
            rehomed_s = time.monotonic() - killed_at
            await until(lambda: bool(adopted), "what it kept is told")

    assert rehomed_s < 30.0
    asked = {visit.url for visit in site.visits if visit.answered}
    assert {orphan.task.link.url for orphan in adopted if orphan.page.outcome is not None} <= asked
    assert all(orphan.page.items for orphan in adopted if orphan.page.outcome is not None)


async def test_slave_peer_that_stops_in_order_loses_no_page(cluster: Cluster, tmp_path: Path) -> None:
    async with slow_site(slow_s=1.0) as site:
        first = await asyncio.to_thread(cluster.start, "--slaves", 0, "--role", "master")
        helper = await asyncio.to_thread(cluster.start, "--slaves", 2, "--role", "slave")
        await asyncio.to_thread(cluster.run, "submit", site.spider(tmp_path), "--peer", first.api)
        await until(lambda: len([v for v in site.visits if not v.url.endswith("/")]) > 10, "slow pages are open")

        code, _ = await asyncio.to_thread(helper.end, signal.SIGTERM)
        await until(lambda: len(site.visits) >= PAGES * HOSTS, "the crawl goes on")

        told = await asyncio.to_thread(cluster.told, "jobs", "--peer", first.api)

    assert code == 0
    assert all(visit.answered for visit in site.visits)
    assert [j["slave_losses"] for j in told["jobs"]] == [0], told
    assert len({visit.url for visit in site.visits}) == len(site.visits)
