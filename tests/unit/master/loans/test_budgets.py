"""Loans of hosts between the master that owns a host and those that want to ask it, too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from time import monotonic
from types import SimpleNamespace

import pytest

from p2pcrawl.core.bench.candidate import Candidate
from p2pcrawl.core.bench.seat import Seat, SeatState
from p2pcrawl.core.bench.workbench import Workbench
from p2pcrawl.core.hosts.politeness import Pace
from p2pcrawl.core.ring.rendezvous import bucket_of, key_hash
from p2pcrawl.master.jobs.job import PAUSED, RUNNING
from p2pcrawl.master.loans import borrowing, elsewhere, lending
from p2pcrawl.master.loans.budgets import Budgets
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import LinkError
from p2pcrawl.model.timings import TIMINGS
from p2pcrawl.wire.messages.peer_messages import Borrow, CalledIn, CallIn, Lent, Repaid, Repay
from tests.peers import FakePeers, member
from tests.unit.core.bench.benches import robots_entry
from tests.unit.master.fake_slaves import until

OWNER, BORROWER, OTHER = NodeId("1" * 40), NodeId("2" * 40), NodeId("3" * 40)
NAME = "h.example"
PAGE = Candidate(1, Link(f"http://{NAME}/", b""), 1, key_hash(NAME), 0)
LIFE, NEXT_LIFE = b"a" * 8, b"b" * 8


class Side:
    """One master, as far as loans of one host with a delay go."""

    def __init__(self, town: Town, id: NodeId) -> None:
        self.id = id
        self.bench = Workbench()
        pace = Pace.of(Settings())
        self.bench.open_job(1, pace)
        self.serves = True
        self.owns = id == OWNER
        router = SimpleNamespace(
            owner=lambda bucket: None if self.owns else OWNER, serves=lambda bucket: self.owns and self.serves
        )
        self.job = SimpleNamespace(id=1, pace=pace, state=RUNNING)
        self.jobs = jobs = {1: self.job}

        peers = FakePeers(id, map(member, (OWNER, BORROWER, OTHER)), partial(town.carry, id))
        self.budgets = Budgets(self.bench, jobs, router, peers)
        self.bench.host(key_hash(NAME), NAME, 1)

    @property
    def seat(self) -> Seat:
        return self.bench.seats[key_hash(NAME)]

    def permit(self) -> bool:
        """Tells whether it may ask the host now; if so, it does."""
        permitted = self.budgets.permit(self.seat, PAGE.job)
        if permitted:
            self.seat.host.begin()
        return permitted

    def end(self) -> None:
        """Ends what is open."""
        self.seat.host.release(0.0, None)
        self.budgets.ended(self.seat)


class Town:
    """An owner and two that borrow; what they say may be lost."""

    def __init__(self) -> None:
        self.sides = {id: Side(self, id) for id in (OWNER, BORROWER, OTHER)}
        self.owner, self.borrower, self.other = self.sides.values()
        self.mute: set[type] = set()
        """These do not arrive."""
        self.deaf: set[type] = set()
        """The answers to these do not arrive."""
        self.late: asyncio.Event | None = None
        """Answers arrive after this."""
        self.heard: list[Borrow | Repay | CallIn] = []
        for side in self.sides.values():
            for id in self.sides:
                side.budgets.came(id, LIFE)
            side.budgets.members_changed(self.sides)

    async def carry(self, source: NodeId, target: NodeId, request: Borrow | Repay | CallIn) -> Lent | Repaid | CalledIn:
        if type(request) in self.mute:
            raise LinkError("lost")
        self.heard.append(request)
        there = self.sides[target].budgets
        answer: Lent | Repaid | CalledIn
        match request:
            case Borrow():
                answer = await there.lending.lend(request, source)
            case Repay():
                answer = there.lending.repaid(request, source)
            case CallIn():
                answer = there.borrowing.called_in(request, source)
        if self.late is not None:
            await self.late.wait()
        if type(request) in self.deaf:
            raise LinkError("lost")
        return answer

    @property
    def lent(self) -> int:
        return self.owner.seat.host.lent

    async def borrow(self, side: Side) -> None:
        """Waits until a side may ask the host, and does."""
        await until(side.permit)

    async def write_off(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Waits until what the borrower asks the host is written off, for it is taken for dead."""
        await self.borrow(self.borrower)
        with monkeypatch.context() as patch:
            # Its term is over long since.
            patch.setattr(lending, "TIMINGS", replace(TIMINGS, loan_dead_s=0.0))
            patch.setattr(lending, "monotonic", lambda: monotonic() + 60.0)
            self.owner.budgets.members_changed({OWNER, OTHER})
            await until(lambda: self.lent == 0)


