"""The measurement of false deaths sees them where there are some."""

from __future__ import annotations

import pytest

from benchmarks.masters.false_deaths import Trouble, at_most, run

pytestmark = pytest.mark.slow

FOUR = Trouble("4 of 10 stalled", stalled=4)


def test_stalls_that_outlast_every_suspicion_are_counted_as_deaths_and_short_ones_are_not() -> None:
    short = run(1, FOUR, seconds=40.0, stall_s_max=5.0)
    long = run(1, FOUR, seconds=40.0, stall_s_max=60.0)

    assert (short.died, short.agreed) == (0, True) and short.suspected > 0
    assert long.died > 0


def test_same_seed_gives_the_same_run() -> None:
    assert run(3, Trouble("loss", loss=0.3), 20.0, 5.0) == run(3, Trouble("loss", loss=0.3), 20.0, 5.0)


@pytest.mark.parametrize(("bad", "runs", "rate"), [(0, 1000, 0.00299), (1, 1000, 0.00473), (5, 5, 1.0)])
def test_rate_is_bounded_as_in_the_tables(bad: int, runs: int, rate: float) -> None:
    assert at_most(bad, runs) == pytest.approx(rate, rel=0.01)
