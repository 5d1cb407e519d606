"""Queues that grew on disk behind the bench's back, as a retry makes them grow, or of which a part left memory."""

from __future__ import annotations

from dataclasses import replace

import pytest

from p2pcrawl.core.bench.candidate import LOWEST
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


FEW_IN_MEMORY = 4
"""Of which two are those of one queue."""


def test_what_is_left_of_a_queue_is_loaded_when_all_of_it_that_was_in_memory_has_gone_with_its_bucket() -> None:
    """A host's pages lie in many buckets where jobs shard by URL."""
    bench = Workbench(FEW_IN_MEMORY)
    bench.open_job(1, pace_of())
    frontier = Frontier(bench)
    gone, rest = [replace(candidate(n), bucket=5) for n in range(1, 4)], [candidate(n) for n in range(4, 9)]
    frontier.cycle([*gone, *rest], limit=0)
    (queue,) = frontier.disk.values()

    bench.remove({5})
    for one in gone:
        del queue[one.record]
    frontier.drain()

    assert frontier.granted == [one.record for one in rest]


@pytest.mark.parametrize("beside", [0, 2], ids=["alone", "beside others of its queue"])
def test_page_that_waits_for_its_next_try_is_asked_for_when_its_bucket_has_gone_and_come_back(beside: int) -> None:
    bench = Workbench()
    bench.open_job(1, pace_of())
    frontier = Frontier(bench)
    frontier.cycle([replace(candidate(1), bucket=5), *[candidate(n) for n in range(2, 2 + beside)]], limit=0)
    frontier.cycle(limit=1)
    frontier.cycle(retried={1: 60.0}, limit=0)

    bench.remove({5})
    bench.seating.dormant = True
    frontier.drain()

    assert sorted(frontier.granted) == [1, 1, *range(2, 2 + beside)]


@pytest.mark.parametrize("part", ["of one bucket", "of all"])
def test_load_that_began_before_its_queue_was_to_be_loaded_anew_is_none(part: str) -> None:
    bench = Workbench(FEW_IN_MEMORY)
    bench.open_job(1, pace_of())
    frontier = Frontier(bench)
    frontier.cycle([replace(candidate(n), bucket=5 if n < 3 else 0) for n in range(1, 9)], limit=0)
    frontier.cycle(limit=0)
    seat = next(iter(bench.seats.values()))
    (queue,) = seat.queues
    bench.hot.want(seat, queue)
    (late,) = bench.wants(1)

    if part == "of all":
        bench.reload_job(1)
    else:
        bench.remove({5})
    bench.loaded(late, [candidate(n) for n in (3, 4)])

    assert late.after > LOWEST
    assert [want.after for want in bench.wants(1)] == [LOWEST]


def test_what_lies_before_the_tail_of_a_queue_that_is_to_be_loaded_anew_is_loaded_too() -> None:
    """New pages fill memory before that: where it ends says nothing of what it lacks."""
    bench = Workbench(FEW_IN_MEMORY)
    bench.open_job(1, pace_of())
    frontier = Frontier(bench)
    frontier.cycle([replace(candidate(n), bucket=5 if n < 2 else 0) for n in range(1, 9)], limit=0)
    (queue,) = frontier.disk.values()

    bench.remove({5})
    del queue[1]
    frontier.cycle([candidate(n) for n in range(9, 12)], limit=0)
    frontier.drain()

    assert sorted(frontier.granted) == [*range(2, 12)]