@asynccontextmanager
async def town() -> AsyncIterator[Town]:
    made = Town()
    try:
        async with asyncio.timeout(8):
            yield made
    finally:
        for side in made.sides.values():
            await side.budgets.close()


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(borrowing, "RETRY_S", 0.01)


async def test_host_is_asked_by_one_at_a_time() -> None:
    async with town() as it:
        await it.borrow(it.borrower)

        others = it.owner.seat.host.may_begin(1e9, Pace.of(Settings())), it.other.permit()
        it.borrower.end()
        it.borrower.budgets.tend()
        await it.borrow(it.other)

    assert others == (False, False)


async def test_owner_that_has_not_heard_that_a_job_goes_on_keeps_the_delay_of_its_hosts_for_those_that_have() -> None:
    """It took the delays of jobs that run by its own word only: to it the host had none, and all had it at once."""
    async with town() as made:
        made.owner.job.state = PAUSED

        await made.borrow(made.borrower)
        wants = asyncio.create_task(made.borrow(made.other))
        await until(lambda: sum(isinstance(each, Borrow) for each in made.heard) == 2)

        assert made.lent == 1
        wants.cancel()


async def test_owner_hears_of_the_delay_of_a_host_that_it_lent_without_one_as_soon_as_it_is_known() -> None:
    async with town() as it:
        for side in it.sides.values():
            side.seat.host.private = True
        it.borrower.bench.add([PAGE])
        await it.borrow(it.borrower)
        pace = Pace.of(Settings())

        it.borrower.seat.host.robots = {(f"http://{NAME}", pace.agent): robots_entry(1e9, 4.0)}
        it.borrower.end()
        await until(lambda: it.owner.seat.host.delay_s(pace) == 4.0)

        await it.borrow(it.other)
        assert not it.borrower.permit()


async def test_delay_that_one_job_keeps_is_not_lent_on_as_the_wish_of_the_host() -> None:
    """Of two jobs the one with the longer delay had it told with each loan of the other one; borrower and owner took it
    for the host's own, for all jobs and for good."""
    free, slow = Pace.of(Settings(download_delay=0.0)), Pace.of(Settings(download_delay=4.0))
    async with town() as it:
        for side in it.sides.values():
            side.job.pace = free
            side.jobs[2] = SimpleNamespace(id=2, pace=slow, state=RUNNING)

        await it.borrow(it.borrower)
        it.borrower.end()
        it.borrower.budgets.tend()
        await it.borrow(it.other)

        hosts = [side.seat.host for side in it.sides.values()]
        assert [host.delay_s(free) for host in hosts] == [0.0, 0.0, 0.0]
        assert [host.delay_s(slow) for host in hosts] == [4.0, 4.0, 4.0]


async def test_owner_hears_at_once_that_a_host_without_a_delay_asks_to_be_left_alone() -> None:
    """It heard when the loan's term was over, and had lent the host to others meanwhile, who asked it for
    as long as theirs lasted."""
    async with town() as it:
        for side in it.sides.values():
            side.seat.host.private = True
        await it.borrow(it.borrower)
        assert it.lent

        it.borrower.seat.host.release(0.0, None)
        it.borrower.budgets.ended(it.borrower.seat, pause_s=8.0, slow_down=False)
        await until(lambda: not it.lent)

        note = it.owner.bench.note(key_hash(NAME), monotonic())
        assert note is not None
        assert note.pause_s == pytest.approx(8.0, abs=2.0)


async def test_host_without_a_delay_is_lent_when_it_is_not_to_be_left_alone_any_more() -> None:
    """It was lent at once, for when that is over; that it asked for more time meanwhile the borrower never heard."""
    async with town() as it:
        for side in it.sides.values():
            side.seat.host.private = True
        it.owner.seat.host.paused_until = monotonic() + 600.0
        it.borrower.permit()
        await until(lambda: bool(it.heard))

        it.owner.budgets.tend()
        lent = it.lent
        it.owner.seat.host.paused_until = 0.0
        it.owner.budgets.tend()

        assert (lent, it.lent > 0) == (0, True)
        await it.borrow(it.borrower)


