"""What slaves reported is due when its own session says that it is durable, and in no other one."""

from __future__ import annotations

import pytest

from p2pcrawl.wire.messages.slave_messages import Outcome, Page, Report
from simulations.model.stores import Key, Stores, host_in
from simulations.record.heard.slave_reports import Due, Pause, SlaveReports

JOB = 7
PAGE: Key = (0, 1, JOB)
RECORD, LEASE = 4, 9
DONE = 3


@pytest.fixture
def reports() -> SlaveReports:
    """Those of a master that has granted one page to its slave."""
    stores = Stores()
    stores.store("m0").numbers[RECORD] = PAGE
    stores.store("m0").leases[RECORD] = LEASE
    return SlaveReports(stores, lambda key: "http://a.test/1")


def report(sequence: int, phase: int, *, lease: int = LEASE, pause_s: float = 0.0) -> Report:
    return Report(sequence, [Page(lease, RECORD, JOB, outcome=Outcome(phase, host_pause_s=pause_s))])


def test_what_was_reported_is_due_once_when_it_is_said_to_be_durable(reports: SlaveReports) -> None:
    reports.came("m0", "s0", report(1, DONE))

    assert reports.durable("m0", "s1", 1) == reports.durable("m0", "s0", 0) == Due()
    assert reports.durable("m0", "s0", 1) == Due(ended=[(RECORD, LEASE)])
    assert reports.durable("m0", "s0", 1) == Due()


def test_pages_that_are_in_nobodys_hands_by_then_are_not_due(reports: SlaveReports) -> None:
    reports.came("m0", "s0", report(1, DONE, lease=LEASE - 1, pause_s=8.0))

    assert reports.durable("m0", "s0", 1) == Due()


def test_nothing_of_a_session_is_due_when_another_one_has_begun(reports: SlaveReports) -> None:
    """A slave of another life counts its reports from one; one of the same life has told the rest as orphans."""
    reports.came("m0", "m0", report(5, 0, pause_s=8.0))

    before = reports.durable("m0", "m0", 4)
    reports.began("m0", "m0")
    reports.came("m0", "m0", report(6, 0, pause_s=2.0))

    assert before == Due()
    assert reports.durable("m0", "m0", 6) == Due(pauses=[Pause("a.test", 2.0, JOB)])


@pytest.mark.parametrize(("url", "host"), [("http://A.test:80/", "a.test"), ("http://[::1", ""), ("mailto:a", "")])
def test_what_a_liar_says_in_place_of_a_url_has_no_host(url: str, host: str) -> None:
    assert host_in(url) == host
