"""How the speed of slaves is measured, and what it does to their weights."""

from __future__ import annotations

from p2pcrawl.core.group.bounded_load import WEIGHT_MEAN
from p2pcrawl.core.group.throughput import WINDOW_S, Rate, Throughput, WorkDone, weights_of

EQUAL = {1: WEIGHT_MEAN, 2: WEIGHT_MEAN}


def window(throughput: Throughput, began: float, ended: dict[int, int], full: dict[int, float]) -> dict[int, Rate]:
    """Passes one window in tenths: each slave ends so many pages, and is full for that part of it."""
    rates: dict[int, Rate] = {}
    for tenth in range(11):
        work = {n: WorkDone(ended[n] * tenth // 10, tenth < 10 * full[n]) for n in ended}
        rates = rates or throughput.look(began + tenth * WINDOW_S / 10, work)
    return rates


def test_rates_are_told_once_per_window() -> None:
    throughput = Throughput()
    throughput.look(100.0, {1: WorkDone(0, True)})

    rates = [throughput.look(100.0 + s, {1: WorkDone(10 * s, True)}) for s in range(1, int(WINDOW_S) + 2)]

    assert [r for r in rates if r] == [{1: Rate(10.0, True)}]


def test_slave_that_came_in_mid_window_is_not_measured_yet() -> None:
    throughput = Throughput()
    throughput.look(100.0, {1: WorkDone(0, True)})
    throughput.look(105.0, {1: WorkDone(5, True), 2: WorkDone(0, True)})

    rates = throughput.look(100.0 + WINDOW_S, {1: WorkDone(10, True), 2: WorkDone(10, True)})

    assert set(rates) == {1}


def test_slave_that_waited_for_work_is_not_full() -> None:
    throughput = Throughput()
    throughput.look(100.0, {1: WorkDone(0, True), 2: WorkDone(0, True)})

    rates = window(throughput, 100.0, {1: 500, 2: 500}, {1: 1.0, 2: 0.5})

    assert (rates[1].full, rates[2].full) == (True, False)


def test_weights_follow_the_speeds_of_full_slaves() -> None:
    changed = weights_of({1: Rate(90.0, True), 2: Rate(30.0, True)}, EQUAL)

    assert changed == {1: 12, 2: 4}


def test_slave_without_work_does_not_look_slow() -> None:
    assert weights_of({1: Rate(60.0, True), 2: Rate(5.0, False)}, EQUAL) == {}


def test_starved_slave_that_did_more_than_the_full_ones_is_given_more() -> None:
    changed = weights_of({1: Rate(30.0, True), 2: Rate(60.0, False)}, EQUAL)

    assert changed == {2: 16}


def test_slow_slave_that_alone_was_full_keeps_its_low_weight() -> None:
    assert weights_of({1: Rate(30.0, True), 2: Rate(40.0, False)}, {1: 4, 2: 12}) == {}


def test_few_pages_say_nothing() -> None:
    assert weights_of({1: Rate(9.0, True), 2: Rate(1.0, True)}, EQUAL) == {}


def test_nobody_full_says_nothing() -> None:
    assert weights_of({1: Rate(90.0, False), 2: Rate(10.0, False)}, EQUAL) == {}