async def test_pause_that_a_borrower_is_asked_for_goes_to_whoever_owns_the_host_next_within_its_limit() -> None:
    async with town() as it:
        await it.borrow(it.borrower)

        it.borrower.seat.host.release(0.0, None)
        it.borrower.budgets.ended(it.borrower.seat, pause_s=1e9, slow_down=True)
        await until(lambda: not it.lent)

        note = it.owner.bench.note(key_hash(NAME), monotonic())
        assert note is not None
        assert (note.penalty_s, note.pause_s) == (0.0, pytest.approx(Settings().retry_after_max, abs=5.0))
        assert it.owner.seat.host.next_at <= monotonic() + Settings().retry_after_max


async def test_repayment_that_is_lost_is_said_again_until_it_is_heard() -> None:
    async with town() as it:
        await it.borrow(it.borrower)
        it.mute.add(Repay)
        it.borrower.end()
        for _ in range(20):
            it.borrower.budgets.tend()
            await asyncio.sleep(0)
        before = it.lent, it.borrower.permit()

        it.mute.clear()
        it.borrower.budgets.tend()
        await until(lambda: it.lent == 0)

    # Nothing is borrowed anew before that.
    assert before == (1, False)
    assert [type(message) for message in it.heard] == [Borrow, Repay]


async def test_host_of_a_dead_owner_to_whom_something_is_owed_is_asked_by_who_owns_it_next() -> None:
    async with town() as it:
        await it.borrow(it.borrower)
        it.mute.add(Repay)
        it.borrower.end()
        assert not it.borrower.permit()

        it.borrower.owns = True
        it.borrower.budgets.members_changed({BORROWER, OTHER})
        # As the bench leaves who was not permitted.
        it.borrower.seat.state = SeatState.BUSY
        it.borrower.budgets.tend()

        assert it.borrower.seat.state is not SeatState.BUSY
        assert it.borrower.permit()


async def test_loan_that_the_borrower_never_heard_of_ends() -> None:
    async with town() as it:
        it.deaf.add(Borrow)
        it.borrower.permit()

        await until(lambda: len(it.heard) == 2)

        assert [type(message) for message in it.heard] == [Borrow, Repay]
        assert it.lent == 0


async def test_question_that_comes_after_it_was_given_up_gets_nothing() -> None:
    async with town() as it:
        it.mute.add(Borrow)
        it.borrower.permit()
        await until(lambda: len(it.heard) == 1)
        (repay,) = it.heard
        assert isinstance(repay, Repay)

        late = await it.owner.budgets.lending.lend(Borrow(0, NAME, 1, 1.0, repay.number), BORROWER)

        assert not late.granted
        assert it.lent == 0


async def test_repayment_that_comes_once_more_later_does_not_end_the_next_loan() -> None:
    async with town() as it:
        await it.borrow(it.borrower)
        it.borrower.end()
        it.borrower.budgets.tend()
        await until(lambda: it.lent == 0)
        repay = it.heard[-1]
        assert isinstance(repay, Repay)
        await it.borrow(it.borrower)

        it.owner.budgets.lending.repaid(repay, BORROWER)

        assert it.lent == 1


async def test_term_of_a_loan_counts_from_when_it_was_lent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lending, "TIMINGS", replace(TIMINGS, loan_term_s=0.0))
    async with town() as it:
        it.late = asyncio.Event()
        it.borrower.permit()
        await until(lambda: it.lent == 1)
        it.late.set()
        await until(lambda: bool(it.borrower.budgets.borrowing._loans))

        assert not it.borrower.permit()
        it.borrower.budgets.tend()
        await until(lambda: it.lent == 0)


async def test_host_that_is_not_ours_alone_yet_is_neither_asked_nor_lent() -> None:
    async with town() as it:
        it.owner.serves = False

        answer = await it.owner.budgets.lending.lend(Borrow(0, NAME, 1, 1.0, 1), BORROWER)

        assert not it.owner.permit()
        assert not answer.granted
        it.owner.serves = True
        assert it.owner.permit()


async def test_bucket_that_is_lost_refuses_those_that_wait_for_its_hosts() -> None:
    async with town() as it:
        await it.borrow(it.borrower)
        waiting = it.owner.budgets.lending.lend(Borrow(0, NAME, 1, 1.0, 1), OTHER)

        it.owner.serves = False
        it.borrower.end()
        it.borrower.budgets.tend()

        assert await waiting == Lent(0, False)
        await until(lambda: it.lent == 0)


async def test_owner_knows_which_hosts_are_lent() -> None:
    async with town() as it:
        before = set(it.owner.budgets.lending.lent())

        await it.borrow(it.borrower)

        assert before == set()
        assert set(it.owner.budgets.lending.lent()) == {key_hash(NAME)}


