"""Whole peers whose jobs have sinks: what is tried, what is delivered, and where no password ever is."""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from p2pcrawl.core.ring.rendezvous import BUCKETS
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.peer.peer import Peer
from p2pcrawl.stores.address import SinkAddress
from p2pcrawl.stores.kinds import SinkPlace, register_kind
from p2pcrawl.stores.sink import Sink
from p2pcrawl.wire.sealed.keys import generate_key
from tests.unit.peer.test_peer import PAGES, peer, site_of, spider
from tests.unit.stores.fake_sink import Destination

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.usefixtures("impatient"),
]

PASSWORD = "tell-n0body-of-me"
PLACE = "kept://ada@place/shop"
OUTPUT = f"kept://ada:{PASSWORD}@place/shop"
_destinations: dict[str, Destination] = {}
_secrets: set[str] = set()


def make_sink(address: SinkAddress, place: SinkPlace) -> Sink:
    if not address.secret:
        raise ConfigurationError(f"{address.url} needs a password")
    _secrets.add(address.secret)
    return _destinations[address.url].sink(address, place)


@pytest.fixture(autouse=True)
def there(own_folders: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Destination]:
    monkeypatch.setattr("p2pcrawl.master.carrying.LOOK_S", 0.05)
    monkeypatch.setattr("p2pcrawl.master.jobs.delivery.AWAY_S", 0.05)
    monkeypatch.setattr("p2pcrawl.master.jobs.delivery.AWAY_MAX_S", 0.1)
    register_kind("kept", __name__)
    _destinations[PLACE] = Destination()
    _secrets.clear()
    yield _destinations[PLACE]
    _destinations.clear()


async def until(one: Peer, job: int, state: str, *, waiting: int | None = 0) -> dict[str, Any]:
    """Waits until a job is in a state, and so much of it waits for its sink."""
    async with asyncio.timeout(30):
        while True:
            answer: dict[str, Any] = await one.ask("job", {"job": job})
            (sink,) = answer["sinks"]
            if answer["state"] == state and waiting in (None, sink["waiting"]):
                return answer
            await asyncio.sleep(0.05)


@asynccontextmanager
async def two_peers(folder: Path, **fields: Any) -> AsyncIterator[tuple[Peer, Peer]]:
    async with peer(data=folder / "one", **fields) as one, peer(one.address, data=folder / "two", **fields) as two:
        await met(one, two)
        yield one, two


async def met(*peers: Peer) -> None:
    """Waits until these have shared out the buckets."""
    async with asyncio.timeout(20):
        for each in peers:
            while (told := await each.ask("local", {}))["owned"] in (0, BUCKETS) or told["syncing"]:  # noqa: ASYNC110
                await asyncio.sleep(0.05)


def urls(there: Destination) -> list[str]:
    return sorted(json.loads(item)["url"] for item in there.values)


def everything_in(folder: Path) -> bytes:
    """All that a data folder holds, the pages of its databases too."""
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


