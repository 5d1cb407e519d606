"""Work in several processes: in order, and over when somebody has had enough of it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time

import pytest

from p2pcrawl.model.errors import P2PCrawlError
from simulations.parallel.processes import in_processes


def squared(number: int) -> int:
    time.sleep(0.02 * (number % 3))  # Those that come later may be through earlier.
    return number * number


def refused(number: int) -> int:
    raise ValueError(f"{number} is refused")


def ended_from_outside(number: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return number


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_what_is_made_comes_in_the_order_of_what_was_asked(jobs: int) -> None:
    assert list(in_processes(squared, range(9), jobs)) == [n * n for n in range(9)]


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_the_work_raises_is_raised(jobs: int) -> None:
    with pytest.raises(ValueError, match="0 is refused"):
        list(in_processes(refused, range(1), jobs))


def test_process_that_somebody_else_ends_is_told() -> None:
    with pytest.raises(P2PCrawlError, match="ended by somebody else"):
        list(in_processes(ended_from_outside, range(4), 2))


def test_nothing_is_left_of_work_that_is_given_up() -> None:
    work = in_processes(squared, range(1000), 3)
    next(work)

    work.close()

    assert multiprocessing.active_children() == []
