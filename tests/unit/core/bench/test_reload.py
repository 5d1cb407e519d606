"""Queues that grew on disk behind the bench's back, as a retry makes them grow."""

from __future__ import annotations

import pytest

from p2pcrawl.core.bench.workbench import Workbench
from tests.unit.core.bench.benches import Frontier, candidate, pace_of


def grown(frontier: Frontier, records: range) -> None:
    """New in the store only."""
    for record in records:
        one = candidate(record)
        frontier.disk.setdefault((one.job, one.host, one.link.kind), {})[record] = one


def work_off(frontier: Frontier) -> None:
    for _ in range(200):
        done = [turn.candidate.record for turn in frontier.open.values()]
        frontier.cycle(done=done)
        frontier.now += 1.0


@pytest.mark.parametrize("ahead", [range(0), range(10, 14)], ids=["an empty queue", "a queue with something left"])
def test_reloaded_queue_is_granted_in_full_and_each_record_once(ahead: range) -> None:
    bench = Workbench()
    bench.open_job(1, pace_of())
    frontier = Frontier(bench)
    frontier.cycle([candidate(record) for record in range(20, 25)])
    work_off(frontier)
    frontier.cycle([candidate(record) for record in ahead], limit=1)

    grown(frontier, range(1, 10))
    bench.reload_job(1)
    work_off(frontier)

    assert sorted(frontier.granted) == [*range(1, 10), *ahead, *range(20, 25)]
    assert not frontier.queued


def test_queue_that_is_not_reloaded_stays_as_memory_knows_it() -> None:
    bench = Workbench()
    bench.open_job(1, pace_of())
    bench.open_job(2, pace_of())
    frontier = Frontier(bench)
    frontier.cycle([candidate(20)])
    work_off(frontier)

    grown(frontier, range(1, 10))
    bench.reload_job(2)
    work_off(frontier)

    assert frontier.granted == [20]
