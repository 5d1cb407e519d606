"""The workbench against a frontier on a plain dict: whatever happens, every record is granted, and never twice."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from p2pcrawl.core.bench.workbench import Workbench
from p2pcrawl.model.crawl.record import Order
from tests.unit.core.bench.benches import CAPACITY, Frontier, candidate, pace_of

ORDERS = {1: Order.PRIORITY, 2: Order.LIFO, 3: Order.FIFO}

links = st.tuples(
    st.sampled_from(sorted(ORDERS)), st.integers(1, 6), st.sampled_from(["index", "detail"]), st.integers(-2, 2)
)
steps = st.tuples(
    st.lists(links, max_size=30),
    st.integers(0, 8),
    st.integers(0, 2),
    st.sampled_from([0.0, 0.5, 3.0]),
    st.integers(1, 8),
    st.integers(0, 3),
)


@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    story=st.lists(steps, min_size=1, max_size=25),
    memory=st.sampled_from([1, 4, 20, 1000]),
    hosts_max=st.sampled_from([1, 2, 4, 100]),
    delay=st.sampled_from([0.0, 0.3]),
    capacity=st.sampled_from([1, 3, 8, CAPACITY]),
)
@pytest.mark.slow
def test_every_record_is_granted_and_none_is_held_twice(story, memory, hosts_max, delay, capacity) -> None:
    bench = Workbench(memory=memory, hosts_max=hosts_max)
    for job, order in ORDERS.items():
        bench.open_job(job, pace_of(queue_order=order, download_delay=delay))
    frontier = Frontier(bench, capacity=capacity)
    last = 0

    for found, ended, retried, passed, limit, busy in story:
        frontier.busy = busy
        fresh = []
        for job, host, kind, priority in found:
            last += 1
            fresh.append(candidate(last, host=host, job=job, kind=kind, priority=priority, order=ORDERS[job]))
        open_ = list(frontier.open)
        frontier.cycle(
            fresh,
            done=open_[:ended],
            retried={record: 0.7 for record in open_[ended : ended + retried]},
            limit=limit,
        )
        frontier.now += passed
        doubted = sum(seat.host.open for seat in bench.seats.values() if not seat.host.trusted)
        assert bench.lines.doubted == doubted
        assert bench.hot.held == sum(len(q.hot) for seat in bench.seats.values() for q in seat.queues)
    frontier.drain()

    assert sorted(frontier.done) == list(range(1, last + 1))
    assert bench.hot.held == 0


@settings(max_examples=100, deadline=None)
@given(
    records=st.lists(st.integers(-3, 3), min_size=1, max_size=60),
    order=st.sampled_from(list(Order)),
    memory=st.sampled_from([1, 8, 1000]),
)
def test_one_host_is_served_in_the_order_of_its_queue_across_loads(records, order, memory) -> None:
    bench = Workbench(memory=memory)
    bench.open_job(1, pace_of(queue_order=order, concurrent_requests_per_domain=1))
    frontier = Frontier(bench)
    fresh = [candidate(n, priority=p, order=order) for n, p in enumerate(records, 1)]

    frontier.cycle(fresh)
    frontier.drain()

    assert frontier.granted == [c.record for c in sorted(fresh, key=lambda c: c.rank)]


@settings(max_examples=50, deadline=None)
@given(count=st.integers(1, 400), hosts=st.integers(1, 20), memory=st.integers(1, 50))
def test_memory_holds_a_bounded_part_of_the_queues(count, hosts, memory) -> None:
    bench = Workbench(memory=memory)
    bench.open_job(1, pace_of())
    frontier = Frontier(bench)

    for start in range(0, count, 40):
        frontier.cycle([candidate(n, host=n % hosts) for n in range(start, min(count, start + 40))], limit=0)

    # Each queue may hold up to twice its share, and the share is never below two.
    assert bench.hot.held <= max(memory, 4 * hosts)
