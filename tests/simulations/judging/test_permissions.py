"""The model of permissions tells who asked a host that was another's, or after the end of the session."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from simulations.model.permissions import SESSION_S, Permissions
from simulations.world.web import Visit

BUCKET = 5


@dataclass
class Seen:
    """What somebody saw of who was there."""

    lonely: bool = False
    frozen: bool = False
    held_s: float = 0.0

    def alone(self, master: str, from_s: float, until_s: float) -> bool:
        return self.lonely

    def hindered(self, node: str, from_s: float, until_s: float) -> bool:
        return self.frozen

    def held_up_s(self, from_s: float, until_s: float) -> float:
        return self.held_s


@dataclass
class Case:
    """One host, and what was said of it."""

    rules: Permissions = field(default_factory=lambda: Permissions({"h0.test": BUCKET}))
    seen: Seen = field(default_factory=Seen)

    def told(self, began_s: float, ended_s: float = 0.0, by: str = "m0") -> list[str]:
        """Returns what is told of a request."""
        visit = Visit("http://h0.test/p", "h0.test", by, 1, began_s, ended_s or began_s + 0.5, 200, "", 0.0, by)
        return list(self.rules.broken_by(visit, self.seen))


def test_who_has_let_go_of_a_bucket_asks_its_hosts_no_more_till_it_has_taken_it_again() -> None:
    case = Case()
    case.rules.took("m0", {BUCKET}, 1.0)
    case.rules.let_go("m0", {BUCKET, 9}, 10.0)
    case.rules.took("m0", {BUCKET}, 20.0)

    assert case.told(5.0) == case.told(25.0) == []
    assert case.told(12.0) == [
        "m0 asked for http://h0.test/p at 12.000 s, and its master m0 had let go of bucket 5 of that host at 10.000 s"
    ]


def test_who_let_go_for_one_that_never_took_it_does_not_go_on_though_another_one_gives_its_word() -> None:
    case = Case()
    case.rules.took("m0", {BUCKET}, 1.0)
    case.rules.let_go("m0", {BUCKET}, 10.0)
    case.rules.let_go("m1", {BUCKET}, 12.0)

    assert [len(case.told(at_s)) for at_s in (11.0, 13.0)] == [1, 1]

    case.rules.took("m0", {BUCKET}, 14.0)
    assert case.told(15.0) == []


def test_a_master_that_begins_anew_may_be_alone_and_have_all() -> None:
    case = Case()
    case.rules.let_go("m0", {BUCKET}, 10.0)
    case.rules.started("m0", 11.0)

    assert case.told(12.0) == []


def test_one_that_is_alone_is_asked_by_nobody_to_let_go() -> None:
    case = Case(seen=Seen(lonely=True))
    case.rules.let_go("m0", {BUCKET}, 10.0)

    assert case.told(12.0) == []


@pytest.mark.parametrize(("began_s", "is_amiss"), [(11.0, False), (18.0, False), (19.0, True)])
def test_who_has_a_host_on_loan_asks_it_as_long_as_that_lasts(began_s: float, is_amiss: bool) -> None:
    case = Case()
    case.rules.let_go("m0", {BUCKET}, 5.0)
    case.rules.lent("m1", "m0", "h0.test", 11.0, 5.0)

    assert bool(case.told(began_s)) == is_amiss


@pytest.mark.parametrize(("held_s", "repaid_s", "is_amiss"), [(9.0, 0.0, False), (0.0, 0.0, True), (9.0, 18.0, True)])
def test_what_waited_for_the_disk_begins_late_under_a_loan_that_nobody_has_repaid(
    held_s: float, repaid_s: float, is_amiss: bool
) -> None:
    case = Case()
    case.rules.let_go("m0", {BUCKET}, 1.0)
    case.rules.lent("m1", "m0", "h0.test", 11.0, 5.0)
    if repaid_s:
        case.rules.repaid("m1", "m0", "h0.test", repaid_s)
    case.seen.held_s = held_s

    assert bool(case.told(20.0)) is is_amiss


@pytest.mark.parametrize(("repaid_s", "is_amiss"), [(0.0, True), (12.0, False), (20.2, True)])
def test_who_has_repaid_and_asks_what_is_its_own_by_now_is_in_nobodys_way_that_lets_go(
    repaid_s: float, is_amiss: bool
) -> None:
    case = Case()
    case.rules.lent("m1", "m0", "h0.test", 11.0, 20.0)
    case.rules.took("m0", {BUCKET}, 13.0)
    if repaid_s:
        case.rules.repaid("m1", "m0", "h0.test", repaid_s)
    case.rules.let_go("m1", {BUCKET}, 20.3)

    assert bool(case.told(20.0)) is is_amiss


@pytest.mark.parametrize(("frozen", "is_amiss"), [(False, True), (True, False)])
def test_nothing_is_open_of_what_is_let_go_of_unless_one_stood_still(frozen: bool, is_amiss: bool) -> None:
    case = Case(seen=Seen(frozen=frozen))
    case.rules.let_go("m0", {BUCKET}, 10.0)

    assert bool(case.told(9.0, 11.0)) == is_amiss


@pytest.mark.parametrize(("took_s", "repaid_s", "is_amiss"), [(0.0, 0.0, False), (7.0, 0.0, True), (0.0, 8.5, True)])
def test_who_asks_on_loan_may_let_go_meanwhile_of_what_it_had_before_it_began_anew(
    took_s: float, repaid_s: float, is_amiss: bool
) -> None:
    case = Case()
    case.rules.started("m0", 5.0)
    if took_s:
        case.rules.took("m0", {BUCKET}, took_s)
    case.rules.lent("m1", "m0", "h0.test", 8.0, 5.0)
    if repaid_s:
        case.rules.repaid("m1", "m0", "h0.test", repaid_s)
    case.rules.let_go("m0", {BUCKET}, 10.0)

    assert bool(case.told(9.0, 11.0)) == is_amiss


def test_nothing_is_open_at_a_borrower_of_what_a_lender_lets_go_of() -> None:
    case = Case()
    case.rules.lent("m1", "m0", "h0.test", 8.0, 5.0)
    case.rules.let_go("m1", {BUCKET}, 10.0)

    assert case.told(9.0, 11.0) == [
        "m0 asked for http://h0.test/p at 9.000 s, and m1 let go of that host's bucket 5 at 10.000 s, before it ended"
    ]


def in_a_session() -> Case:
    """A slave whose session was renewed once, and is over then."""
    case = Case()
    case.rules.greets("m0", 1.0)
    case.rules.welcomed("m0", 4.9, 1.1)
    case.rules.beats("m0", 1, 2.0)
    case.rules.renewed("m0", 1, 2.5)
    return case


def test_a_slave_asks_nothing_after_its_session_which_counts_from_when_its_beat_was_sent() -> None:
    case = in_a_session()

    assert case.told(2.0 + SESSION_S - 0.1) == []
    assert case.told(2.0 + SESSION_S + 0.3) == [
        "m0 asked for http://h0.test/p at 7.320 s, 0.30 s after its session was over"
    ]


def test_what_is_over_does_not_come_back_by_an_answer_that_comes_late() -> None:
    case = in_a_session()
    case.rules.beats("m0", 2, 6.0)
    case.rules.renewed("m0", 2, 9.0)

    assert case.told(9.5)


def test_a_new_session_ends_the_time_in_which_nothing_is_asked() -> None:
    case = in_a_session()
    case.rules.greets("m0", 9.0)
    case.rules.welcomed("m0", 4.9, 9.1)

    assert case.told(8.0)
    assert case.told(10.0) == []


def test_a_slave_that_is_told_to_halt_asks_nothing_more() -> None:
    case = in_a_session()
    case.rules.halted("m0", 3.0)

    assert case.told(3.5)


def test_session_that_is_over_is_not_renewed() -> None:
    case = Case()
    case.rules.renews("m0", "s0", 1, 10.0)
    case.rules.renews("m0", "s0", 1, 15.0)
    case.rules.renews("m0", "s0", 1, 21.0)
    case.rules.renews("m0", "s0", 2, 40.0)

    assert case.rules.found == ["at 21.000 s m0 renewed a session of s0, for the first time in 6.00 s"]


def test_who_begins_anew_lets_go_of_what_it_had_lent_in_a_life_before() -> None:
    case = Case()
    case.rules.lent("m1", "m0", "h0.test", 4.0, 5.0)
    case.rules.started("m1", 8.0)
    case.rules.took("m1", {BUCKET}, 9.0)
    case.rules.let_go("m1", {BUCKET}, 10.0)

    assert case.told(5.0, 30.0) == []
