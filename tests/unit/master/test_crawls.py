"""Whole crawls by a real master with slaves that only pretend to fetch."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import pytest

from p2pcrawl.core.hosts.politeness import UNANSWERED_REST
from p2pcrawl.core.ring.rendezvous import BUCKETS
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.master import requeue as aside_module
from p2pcrawl.master.company.company import Alone
from p2pcrawl.master.loans.budgets import Budgets
from p2pcrawl.master.master import Master
from p2pcrawl.master.requeue import Aside
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.crawl.job import START_URL
from p2pcrawl.model.crawl.page_link import FILE_CALLBACK
from p2pcrawl.model.crawl.record import GIVEN_UP, Phase
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.crawl.sink_spec import SinkSpec
from p2pcrawl.model.crawl.url import host_of
from p2pcrawl.model.errors import ConfigurationError, DiskFullError, StorageError
from p2pcrawl.stores.files.in_thread import SinkInThread
from p2pcrawl.stores.sink import BatchLimits
from p2pcrawl.wire.messages.peer_messages import Borrow, Repay
from p2pcrawl.wire.messages.slave_messages import LinkColumns, Outcome, Page, Returned, RobotsResult, RobotsTask, Task
from tests.peers import FakePeers
from tests.unit.master.fake_slaves import Death, Site, Slaves, crawl, links_to, master_of, page_of, spec_of, until, urls

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


def assert_conserved(job, census) -> None:
    certificate = job.certificate()
    assert certificate["conserved"]
    assert certificate["leased"] == 0
    assert certificate["queued"] == census.get("queued", 0)
    for phase in ("done", "failed", "dropped"):
        assert certificate[phase] == census.get(phase, 0)
    assert census["leased"] == 0


async def test_every_page_is_visited_once_and_the_counters_equal_the_census(tmp_path: Path) -> None:
    seeds = urls(20, hosts=5)
    site = Site(seeds, {url: urls(120, hosts=7) for url in seeds})

    job, census = await crawl(tmp_path, Slaves(site))

    assert Counter(site.visits) == dict.fromkeys(urls(120, hosts=7) + [u for u in seeds if u not in urls(120, 7)], 1)
    assert_conserved(job, census)
    assert job.state == "finished"
    assert job.certificate()["fetches"] == len(site.visits)


async def test_crawl_of_more_hosts_than_seats_comes_to_its_end(tmp_path: Path) -> None:
    site = Site(urls(60, hosts=60))

    job, census = await crawl(tmp_path, Slaves(site), hosts_max=4)

    assert sorted(site.visits) == sorted(urls(60, hosts=60))
    assert_conserved(job, census)


async def test_what_a_slave_says_of_jobs_and_pages_that_it_was_not_given_changes_nothing(tmp_path: Path) -> None:
    site = Site(["http://a.example/1", "http://a.example/2"])

    def confused(task: Task) -> Page | None:
        page = site(task)
        if page is not None and not task.link.url.startswith(START_URL):
            slaves.report([Page(task.lease, task.record, 999, [links_to(["http://b.example/"], 1)])])
            slaves.report([Page(task.lease + 77, task.record, task.job, outcome=Outcome(Phase.FAILED, "lie"))])
            slaves.send(Returned([task.record + 1000]))
        return page

    slaves = Slaves(confused)

    job, census = await crawl(tmp_path, slaves)

    assert job.state == "finished"
    assert_conserved(job, census)
    assert census["done"] == 3
    assert sorted(site.visits) == ["http://a.example/1", "http://a.example/2"]


async def test_pages_of_a_slave_that_dies_come_back(tmp_path: Path) -> None:
    site = Site(urls(30, hosts=3))
    deaths = iter([True])

    def answer(task: Task) -> Page | None:
        if len(site.visits) == 10 and next(deaths, False):
            raise Death
        return site(task)

    slaves = Slaves(answer)
    job, census = await crawl(tmp_path, slaves)

    assert set(site.visits) == set(urls(30, hosts=3))
    assert slaves.lives == 2
    assert_conserved(job, census)


async def test_page_that_kills_every_slave_is_put_aside_and_takes_no_other_along(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    site = Site(urls(12, hosts=12))

    def answer(task: Task) -> Page | None:
        if task.link.url in (urls(12, 12)[3], urls(12, 12)[7]):
            raise Death
        return site(task)

    slaves = Slaves(answer)
    job, census = await crawl(tmp_path, slaves, slave_losses_max=3)

    assert job.certificate()["failed_by_reason"] == {"slave-lost": 2}
    assert f"{urls(12, 12)[3]} failed: slave-lost" in caplog.text
    assert census["done"] == 11
    assert_conserved(job, census)


async def test_file_that_kills_every_slave_is_given_up_so_that_its_item_goes_on(tmp_path: Path) -> None:
    file = "http://files.example/deadly.png"
    site, ended = Site(urls(3, hosts=3)), []

    def answer(task: Task) -> Page | None:
        if task.link.url.startswith(START_URL):
            page = page_of(task, site.seeds)
            waited_for = links_to([file])
            shared = waited_for.shared._replace(callback=FILE_CALLBACK)
            page.links.append(LinkColumns(shared, [file], waited_for.fingerprints))
            return page
        if task.link.url != file:
            return site(task)
        if task.attempt <= GIVEN_UP:
            raise Death
        ended.append(task.attempt)
        return page_of(task, items=[b'{"url":"its item"}'], outcome=Outcome(Phase.FAILED, "given-up"))

    job, census = await crawl(tmp_path, Slaves(answer), slave_losses_max=3)

    assert ended == [GIVEN_UP + 1]
    assert job.certificate()["failed_by_reason"] == {"given-up": 1}
    assert job.certificate()["items"] == 4
    assert_conserved(job, census)


async def test_slave_holds_one_suspect_at_a_time(tmp_path: Path) -> None:
    poison = set(urls(8, hosts=8))
    site = Site(urls(8, hosts=8))
    crowds: list[int] = []

    def answer(task: Task) -> Page | None:
        if task.link.url in poison and slaves.lives <= 2:
            if len(slaves.grants[-1]) > 1:
                raise Death
            return None
        crowds.append(len([t for t in slaves.grants[-1] if t.link.url in poison]))
        return site(task)

    slaves = Slaves(answer)
    job, census = await crawl(tmp_path, slaves)

    assert_conserved(job, census)
    assert max(crowds[1:]) == 1


async def test_robots_txt_in_the_hands_of_a_slave_that_dies_is_asked_for_again(tmp_path: Path) -> None:
    site = Site(urls(4, hosts=2))

    def robots(task) -> RobotsResult | None:
        if slaves.lives == 1:
            raise Death
        return RobotsResult(task.lease, task.origin, "allow", "", "")

    slaves = Slaves(site, robots)
    job, census = await crawl(tmp_path, slaves, robotstxt_obey=True)

    assert sorted(site.visits) == sorted(urls(4, hosts=2))
    assert_conserved(job, census)


async def test_robots_txt_that_kills_every_slave_is_given_up(tmp_path: Path) -> None:
    site = Site(["http://bad.example/", "http://good.example/"])

    def robots(task) -> RobotsResult | None:
        if task.origin == "http://bad.example":
            raise Death
        return RobotsResult(task.lease, task.origin, "allow", "", "")

    def answer(task: Task) -> Page | None:
        if task.link.url == "http://bad.example/":
            assert [r.verdict for r in slaves.told if r.origin == "http://bad.example"][-1] == "disallow"
            return page_of(task, outcome=Outcome(Phase.FAILED, "robots-unreachable"))
        return site(task)

    slaves = Slaves(answer, robots)
    job, census = await crawl(tmp_path, slaves, robotstxt_obey=True, slave_losses_max=3)

    assert job.certificate()["failed_by_reason"] == {"robots-unreachable": 1}
    assert slaves.lives <= 4
    assert_conserved(job, census)


async def test_page_in_parts_counts_its_items_once_though_its_slave_died_in_between(tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"

    def answer(task: Task) -> Page | None:
        if task.link.url.startswith(START_URL):
            return page_of(task, urls(1))
        slaves.report([Page(task.lease, task.record, task.job, [links_to(urls(3), 1)], [b'{"a":1}', b'{"a":2}'])])
        if slaves.lives == 1:
            slaves._link.close()
            return None
        return page_of(task, items=[b'{"a":3}'])

    slaves = Slaves(lambda task: Site(urls(1))(task) if task.record > 2 else answer(task))
    job, census = await crawl(tmp_path / "data", slaves, outputs=[SinkSpec(str(output))])

    lines = output.read_text().splitlines()
    assert [line for line in lines if "a" in line[:3]] == ['{"a":1}', '{"a":2}', '{"a":3}']
    assert len(lines) == job.certificate()["items"] == 5
    assert_conserved(job, census)


async def test_limit_of_pages_closes_the_job_and_leaves_the_rest_queued(tmp_path: Path) -> None:
    site = Site(urls(50, hosts=2))

    job, census = await crawl(tmp_path, Slaves(site), closespider_pagecount=3, concurrent_requests_per_domain=1)

    assert (job.state, job.reason) == ("finished", "closespider_pagecount")
    assert census["queued"] > 0
    assert_conserved(job, census)


async def test_callback_that_closes_the_spider_ends_the_job_with_its_reason(tmp_path: Path) -> None:
    site = Site(urls(5))

    def answer(task: Task) -> Page | None:
        if task.link.url.endswith("example/0"):
            return page_of(task, outcome=Outcome(Phase.DONE, status=200, answered=True, close="enough"))
        return site(task)

    job, census = await crawl(tmp_path, Slaves(answer), concurrent_requests_per_domain=1)

    assert job.reason == "enough"
    assert_conserved(job, census)


async def test_start_that_raises_is_no_fetch(tmp_path: Path) -> None:
    def answer(task: Task) -> Page | None:
        return page_of(task, urls(1), outcome=Outcome(Phase.FAILED, "callback", "trace"))

    slaves = Slaves(lambda task: answer(task) if task.link.url.startswith(START_URL) else Site([])(task))
    job, census = await crawl(tmp_path, slaves)

    assert job.certificate()["fetches"] == 1
    assert_conserved(job, census)


async def test_drain_stores_what_was_done_and_a_resume_does_the_rest(tmp_path: Path) -> None:
    site = Site(urls(40, hosts=4))
    slaves = Slaves(lambda task: site(task) if len(site.visits) < 10 else None)

    async with master_of(tmp_path, slaves) as master:
        job = await master.submit(spec_of())
        running = asyncio.create_task(master.run())
        await until(lambda: len(slaves.in_hand) > 3)
        master.drain()
        async with asyncio.timeout(10):
            await running
        census = await master.census(job)
        assert job.leased == 0
        assert_conserved(job, census)

    job, census = await crawl(tmp_path, Slaves(site))

    assert Counter(site.visits) == dict.fromkeys(urls(40, hosts=4), 1)
    assert_conserved(job, census)


async def test_drain_does_not_wait_for_a_robots_txt_that_was_not_begun(tmp_path: Path) -> None:
    slaves = Slaves(Site(urls(2, hosts=2)), lambda task: None)

    async with master_of(tmp_path, slaves) as master:
        job = await master.submit(spec_of(robotstxt_obey=True))
        running = asyncio.create_task(master.run())
        await until(lambda: len(slaves.robots_in_hand) == 2)
        master.drain()
        async with asyncio.timeout(10):
            await running

        assert all(seat.host.open == 0 and not seat.robots_open for seat in master.workbench.seats.values())
        assert job.certificate()["queued"] == 2


@pytest.mark.parametrize("obeys", [False, True])
async def test_what_is_called_in_before_its_slave_has_heard_of_it_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, obeys: bool
) -> None:
    """A disk may take long to note a lease, and others may ask its host meanwhile."""
    site = Site(["http://h0.example/"])
    run, called_in, robots = Aside.run, list[int](), list[int]()

    async def is_called_in(aside: Aside) -> None:
        sessions = master.sessions.values()
        granted = [each.number for s in sessions for each in (s.robots if obeys else s.leases).values()]
        if granted and not called_in:
            called_in.extend(granted)
            master.slaves.call_in()
        await run(aside)

    def allows(task: RobotsTask) -> RobotsResult:
        robots.append(task.lease)
        return RobotsResult(task.lease, task.origin, "allow", "", "")

    monkeypatch.setattr(Aside, "run", is_called_in)
    slaves = Slaves(site, allows)
    async with master_of(tmp_path, slaves) as master:
        job = await master.submit(spec_of(robotstxt_obey=obeys))
        async with asyncio.timeout(10):
            await master.run()

    assert len(called_in) == slaves.called_in == 1
    assert called_in[0] not in {*robots, *(task.lease for task in slaves.granted)}
    assert {task.attempt for task in slaves.granted} == {1}
    assert site.visits == ["http://h0.example/"] and job.counts["losses"] == 0


async def test_bucket_whose_host_is_asked_for_its_robots_txt_is_not_let_go_of(tmp_path: Path) -> None:
    slaves = Slaves(Site(["http://h0.example/"]), lambda task: None)

    async with master_of(tmp_path, slaves) as master:
        await master.submit(spec_of(robotstxt_obey=True))
        running = asyncio.create_task(master.run())
        await until(lambda: len(slaves.robots_in_hand) == 1)
        bucket = master.bucket_of_url("http://h0.example/", "host")

        while_it_is_open = (
            await master.handover.can_release({bucket}),
            await master.handover.can_release({(bucket + 1) % BUCKETS}),
        )
        (task,) = slaves.robots_in_hand
        slaves.report(robots=[RobotsResult(task.lease, task.origin, "disallow", "", "")])
        await until(lambda: not any(session.robots for session in master.sessions.values()))
        after_it = await master.handover.can_release({bucket})
        master.drain()
        async with asyncio.timeout(10):
            await running

    assert while_it_is_open == (False, True)
    assert after_it


async def test_bucket_of_a_host_that_is_asked_for_pages_of_other_buckets_is_not_let_go_of(tmp_path: Path) -> None:
    url = "http://h0.example/"
    slaves = Slaves(lambda task: page_of(task, [url]) if task.link.url.startswith(START_URL) else None)

    async with master_of(tmp_path, slaves) as master:
        await master.submit(spec_of(shard_key="url"))
        running = asyncio.create_task(master.run())
        await until(lambda: len(slaves.in_hand) == 1)
        page, host = master.bucket_of_url(url, "url"), master.bucket_of_url(url, "host")

        let_go = [await master.handover.can_release({bucket}) for bucket in (page, host, (host + 1) % BUCKETS)]
        master.drain()
        async with asyncio.timeout(10):
            await running

    assert page != host
    assert let_go == [False, False, True]


async def test_bucket_of_a_host_that_is_lent_is_not_let_go_of(tmp_path: Path) -> None:
    borrower = NodeId("2" * 40)

    class Lender(Alone):
        """Lends its hosts to others."""

        def __init__(self, folder: Path, settings: Settings) -> None:
            super().__init__(folder, settings)
            self.budgets = Budgets(self.ground.workbench, self.ground.jobs, self.router, FakePeers(NodeId("1" * 40)))

        def lent(self) -> Iterable[int]:
            return self.budgets.lending.lent()

    slaves = Slaves(Site([]), lambda task: None)
    async with Master(company := Lender(tmp_path, Settings()), slaves=0, run_here=slaves) as master:
        job = await master.submit(spec_of(shard_key="url", download_delay=1.0))
        budgets = company.budgets
        budgets.members_changed({borrower})
        running = asyncio.create_task(master.run())
        bucket = master.bucket_of_url("http://h0.example/", "host")

        lent = await budgets.lending.lend(Borrow(0, "h0.example", job.id, 0.0, 1), borrower)
        while_it_is_lent = await master.handover.can_release({bucket})
        budgets.lending.repaid(Repay(0, "h0.example", 0.0, 0.0, 0.0, 0, 1), borrower)
        after_it = await master.handover.can_release({bucket})
        master.drain()
        async with asyncio.timeout(10):
            await running

    assert lent.granted
    assert (while_it_is_lent, after_it) == (False, True)


async def test_aborted_crawl_is_resumed_with_only_its_open_pages_fetched_again(tmp_path: Path) -> None:
    site = Site(urls(40, hosts=4))
    slaves = Slaves(lambda task: site(task) if len(site.visits) < 10 else None)
    async with master_of(tmp_path, slaves) as master:
        await master.submit(spec_of())
        running = asyncio.create_task(master.run())
        await until(lambda: len(slaves.in_hand) > 3 and slaves.acknowledged == slaves.sent)
        running.cancel()
        await asyncio.wait([running])

    async with master_of(tmp_path, Slaves(site)) as master:
        recovered = master.recovered
        job = await master.resume(1, spec_of())
        await master.run()
        census = await master.census(job)

    assert recovered == len(slaves.in_hand)
    assert Counter(site.visits) == dict.fromkeys(urls(40, hosts=4), 1)
    assert job.certificate()["interrupted"] == recovered
    assert_conserved(job, census)


async def test_full_disk_ends_the_crawl_and_a_resume_finds_everything(tmp_path: Path, monkeypatch) -> None:
    site = Site(urls(30, hosts=3))
    slaves = Slaves(site)
    async with master_of(tmp_path, slaves) as master:
        await master.submit(spec_of())
        commit, calls = Store.commit, 0

        def full(store, batch):
            nonlocal calls
            calls += 1
            if calls == 4:
                raise DiskFullError("no room")
            return commit(store, batch)

        with monkeypatch.context() as patch, pytest.raises(DiskFullError):
            patch.setattr(Store, "commit", full)
            await master.run()

    job, census = await crawl(tmp_path, slaves)

    assert set(site.visits) == set(urls(30, hosts=3))
    assert job.certificate()["items"] == 30
    assert_conserved(job, census)


async def test_output_for_which_there_is_no_room_is_refused_before_anything_is_fetched(
    tmp_path: Path, monkeypatch
) -> None:
    async def full(self, position):
        raise DiskFullError("no room")

    site = Site(urls(3))
    monkeypatch.setattr(SinkInThread, "open", full)
    with pytest.raises(ConfigurationError, match="nothing was begun: no room"):
        await crawl(tmp_path / "data", Slaves(site), outputs=[SinkSpec(str(tmp_path / "out.jsonl"))])

    assert site.visits == []


async def test_output_that_is_behind_is_written_without_waiting_for_more(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(SinkInThread, "limits", BatchLimits(items=10, linger_s=3600.0))
    await crawl(tmp_path / "data", Slaves(Site(urls(25))))
    output = tmp_path / "out.jsonl"

    async with master_of(tmp_path / "data", Slaves(Site([]))) as master:
        job = await master.resume(1, spec_of(), [SinkSpec(str(output))])
        master.outputs.begin()
        await until(lambda: master.outputs.states(job)[0].delivered == 25)

    assert len(output.read_text().splitlines()) == 25


async def test_output_that_fails_ends_the_crawl_and_is_whole_after_a_resume(tmp_path: Path, monkeypatch) -> None:
    site, output = Site(urls(30, hosts=3)), tmp_path / "out.jsonl"

    async def fails(self, pages):
        raise StorageError("no such device")

    with monkeypatch.context() as patched:
        patched.setattr(SinkInThread, "write", fails)
        with pytest.raises(StorageError):
            await crawl(tmp_path / "data", Slaves(site), outputs=[SinkSpec(str(output))])
    await crawl(tmp_path / "data", Slaves(site), outputs=[SinkSpec(str(output))])

    assert len(set(output.read_text().splitlines())) == len(output.read_text().splitlines()) == 30


def failing(host: str, site: Site, tried: list[str]):
    """Pages of ``host`` never have an answer."""

    def answer(task: Task) -> Page | None:
        if host_of(task.link.url) != host:
            return site(task)
        tried.append(task.link.url)
        return page_of(task, outcome=Outcome(Phase.QUEUED, "connect"))

    return answer


async def test_what_is_queued_for_a_host_that_is_down_is_put_aside_at_once(tmp_path: Path, monkeypatch, caplog) -> None:
    monkeypatch.setattr(aside_module, "ABANDON_ROWS", 100)
    site, tried = Site([*urls(20), *(f"http://down.example/{n}" for n in range(450))]), []
    slaves = Slaves(failing("down.example", site, tried))

    job, census = await crawl(tmp_path, slaves, host_down_after=1e-9, frontier_memory=40)

    assert sorted(site.visits) == sorted(urls(20))
    assert len(tried) <= UNANSWERED_REST + 2
    assert job.certificate()["failed_by_reason"] == {"host-down": 450}
    assert any(
        "pages failed: host-down" in record.message for record in caplog.records if record.levelname == "WARNING"
    )
    assert job.state == "finished"
    assert_conserved(job, census)


@pytest.mark.slow
async def test_host_that_answers_again_in_time_loses_nothing(tmp_path: Path) -> None:
    site, tried = Site(urls(30)), []
    down = failing("h0.example", site, tried)
    slaves = Slaves(lambda task: down(task) if len(tried) < UNANSWERED_REST + 1 else site(task))

    job, census = await crawl(tmp_path, slaves, host_down_after=60)

    assert sorted(site.visits) == sorted(urls(30))
    assert_conserved(job, census)


async def test_only_the_jobs_that_were_resumed_are_run(tmp_path: Path) -> None:
    site = Site(urls(4))
    async with master_of(tmp_path, Slaves(site)) as master:
        await master.submit(spec_of("one"))
        await master.submit(spec_of("two"))

    async with master_of(tmp_path, Slaves(site)) as master:
        job = await master.resume(1, spec_of("one"))
        async with asyncio.timeout(10):
            await master.run()
        other = await master.census(master.jobs[2])

    assert job.state == "finished"
    assert other["queued"] == 1
    with sqlite3.connect(tmp_path / "frontier.db") as db:
        assert db.execute("SELECT state FROM job ORDER BY id").fetchall() == [("finished",), ("running",)]
    db.close()


async def test_two_jobs_run_side_by_side_and_each_has_its_own_records(tmp_path: Path) -> None:
    one, two = Site(urls(9, hosts=3)), Site(urls(9, hosts=3))
    slaves = Slaves(lambda task: (one if task.job == 1 else two)(task))

    async with master_of(tmp_path, slaves) as master:
        jobs = [await master.submit(spec_of("one")), await master.submit(spec_of("two"))]
        async with asyncio.timeout(10):
            await master.run()
        censuses = [await master.census(job) for job in jobs]

    assert sorted(one.visits) == sorted(two.visits) == sorted(urls(9, hosts=3))
    for job, census in zip(jobs, censuses, strict=True):
        assert_conserved(job, census)


async def test_job_that_had_finished_is_finished_again_at_once(tmp_path: Path) -> None:
    site = Site(urls(4))
    await crawl(tmp_path, Slaves(site))

    slaves = Slaves(site)
    job, _ = await crawl(tmp_path, slaves)

    assert job.state == "finished"
    assert slaves.lives == 0
    assert len(site.visits) == 4


async def test_job_that_was_done_but_not_marked_finished_is_finished_by_a_resume(tmp_path: Path) -> None:
    site = Site(urls(4))
    await crawl(tmp_path, Slaves(site))
    with sqlite3.connect(tmp_path / "frontier.db") as db:
        db.execute("UPDATE job SET state = 'running'")
    db.close()

    job, _ = await crawl(tmp_path, Slaves(site))

    assert job.state == "finished"


async def test_items_come_as_they_are_safe_and_end_with_the_crawl(tmp_path: Path) -> None:
    seeds = urls(40, hosts=4)
    site = Site(seeds[:1], {url: [after] for url, after in pairwise(seeds)})

    async with master_of(tmp_path, Slaves(site)) as master:
        job = await master.submit(spec_of())
        running = asyncio.create_task(master.run())
        last, items = 0, 0
        async with asyncio.timeout(10):
            while rows := await master.outputs.items_after(job, last):
                items += len(rows)
                last = rows[-1][0]
        await running

    assert items == 40


async def test_items_end_though_nobody_says_that_they_have_after_the_last_look(tmp_path: Path, monkeypatch) -> None:
    async with master_of(tmp_path, Slaves(Site([]))) as master:
        job = await master.submit(spec_of())
        read, release = Store.items_after, asyncio.Event()

        loop = asyncio.get_running_loop()

        def slow(*arguments):
            rows = read(*arguments)
            asyncio.run_coroutine_threadsafe(release.wait(), loop).result()
            return rows

        monkeypatch.setattr(Store, "items_after", slow)
        waiting = asyncio.create_task(master.outputs.items_after(job, 0))
        running = asyncio.create_task(master.run())
        await asyncio.sleep(0)
        release.set()
        async with asyncio.timeout(10):
            await running
            assert await waiting == []


async def test_slave_that_gives_a_page_back_is_granted_it_again_without_a_lost_attempt(tmp_path: Path) -> None:
    from p2pcrawl.wire.messages.slave_messages import Returned

    site = Site(urls(3))
    given_back = []

    def answer(task: Task) -> Page | None:
        if task.link.url.endswith("example/1") and not given_back:
            given_back.append(task)
            slaves.send(Returned([task.record], ["http://h0.example"]))
            return None
        return site(task)

    slaves = Slaves(answer)
    job, census = await crawl(tmp_path, slaves)

    again = [t for t in slaves.granted if t.link.url.endswith("example/1")]
    assert [t.attempt for t in again] == [1, 1]
    assert_conserved(job, census)


async def test_retry_is_granted_with_its_next_attempt(tmp_path: Path) -> None:
    site = Site(urls(2))

    def answer(task: Task) -> Page | None:
        if task.link.url.endswith("example/1") and task.attempt < 3:
            return page_of(task, outcome=Outcome(Phase.QUEUED, "http-5xx", status=503, answered=True, retry_in_s=0.01))
        return site(task)

    slaves = Slaves(answer)
    job, census = await crawl(tmp_path, slaves)

    assert [t.attempt for t in slaves.granted if t.link.url.endswith("example/1")] == [1, 2, 3]
    assert job.certificate()["retries_by_reason"] == {"http-5xx": 2}
    assert_conserved(job, census)


async def test_report_of_a_lease_that_is_no_more_adds_its_links_and_nothing_else(tmp_path: Path) -> None:
    site = Site(urls(1))

    def answer(task: Task) -> Page | None:
        page = site(task)
        if task.link.url == urls(1)[0]:
            stale = page_of(task, ["http://late.example/"], [b'{"stale":1}'])
            stale.lease = task.lease + 1000
            slaves.report([stale])
        return page

    slaves = Slaves(answer)
    job, census = await crawl(tmp_path, slaves)

    assert sorted(site.visits) == ["http://h0.example/0", "http://late.example/"]
    assert job.certificate()["items"] == 2
    assert_conserved(job, census)