async def test_each_item_is_brought_once_and_nobody_who_looks_finds_the_password(
    tmp_path: Path, there: Destination, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with site_of() as site, two_peers(tmp_path) as (one, two):
        job = await one.submit(spider(tmp_path, site), output=OUTPUT)
        await until(two, job.id, "finished")
        told = [await each.ask(what, {"job": job.id}) for each in (one, two) for what in ("job", "jobs", "status")]

        assert urls(there) == sorted(site.url(n) for n in range(PAGES))
    assert _secrets == {PASSWORD}
    assert PASSWORD not in json.dumps(told)
    assert PASSWORD not in caplog.text
    for folder in ("one", "two"):
        held = everything_in(tmp_path / folder)
        assert PLACE.encode() in held
        assert PASSWORD.encode() not in held


@pytest.mark.parametrize("trouble", ["away", "forbidden"])
async def test_job_whose_sink_cannot_be_used_is_refused_and_is_nowhere(
    tmp_path: Path, there: Destination, trouble: str
) -> None:
    setattr(there, trouble, True)
    async with site_of() as site, two_peers(tmp_path) as (one, two):
        with pytest.raises(ConfigurationError) as refused:
            await one.submit(spider(tmp_path, site), output=OUTPUT)

        assert PASSWORD not in str(refused.value)
        assert [await each.ask("jobs", {}) for each in (one, two)] == [{"jobs": []}] * 2
        assert not site.visits


async def test_sink_that_goes_away_holds_up_nothing_and_has_all_when_it_is_back_after_a_restart_of_all(
    tmp_path: Path, there: Destination
) -> None:
    async with site_of() as site:
        async with two_peers(tmp_path) as (one, two):
            job = await one.submit(spider(tmp_path, site), output=OUTPUT)
            there.away = True
            answer = await until(two, job.id, "finished", waiting=None)
            (sink,) = answer["sinks"]
            assert sink["waiting"] > 0
            while sink["away_since"] is None:
                await asyncio.sleep(0.05)
                (sink,) = (await two.ask("job", {"job": job.id}))["sinks"]
            assert sink["delivered"] + sink["waiting"] == PAGES
            assert (await one.ask("status", {}))["undelivered"] == sink["waiting"]
        there.away = False
        async with two_peers(tmp_path) as (one, two):
            await until(one, job.id, "finished")

            assert urls(there) == sorted(site.url(n) for n in range(PAGES))


async def test_cancelled_job_delivers_what_is_done(tmp_path: Path, there: Destination) -> None:
    async with site_of() as site, two_peers(tmp_path) as (one, two):
        site.slow_s = 0.02
        job = await one.submit(spider(tmp_path, site), output=OUTPUT)
        async with asyncio.timeout(20):
            while len(there.values) < 3:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        await job.cancel()
        answer = await until(two, job.id, "cancelled")
        # Pages that were in hand end, and are brought, too.
        async with asyncio.timeout(20):
            while answer["leased"] or len(urls(there)) < answer["items"]:
                answer = await until(two, job.id, "cancelled")

        assert urls(there) == sorted([item["url"] async for item in job.items()])


async def test_pages_are_told_with_the_keys_under_which_masters_bring_their_items(
    tmp_path: Path, there: Destination
) -> None:
    async with site_of() as site, two_peers(tmp_path) as (one, two):
        job = await one.submit(spider(tmp_path, site), output=OUTPUT)
        await until(two, job.id, "finished")

        told = [json.loads(line) for line in b"".join([piece async for piece in two.pages(job.id)]).splitlines()]

        assert sorted(f"{job.id:013x}-{page['page']}-0" for page in told) == sorted(there.items)
        assert {page["url"]: page["items"] for page in told} == {url: [{"url": url}] for url in urls(there)}
        assert {page["visit"] for page in told} == {0}


async def test_dead_letters_of_all_masters_are_sent_again(tmp_path: Path, there: Destination) -> None:
    there.refuses = lambda item: "not yet" if json.loads(item)["url"].endswith("/3") else "too cheap"
    async with site_of() as site, two_peers(tmp_path) as (one, two):
        job = await one.submit(spider(tmp_path, site), output=OUTPUT)
        answer = await until(two, job.id, "finished")
        assert answer["sinks"][0]["refused"] == PAGES
        folders = [tmp_path / name / "dead-letters" / "items.jsonl" for name in ("one", "two")]
        assert all(folder.is_file() for folder in folders)

        there.refuses = lambda item: "never" if json.loads(item)["url"].endswith("/3") else ""
        told = await two.tell("retry", {"job": job.id, "dead_letters": True})

        (sink,) = told["sinks"]
        assert (sink["delivered"], sink["left"], sink["why"]) == (PAGES - 1, 1, "never")
        assert told["missing"] == []
        left = b"".join(folder.read_bytes() for folder in folders if folder.exists()).splitlines()
        assert [json.loads(line)["item"]["url"] for line in left] == [site.url(3)]
        there.refuses = lambda item: ""
        await one.tell("retry", {"job": job.id, "dead_letters": True})
        await one.tell("retry", {"job": job.id, "dead_letters": True})

        assert urls(there) == sorted(site.url(n) for n in range(PAGES))
        assert len(there.items) == PAGES
        async with asyncio.timeout(10):
            while (sink := (await until(two, job.id, "finished"))["sinks"][0])["refused"]:
                pass
        assert sink["delivered"] == PAGES


async def test_dead_letters_that_two_people_send_at_once_are_brought_by_one_opening_of_the_sink(
    tmp_path: Path, there: Destination
) -> None:
    there.refuses = lambda item: "not yet"
    async with site_of() as site, peer(data=tmp_path / "one") as one:
        job = await one.submit(spider(tmp_path, site), output=OUTPUT)
        await until(one, job.id, "finished")
        async with asyncio.timeout(30):
            while there.closed < there.opened:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        there.refuses, opened = lambda item: "", there.opened

        asked = (one.tell("retry", {"job": job.id, "dead_letters": True}) for _ in range(2))
        told = await asyncio.gather(*asked)

        assert there.opened == opened + 1
        assert sorted(sum(sink["delivered"] for sink in each["sinks"]) for each in told) == [0, PAGES]


async def test_dead_letters_stay_while_their_sink_is_away(tmp_path: Path, there: Destination) -> None:
    there.refuses = lambda item: "not yet"
    async with site_of() as site, two_peers(tmp_path) as (one, two):
        job = await one.submit(spider(tmp_path, site), output=OUTPUT)
        await until(two, job.id, "finished")
        there.away, there.refuses = True, lambda item: ""

        told = await two.tell("retry", {"job": job.id, "dead_letters": True})

        assert (told["sinks"][0]["delivered"], told["sinks"][0]["left"]) == (0, PAGES)
        there.away = False
        async with asyncio.timeout(10):
            while (await two.tell("retry", {"job": job.id, "dead_letters": True}))["sinks"]:
                pass
        assert len(urls(there)) == PAGES


async def test_peer_that_comes_when_a_job_is_over_has_no_more_to_bring(tmp_path: Path, there: Destination) -> None:
    async with site_of() as site, peer(data=tmp_path / "one") as one:
        job = await one.submit(spider(tmp_path, site), output=OUTPUT)
        await until(one, job.id, "finished")
        brought = sum(len(batch) for batch in there.batches)

        async with peer(one.address, data=tmp_path / "two") as two:
            await met(one, two)
            await until(two, job.id, "finished")

        assert sum(len(batch) for batch in there.batches) == brought


async def test_heir_that_came_when_the_job_was_over_brings_what_waits(tmp_path: Path, there: Destination) -> None:
    async with site_of() as site, AsyncExitStack() as stack:
        one = await stack.enter_async_context(peer(data=tmp_path / "one"))
        job = await one.submit(spider(tmp_path, site), output=OUTPUT)
        there.away = True
        await until(one, job.id, "finished", waiting=None)
        async with peer(one.address, data=tmp_path / "two") as two:
            await met(one, two)
            await stack.aclose()
            there.away = False
            await until(two, job.id, "finished")

        assert urls(there) == sorted(site.url(n) for n in range(PAGES))


async def test_change_of_the_cluster_key_loses_no_password(tmp_path: Path, there: Destination) -> None:
    old, new = generate_key(), generate_key()
    key = tmp_path / "cluster.key"

    def keys(*lines: str) -> None:
        key.write_text("\n".join(lines) + "\n")
        key.chmod(0o600)

    keys(old)
    async with site_of() as site, two_peers(tmp_path, key_file=key) as (one, two):
        job = await one.submit(spider(tmp_path, site), output=OUTPUT)
        there.away = True
        await until(two, job.id, "finished", waiting=None)
        for step in ([old, new], [new, old]):
            keys(*step)
            for each in (one, two):
                each.reload_keys()
    keys(new)
    there.away = False
    async with site_of(), two_peers(tmp_path, key_file=key) as (one, two):
        await until(two, job.id, "finished")

    assert len(urls(there)) == PAGES


def test_what_is_sealed_lies_in_the_job_table_of_each(tmp_path: Path) -> None:
    """The looking for the password in files would find nothing either if no job were stored at all."""

    async def run() -> None:
        async with site_of() as site, two_peers(tmp_path) as (one, two):
            job = await one.submit(spider(tmp_path, site), output=OUTPUT)
            await until(two, job.id, "finished")

    asyncio.run(run())

    for name in ("one", "two"):
        with closing(sqlite3.connect(tmp_path / name / "frontier.db")) as db:
            ((spec,),) = db.execute("SELECT spec FROM job").fetchall()
        assert b"secrets" in spec
