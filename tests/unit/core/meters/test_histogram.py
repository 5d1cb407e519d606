"""Histograms: what they count, and what can be told from that."""

from __future__ import annotations

from p2pcrawl.core.meters.histogram import Histogram, quantile


def test_value_counts_under_the_first_bound_that_it_does_not_exceed() -> None:
    histogram = Histogram((1.0, 2.0))

    for value in (0.5, 1.0, 1.5, 2.0, 9.0):
        histogram.note(value)

    assert histogram.counts == [2, 2, 1]
    assert histogram.total == 14.0


def test_quantile_of_nothing_is_unknown() -> None:
    assert quantile((1.0, 2.0), [0, 0, 0], 0.5) is None


def test_quantile_lies_within_the_bounds_of_what_was_counted() -> None:
    bounds, counts = (1.0, 2.0, 4.0), [10, 80, 10, 0]

    assert quantile(bounds, counts, 0.5) == 1.5
    assert quantile(bounds, counts, 0.95) == 3.0


def test_quantile_beyond_all_bounds_is_the_last_bound() -> None:
    assert quantile((1.0, 2.0), [0, 0, 5], 0.95) == 2.0
