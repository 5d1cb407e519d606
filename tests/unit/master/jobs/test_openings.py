"""What start URLs open: settled with their links, told before it is needed, the same in whatever order it is learnt."""

from __future__ import annotations

import asyncio
import itertools
import logging
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pcrawl.frontier.records.batch import Batch
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.master.company.company import Alone
from p2pcrawl.master.exchange import Exchange
from p2pcrawl.master.jobs.job import job_of, pack_job, unpack_spec
from p2pcrawl.master.jobs.openings import Openings
from p2pcrawl.model.crawl.fingerprint import fingerprint
from p2pcrawl.model.crawl.job import START_URL, JobId
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.outcome import Drop
from p2pcrawl.wire.messages.bounds import OPENED_MAX
from p2pcrawl.wire.messages.peer_messages import Row
from p2pcrawl.wire.messages.slave_messages import LinkColumns, Outcome, Page, Task
from tests.unit.master.fake_slaves import Slaves, crawl, links_to, master_of, page_of, spec_of, until

HERE = "http://127.0.0.1:8000/"


def seeds_to(*urls: str) -> LinkColumns:
    links = links_to(urls)
    links.shared = links.shared._replace(seed=True)
    return links


def part_of(task: Task, *links: LinkColumns) -> Page:
    return Page(task.lease, task.record, task.job, list(links))


def dropped(task: Task) -> Page:
    return page_of(task, outcome=Outcome(Phase.DROPPED, Drop.PRIVATE_NETWORK, "no start URL names it"))


class Guarded(Slaves):
    """Drops what is on this machine unless the job was said to have opened it, as real slaves do."""

    def __init__(self, seeds: list[list[str]], leads_to: dict[str, list[str]]) -> None:
        super().__init__(self._answered)
        self._seeds = seeds
        self._leads_to = leads_to
        self.done: list[str] = []
        self.dropped: list[str] = []

    def _answered(self, task: Task) -> Page | None:
        if task.link.url.startswith(START_URL):
            self.start = task
            self.report([part_of(task, seeds_to(*self._seeds[0]))])
            return None
        opened = self.jobs[-1].job.opened
        if "//127." in task.link.url and not any(f"//{host}:" in task.link.url for host in opened):
            self.dropped.append(task.link.url)
            return dropped(task)
        self.done.append(task.link.url)
        return page_of(task, self._leads_to.get(task.link.url, ()))

    def go_on(self) -> None:
        """The rest of the start, and its end."""
        for seeds in self._seeds[1:]:
            self.report([part_of(self.start, seeds_to(*seeds))])
        self.report([page_of(self.start)])


async def test_start_url_in_a_part_sent_ahead_opens_its_host_before_anything_of_it_is_granted(tmp_path: Path) -> None:
    leads_to = {HERE: [f"{HERE}{number}" for number in range(50)]}
    slaves = Guarded([[HERE]], leads_to)

    async with master_of(tmp_path, slaves) as master:
        await master.submit(spec_of())
        running = asyncio.create_task(master.run())
        await until(lambda: len(slaves.done) == 51)
        slaves.go_on()
        await running

    assert slaves.dropped == []
    assert sorted(slaves.done) == sorted([HERE, *leads_to[HERE]])


async def test_what_was_dropped_before_its_host_was_opened_is_queued_again(tmp_path: Path) -> None:
    """A page of the web links to what a start URL, which comes later, opens: who was first makes no difference."""
    public = "http://a.example/"
    slaves = Guarded([[public], [f"{HERE}start"]], {public: [f"{HERE}start", f"{HERE}other", "http://127.0.0.2:1/"]})

    async with master_of(tmp_path, slaves) as master:
        job = await master.submit(spec_of())
        running = asyncio.create_task(master.run())
        await until(lambda: job.counts["dropped:private-network"] == 3)
        slaves.go_on()
        await running
        census = await master.census(job)

    assert sorted(slaves.done) == [f"{HERE}other", f"{HERE}start", public]
    certificate = job.certificate()
    assert certificate["conserved"] and certificate["dropped_by_reason"] == {"private-network": 1}
    assert (census["done"], census["dropped"], census.get("queued", 0)) == (4, 1, 0)


