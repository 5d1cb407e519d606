"""No host is asked for more visits in an hour than its budget, whoever looks after it."""

from __future__ import annotations

from bisect import bisect_left
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2pcrawl.core.revisits.budget import AHEAD, HOUR_S, LONGEST_S, HostBudget

HOST = 7


def begun(budget: HostBudget, pages: int, until: float, now: float = 0.0, took_s: float = 0.0) -> list[float]:
    """Asks for so many pages that are all overdue, each when it was told to; returns when they began."""
    waiting, found, ends = [(now, page) for page in range(pages)], [], []
    while waiting and (now := waiting.pop(0)[0]) < until:
        while ends and ends[0] <= now:
            ends.pop(0)
            budget.over(HOST)
        if at := budget.begin(HOST, now):
            waiting.append((at, 0))
            waiting.sort()
        else:
            found.append(now)
            ends.append(now + took_s)
    return found


def most_in_an_hour(times: list[float]) -> int:
    return max((bisect_left(times, at + HOUR_S) - number for number, at in enumerate(times)), default=0)


@settings(deadline=None, max_examples=60)
@given(per_hour=st.integers(2, 2_000), deaths=st.lists(st.floats(1.0, 3 * HOUR_S), max_size=6), seed=st.integers(0, 99))
def test_no_hour_sees_more_fetches_than_the_budget_though_masters_die_and_fetches_are_late(
    per_hour: int, deaths: list[float], seed: int
) -> None:
    dice, fetched, now = Random(seed), [], 0.0
    for death in [*sorted(deaths), 4 * HOUR_S]:
        budget = HostBudget(float(per_hour))
        took_s = dice.uniform(0.0, 60.0)
        fetched += [at + took_s for at in begun(budget, 300, death, now, took_s)]
        now = max(now, death)

    assert most_in_an_hour(sorted(fetched)) <= per_hour


def test_budget_is_used_where_there_is_enough_to_do() -> None:
    times = begun(HostBudget(120.0), 400, 3 * HOUR_S)

    assert len(times) >= 3 * 120 * 0.9


def test_attempts_of_a_visit_count() -> None:
    budget = HostBudget(60.0)
    first = budget.begin(HOST, 0.0)
    assert budget.begin(HOST, first) == 0.0

    budget.again(HOST)
    budget.over(HOST)

    assert budget.begin(HOST, first + budget.distance_s) > first + budget.distance_s
    assert budget.begin(HOST, first + 2 * budget.distance_s) == 0.0


def test_without_a_budget_a_bounded_number_of_visits_is_open_at_a_host() -> None:
    budget = HostBudget()

    times = begun(budget, 1_000, 3_600.0, took_s=1e9)

    assert len(times) == AHEAD


def test_without_a_budget_what_is_due_at_one_look_begins_at_it() -> None:
    budget = HostBudget()

    assert [budget.begin(HOST, 0.0) for _ in range(AHEAD)] == [0.0] * AHEAD
    assert budget.begin(HOST, 0.0) > 0.0


def test_hosts_do_not_wait_for_each_other() -> None:
    budget = HostBudget()

    assert [budget.begin(host, 0.0) for host in range(100)] == [0.0] * 100


@pytest.mark.parametrize("per_hour", [0.0, 1.0, 60.0])
def test_nothing_is_put_off_by_more_than_can_be_counted_as_overdue(per_hour: float) -> None:
    budget = HostBudget(per_hour)

    assert all(budget.begin(HOST, 0.0) <= LONGEST_S for _ in range(5_000))


def test_host_that_was_down_begins_anew() -> None:
    budget = HostBudget()
    begun(budget, 1_000, 3_600.0, took_s=1e9)

    budget.clear(HOST)

    assert budget.begin(HOST, 10_000.0) == 0.0
