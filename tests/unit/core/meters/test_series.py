"""Figures over time: in steps of one length, bounded, and added up by step."""

from __future__ import annotations

from p2pcrawl.core.meters.series import Series, SeriesStep, added_up


def test_what_happens_in_one_step_is_added_up() -> None:
    series = Series(10, 5)

    series.add(100.0, [1, 2], [7])
    series.add(109.9, [1, 1], [8])
    series.add(110.0, [5, 0], [9])

    assert series.since(0) == [SeriesStep(10, (2, 3), (8,)), SeriesStep(11, (5, 0), (9,))]
    assert series.since(11) == [SeriesStep(11, (5, 0), (9,))]


def test_oldest_steps_are_forgotten() -> None:
    series = Series(10, 3)

    for number in range(10):
        series.add(10.0 * number, [number], [])

    assert [step.number for step in series.since(0)] == [7, 8, 9]


def test_nothing_is_lost_when_the_clock_is_set_back() -> None:
    series = Series(10, 5)
    series.add(200.0, [1], [1])

    series.add(100.0, [4], [2])

    assert series.since(0) == [SeriesStep(20, (5,), (2,))]


def test_steps_of_several_masters_are_added_up_by_their_numbers() -> None:
    one, other = [SeriesStep(1, (1,), (10,)), SeriesStep(2, (2,), (20,))], [SeriesStep(2, (5,), (1,))]

    assert added_up([one, other]) == {1: SeriesStep(1, (1,), (10,)), 2: SeriesStep(2, (7,), (21,))}
