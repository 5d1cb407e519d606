"""Whole peers in one process, with slaves on the same loop and a small site."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import pytest
from aiohttp import web

from p2pcrawl.frontier.database.schema import damaged
from p2pcrawl.model.errors import ConfigurationError, DamagedError, P2PCrawlError
from p2pcrawl.peer.lead import Lead
from p2pcrawl.peer.peer import Peer, PeerJob
from p2pcrawl.wire.sealed.keys import generate_key

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.usefixtures("impatient", "own_folders"),
]

PAGES = 60
HOSTS = 20


class Site:
    """Pages over several loopback hosts; each links to the next ones."""

    def __init__(self) -> None:
        self.visits: Counter[str] = Counter()
        self.slow_s = 0.0
        self.broken: set[int] = set()
        """Pages that are not found."""
        self.gate = asyncio.Event()
        self.gate.set()
        self.waiting: set[str] = set()
        """Pages that are asked for while the gate is shut."""

    def url(self, number: int) -> str:
        return f"http://127.0.0.{number % HOSTS + 1}:{self.port}/{number}"

    async def page(self, request: web.Request) -> web.Response:
        if request.path == "/robots.txt":
            return web.Response(status=404)
        number = int(request.path[1:])
        self.visits[self.url(number)] += 1
        await asyncio.sleep(self.slow_s)
        if not self.gate.is_set():
            self.waiting.add(self.url(number))
            await self.gate.wait()
        if number in self.broken:
            return web.Response(status=404)
        links = "".join(f'<a href="{self.url(n)}">x</a>' for n in range(2 * number + 1, 2 * number + 3) if n < PAGES)
        return web.Response(text=f"<html><title>{number}</title>{links}</html>", content_type="text/html")


@asynccontextmanager
async def site_of():
    site = Site()
    app = web.Application()
    app.router.add_get("/{path:.*}", site.page)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "0.0.0.0", 0).start()
    site.port = runner.addresses[0][1]
    try:
        yield site
    finally:
        await runner.cleanup()


def lead_of(peer: Peer) -> Lead:
    """Returns a peer's part as a master, for faults that nobody can cause from outside."""
    lead = peer._lead
    assert lead is not None
    return lead


def spider(folder: Path, site: Site) -> str:
    path = folder / "small.py"
    path.write_text(
        "from p2pcrawl import Spider\n"
        "class Small(Spider):\n"
        "    name = 'small'\n"
        f"    start_urls = ['{site.url(0)}']\n"
        "    custom_settings = {'ALLOW_PRIVATE_NETWORKS': '127.0.0.0/8'}\n"
        "    def parse(self, response):\n"
        "        yield {'url': response.url}\n"
        "        yield response.follow_all()\n"
    )
    return str(path)


def peer(*join: str, **fields) -> Peer:
    return Peer(bind="127.0.0.1:0", join=join, role="master", slaves=0, **fields)


async def test_two_peers_crawl_together_and_each_page_comes_once(tmp_path: Path) -> None:
    async with site_of() as site, peer() as one, peer(one.address) as two:
        job = await two.submit(spider(tmp_path, site))
        async with asyncio.timeout(20):
            end = await job.wait()

        assert end["conserved"]
        assert end["pages"] == PAGES
        assert len(site.visits) == PAGES and max(site.visits.values()) == 1
        assert sorted([i["url"] async for i in job.items()]) == sorted(site.url(n) for n in range(PAGES))


async def test_peer_that_leaves_in_mid_crawl_leaves_nothing_undone(tmp_path: Path) -> None:
    async with site_of() as site, peer() as one:
        site.slow_s = 0.02
        async with peer(one.address) as two:
            job = await one.submit(spider(tmp_path, site))
            async with asyncio.timeout(10):
                while len(site.visits) < 10:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            assert two.role == "master"
        async with asyncio.timeout(20):
            end = await job.wait()

        assert end["conserved"]
        assert end["queued"] == 0
        assert len(site.visits) == PAGES
        assert max(site.visits.values()) == 1
        assert end["done"] == PAGES + 1


