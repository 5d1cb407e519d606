"""What a master holds on to between turns: who was told what, who may have what, and when."""

from __future__ import annotations

import asyncio
import socket
import sqlite3
import time
from dataclasses import replace
from pathlib import Path

import pytest

from p2pcrawl.core.bench.candidate import Candidate, host_key
from p2pcrawl.core.bench.seat import Seat
from p2pcrawl.core.bench.workbench import LOSSES_SUSPECT
from p2pcrawl.core.group.session_states import SessionState, SessionTerm
from p2pcrawl.core.hosts.politeness import Host
from p2pcrawl.frontier.records.batch import Batch
from p2pcrawl.master.slaves import slaves as slaves_module
from p2pcrawl.master.slaves.session import RULES_MAX, Lease, RobotsLease, Session
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.errors import DamagedError
from p2pcrawl.model.timings import TIMINGS
from p2pcrawl.overlay.link import PeerLink
from p2pcrawl.wire.messages.slave_messages import Bye, Outcome, Page, Report, RobotsResult, Task
from tests.unit.master.fake_slaves import Site, Slaves, crawl, master_of, page_of, spec_of, until, urls


def session_of(number: int, window: int = 4) -> Session:
    return Session(
        number,
        PeerLink(lambda message: None, lambda error: None),
        window,
        0.0,
        SessionTerm(0.0, SessionState.AT_WORK, 0.0),
    )


def seat_of(number: int = 1) -> Seat:
    return Seat(Host(number, f"h{number}.example"))


async def test_turns_of_one_round_fit_into_the_room_of_each_slave(tmp_path: Path) -> None:
    async with master_of(tmp_path, Slaves(Site([]))) as master:
        master.sessions.update({n: session_of(n, window=3) for n in (1, 2)})
        master.granting.grant([], 0.0)

        chosen = [master.granting.choose(seat_of(n), False) for n in range(20)]

        master.sessions.clear()
    assert chosen.count(1) == chosen.count(2) == 3
    assert not [number for number in chosen if number > 2]


async def test_suspects_of_one_round_go_to_different_slaves(tmp_path: Path) -> None:
    async with master_of(tmp_path, Slaves(Site([]))) as master:
        master.sessions.update({n: session_of(n) for n in (1, 2)})

        chosen = [master.granting.choose(seat_of(n), True) for n in range(5)]

        master.sessions.clear()
    assert sorted(chosen) == [0, 0, 0, 1, 2]


async def test_slaves_are_not_blamed_for_a_time_in_which_the_master_stood_still(tmp_path: Path) -> None:
    async with master_of(tmp_path, Slaves(Site([])), slave_silence=60) as master:
        master.sessions.update({1: session_of(1)})

        asleep = master.slaves.silent(100.0, 99.0)
        silent = [session.id for session in master.slaves.silent(170.0, 0.0)]

        master.sessions.clear()
    assert asleep == []
    assert silent == [1]


async def test_end_of_a_slave_that_said_why_is_nothing_to_warn_of(tmp_path: Path) -> None:
    async with master_of(tmp_path, Slaves(Site([]))) as master:
        session = session_of(1)

        master.slaves.received(session, Bye("the pipeline cannot be opened", usage=True))

        assert master.ground.fate.ending.is_set()


