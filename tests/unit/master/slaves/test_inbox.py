"""What a turn takes of what slaves have reported."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest

from p2pcrawl.core.bench.candidate import Candidate
from p2pcrawl.core.bench.seat import Seat
from p2pcrawl.core.group.session_states import SessionState, SessionTerm
from p2pcrawl.core.hosts.politeness import Host
from p2pcrawl.core.journal import Journal
from p2pcrawl.frontier.records.batch import Batch
from p2pcrawl.master.slaves.inbox import PART_LINKS_MAX, Reports
from p2pcrawl.master.slaves.session import Lease, RobotsLease, Session
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.overlay import link as overlay
from p2pcrawl.wire.messages.slave_messages import Outcome, Page, Report, ReportsDurable
from tests.unit.master.fake_slaves import links_to

PART = 1_000


class FakeIntake:
    """Counts what it is given."""

    def __init__(self) -> None:
        self.strained = False
        self.links = 0
        self.ended: list[int] = []
        self.told: list[tuple[str, int]] = []

    def page(self, session: Session, page: Page, batch: Batch, now: float) -> None:
        self.links += sum(len(links.urls) for links in page.links)
        if page.outcome is not None:
            self.ended.append(page.record)

    def release(self, batch: Batch, now: float) -> None:
        pass

    def lost(self, lease: Lease, batch: Batch, now: float, detail: str, *, blamed: bool = True) -> None:
        self.told.append(("lost", lease.number))

    def too_slow(self, lease: Lease, batch: Batch, now: float) -> None:
        self.told.append(("too slow", lease.number))

    def spared(self, lease: Lease, batch: Batch, now: float) -> None:
        self.told.append(("spared", lease.number))

    def lost_robots(self, lease: RobotsLease, now: float, *, blamed: bool = True) -> None:
        self.told.append(("blamed" if blamed else "not blamed", lease.number))


class Said(overlay.PeerLink):
    """Keeps what is said on it."""

    def __init__(self) -> None:
        super().__init__(lambda message: None, lambda error: None)
        self.acked: list[int] = []

    def send(self, message: Any) -> int:
        assert isinstance(message, ReportsDurable)
        self.acked.append(message.sequence)
        return 0


def part(sequence: int, record: int = 1) -> Report:
    links = links_to([f"http://a.example/{sequence}/{n}" for n in range(PART)], depth=1)
    return Report(sequence, [Page(1, record, 1, [links])])


def end(sequence: int, record: int) -> Report:
    return Report(sequence, [Page(1, record, 1, outcome=Outcome(1))])


def reports_of(*sessions: Session) -> tuple[Reports, FakeIntake]:
    intake = FakeIntake()
    return Reports({}, {s.id: s for s in sessions}, deque(), intake, Journal(float)), intake  # type: ignore[arg-type]


def session_of(number: int, *reports: Report) -> Session:
    return Session(number, Said(), 8, 0.0, SessionTerm(0.0, SessionState.AT_WORK, 0.0), inbox=deque(reports))


def acked(session: Session) -> list[int]:
    assert isinstance(session.link, Said)
    return session.link.acked


def test_turn_takes_a_few_thousand_links_of_a_page_that_sends_on_and_on_and_all_that_others_report() -> None:
    many = session_of(1, *(part(n) for n in range(1, 101)))
    other = session_of(2, end(1, 7), end(2, 8))
    reports, intake = reports_of(many, other)

    reports.gather(Batch(), 1.0)
    reports.acknowledge()

    assert intake.links <= PART_LINKS_MAX + PART
    assert intake.ended == [7, 8]
    assert (acked(many), acked(other)) == ([PART_LINKS_MAX // PART], [2])
    assert reports.waiting


def test_two_that_send_on_and_on_take_turns() -> None:
    first = session_of(1, *(part(n) for n in range(1, 101)))
    second = session_of(2, *(part(n) for n in range(1, 101)))
    reports, _ = reports_of(first, second)

    for now in (1.0, 2.0):
        reports.gather(Batch(), now)
        reports.acknowledge()

    assert acked(first) and acked(second)


def test_parts_wait_while_much_is_on_its_way_to_other_masters_and_ends_do_not() -> None:
    many, other = session_of(1, part(1)), session_of(2, end(1, 7))
    reports, intake = reports_of(many, other)
    intake.strained = True

    reports.gather(Batch(), 1.0)

    assert (intake.links, intake.ended) == (0, [7])
    assert not reports.waiting and reports.holding, "the next turn is made when less is on its way"

    intake.strained = False
    reports.gather(Batch(), 2.0)

    assert intake.links == PART


@pytest.mark.parametrize(
    ("hung", "told"),
    [
        (None, [("lost", 1), ("lost", 2), ("blamed", 3)]),
        (2, [("spared", 1), ("too slow", 2), ("not blamed", 3)]),
        (3, [("spared", 1), ("spared", 2), ("blamed", 3)]),
        (0, [("spared", 1), ("spared", 2), ("not blamed", 3)]),
    ],
)
def test_slave_that_was_lost_in_its_work_on_one_answer_costs_nothing_but_that_page(
    hung: int | None, told: list[tuple[str, int]]
) -> None:
    session = session_of(1)
    seat = Seat(Host(1, "a.example"))
    for record in (1, 2):
        candidate = Candidate(record, Link(f"http://a.example/{record}", b""), 1, 1, 0)
        session.leases[record] = Lease(record, candidate, seat)
    session.robots[3] = RobotsLease(3, 1, "http://a.example", "agent", seat)
    reports, intake = reports_of(session)
    session.hung = hung

    reports.bury(session, Batch(), 1.0)

    assert intake.told == told


def test_all_that_a_slave_reported_counts_when_it_is_gone() -> None:
    many = session_of(1, *(part(n) for n in range(1, 101)))
    reports, intake = reports_of(many)
    intake.strained = True

    reports.bury(many, Batch(), 1.0)

    assert intake.links == 100 * PART
