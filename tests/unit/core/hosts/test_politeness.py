"""Politeness over random schedules: never too early, never overlapping with a delay, never stuck."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2pcrawl.core.hosts.politeness import PENALTY_MAX_S, UNANSWERED_REST, Host, HostNote, is_private_name, pack_body
from tests.unit.core.bench.benches import pace_of, robots_entry

ends = st.tuples(
    st.booleans(),
    st.sampled_from([0.0, 0.0, 0.0, 2.0, 50.0]),
    st.booleans(),
    st.floats(0, 5),
)
steps = st.lists(st.tuples(st.floats(0, 3), st.integers(0, 3), st.integers(0, 2), ends), max_size=60)


@settings(max_examples=300, deadline=None)
@given(
    story=steps,
    delay=st.sampled_from([0.0, 0.5, 2.0]),
    throttled=st.booleans(),
    crawl_delay=st.sampled_from([0.0, 1.0]),
)
def test_no_schedule_brings_a_host_two_requests_at_once_or_one_too_early(story, delay, throttled, crawl_delay) -> None:
    pace = pace_of(download_delay=delay, autothrottle_enabled=throttled, robotstxt_obey=True)
    host, now, last_end, pause_until = Host(1, "a.example"), 0.0, None, 0.0
    host.robots = {("http://a.example", pace.agent): robots_entry(1e9, crawl_delay)}
    least = max(delay, crawl_delay)

    for passed, begins, finished, (answered, pause, slow_down, latency) in story:
        now += passed
        for _ in range(min(finished, host.open)):
            host.end(now, pace, answered=answered, pause_s=pause, slow_down=slow_down, latency_s=latency)
            last_end = now
            pause_until = max(pause_until, now + pause)
        for _ in range(begins):
            if not host.may_begin(now, pace):
                continue
            assert now >= pause_until
            if host.delay_s(pace) > 0 and host.open:
                raise AssertionError("two at once at a host with a delay")
            if last_end is not None:
                assert now >= last_end + least
            host.begin()
            assert host.open <= pace.concurrency
    assert host.penalty_s <= PENALTY_MAX_S

    while host.open:
        host.end(now, pace, answered=True)
    assert host.may_begin(max(now, host.next_at), pace)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.booleans(), max_size=50))
def test_window_stays_between_one_and_the_limit(answers) -> None:
    pace, host = pace_of(concurrent_requests_per_domain=4), Host(1, "a.example")

    for answered in answers:
        host.begin()
        host.end(0.0, pace, answered=answered)
        assert 1.0 <= host.window <= 4.0


def test_host_that_answers_earns_more_and_one_that_fails_keeps_one() -> None:
    pace, host = pace_of(), Host(1, "a.example")

    windows = []
    for answered in (True, True, False, False, False):
        host.begin()
        host.end(0.0, pace, answered=answered)
        windows.append(host.window)

    assert windows == [3.0, 4.0, 2.0, 1.0, 1.0]


def test_host_in_trouble_is_slowed_down_and_forgiven() -> None:
    pace, host = pace_of(), Host(1, "a.example")

    penalties = []
    for slow in (True, True, False, False, False, False, False):
        host.begin()
        host.end(0.0, pace, answered=True, slow_down=slow)
        penalties.append(host.penalty_s)

    assert penalties == [1.0, 2.0, 1.0, 0.5, 0.25, 0.0, 0.0]


def fail(host: Host, now: float, count: int = 1, **settings: object) -> None:
    for _ in range(count):
        host.begin()
        host.end(now, pace_of(**settings), answered=False)


def test_host_is_trusted_from_its_first_answer_until_three_requests_in_a_row_had_none() -> None:
    pace, host = pace_of(), Host(1, "a.example")

    trust = [host.trusted]
    for answered in (True, False, False, False, True):
        host.begin()
        host.end(0.0, pace, answered=answered)
        trust.append(host.trusted)

    assert trust == [False, True, True, True, False, True]


def test_silent_host_is_left_alone_for_longer_each_time() -> None:
    host, now, rests = Host(1, "a.example"), 0.0, []

    fail(host, now, UNANSWERED_REST - 1)
    assert host.may_begin(now, pace_of())
    for _ in range(7):
        fail(host, now)
        rests.append(host.next_at - now)
        now = host.next_at

    assert rests == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]


def test_requests_that_were_open_together_count_as_one_try() -> None:
    host, pace = Host(1, "a.example"), pace_of()
    fail(host, 0.0, UNANSWERED_REST)
    for _ in range(8):
        host.begin()

    for _ in range(8):
        host.end(1.0, pace, answered=False)

    assert host.next_at == 1.0 + 2.0


def test_answer_ends_the_rest() -> None:
    host, pace = Host(1, "a.example"), pace_of()
    fail(host, 0.0, UNANSWERED_REST + 3)
    host.begin()

    host.end(100.0, pace, answered=True)
    fail(host, 100.0)

    assert host.may_begin(100.0, pace)


def test_host_is_down_when_it_was_silent_for_long_enough_and_often_enough() -> None:
    briefly, seldom, down, never = (Host(n, "a.example") for n in range(4))

    fail(briefly, 0.0, 20, host_down_after=60)
    fail(briefly, 59.0, 1, host_down_after=60)
    fail(seldom, 0.0, 8, host_down_after=60)
    fail(seldom, 61.0, 1, host_down_after=60)
    fail(down, 0.0, 9, host_down_after=60)
    fail(down, 60.0, 1, host_down_after=60)
    fail(never, 0.0, 20, host_down_after=0)
    fail(never, 1e6, 1, host_down_after=0)

    assert [host.down for host in (briefly, seldom, down, never)] == [False, False, True, False]


def test_retry_after_is_obeyed_up_to_its_limit() -> None:
    pace, host = pace_of(retry_after_max=600), Host(1, "a.example")
    host.begin()

    host.end(10.0, pace, answered=True, pause_s=1e9, slow_down=True)

    assert not host.may_begin(609.9, pace)
    assert host.may_begin(610.0, pace)


def test_crawl_delay_of_another_agent_does_not_count() -> None:
    pace, host = pace_of(robotstxt_obey=True), Host(1, "a.example")
    host.robots = {("http://a.example", "other"): robots_entry(1e9, 5.0)}

    assert host.delay_s(pace) == 0.0


@pytest.mark.parametrize(
    ("asked_s", "most_s", "in_force_s"), [(600.0, 600.0, 600.0), (601.0, 600.0, 1.0), (1e9, 600.0, 1.0), (1e9, 0, 1e9)]
)
def test_crawl_delay_above_its_limit_holds_nobody_up(asked_s: float, most_s: float, in_force_s: float) -> None:
    pace = pace_of(robotstxt_obey=True, download_delay=1.0, crawl_delay_max=most_s)
    by_itself, told_of = Host(1, "a.example"), Host(2, "b.example")
    by_itself.robots = {("http://a.example", pace.agent): robots_entry(1e9, asked_s)}

    told_of.learn(HostNote(delay_s=asked_s), 0.0, 0.0)

    assert by_itself.delay_s(pace) == told_of.delay_s(pace) == in_force_s
    assert by_itself.note(0.0, [pace]).delay_s == (in_force_s if in_force_s > 1.0 else 0.0)


def test_default_delay_spares_private_hosts_alone() -> None:
    pace = pace_of(download_delay=None)

    assert [Host(1, name).delay_s(pace) for name in ("a.example", "localhost", "127.0.0.1", "[::1]", "10.1.2.3")] == [
        1.0,
        0.0,
        0.0,
        0.0,
        0.0,
    ]
    assert not is_private_name("localhost.example.com")


def test_lost_request_counts_as_asked_and_a_returned_one_does_not() -> None:
    pace = pace_of(download_delay=2.0)
    lost, returned = Host(1, "a.example"), Host(2, "b.example")
    for host in (lost, returned):
        host.begin()

    lost.release(10.0, pace)
    returned.release(10.0, None)

    assert (lost.next_at, returned.next_at) == (12.0, 0.0)
    assert lost.open == returned.open == 0


def test_robots_txt_is_kept_as_it_was() -> None:
    body = "User-agent: *\nDisallow: /é\n" * 100
    entry = robots_entry(1.0)
    entry.packed = pack_body(body)

    assert entry.body == body
    assert pack_body("") == b""


def test_note_tells_what_the_host_asks_beyond_the_delay_of_a_job_and_nothing_else() -> None:
    pace, host = pace_of(download_delay=2.0, robotstxt_obey=True, autothrottle_enabled=True), Host(1, "a.example")
    assert not host.note(0.0, [pace]), "what a job does by itself is no news"

    host.robots = {("http://a.example", "another agent"): robots_entry(1e9, 9.0)}
    assert not host.note(0.0, [pace])
    host.robots[("http://a.example", pace.agent)] = robots_entry(1e9, 2.0)
    assert not host.note(0.0, [pace])
    host.robots[("https://a.example", pace.agent)] = robots_entry(1e9, 5.0)
    assert host.note(0.0, [pace]) == HostNote(delay_s=5.0)
    assert not host.note(0.0, [pace_of(robotstxt_obey=False)])

    host.slow_down()
    host.paused_until = 30.0
    assert host.note(10.0, [pace]) == HostNote(5.0, 1.0, 20.0)


seconds = st.floats(0, 1_000)


@given(st.tuples(seconds, seconds, seconds, seconds), st.builds(HostNote, seconds, seconds, seconds), seconds)
def test_what_another_master_knew_makes_a_host_wait_longer_or_as_long(known, note: HostNote, now: float) -> None:
    pace, host = pace_of(crawl_delay_max=0.0), Host(1, "a.example")
    host.told_delay_s, host.paused_until, host.next_at = known[:3]
    host.penalty_s = min(PENALTY_MAX_S, known[3])
    delay, paused_until, next_at = host.delay_s(pace), host.paused_until, host.next_at

    host.learn(note, now, 600.0)

    assert host.delay_s(pace) >= max(delay, note.delay_s, min(note.penalty_s, PENALTY_MAX_S))
    assert host.paused_until >= paused_until
    assert host.next_at >= max(next_at, now + note.delay_s, now + min(note.pause_s, 600.0))
