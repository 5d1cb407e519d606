"""Orders about hosts: they join to the same in any order, and a host obeys them as politely as everything else."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from p2pcrawl.core.hosts.orders import halted, joined_orders, merged_order, orders_mark, slower
from p2pcrawl.core.hosts.politeness import Host, HostNote
from p2pcrawl.model.cluster.host_order import HostOrder
from tests.unit.core.bench.benches import pace_of, robots_entry

ORDERS = st.builds(
    HostOrder,
    st.sampled_from(["a.example", "b.example"]),
    st.integers(0, 3),
    st.sampled_from([None, 0.0, 2.0, 9.0]),
    st.integers(0, 3),
    st.booleans(),
)
KNOWN = st.lists(ORDERS, max_size=6)


def joined(*orders: HostOrder) -> dict[str, HostOrder]:
    return joined_orders({}, orders)


@given(KNOWN, KNOWN, KNOWN)
def test_joining_is_commutative_associative_and_idempotent(
    one: list[HostOrder], two: list[HostOrder], three: list[HostOrder]
) -> None:
    first, last = joined(*one, *two), joined(*two, *three)

    assert first == joined(*two, *one)
    assert joined(*first.values(), *three) == joined(*one, *last.values())
    assert joined_orders(first, [*one, *two]) == {}
    assert orders_mark(first) == orders_mark(joined(*reversed([*one, *two])))


def test_two_people_who_change_different_things_do_not_undo_each_other() -> None:
    order = HostOrder("a.example")

    both = merged_order(slower(order, 5.0), halted(order, paused=True))

    assert (both.delay_s, both.paused) == (5.0, True)


def test_of_two_changes_on_both_sides_of_a_partition_the_more_patient_one_counts() -> None:
    order = HostOrder("a.example")

    assert merged_order(slower(order, 5.0), slower(order, 1.0)).delay_s == 5.0
    assert merged_order(slower(order, None), slower(order, 0.0)).delay_s == 0.0
    assert merged_order(halted(order, paused=False), halted(order, paused=True)).paused


def test_order_that_is_taken_back_outlives_itself() -> None:
    given = slower(HostOrder("a.example"), 5.0)
    back = slower(given, None)

    assert merged_order(given, back) == back and back.plain


# -- a host that obeys ------------------------------------------------------------------------

PACE = pace_of(download_delay=2.0, robotstxt_obey=True)


def asked_at(now: float, **facts: object) -> Host:
    """Returns a host of which a request has ended at a moment."""
    host = Host(1, "a.example")
    for name, value in facts.items():
        setattr(host, name, value)
    host.begin()
    host.end(now, PACE, answered=True)
    return host


def order(delay_s: float | None, version: int = 1) -> HostOrder:
    return HostOrder("a.example", version, delay_s)


def test_longer_delay_counts_from_the_end_of_the_last_request() -> None:
    host = asked_at(100.0)

    host.obey(order(30.0), [PACE])

    assert not host.may_begin(129.9, PACE) and host.may_begin(130.0, PACE)


def test_shorter_delay_ends_the_wait_for_the_old_one_and_no_other_wait() -> None:
    waiting, wishing = asked_at(100.0), asked_at(100.0)
    wishing.learn(HostNote(pause_s=60.0), 100.0, 1e9)

    for host in (waiting, wishing):
        host.obey(order(0.5), [PACE])

    assert waiting.may_begin(100.5, PACE) and not waiting.may_begin(100.4, PACE)
    assert not wishing.may_begin(159.0, PACE)


def test_host_is_asked_no_faster_than_its_robots_txt_wants() -> None:
    host = asked_at(100.0, robots={("http://a.example", PACE.agent): robots_entry(1e9, 7.0)})
    told = asked_at(100.0, told_delay_s=7.0)

    for each in (host, told):
        each.obey(order(0.0), [PACE])

        assert not each.may_begin(106.9, PACE) and each.may_begin(107.0, PACE)


def test_order_takes_the_place_of_adaptive_throttling() -> None:
    pace = pace_of(download_delay=1.0, autothrottle_enabled=True)
    host = Host(1, "a.example")
    host.throttle_s = 20.0

    host.obey(order(3.0), [pace])

    assert host.delay_s(pace) == 3.0


def test_host_goes_back_to_the_delay_of_its_jobs() -> None:
    host = asked_at(100.0)
    host.obey(order(30.0), [PACE])

    host.obey(order(None, 2), [PACE])

    assert host.delay_s(PACE) == 2.0 and host.may_begin(102.0, PACE)


def test_what_a_host_asks_for_is_kept_as_it_is_told_with_a_loan_whatever_a_person_says() -> None:
    host = asked_at(100.0)
    host.told_on_loan(9.0)
    before = host.delay_s(PACE)
    host.obey(order(1.0), [PACE])

    host.told_on_loan(4.0)

    assert (before, host.delay_s(PACE)) == (9.0, 9.0)


@given(
    st.lists(
        st.tuples(st.floats(0.0, 5.0), st.sampled_from([None, 0.0, 0.5, 3.0]), st.booleans()), min_size=1, max_size=40
    )
)
def test_requests_are_as_far_apart_as_whatever_order_is_in_force_says(
    story: list[tuple[float, float | None, bool]],
) -> None:
    host, now, last = Host(1, "a.example"), 1.0, None
    for version, (passed, delay_s, changes) in enumerate(story, 1):
        now += passed
        if changes:
            host.obey(order(delay_s, version), [PACE])
        if host.may_begin(now, PACE):
            assert last is None or now >= last + host.delay_s(PACE)
            host.begin()
            host.end(now, PACE, answered=True)
            last = now

    host.obey(order(0.0, len(story) + 1), [PACE])
    assert host.may_begin(now, PACE)


def test_wait_that_another_master_told_of_grows_with_the_delay() -> None:
    """It has asked the host last, on loan, and knew of the shorter delay only."""
    host = asked_at(100.0)
    host.wait_on_loan(105.0, 2.0, 0, 2.0)

    host.obey(order(6.0), [PACE])
    late = Host(1, "a.example")
    late.obey(order(6.0), [PACE])
    late.wait_on_loan(105.0, 2.0, 0, 6.0)

    assert host.next_at == late.next_at == 109.0


def test_wait_that_the_host_asked_for_does_not_grow_with_the_delay() -> None:
    host = asked_at(100.0)
    host.learn(HostNote(pause_s=60.0), 100.0, 1e9)

    host.obey(order(30.0), [PACE])

    assert host.next_at == 160.0
