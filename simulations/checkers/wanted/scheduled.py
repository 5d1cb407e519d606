"""Each moment of a schedule has one job, which was run once; no other job comes of it, and its history says so."""

from __future__ import annotations

from collections.abc import Iterator

from p2pcrawl.master.jobs.job import FINISHED
from p2pcrawl.model.cluster.schedule import RunOutcome

from ...play.evidence import Evidence, ScheduleKept


def check(evidence: Evidence) -> Iterator[str]:
    for kept in evidence.kept:
        yield from _of_one(kept)


def _of_one(kept: ScheduleKept) -> Iterator[str]:
    due = set(kept.numbers.values())
    if twice := sorted(kept.jobs.keys() - due):
        yield f"{kept.who}: {len(twice)} jobs of a schedule are of no moment of it, such as {twice[0]}"
    for tick, number in sorted(kept.numbers.items()):
        moment = f"the run of minute {tick // 60_000}"
        if number not in kept.jobs:
            yield f"{kept.who}: {moment} has no job"
        elif kept.jobs[number] != FINISHED:
            yield f"{kept.who}: {moment} is {kept.jobs[number]}"
        elif sorted(kept.items[number].elements()) != sorted(kept.urls):
            yield f"{kept.who}: {moment} brought {dict(kept.items[number])}"
        if kept.outcomes.get(tick) != (RunOutcome.STARTED, number):
            yield f"{kept.who}: its history says of {moment}: {kept.outcomes.get(tick, 'nothing')}"
    for url in kept.urls:
        if kept.fetched[url] < len(kept.numbers):
            yield f"{url} was fetched {kept.fetched[url]} times for {len(kept.numbers)} runs"