async def test_last_peer_that_ends_lets_pages_in_hand_end_first(tmp_path: Path) -> None:
    """Nobody takes them over: when it comes back it need not fetch them again."""
    data = tmp_path / "data"
    async with site_of() as site:
        site.gate.clear()
        async with peer(data=data) as one:
            job = await one.submit(spider(tmp_path, site))
            async with asyncio.timeout(10):
                while not site.waiting:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            asyncio.get_running_loop().call_later(0.2, site.gate.set)
        in_hand = Counter(site.visits)
        async with peer(data=data) as again, asyncio.timeout(20):
            while (await again.ask("job", {"job": job.id}))["state"] != "finished":  # noqa: ASYNC110
                await asyncio.sleep(0.05)

        assert in_hand
        assert len(site.visits) == PAGES and max(site.visits.values()) == 1


async def test_peer_that_ends_its_last_pages_does_not_wait_for_one_that_comes_meanwhile_to_take_over(
    tmp_path: Path,
) -> None:
    """It takes no turns any more then, and so can hand over nothing."""
    async with site_of() as site, AsyncExitStack() as stack:
        site.gate.clear()
        own = await stack.enter_async_context(AsyncExitStack())
        last = await own.enter_async_context(peer())
        await last.submit(spider(tmp_path, site))
        async with asyncio.timeout(10):
            while not site.waiting:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        contact, leading = last.address, lead_of(last)

        leaving = asyncio.create_task(own.aclose())
        await stack.enter_async_context(peer(contact))
        async with asyncio.timeout(20):
            while not leading.cluster.heirs():  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            site.gate.set()

            await leaving


async def test_peer_that_joins_in_mid_crawl_takes_part(tmp_path: Path) -> None:
    async with site_of() as site, peer() as one:
        site.slow_s = 0.02
        job = await one.submit(spider(tmp_path, site))
        async with asyncio.timeout(10):
            while len(site.visits) < 5:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        async with peer(one.address):
            async with asyncio.timeout(20):
                end = await job.wait()

            assert end["conserved"]
            assert len(site.visits) == PAGES
            assert max(site.visits.values()) == 1
            assert end["done"] == PAGES + 1


async def test_wrong_key_is_told_at_once(tmp_path: Path) -> None:
    key = tmp_path / "other.key"
    key.write_text(generate_key() + "\n")
    key.chmod(0o600)
    async with peer() as one:
        with pytest.raises(ConfigurationError, match="another cluster key"):
            async with Peer(bind="127.0.0.1:0", join=(one.address,), slaves=0, key_file=key):
                pass
        with pytest.raises(ConfigurationError, match="another cluster"):
            async with Peer(bind="127.0.0.1:0", join=(one.address,), slaves=0, cluster="elsewhere"):
                pass


async def test_port_in_use_is_one_clear_line(tmp_path: Path) -> None:
    async with peer() as one:
        with pytest.raises(ConfigurationError, match="in use") as error:
            async with Peer(bind=one.address, slaves=0):
                pass
        assert "\n" not in str(error.value)


def overwrite(database: Path) -> None:
    """All of it but the first page."""
    size = database.stat().st_size
    with open(database, "r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * (size - 4096))


async def test_master_that_finds_its_frontier_damaged_ends_and_begins_anew_with_what_others_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    data = tmp_path / "two"
    async with site_of() as site, peer() as one:
        with pytest.raises(DamagedError, match=r"frontier\.db is damaged"):
            async with peer(one.address, data=data) as two:
                job = await two.submit(spider(tmp_path, site))
                async with asyncio.timeout(20):
                    await job.wait()
                    overwrite(data / "frontier.db")
                    lead_of(two).master.ground.fate.fail(
                        damaged(data / "frontier.db", "as if it had been looked through")
                    )
                    await two.wait()
        status = await one.ask("status", {})
        [kept] = data.glob("frontier.db.damaged-*[0-9]")
        async with peer(one.address, data=data) as two, asyncio.timeout(20):
            items: list[str] = []
            while len(items) < PAGES:
                await asyncio.sleep(0.05)
                with suppress(P2PCrawlError):
                    items = [i["url"] async for i in PeerJob(two, job.id).items()]

    assert len(status["missing"]) == 1
    assert [r.getMessage() for r in caplog.records if "is kept as" in r.getMessage() and kept.name in r.getMessage()]


async def test_peer_that_knows_of_nobody_leaves_a_damaged_folder_as_it_is(tmp_path: Path) -> None:
    data = tmp_path / "one"
    async with peer(data=data):
        pass
    (data / "frontier.db").write_bytes(b"no database at all" * 1000)
    before = sorted(data.iterdir())

    with pytest.raises(DamagedError, match="restore it, or use another"):
        async with peer(data=data):
            pass

    assert sorted(data.iterdir()) == before