async def test_slave_that_is_silent_before_it_says_hello_is_replaced(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(slaves_module, "TIMINGS", replace(TIMINGS, watch_s=0.0))
    killed: list[int] = []
    async with master_of(tmp_path, Slaves(Site([]))) as master:
        monkeypatch.setattr(master.slaves.group, "kill", killed.append)
        ours, theirs = socket.socketpair()
        with theirs:
            await master.slaves.connected(ours, 4711)
            (session,) = master.sessions.values()
            session.heard_at -= 1000.0
            watch = asyncio.create_task(master.slaves.watch())
            await until(lambda: session.gone)
            watch.cancel()
            await asyncio.wait([watch])

    assert killed == [4711]


async def test_new_robots_txt_is_told_to_the_slaves_that_knew_the_old_one(tmp_path: Path) -> None:
    async with master_of(tmp_path, Slaves(Site([]))) as master:
        await master.submit(spec_of())
        reader, other = session_of(1), session_of(2)
        master.sessions.update({1: reader, 2: other})
        other.knows_rules("http://a.example", "agent")
        seat = seat_of()
        seat.host.begin()
        reader.robots[7] = RobotsLease(7, 1, "http://a.example", "agent", seat)
        reader.inbox.append(Report(1, [], [RobotsResult(7, "http://a.example", "rules", "", "")]))

        master.reports.take(reader, Batch(), 0.0)

        master.sessions.clear()
    assert "http://a.example" in reader.rules
    assert "http://a.example" not in other.rules


def test_origins_that_a_slave_was_told_are_bounded() -> None:
    session = session_of(1)

    for n in range(RULES_MAX + 10):
        session.knows_rules(f"http://h{n}.example", "bot")

    assert len(session.rules) == 10


def test_slave_with_a_suspect_in_hand_is_known() -> None:
    session = session_of(1)
    candidate = Candidate(1, PeerLink("http://a.example/", b""), 1, 1, 0, losses=LOSSES_SUSPECT)

    before = session.has_suspect
    session.leases[1] = Lease(1, candidate, seat_of())

    assert (before, session.has_suspect) == (False, True)


async def resumed_times(folder: Path, **settings: object) -> tuple[float, float]:
    """Returns when the resumed crawl began, and when the host of ``urls(1)`` may be asked."""
    slaves = Slaves(lambda task: None, lambda task: None)
    async with master_of(folder, slaves) as master:
        began = master.now
        await master.resume(1, spec_of(**settings))
        running = asyncio.create_task(master.run())
        await until(lambda: host_key(urls(1)[0]) in master.workbench.seats)
        await master.recorder.in_thread(lambda: None)
        at = master.workbench.seats[host_key(urls(1)[0])].host.next_at
        master.drain()
        await running
    return began, at


async def interrupted(
    folder: Path, outcome: Outcome | None = None, crawl_delay_s: float = 0.0, **settings: object
) -> None:
    """A crawl that ends with a page in hand, and another behind it."""

    def answer(task: Task) -> Page | None:
        if task.link.url == urls(2)[0] and outcome is not None:
            return page_of(task, outcome=outcome)
        return site(task) if task.link.url.startswith("p2pcrawl") else None

    site = Site(urls(2))
    slaves = Slaves(answer, lambda t: RobotsResult(t.lease, t.origin, "rules", "", "", crawl_delay_s))
    async with master_of(folder, slaves) as master:
        job = await master.submit(spec_of(**settings))
        running = asyncio.create_task(master.run())
        await until(lambda: job.counts["discovered"] >= 3)
        await until(lambda: job.counts["robots"] > 0 if settings.get("robotstxt_obey") else job.counts["fetches"] > 0)
        running.cancel()
        await asyncio.wait([running])


async def test_resumed_crawl_obeys_a_retry_after_of_before(tmp_path: Path) -> None:
    await interrupted(
        tmp_path, Outcome(Phase.QUEUED, "http-429", status=429, answered=True, host_pause_s=300.0, slow_down=True)
    )

    began, at = await resumed_times(tmp_path)

    assert at - began > 250


async def test_resumed_crawl_obeys_a_crawl_delay_that_it_knew(tmp_path: Path) -> None:
    await interrupted(tmp_path, robotstxt_obey=True, crawl_delay_s=60.0)

    began, at = await resumed_times(tmp_path, robotstxt_obey=True)

    assert at - began > 50


async def test_referer_that_is_switched_off_is_not_sent_from_disk_either(tmp_path: Path) -> None:
    site = Site(urls(1), {urls(1)[0]: ["http://b.example/"]})
    slaves = Slaves(lambda task: None if task.link.url == "http://b.example/" else site(task))
    async with master_of(tmp_path, slaves) as master:
        await master.submit(spec_of())
        running = asyncio.create_task(master.run())
        await until(lambda: bool(slaves.in_hand))
        running.cancel()
        await asyncio.wait([running])

    again = Slaves(site)
    await crawl(tmp_path, again, referer_enabled=False)

    assert [task.link.referer for task in again.granted if task.link.url == "http://b.example/"] == [""]


async def test_damaged_job_is_told_in_one_line_and_leaves_the_folder_free(tmp_path: Path) -> None:
    await crawl(tmp_path, Slaves(Site(urls(1))))
    with sqlite3.connect(tmp_path / "frontier.db") as db:
        db.execute("UPDATE job SET spec = x'ff'")
    db.close()

    for _ in range(2):
        with pytest.raises(DamagedError, match="damaged"):
            async with master_of(tmp_path, Slaves(Site([]))):
                pass


async def test_slave_that_comes_when_all_is_done_is_sent_home(tmp_path: Path) -> None:
    site = Site(urls(3))

    class Late(Slaves):
        """Slaves of which the replacement is connected only after the crawl has ended."""

    slaves = Late(site)
    async with master_of(tmp_path, slaves) as master:
        await master.submit(spec_of())
        await master.run()
        began = time.monotonic()
        late = Late(site)
        master.ground.fate.ending.clear()
        master.slaves.group._run_slave_here = late
        await master.slaves.group._run_here()

    assert late.stopped
    assert time.monotonic() - began < 10
