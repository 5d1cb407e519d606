"""The sinks of jobs, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from p2pcrawl.cli.screen.words import counted
from p2pcrawl.master.neighbours.absences import moment_told


def sink_words(sink: dict[str, Any]) -> str:
    """Tells how one sink of a job stands, over all masters."""
    told = [f"{sink['sink']}: {counted(sink['delivered'], 'item')} delivered"]
    if sink["waiting"]:
        told.append(f"{sink['waiting']:,} waiting")
    if sink["refused"]:
        told.append(f"{sink['refused']:,} refused, which are among the dead letters")
    if sink["away_since"] is not None:
        told.append(f"away since {moment_told(sink['away_since'])} ({sink['why']})")
    return ", ".join(told)


def unsettled_sinks(jobs: list[dict[str, Any]]) -> Iterator[str]:
    """Yields a line for each sink of these jobs that waits for items, has refused some, or is away."""
    for job in jobs:
        for sink in job.get("sinks", ()):
            if sink["waiting"] or sink["refused"] or sink["away_since"] is not None:
                yield f"job {job['job']}: {sink_words(sink)}"