async def test_nothing_more_is_begun_under_a_loan_of_a_bucket_that_is_claimed() -> None:
    async with town() as it:
        await it.borrow(it.borrower)
        it.borrower.seat.host.release(0.0, None)

        it.borrower.budgets.borrowing.withdraw({bucket_of(NAME)})

        assert not it.borrower.permit()


@pytest.mark.parametrize("how", ["dead", "restarted", "back"])
async def test_loan_of_one_that_is_gone_ends_and_of_one_that_came_back_does_not(how: str, monkeypatch) -> None:
    monkeypatch.setattr(lending, "TIMINGS", replace(TIMINGS, loan_term_s=0.0, loan_dead_s=0.0))
    async with town() as it:
        lent = await it.owner.budgets.lending.lend(Borrow(0, NAME, 1, 1.0, 1), BORROWER)
        it.owner.seat.host.next_at = 0.0
        waiting = it.owner.budgets.lending.lend(Borrow(0, NAME, 1, 1.0, 1), OTHER)

        if how != "restarted":
            it.owner.budgets.members_changed({OWNER, OTHER})
        if how != "dead":
            it.owner.budgets.members_changed(it.sides)
            it.owner.budgets.came(BORROWER, NEXT_LIFE if how == "restarted" else LIFE)
        for _ in range(200):
            await asyncio.sleep(0)

        assert lent.granted
        assert waiting.done() is (how != "back")
        waiting.cancel()


async def test_loan_that_was_written_off_counts_again_when_its_borrower_was_not_dead(monkeypatch) -> None:
    async with town() as it:
        await it.write_off(monkeypatch)

        it.owner.budgets.came(BORROWER, LIFE)
        it.owner.budgets.members_changed(it.sides)

        # What it has open was open all the time: nobody else asks the host, and no bucket of it changes hands.
        it.owner.seat.host.next_at = 0.0
        waiting = it.owner.budgets.lending.lend(Borrow(0, NAME, 1, 1.0, 1), OTHER)
        assert it.lent == 1
        assert set(it.owner.budgets.lending.lent()) == {key_hash(NAME)}
        assert not it.owner.seat.host.may_begin(1e9, Pace.of(Settings()))
        assert not waiting.done()
        it.borrower.end()
        it.borrower.budgets.tend()
        assert (await waiting).granted


@pytest.mark.parametrize("heard", [True, False], ids=["in-use", "on-its-way"])
async def test_loan_made_while_another_was_written_off_is_called_in_when_that_one_counts_again(
    heard: bool, monkeypatch
) -> None:
    async with town() as it:
        await it.write_off(monkeypatch)
        it.late = None if heard else asyncio.Event()
        if heard:
            await it.borrow(it.other)
        else:
            it.other.permit()
            await until(lambda: it.lent == 1)

        it.owner.budgets.came(BORROWER, LIFE)
        it.owner.budgets.members_changed(it.sides)
        await until(lambda: any(isinstance(message, CallIn) for message in it.heard))
        if it.late is None:
            # What it has open goes on, and ends; it was lent more than that.
            it.other.seat.host.release(0.0, None)
            it.other.seat.host.next_at = 0.0
        else:
            it.late.set()
        await until(lambda: bool(it.other.budgets.borrowing._loans))

        assert not it.other.permit()
        it.other.budgets.tend()
        # The one that came back is left.
        await until(lambda: it.lent == 1)
        assert not it.owner.seat.host.may_begin(1e9, Pace.of(Settings()))


async def test_host_that_another_master_asks_still_is_neither_asked_nor_lent_until_its_delay_after_that() -> None:
    async with town() as it:
        it.owner.budgets.met(OTHER, {key_hash(NAME)}, ())
        waiting = it.owner.budgets.lending.lend(Borrow(0, NAME, 1, 1.0, 1), BORROWER)
        before = it.owner.permit(), waiting.done()

        it.owner.budgets.met(OTHER, (), ())
        it.owner.budgets.tend()

        assert before == (False, False)
        assert (await waiting).wait_s == pytest.approx(1.0, abs=0.2)


async def test_host_that_nobody_says_any_more_is_asked_elsewhere_is_asked_here(monkeypatch) -> None:
    async with town() as it:
        it.owner.budgets.met(OTHER, {key_hash(NAME)}, ())
        before = it.owner.permit()

        later = monotonic() + 60.0
        monkeypatch.setattr(elsewhere, "monotonic", lambda: later)
        it.owner.budgets.tend()

        assert not before
        assert it.owner.permit()


