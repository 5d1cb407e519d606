"""An honest estimate of what is left of a job: how many pages, and for how long."""

from __future__ import annotations

from typing import Final, TypedDict

from p2pcrawl.core.control import ENDS, PAUSED

GROWS: Final = 0.02
"""New URLs count as still coming when there are more than this part of those that end."""


class RestOfJob(TypedDict):
    """The rest of a job. ``pages`` is what is queued and in hand now; ``seconds`` is None where nobody can know, and
    ``why`` says what it rests on."""

    pages: int | None
    seconds: float | None
    why: str


def estimate(
    state: str, waiting: int, ended_per_s: float, found_per_s: float, *, settled: bool, complete: bool
) -> RestOfJob:
    """Estimates what is left from what waits, and how many URLs ended and were found in the last minutes.

    ``settled``: the numbers are not being moved between masters; ``complete``: no master is missing that may know more.
    """
    if state in ENDS:
        return RestOfJob(pages=waiting, seconds=0.0, why=f"it is {state}")
    if not complete:
        return RestOfJob(pages=waiting, seconds=None, why="a master is missing: nobody knows what only it knew")
    if state == PAUSED:
        return RestOfJob(pages=waiting, seconds=None, why="it is paused")
    if not settled:
        return RestOfJob(pages=waiting, seconds=None, why="buckets are on their way between masters")
    if ended_per_s <= 0.0:
        return RestOfJob(pages=waiting, seconds=None, why="nothing has ended in the last minutes")
    seconds = round(waiting / ended_per_s, 1)
    if found_per_s > GROWS * ended_per_s:
        why = f"at least: {60 * found_per_s:,.0f} new URLs a minute were found lately, {60 * ended_per_s:,.0f} ended"
        return RestOfJob(pages=waiting, seconds=seconds, why=why)
    return RestOfJob(pages=waiting, seconds=seconds, why="at the pace of the last minutes")
