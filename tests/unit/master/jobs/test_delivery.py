"""Items on their way to sinks: each is there once, whatever crashes, and a sink that is away holds up nothing."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import asynccontextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from p2pcrawl.core.buckets.ownership import SoleOwner
from p2pcrawl.master.company.company import Alone
from p2pcrawl.master.jobs import delivery as delivery_module
from p2pcrawl.master.jobs import outputs as outputs_module
from p2pcrawl.master.jobs import redelivery
from p2pcrawl.master.jobs.dead_letters import DeadLetters
from p2pcrawl.master.jobs.delivery import Cursor
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.master.master import Master
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.crawl.sink_spec import SinkSpec
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.sink import BatchLimits
from p2pcrawl.wire.messages.slave_messages import Outcome
from tests.unit.master.fake_slaves import Site, Slaves, crawl, master_of, page_of, spec_of, until, urls
from tests.unit.stores.fake_sink import Destination, FakeSink

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

PAGES = 30


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery_module, "AWAY_S", 0.001)
    monkeypatch.setattr(delivery_module, "AWAY_MAX_S", 0.002)


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch) -> dict[str, Destination]:
    """The destinations that there are, by address."""
    known: dict[str, Destination] = {}
    monkeypatch.setattr(outputs_module, "make_sink", lambda address, place: known[address.url].sink(address, place))
    return known


def specs(places: dict[str, Destination]) -> list[SinkSpec]:
    return [SinkSpec(url) for url in places]


def items_of(pages: list[str]) -> set[bytes]:
    return {b'{"url":"%s"}' % url.encode() for url in pages}


@asynccontextmanager
async def running(folder: Path, slaves: Slaves, sinks: list[SinkSpec]):
    """A master that is under way, with its job."""
    async with master_of(folder, slaves) as master:
        job = await open_job(master, sinks)
        task = asyncio.create_task(master.run())
        try:
            yield master, job, task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def open_job(master: Master, sinks: list[SinkSpec]) -> Job:
    return await master.resume(1, spec_of(), sinks) if 1 in master.jobs else await master.submit(spec_of(), sinks)


@pytest.mark.parametrize("keyed", [True, False])
async def test_each_item_is_there_once_whatever_step_a_crash_was_at(
    tmp_path: Path, places: dict[str, Destination], keyed: bool
) -> None:
    """At each step the folder is copied as a crash would leave it, with the destination; each copy goes on."""
    to = places["fake://one"] = Destination(keyed=keyed, limits=BatchLimits(items=7, linger_s=0.0))
    left: list[tuple[str, Path, Destination]] = []

    def crash(step: str) -> None:
        copy = tmp_path / f"crash-{len(left)}"
        copy.mkdir()
        with sqlite3.connect(tmp_path / "data/frontier.db") as here, sqlite3.connect(copy / "frontier.db") as there:
            here.backup(there)
        left.append((step, copy, Destination(dict(to.items), keyed)))

    to.step = crash
    await crawl(tmp_path / "data", Slaves(Site(urls(PAGES, hosts=3))), outputs=specs(places))

    assert {"open", "opened", "write", "half-way", "written", "finish", "finished"} == {step for step, *_ in left}
    assert len(left) > 15
    for step, folder, destination in left:
        places["fake://one"] = destination
        await crawl(folder, Slaves(Site(urls(PAGES, hosts=3))), outputs=specs(places))
        assert sorted(destination.values) == sorted(items_of(urls(PAGES, hosts=3))), step


@pytest.mark.parametrize("misses", [False, True])
async def test_sink_is_told_that_somebody_out_of_reach_may_have_brought_a_page(
    tmp_path: Path, places: dict[str, Destination], misses: bool
) -> None:
    class Beside(SoleOwner):
        def misses(self, bucket: int) -> bool:
            return misses

    to = places["fake://one"] = Destination()
    company = Alone(tmp_path, Settings())
    company.router = Beside()

    async with Master(company, slaves=0, run_here=Slaves(Site(urls(PAGES)))) as master:
        await master.submit(spec_of(), specs(places))
        async with asyncio.timeout(20):
            await master.run()

    assert [page.again for batch in to.batches for page in batch] == [misses] * PAGES


async def test_sink_that_is_away_holds_up_neither_the_crawl_nor_the_other_sink(
    tmp_path: Path, places: dict[str, Destination]
) -> None:
    here, away = places["fake://here"], places["fake://away"] = Destination(), Destination()
    slaves = Slaves(Site(urls(PAGES)))

    async with running(tmp_path, slaves, specs(places)) as (master, job, task):
        away.away = True
        await until(lambda: len(here.items) == PAGES and job.state == "finished")
        [state_here, state_away] = master.outputs.states(job)
        await until(lambda: master.outputs.states(job)[1].waiting == PAGES)
        [_, state_away] = master.outputs.states(job)
        unfinished = task.done()
        away.away = False
        async with asyncio.timeout(10):
            await task

    assert (state_here.delivered, state_here.away_since) == (PAGES, None)
    assert state_away.delivered == 0
    assert state_away.away_since is not None and "does not answer" in state_away.why
    assert not unfinished
    assert set(away.values) == set(here.values) == items_of(urls(PAGES))


async def test_crawl_that_is_stopped_leaves_what_waits_for_a_sink_that_is_away_to_the_next_run(
    tmp_path: Path, places: dict[str, Destination]
) -> None:
    to = places["fake://one"] = Destination()
    async with running(tmp_path, Slaves(Site(urls(PAGES))), specs(places)) as (master, job, task):
        to.away = True
        await until(lambda: job.state == "finished")
        master.drain()
        async with asyncio.timeout(10):
            await task
        [waits] = master.outputs.states(job)
    to.away = False
    visits = Site(urls(PAGES))
    await crawl(tmp_path, Slaves(visits), outputs=specs(places))

    assert waits.waiting == PAGES
    assert visits.visits == []
    assert set(to.values) == items_of(urls(PAGES))


async def test_sink_that_cannot_be_reached_at_first_is_refused_and_nothing_is_fetched(
    tmp_path: Path, places: dict[str, Destination]
) -> None:
    places["fake://one"] = Destination(away=True)
    slaves = Slaves(Site(urls(PAGES)))

    with pytest.raises(ConfigurationError, match="does not answer"):
        await crawl(tmp_path, slaves, outputs=specs(places))

    assert slaves.lives == 0


async def test_sink_that_has_worked_is_waited_for_when_the_crawl_goes_on(
    tmp_path: Path, places: dict[str, Destination]
) -> None:
    to = places["fake://one"] = Destination()
    await crawl(tmp_path, Slaves(Site(urls(PAGES))), outputs=specs(places), closespider_pagecount=3)
    before = len(to.items)
    to.away = True

    async with running(tmp_path, Slaves(Site(urls(PAGES))), []) as (master, job, task):
        await until(lambda: job.state == "finished")
        [state] = master.outputs.states(job)
        to.away = False
        async with asyncio.timeout(10):
            await task

    assert before < PAGES
    assert state.waiting == PAGES - before
    assert set(to.values) == items_of(urls(PAGES))


async def test_sink_that_empties_its_destination_is_opened_when_all_others_are_known_to_work(
    tmp_path: Path, places: dict[str, Destination]
) -> None:
    emptied = places["fake://emptied"] = Destination()
    places["fake://refusing"] = Destination(forbidden=True)

    with pytest.raises(ConfigurationError, match="refuses everybody"):
        await crawl(
            tmp_path, Slaves(Site([])), outputs=[SinkSpec("fake://emptied", replace=True), SinkSpec("fake://refusing")]
        )

    assert emptied.opened == 0


@pytest.mark.parametrize("how", ["hangs", "fails"])
async def test_sink_that_cannot_be_closed_keeps_no_other_one_open(
    tmp_path: Path, places: dict[str, Destination], monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(delivery_module, "CLOSE_S", 0.01)
    bad, good = places["fake://bad"], places["fake://good"] = Destination(), Destination()

    async def close(self: FakeSink) -> None:
        if self.to is bad:
            await (asyncio.Event().wait() if how == "hangs" else asyncio.sleep(0))
            raise OSError("cannot be closed")
        self.to.closed += 1

    monkeypatch.setattr(FakeSink, "close", close)
    await crawl(tmp_path, Slaves(Site(urls(3))), outputs=specs(places))

    assert good.closed == 1
    assert len(bad.items) == 3


async def test_refused_items_are_dead_letters_and_nothing_waits_for_them(
    tmp_path: Path, places: dict[str, Destination]
) -> None:
    to = places["fake://one"] = Destination(refuses=lambda item: "no such\ncolumn" if b"/7" in item else "")

    async with running(tmp_path, Slaves(Site(urls(PAGES))), specs(places)) as (master, job, task):
        async with asyncio.timeout(10):
            await task
        [state] = master.outputs.states(job)

    [letter] = [json.loads(line) for line in (tmp_path / "dead-letters/items.jsonl").read_text().splitlines()]
    assert letter["item"] == {"url": "http://h0.example/7"}
    assert letter["url"] == "http://h0.example/7"
    assert (letter["sink"], letter["reason"]) == ("fake://one", "no such\\ncolumn")
    assert letter["key"].endswith("-0") and letter["key"] not in to.items
    assert (state.delivered, state.refused, state.waiting) == (PAGES - 1, 1, 0)
    assert (tmp_path / "dead-letters").stat().st_mode & 0o077 == 0


async def test_batches_keep_to_their_limits_and_a_page_is_never_divided(
    tmp_path: Path, places: dict[str, Destination]
) -> None:
    to = places["fake://one"] = Destination(limits=BatchLimits(items=10, linger_s=0.0))
    site = Site(urls(PAGES))

    def answer(task: Any) -> Any:
        page = site(task)
        return page_of(task, items=[b'{"n":%d}' % n for n in range(4)]) if page.items else page

    await crawl(tmp_path, Slaves(answer), outputs=specs(places))

    assert {len(page.items) for batch in to.batches for page in batch} == {4}
    assert max(len(batch) for batch in to.batches) <= 3
    assert len(to.items) == 4 * PAGES


async def test_sink_is_brought_no_more_while_it_takes_a_batch(tmp_path: Path, places: dict[str, Destination]) -> None:
    to = places["fake://one"] = Destination(gate=asyncio.Event(), limits=BatchLimits(items=5, linger_s=0.0))

    async with running(tmp_path, Slaves(Site(urls(PAGES))), specs(places)) as (master, job, task):
        await until(lambda: job.state == "finished")
        [state] = master.outputs.states(job)
        assert to.gate is not None
        taken = len(to.items)
        to.gate.set()
        async with asyncio.timeout(10):
            await task

    assert taken == 0
    assert state.waiting == PAGES
    assert max(map(len, to.batches)) <= 5
    assert set(to.values) == items_of(urls(PAGES))


async def test_later_visit_without_items_is_brought_as_an_empty_page(
    tmp_path: Path, places: dict[str, Destination]
) -> None:
    to = places["fake://one"] = Destination()
    site = Site(urls(3))

    def fails(task: Any) -> Any:
        page = site(task)
        return deepcopy(page) if b"/1" not in b"".join(page.items) else failed(task, page.items)

    await crawl(tmp_path, Slaves(fails), outputs=specs(places))
    first = set(to.values)
    async with master_of(tmp_path, Slaves(lambda task: page_of(task))) as master:
        job = await open_job(master, specs(places))
        retried = master.aside.retry(job)
        master.lifecycle.steer(job, job.control.then("running", ""))
        async with asyncio.timeout(10):
            await master.run()

    assert retried.result() == 1
    assert first == items_of(urls(3))
    assert set(to.values) == items_of(urls(3)) - items_of(["http://h0.example/1"])
    assert [(page.visit, list(page.items)) for page in to.batches[-1]] == [(1, [])]


def failed(task: Any, items: list[bytes]) -> Any:
    return page_of(task, items=items, outcome=Outcome(Phase.FAILED, "callback", "trace"))


async def test_output_of_an_earlier_version_goes_on_where_it_was(tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    await crawl(tmp_path / "data", Slaves(Site(urls(PAGES))), outputs=[SinkSpec(str(output))], closespider_pagecount=3)
    before = len(output.read_text().splitlines())
    with sqlite3.connect(tmp_path / "data/frontier.db") as db:
        [(path, stored)] = db.execute("SELECT path, position FROM sink").fetchall()
        db.execute(
            "UPDATE sink SET spec = ?, position = ?", ('{"replace": false}', json.dumps(json.loads(stored)["at"]))
        )

    await crawl(tmp_path / "data", Slaves(Site(urls(PAGES))))

    assert path == str(output)
    assert 0 < before < PAGES
    assert len(output.read_text().splitlines()) == len(set(output.read_text().splitlines())) == PAGES


def test_cursor_is_read_as_it_was_stored() -> None:
    cursor = Cursor(7, {"offset": 3}, 5, 1)

    assert Cursor.unpacked(7, cursor.packed()) == cursor
    assert Cursor.unpacked(7, '{"offset": 3, "count": 5}') == Cursor(7, {"offset": 3, "count": 5}, 5)


async def test_dead_letters_are_sent_again_and_those_that_are_refused_again_stay(
    tmp_path: Path, places: dict[str, Destination], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redelivery, "make_sink", outputs_module.make_sink)
    to = places["fake://one"] = Destination(refuses=lambda item: "too odd" if b"1" in item else "")
    await crawl(tmp_path, Slaves(Site(urls(PAGES))), outputs=specs(places))
    before = len(to.items)

    to.refuses = lambda item: "still too odd" if b"/11" in item else ""
    [first] = await redelivery.send_again(tmp_path)
    [stays] = DeadLetters(tmp_path).read()
    to.refuses = lambda item: ""
    [second] = await redelivery.send_again(tmp_path)

    assert before + first.delivered + 1 == PAGES
    assert (first.left, first.why, second.left, second.delivered) == (1, "still too odd", 0, 1)
    assert (stays.url, stays.reason) == ("http://h0.example/11", "still too odd")
    assert set(to.values) == items_of(urls(PAGES))
    assert not DeadLetters(tmp_path).there
    with pytest.raises(ConfigurationError, match="no dead letters"):
        await redelivery.send_again(tmp_path)


async def test_dead_letters_stay_as_they_are_where_their_sink_is_away(
    tmp_path: Path, places: dict[str, Destination], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redelivery, "make_sink", outputs_module.make_sink)
    to = places["fake://one"] = Destination(refuses=lambda item: "too odd")
    await crawl(tmp_path, Slaves(Site(urls(PAGES))), outputs=specs(places))
    before = list(DeadLetters(tmp_path).read())

    to.away = True
    [end] = await redelivery.send_again(tmp_path)

    assert (end.delivered, end.left, end.away) == (0, PAGES, True)
    assert list(DeadLetters(tmp_path).read()) == before