async def test_host_without_a_delay_waits_for_nobody() -> None:
    async with town() as it:
        it.owner.seat.host.private = True

        it.owner.budgets.met(OTHER, {key_hash(NAME)}, ())

        assert it.owner.permit()


@pytest.mark.parametrize("asked", [True, False], ids=["open", "told"])
async def test_loan_of_a_host_of_which_another_master_knows_more_is_called_in(asked: bool) -> None:
    async with town() as it:
        await it.borrow(it.borrower)
        known = {key_hash(NAME)}

        it.owner.budgets.met(OTHER, known if asked else (), () if asked else known)
        await until(lambda: any(isinstance(message, CallIn) for message in it.heard))
        it.borrower.seat.host.release(0.0, None)

        assert not it.borrower.permit()


async def test_loan_is_called_in_when_another_master_may_have_asked_the_host_a_moment_ago() -> None:
    async with town() as it:
        it.other.permit()
        await until(lambda: it.lent == 1)
        waiting = it.owner.budgets.lending.lend(Borrow(0, NAME, 1, 1.0, 1), BORROWER)

        it.owner.budgets.came_over({bucket_of(NAME)})
        await until(lambda: any(isinstance(message, CallIn) for message in it.heard))
        await until(lambda: bool(it.other.budgets.borrowing._loans))

        assert not it.other.permit()
        it.other.budgets.tend()
        assert (await waiting).wait_s == pytest.approx(1.0, abs=0.3)


async def test_nobody_but_its_owner_calls_a_loan_in() -> None:
    async with town() as it:
        await it.borrow(it.borrower)
        it.borrower.seat.host.release(0.0, None)
        (borrow,) = it.heard
        assert isinstance(borrow, Borrow)

        it.borrower.budgets.borrowing.called_in(CallIn(0, NAME, borrow.number), OTHER)
        it.borrower.budgets.borrowing.called_in(CallIn(0, NAME, borrow.number + 1), OWNER)

        assert it.borrower.permit()


@pytest.mark.parametrize("how", ["restarted", "forgotten", "repaid"])
async def test_loan_that_was_written_off_counts_no_more_when_nothing_is_left_of_it(how: str, monkeypatch) -> None:
    async with town() as it:
        await it.write_off(monkeypatch)

        if how == "forgotten":
            it.owner.budgets.forgotten(BORROWER)
        if how == "repaid":
            it.borrower.end()
            it.borrower.budgets.tend()
            await until(lambda: not it.borrower.budgets.borrowing.owes(key_hash(NAME), OWNER))
        it.owner.budgets.came(BORROWER, NEXT_LIFE if how == "restarted" else LIFE)
        it.owner.budgets.members_changed(it.sides)

        assert it.lent == 0


async def test_pause_that_a_borrower_was_asked_for_while_it_was_taken_for_dead_is_obeyed(monkeypatch) -> None:
    async with town() as it:
        await it.write_off(monkeypatch)

        it.borrower.seat.host.release(0.0, None)
        it.borrower.budgets.ended(it.borrower.seat, pause_s=300.0, slow_down=True)
        await until(lambda: not it.borrower.budgets.borrowing.owes(key_hash(NAME), OWNER))

        assert it.owner.seat.host.next_at > monotonic() + 200.0


async def test_repayment_that_is_heard_late_tells_what_is_left_of_a_pause(monkeypatch) -> None:
    async with town() as it:
        await it.borrow(it.borrower)
        it.mute.add(Repay)
        it.borrower.seat.host.release(0.0, None)
        it.borrower.budgets.ended(it.borrower.seat, pause_s=300.0, slow_down=True)
        later = monotonic() + 200.0

        monkeypatch.setattr(borrowing, "monotonic", lambda: later)
        it.mute.clear()
        it.borrower.budgets.tend()
        await until(lambda: not it.lent)

        repay = it.heard[-1]
        assert isinstance(repay, Repay)
        assert 90.0 < repay.pause_s <= 100.0
        assert repay.wait_s == 0.0


async def test_nothing_is_lent_to_one_that_died_while_it_waited() -> None:
    async with town() as it:
        await it.borrow(it.borrower)
        waiting = it.owner.budgets.lending.lend(Borrow(0, NAME, 1, 1.0, 1), OTHER)

        it.owner.budgets.members_changed({OWNER, BORROWER})
        it.borrower.end()
        it.borrower.budgets.tend()

        assert await waiting == Lent(0, False)
        await until(lambda: it.lent == 0)
