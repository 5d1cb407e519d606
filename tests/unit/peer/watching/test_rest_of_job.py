"""What is said of the rest of a job, and when nothing can be said."""

from __future__ import annotations

import pytest

from p2pcrawl.core.control import CANCELLED, FINISHED, PAUSED, RUNNING
from p2pcrawl.peer.watching.rest_of_job import estimate


def test_rest_takes_as_long_as_the_pace_of_the_last_minutes_says() -> None:
    left = estimate(RUNNING, 100, 4.0, 0.0, settled=True, complete=True)

    assert (left["pages"], left["seconds"]) == (100, 25.0)


def test_estimate_is_the_least_while_new_urls_still_come() -> None:
    left = estimate(RUNNING, 100, 4.0, 2.0, settled=True, complete=True)

    assert left["seconds"] == 25.0
    assert left["why"] == "at least: 120 new URLs a minute were found lately, 240 ended"


@pytest.mark.parametrize(
    ("state", "ended", "settled", "complete", "why"),
    [
        (PAUSED, 4.0, True, True, "paused"),
        (RUNNING, 0.0, True, True, "nothing has ended"),
        (RUNNING, 4.0, False, True, "on their way"),
        (RUNNING, 4.0, True, False, "missing"),
    ],
)
def test_nobody_is_told_a_time_that_nobody_can_know(
    state: str, ended: float, settled: bool, complete: bool, why: str
) -> None:
    left = estimate(state, 100, ended, 0.0, settled=settled, complete=complete)

    assert left["pages"] == 100
    assert left["seconds"] is None
    assert why in left["why"]


@pytest.mark.parametrize("state", [FINISHED, CANCELLED])
def test_job_that_is_over_takes_no_more_time(state: str) -> None:
    assert estimate(state, 0, 0.0, 0.0, settled=True, complete=False)["seconds"] == 0.0
