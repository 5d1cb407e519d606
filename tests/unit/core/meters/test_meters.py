"""The work that is counted at a master: only ever more."""

from __future__ import annotations

import pytest

from p2pcrawl.core.meters.meters import Meters, status_class


def test_work_is_counted_by_job_and_as_a_whole() -> None:
    meters = Meters()

    meters.count({1: {"pages": 2, "queued": -2, "statuses:200": 2}, 2: {"pages": 1, "statuses:404": 1}})
    meters.count({1: {"pages": 1}})

    assert meters.jobs[1] == {"pages": 3, "status_2xx": 2}
    assert meters.whole == {"pages": 4, "status_2xx": 2, "status_4xx": 1}


def test_work_on_a_job_that_is_gone_stays_in_the_whole() -> None:
    meters = Meters()
    meters.count({1: {"items": 5}, 2: {"items": 1}})

    meters.keep([2])

    assert list(meters.jobs) == [2]
    assert meters.whole["items"] == 6


@pytest.mark.parametrize(
    ("status", "known"),
    [
        ("200", "status_2xx"),
        ("599", "status_5xx"),
        ("999", "status_other"),
        ("", "status_other"),
        ("20", "status_other"),
    ],
)
def test_every_status_is_of_some_class(status: str, known: str) -> None:
    assert status_class(status) == known