async def test_drop_of_a_page_that_was_granted_before_its_host_was_opened_does_not_count(tmp_path: Path) -> None:
    public, late = "http://a.example/", f"{HERE}late"
    held: list[Task] = []
    slaves = Guarded([[public], [HERE]], {public: [late]})
    answer = slaves.answer

    def held_back(task: Task) -> Page | None:
        if task.link.url == late and not held:
            held.append(task)
            return None
        return answer(task)

    slaves.answer = held_back
    async with master_of(tmp_path, slaves) as master:
        job = await master.submit(spec_of())
        running = asyncio.create_task(master.run())
        await until(lambda: bool(held))
        slaves.go_on()
        await until(lambda: HERE in slaves.done)
        slaves.report([dropped(held[0])])
        await running

    assert slaves.done.count(late) == 1
    assert job.certificate()["dropped"] == 0


async def test_crash_between_a_fact_and_what_follows_from_it_loses_nothing(tmp_path: Path) -> None:
    public = "http://a.example/"
    slaves = Guarded([[public]], {public: [HERE]})
    async with master_of(tmp_path, slaves) as master:
        job = await master.submit(spec_of())
        running = asyncio.create_task(master.run())
        await until(lambda: job.counts["dropped:private-network"] == 1)
        running.cancel()
        await asyncio.wait([running])
    job.learn_opened(["127.0.0.1"])
    with closing(Store(tmp_path)) as store:
        store.commit(Batch(specs={1: pack_job(job)}))

    _, census = await crawl(tmp_path, Slaves(page_of))

    assert (census.get("dropped", 0), census.get("queued", 0)) == (0, 0)


@pytest.mark.parametrize("way", ["arrives", "comes back", "moves with its bucket"])
def test_start_url_opens_its_host_in_the_transaction_that_takes_it_in(way: str) -> None:
    company = Alone(Path("nowhere"), Settings())
    company.ground.jobs[1] = job_of(replace(spec_of(), id=JobId(1)))
    exchange = Exchange(company)
    found = Link(HERE, fingerprint(HERE), seed=True)
    batch = Batch()

    match way:
        case "arrives":
            exchange._take(SimpleNamespace(job=1, links=[found], answer=None, known=1), batch)  # type: ignore[arg-type]
        case "comes back":
            parcel: Any = SimpleNamespace(link=found, bucket=7)
            exchange._return(1, parcel, batch)
        case _:
            row = Row(1, found, 0, 0, 0, 0, "", 0)
            batch.moved.extend(exchange._moved([row]))
    specs = company.ground.openings.take_specs()

    assert unpack_spec(specs[1]).opened == ("127.0.0.1",)


@given(st.lists(st.sets(st.integers(0, 400), max_size=120), max_size=6), st.randoms())
def test_what_is_opened_is_the_same_in_whatever_order_it_is_learnt(sets: list[set[int]], dice: Any) -> None:
    hosts = [[f"10.0.{number >> 8}.{number & 255}" for number in each] for each in sets]
    shuffled = [dice.sample(each, len(each)) for each in dice.sample(hosts, len(hosts))]
    one, other = job_of(spec_of()), job_of(spec_of())

    for each in hosts:
        one.learn_opened(each)
    for each in shuffled + shuffled[:2]:
        other.learn_opened(each)

    assert one.spec.opened == other.spec.opened
    assert one.spec.opened == tuple(sorted(set(itertools.chain(*hosts)))[:OPENED_MAX])
    assert (one.mark, one.opened_mark) == (other.mark, other.opened_mark)


def test_more_hosts_than_can_travel_are_refused_in_a_clear_line(caplog: pytest.LogCaptureFixture) -> None:
    jobs = {0: job_of(spec_of("many"))}
    openings = Openings(jobs)

    with caplog.at_level(logging.WARNING):
        openings.note(jobs[0], [f"http://10.0.{n >> 8}.{n & 255}/" for n in range(2 * OPENED_MAX)])
        openings.note(jobs[0], ["http://10.9.9.9/"])

    assert len(jobs[0].spec.opened) == OPENED_MAX
    (line,) = [record.getMessage() for record in caplog.records]
    assert "job many starts at more than 256 private hosts" in line and "ALLOW_PRIVATE_NETWORKS" in line


def test_nothing_but_literal_addresses_and_names_of_this_machine_opens_anything() -> None:
    jobs = {0: job_of(spec_of())}
    openings = Openings(jobs)

    openings.note(jobs[0], ["http://a.example/", "http://169.254.169.254/", "https://8.8.8.8/", f"{START_URL}7"])

    assert jobs[0].spec.opened == ()
    assert openings.reopened == {}
