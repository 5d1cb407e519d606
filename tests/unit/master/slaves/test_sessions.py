"""When a session ends for its master: by what it has itself answered, and by nothing else."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from p2pcrawl.core.bench.candidate import Candidate
from p2pcrawl.core.bench.seat import Seat
from p2pcrawl.core.group.session_states import SessionState
from p2pcrawl.core.hosts.politeness import Host
from p2pcrawl.core.journal import Journal
from p2pcrawl.master.slaves import slaves as slaves_module
from p2pcrawl.master.slaves.session import Lease, RobotsLease, Session
from p2pcrawl.master.slaves.slaves import OnOrphans, Slaves
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.model.timings import TIMINGS
from p2pcrawl.overlay.link import PeerLink, open_link
from p2pcrawl.wire.messages.slave_messages import (
    PROTOCOL,
    Adopted,
    Beat,
    Bye,
    Hello,
    Leaving,
    Message,
    OrphanPage,
    Orphans,
    Outcome,
    Page,
    Renewed,
    Report,
    Stop,
    Welcome,
)
from tests.unit.master.fake_slaves import until
from tests.unit.slave.tasks import task_of


class Slave:
    """The other end of a link, as a test moves it."""

    def __init__(self) -> None:
        self.heard: list[Message] = []
        self.closed = asyncio.Event()

    async def open(self, stream: socket.socket) -> None:
        self.link = await open_link(stream, self.heard.append, lambda error: self.closed.set())

    def say(self, *messages: Message) -> None:
        for message in messages:
            self.link.send(message)

    @property
    def welcomes(self) -> list[Welcome]:
        return [m for m in self.heard if isinstance(m, Welcome)]

    async def told(self, kind: type[Message], count: int = 1) -> Message:
        await until(lambda: sum(isinstance(m, kind) for m in self.heard) >= count)
        return [m for m in self.heard if isinstance(m, kind)][-1]


async def unused(stream: socket.socket) -> None:
    raise AssertionError("no slave runs here")


def slaves_of(*, fenced: bool = True, on_orphans: OnOrphans | None = None) -> Slaves:
    return Slaves(
        Settings(),
        1,
        unused,
        lambda: None,
        lambda bye: None,
        fenced=fenced,
        on_orphans=on_orphans,
        journal=Journal(float),
    )


@asynccontextmanager
async def here(slaves: Slaves) -> AsyncIterator[Slave]:
    """A slave of this machine, on its link."""
    ours, theirs = socket.socketpair()
    slave = Slave()
    await slaves.connected(ours, 4711)
    await slave.open(theirs)
    try:
        async with asyncio.timeout(10):
            yield slave
    finally:
        slaves.abort()
        slave.link.abort()


def lease() -> Lease:
    candidate = Candidate(1, PeerLink("http://a.example/", b""), 1, 1, 0)
    return Lease(1, candidate, Seat(Host(1, "a.example")))


def only(slaves: Slaves) -> Session:
    (session,) = slaves.sessions.values()
    return session


async def test_each_beat_is_answered_and_its_session_goes_on() -> None:
    slaves = slaves_of()
    async with here(slaves) as slave:
        slave.say(Hello(PROTOCOL, 1))
        await until(lambda: only(slaves).greeted)
        session = only(slaves)
        session.term.renewed_at -= 1.0
        before = session.term.renewed_at

        slave.say(Beat(0, session.id, 1))
        answer = await slave.told(Renewed)

    assert slave.welcomes[0].fence_s == TIMINGS.fence_s
    assert answer == Renewed(session.id, 1)
    assert session.term.renewed_at > before


async def test_on_a_single_machine_sessions_are_not_renewed_and_not_void() -> None:
    slaves = slaves_of(fenced=False)
    async with here(slaves) as slave:
        slave.say(Hello(PROTOCOL, 1), Beat(77, 1, 1))
        await until(lambda: only(slaves).rss_bytes == 77)

        overdue = slaves.overdue(time.monotonic() + 1000.0)

    assert slave.welcomes[0].fence_s == 0.0
    assert overdue == []
    assert not any(isinstance(m, Renewed) for m in slave.heard)


async def test_session_counts_from_its_hello_not_from_its_welcome() -> None:
    slaves = slaves_of()
    async with here(slaves) as slave:
        await slave.told(Welcome)
        only(slaves).term.renewed_at = time.monotonic() - 2 * TIMINGS.void_s
        waiting = slaves.overdue(time.monotonic())

        slave.say(Hello(PROTOCOL, 1))
        await until(lambda: only(slaves).greeted)
        begun = slaves.overdue(time.monotonic())

    assert waiting == [], "a slave that is still starting has no session to lose"
    assert begun == []


async def test_beat_that_comes_too_late_is_not_answered() -> None:
    slaves = slaves_of()
    async with here(slaves) as slave:
        slave.say(Hello(PROTOCOL, 1))
        await until(lambda: only(slaves).greeted)
        session = only(slaves)
        session.term.renewed_at -= TIMINGS.void_s + 0.1

        slave.say(Beat(5, session.id, 1))
        await until(lambda: session.rss_bytes == 5)
        overdue = slaves.overdue(time.monotonic())

    assert overdue == [session]
    assert not any(isinstance(m, Renewed) for m in slave.heard)


async def test_void_session_gives_back_its_leases_and_hears_nothing_until_hello_is_said_anew(monkeypatch) -> None:
    monkeypatch.setattr(slaves_module, "TIMINGS", replace(TIMINGS, watch_s=0.0))
    slaves = slaves_of()
    async with here(slaves) as slave:
        slave.say(Hello(PROTOCOL, 1))
        await until(lambda: only(slaves).greeted)
        session = only(slaves)
        session.term.renewed_at -= TIMINGS.void_s + 0.1
        watch = asyncio.create_task(slaves.watch())
        await until(lambda: bool(slaves.gone))
        watch.cancel()
        slaves.sessions.pop(session.id)
        over = (session.room, session.blamed)

        slave.say(Report(1, [Page(1, 1, 1)]), Hello(PROTOCOL, 1))
        await slave.told(Welcome, 2)
        await until(lambda: only(slaves).greeted)
        again = only(slaves)

    assert over == (0, False)
    assert list(session.inbox) == []
    assert again.id != session.id
    assert again.process == 4711
    assert again.room > 0


@pytest.mark.parametrize(("returns", "hung"), [(True, None), (False, None), (False, 1), (False, 0)])
async def test_void_session_counts_as_a_loss_only_if_its_link_ends_in_place_of_a_hello(
    monkeypatch, returns, hung
) -> None:
    monkeypatch.setattr(slaves_module, "TIMINGS", replace(TIMINGS, watch_s=0.01))
    slaves = slaves_of()
    async with here(slaves) as slave:
        slave.say(Hello(PROTOCOL, 1))
        await until(lambda: only(slaves).greeted)
        session, held = only(slaves), lease()
        session.leases[1] = held
        session.term.renewed_at -= TIMINGS.void_s + 1.0
        watching = asyncio.create_task(slaves.watch())
        await until(lambda: bool(slaves.gone))
        watching.cancel()
        blamed = session.blamed
        session.held = [held]

        if hung is not None:
            slaves.hung(1, hung)
        if returns:
            slave.say(Hello(PROTOCOL, 1))
            await slave.told(Welcome, 2)
        slave.link.abort()
        await until(lambda: not slaves.void and session.link.closed)

    assert not blamed
    assert held.candidate.losses == (0 if returns or hung == 0 else 1)


async def test_beats_of_a_slave_whose_loop_stands_still_renew_its_session_and_do_not_hide_it() -> None:
    slaves = slaves_of()
    async with here(slaves) as slave:
        slave.say(Hello(PROTOCOL, 1))
        await until(lambda: only(slaves).greeted)
        session = only(slaves)
        silence_s = Settings().slave_silence

        slave.say(Beat(0, session.id, 1, silence_s + 1.0))
        await slave.told(Renewed)
        silent = slaves.silent(time.monotonic(), 0.0)
        slave.say(Beat(0, session.id, 2, silence_s - 5.0))
        await slave.told(Renewed, 2)
        patient = slaves.silent(time.monotonic(), 0.0)

    assert silent == [session]
    assert patient == []


async def test_slave_that_says_hello_anew_ends_its_session_and_is_not_blamed() -> None:
    slaves = slaves_of()
    async with here(slaves) as slave:
        slave.say(Hello(PROTOCOL, 1))
        await until(lambda: only(slaves).greeted)
        session = only(slaves)

        slave.say(Report(1, [Page(1, 1, 1)]), Hello(PROTOCOL, 1))
        await until(lambda: bool(slaves.gone))

    assert list(slaves.gone) == [session]
    assert not session.blamed
    assert len(session.inbox) == 1, "what was reported in time counts"


async def test_master_that_stood_still_hears_what_has_arrived_before_it_judges(monkeypatch) -> None:
    monkeypatch.setattr(slaves_module, "TIMINGS", replace(TIMINGS, watch_s=0.0))
    monkeypatch.setattr(slaves_module, "LATE_S", 0.02)
    slaves = slaves_of()
    async with here(slaves) as slave:
        slave.say(Hello(PROTOCOL, 1))
        await until(lambda: only(slaves).greeted)
        session = only(slaves)
        watch = asyncio.create_task(slaves.watch())
        await asyncio.sleep(0)
        slave.say(Report(1, [Page(1, 1, 1)]), Hello(PROTOCOL, 1))
        session.term.renewed_at -= TIMINGS.void_s + 0.1

        stand_still(0.1)
        await until(lambda: bool(slaves.gone))
        watch.cancel()

    assert len(session.inbox) == 1
    assert not session.blamed


def stand_still(seconds: float) -> None:
    time.sleep(seconds)


@pytest.mark.parametrize("what", ["a page", "a robots.txt"])
@pytest.mark.parametrize("bye", [False, True])
async def test_remote_slave_whose_link_ends_keeps_its_leases_while_it_may_be_at_work(
    bye: bool, what: str, monkeypatch
) -> None:
    monkeypatch.setattr(slaves_module, "TIMINGS", replace(TIMINGS, void_s=0.2))
    slaves = slaves_of()
    slaves.take(PeerLink(lambda message: None, lambda error: None), Hello(PROTOCOL, 1))
    session = only(slaves)
    if what == "a page":
        session.leases[1] = lease()
    else:
        session.robots[1] = RobotsLease(1, 1, "http://a.example", "p2pcrawl", lease().seat)
    if bye:
        slaves.received(session, Bye())

    session.link.on_close(None)
    at_once = list(slaves.gone)
    async with asyncio.timeout(5):
        while not slaves.gone:  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    assert at_once == ([session] if bye else [])
    assert time.monotonic() - session.term.renewed_at >= (0.0 if bye else 0.2)
    assert session.blamed is not bye


async def test_remote_slave_that_was_ended_as_it_hung_gives_back_its_leases_at_once() -> None:
    slaves = slaves_of()
    async with here(slaves) as slave:
        slave.say(Hello(PROTOCOL, 4712))
        await until(lambda: only(slaves).greeted)
        session = only(slaves)
        session.remote = True
        session.leases[1] = lease()

        others = [slaves.hung(4713, 1), slaves.hung(4712, 99)]
        before = session.hung
        known = slaves.hung(4712, 1)
        slave.link.abort()
        await until(lambda: list(slaves.gone) == [session])

    assert (others, before, known, session.hung) == ([False, False], None, True, 1)


async def test_slave_that_leaves_is_given_nothing_more() -> None:
    slaves = slaves_of()
    async with here(slaves) as slave:
        slave.say(Hello(PROTOCOL, 1), Leaving())
        await until(lambda: only(slaves).term.state is SessionState.LEAVING)
        room = only(slaves).room
        slaves.stop()
        slave.say(Bye())
        await slave.closed.wait()

    assert room == 0
    assert not any(isinstance(m, Stop) for m in slave.heard)


ORPHANS = Orphans(7, [OrphanPage(task_of(), Page(1, 1, 1, outcome=Outcome(1)))])


async def test_orphans_are_acknowledged_when_they_are_safe() -> None:
    safe = asyncio.Event()
    taken: list[Orphans] = []

    async def adopt(pid: int, orphans: Orphans) -> None:
        taken.append(orphans)
        await safe.wait()

    slaves = slaves_of(on_orphans=adopt)
    async with here(slaves) as slave:
        slave.say(Hello(PROTOCOL, 1), ORPHANS)
        await until(lambda: bool(taken))
        early = any(isinstance(m, Adopted) for m in slave.heard)
        safe.set()
        answer = await slave.told(Adopted)

    assert taken == [ORPHANS]
    assert not early
    assert answer == Adopted(7)


async def test_orphans_that_cannot_be_made_safe_are_tried_again(monkeypatch) -> None:
    monkeypatch.setattr(slaves_module, "ADOPT_AGAIN_S", 0.0)
    tries = 0

    async def adopt(pid: int, orphans: Orphans) -> None:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise P2PCrawlError("the job is not known here yet")

    slaves = slaves_of(on_orphans=adopt)
    async with here(slaves) as slave:
        slave.say(Hello(PROTOCOL, 1), ORPHANS)
        await slave.told(Adopted)

    assert tries == 3


async def test_slave_that_says_more_orphans_than_it_may_is_cut() -> None:
    async def adopt(pid: int, orphans: Orphans) -> None:
        await asyncio.Event().wait()

    slaves = slaves_of(on_orphans=adopt)
    async with here(slaves) as slave:
        slave.say(Hello(PROTOCOL, 1), ORPHANS, ORPHANS)

        await slave.closed.wait()


async def test_where_nobody_wants_them_orphans_are_acknowledged_and_forgotten() -> None:
    slaves = slaves_of()
    async with here(slaves) as slave:
        slave.say(Hello(PROTOCOL, 1), ORPHANS)

        assert await slave.told(Adopted) == Adopted(7)


@pytest.mark.parametrize(("remote", "job", "heard"), [(False, 0, True), (True, 0, False), (True, 5, True)])
async def test_only_what_concerns_a_job_or_this_machine_is_taken_to_heart_when_a_slave_leaves_in_anger(
    remote: bool, job: int, heard: bool
) -> None:
    angry: list[Bye] = []
    slaves = Slaves(Settings(), 1, unused, lambda: None, angry.append, fenced=True, journal=Journal(float))
    async with here(slaves) as slave:
        slave.say(Hello(PROTOCOL, 1))
        await until(lambda: only(slaves).greeted)
        only(slaves).remote = remote

        slave.say(Bye("no", job=job))
        await slave.closed.wait()

    assert angry == ([Bye("no", job=job)] if heard else [])
