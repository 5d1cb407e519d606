"""The model of loans tells of a host that is lent twice, or asked by its owner while it is lent."""

from __future__ import annotations

import pytest

from simulations.model.loans import Loans

HOST = "h0.test"


JOB, FREE = 1, 2


class Polite:
    """Knows that one job keeps a distance, and that another one keeps none."""

    now_s = 12.0
    away: frozenset[str] = frozenset()

    def spaces(self, job: int, host: str) -> bool:
        return job == JOB

    def wanted_s(self, host: str) -> float:
        return 4.0

    def away_since(self, since_s: float) -> frozenset[str]:
        return self.away


def lending() -> tuple[Loans, list[str]]:
    """Returns the rules, when m0 has lent a host to m1 at 10 s for 10 s, and what they tell."""
    told: list[str] = []
    rules = Loans(told.append, Polite())
    rules.lent("m0", "m1", HOST, 1, 10.0, 10.0)
    return rules, told


def test_host_is_lent_to_one_at_a_time() -> None:
    rules, told = lending()

    rules.lent("m0", "m2", HOST, 4, 12.0, 10.0)

    assert told == ["at 12.000 s m0 lent h0.test to m2, and to m1 2.00 s before, which has not paid back"]


def test_owner_does_not_ask_what_it_has_lent() -> None:
    rules, told = lending()

    rules.granted("m0", "s0", [(JOB, "h1.test"), (JOB, HOST), (FREE, HOST)], 12.0)

    assert told == ["at 12.000 s m0 has s0 ask h0.test, which is lent to m1 since 10.000 s"]


def test_job_that_keeps_no_distance_has_a_host_asked_that_is_lent_for_the_sake_of_another() -> None:
    rules, told = lending()

    rules.granted("m0", "s0", [(FREE, HOST)], 12.0)

    assert told == []


def test_no_more_is_told_of_a_host_than_it_asks_for() -> None:
    rules, told = lending()

    rules.says("m0", "m1", HOST, 4.0)
    rules.says("m1", "m0", HOST, 5.0)

    assert told == ["at 12.000 s m1 tells m0 that h0.test asks for 5 s between two requests, of 4 s"]


@pytest.mark.parametrize("how", ["open", "repaid", "asked", "restarted", "over"])
def test_owner_lets_go_of_a_bucket_when_nothing_of_it_is_lent(how: str) -> None:
    rules, told = lending()
    rules.lends("m0", "m1", HOST, 1, 10.0, 10.0)
    match how:
        case "repaid":
            rules.repaid("m0", "m1", HOST, 1)
        case "asked":
            rules.asked("m0", "m1", HOST)
        case "restarted":
            rules.ended("m0")

    rules.lets_go("m0", "m2", ["h1.test", HOST], 30.0 if how == "over" else 12.0)

    said = "at 12.000 s m0 lets m2 have the bucket of h0.test, which is lent to m1 since 10.000 s"
    assert told == ([said] if how == "open" else [])


@pytest.mark.parametrize("how", ["lost", "heard", "repaid", "away"])
def test_loan_of_which_nobody_heard_is_repaid(how: str) -> None:
    rules, told = lending()
    rules.lends("m0", "m1", HOST, 1, 10.0, 10.0)
    sight = rules.sight
    assert isinstance(sight, Polite)
    match how:
        case "heard":
            rules.hears("m0", "m1", HOST)
        case "repaid":
            rules.repaid("m0", "m1", HOST, 1)
        case "away":
            sight.away = frozenset({"m1"})

    sight.now_s = 51.0
    rules.look()

    assert bool(told) == (how == "lost")


def test_loan_is_over_when_it_is_repaid_or_its_term_is() -> None:
    rules, told = lending()

    rules.repaid("m0", "m1", HOST, 1)
    rules.lent("m0", "m2", HOST, 4, 12.0, 10.0)
    rules.granted("m0", "s0", [(JOB, HOST)], 30.0)

    assert told == []


def test_who_borrows_again_knows_of_no_loan_and_who_restarts_of_none_either() -> None:
    rules, told = lending()

    rules.asked("m0", "m1", HOST)
    rules.lent("m0", "m2", HOST, 4, 12.0, 10.0)
    rules.ended("m0")
    rules.lent("m0", "m1", HOST, 2, 13.0, 10.0)

    assert told == []
