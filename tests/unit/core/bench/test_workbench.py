"""What the workbench promises, case by case."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from p2pcrawl.core.bench.candidate import host_key
from p2pcrawl.core.bench.seat import SeatState
from p2pcrawl.core.bench.workbench import LOSSES_SUSPECT, Pick, Workbench
from p2pcrawl.core.hosts.politeness import HostNote
from p2pcrawl.core.ring.rendezvous import bucket_of_hash
from p2pcrawl.model.crawl.record import Order
from tests.unit.core.bench.benches import CAPACITY, Frontier, candidate, host_name, pace_of, robots_entry


def bench_of(hosts_max: int = 100, memory: int = 1000, **settings: object) -> Workbench:
    bench = Workbench(memory=memory, hosts_max=hosts_max)
    bench.open_job(1, pace_of(**settings))
    return bench


def test_every_ready_host_has_a_turn_before_any_has_its_second() -> None:
    bench = bench_of()
    bench.add(candidate(n, host=n % 5) for n in range(50))
    for turn in bench.take(0.0, lambda seat, suspect: 1, 10, CAPACITY):
        answer(turn, bench, answered=True)

    turns = bench.take(0.0, lambda seat, suspect: 1, 10, CAPACITY)

    assert set(Counter(t.candidate.host for t in turns).values()) == {2}


def test_kinds_of_a_host_take_turns() -> None:
    bench = bench_of(concurrent_requests_per_domain=1)
    frontier = Frontier(bench)
    frontier.cycle(
        [candidate(n, kind="index") for n in range(10)] + [candidate(n, kind="detail") for n in range(10, 20)]
    )

    frontier.drain()

    assert all(
        {a < 10, b < 10} == {True, False} for a, b in zip(frontier.granted[::2], frontier.granted[1::2], strict=True)
    )


def test_an_empty_queue_gives_its_turn_to_no_one_for_good() -> None:
    bench = bench_of(concurrent_requests_per_domain=1)
    for job in (2, 3):
        bench.open_job(job, pace_of(concurrent_requests_per_domain=1))
    frontier = Frontier(bench)
    frontier.cycle([candidate(0, job=1), candidate(1, job=2), candidate(2, job=3)])
    frontier.drain()
    frontier.cycle([candidate(n, job=1) for n in range(10, 20)] + [candidate(n, job=3) for n in range(20, 30)])

    frontier.drain()

    served = [record < 20 for record in frontier.granted[3:]]
    assert all(a != b for a, b in zip(served[::2], served[1::2], strict=True))


def test_queue_that_overflows_while_it_loads_loses_nothing() -> None:
    # A LIFO queue: what is found now comes before everything that is being loaded.
    bench = bench_of(memory=16, queue_order=Order.LIFO, concurrent_requests_per_domain=1)
    frontier = Frontier(bench)
    frontier.cycle([candidate(n, order=Order.LIFO) for n in range(1, 60)], limit=0)
    while bench.hot.held > 3:
        frontier.cycle(done=list(frontier.open), limit=1)

    found = [candidate(n, order=Order.LIFO) for n in range(100, 200)]
    frontier.cycle(found, done=list(frontier.open), limit=1)
    frontier.drain(cycles=2000)

    assert len(frontier.done) == 159


def test_hosts_without_a_seat_get_one_when_the_seated_are_through() -> None:
    frontier = Frontier(bench_of(hosts_max=3))
    frontier.cycle([candidate(n, host=n) for n in range(1, 30)])

    frontier.drain()

    assert len(frontier.done) == 29


def test_hosts_of_a_job_that_rests_leave_their_seats_to_others_and_come_back_with_it() -> None:
    bench = bench_of(hosts_max=2)
    bench.open_job(2, bench.pace(1))
    frontier = Frontier(bench)
    frontier.cycle([candidate(n, host=n) for n in (1, 2)], limit=0)
    bench.halt_job(1)
    frontier.resting.add(1)

    frontier.cycle([candidate(n, host=n, job=2) for n in (11, 12, 13)])
    for _ in range(200):
        frontier.cycle(done=list(frontier.open))
        frontier.now += 0.25
    assert sorted(frontier.done) == [11, 12, 13]

    bench.resume_job(1)
    bench.reload_job(1)
    frontier.resting.clear()
    frontier.sweep_all()
    frontier.drain()
    assert sorted(frontier.done) == [1, 2, 11, 12, 13]


def test_host_turned_away_behind_the_sweep_is_found_by_the_next_one() -> None:
    frontier = Frontier(bench_of(hosts_max=2))
    frontier.cycle([candidate(n, host=n) for n in range(1, 10)])
    record = 100
    for _ in range(40):
        record += 1
        frontier.cycle([candidate(record, host=record)], done=list(frontier.open))
        frontier.now += 1

    frontier.drain()

    assert len(frontier.done) == 49


def test_retry_of_a_host_that_was_retired_comes_back() -> None:
    bench = bench_of(hosts_max=1)
    frontier = Frontier(bench)
    frontier.cycle([candidate(1, host=1)])
    frontier.cycle()
    frontier.cycle(retried={1: 5.0})
    frontier.cycle()
    frontier.cycle([candidate(2, host=2)])

    frontier.drain()

    assert sorted(frontier.done) == [1, 2]


def test_suspect_that_no_slave_may_have_now_does_not_keep_the_others_waiting() -> None:
    bench = bench_of()
    suspect = candidate(1, host=1)
    suspect.losses = LOSSES_SUSPECT
    bench.add([suspect, candidate(2, host=2)])

    turns = bench.take(0.0, lambda seat, suspect: 0 if suspect else 1, 5, CAPACITY)

    assert [t.candidate.record for t in turns] == [2]


def test_waiting_suspect_is_not_due_until_something_changes() -> None:
    bench = bench_of()
    suspect = candidate(1)
    suspect.losses = LOSSES_SUSPECT
    bench.add([suspect])

    bench.take(0.0, lambda seat, suspect: 0, 5, CAPACITY)

    assert bench.next_at(0.0) is None
    assert [t.candidate.record for t in bench.take(0.0, lambda seat, suspect: 1, 5, CAPACITY)] == [1]


def test_robots_txt_comes_first_and_alone() -> None:
    bench = bench_of(robotstxt_obey=True)
    bench.add([candidate(1), candidate(2)])

    first = bench.take(0.0, lambda seat, suspect: 1, 5, CAPACITY)
    second = bench.take(0.0, lambda seat, suspect: 1, 5, CAPACITY)

    assert [t.robots_origin for t in first] == ["http://h1.example"]
    assert second == []


def test_pages_follow_when_robots_txt_is_known() -> None:
    bench = bench_of(robotstxt_obey=True)
    bench.add([candidate(1), candidate(2)])
    turn = bench.take(0.0, lambda seat, suspect: 1, 5, CAPACITY)[0]

    pace = bench.pace(1)
    bench.robots_known(turn.seat, turn.robots_origin, pace.agent, robots_entry(100.0))
    turn.seat.host.end(0.0, pace, answered=True)
    bench.ended(turn.seat)

    assert [t.candidate.record for t in bench.take(0.0, lambda seat, suspect: 1, 5, CAPACITY)] == [1, 2]


def test_what_a_job_found_where_a_host_is_closed_to_it_holds_for_no_other_job() -> None:
    bench = bench_of(robotstxt_obey=True)
    pace = bench.pace(1)
    bench.open_job(2, pace)
    bench.add([candidate(1, job=1), candidate(2, job=2)])
    turn = bench.take(0.0, lambda seat, suspect: 1, 5, CAPACITY)[0]

    bench.robots_known(turn.seat, turn.robots_origin, pace.agent, replace(robots_entry(100.0), only_for=1))
    turn.seat.host.end(0.0, pace, answered=True)
    bench.ended(turn.seat)
    page = bench.take(0.0, lambda seat, suspect: 1, 5, CAPACITY)
    answer(page[0], bench, answered=True)
    other = bench.take(0.0, lambda seat, suspect: 1, 5, CAPACITY)

    assert [(t.candidate.job, t.robots_origin) for t in page] == [(1, "")]
    assert [(t.candidate.job, t.robots_origin) for t in other] == [(2, "http://h1.example")]


def test_expired_robots_txt_is_asked_for_again_when_nothing_is_open() -> None:
    bench = bench_of(robotstxt_obey=True)
    bench.add(candidate(n) for n in range(1, 4))
    turn = bench.take(0.0, lambda seat, suspect: 1, 1, CAPACITY)[0]
    pace = bench.pace(1)
    bench.robots_known(turn.seat, turn.robots_origin, pace.agent, robots_entry(10.0))
    turn.seat.host.end(0.0, pace, answered=True)
    bench.ended(turn.seat)
    page = bench.take(1.0, lambda seat, suspect: 1, 1, CAPACITY)[0]

    busy = bench.take(11.0, lambda seat, suspect: 1, 5, CAPACITY)
    page.seat.host.end(12.0, pace, answered=True)
    bench.ended(page.seat)
    again = bench.take(12.0, lambda seat, suspect: 1, 5, CAPACITY)

    assert busy == []
    assert [t.robots_origin for t in again] == ["http://h1.example"]


def test_halted_job_is_granted_nothing_and_resumes_where_it_was() -> None:
    bench = bench_of()
    bench.add([candidate(1)])

    bench.halt_job(1)
    halted = bench.take(0.0, lambda seat, suspect: 1, 5, CAPACITY)
    bench.resume_job(1)

    assert halted == []
    assert [t.candidate.record for t in bench.take(0.0, lambda seat, suspect: 1, 5, CAPACITY)] == [1]


def test_retired_host_frees_its_memory() -> None:
    bench = bench_of(hosts_max=10)
    frontier = Frontier(bench)

    for n in range(500):
        frontier.cycle([candidate(n, host=n)], done=list(frontier.open))
    frontier.drain()

    assert len(bench.seats) <= 20
    assert len(bench.hot.members) <= 10


def test_host_whose_time_has_not_come_is_not_forgotten() -> None:
    # Forgetting it would forget its delay.
    bench = bench_of(hosts_max=1, download_delay=5.0)
    frontier = Frontier(bench)
    frontier.cycle([candidate(1, host=1)])
    frontier.cycle()
    frontier.cycle(done=[1])
    frontier.cycle()

    frontier.cycle([candidate(2, host=2)])

    assert [seat.host.name for seat in bench.seats.values()] == ["h1.example"]
    assert bench.seating.dormant


def test_resumed_crawl_waits_a_delay_before_it_asks_a_host() -> None:
    bench = bench_of(download_delay=5.0)
    bench.known.resumed_at = 100.0
    bench.add([candidate(1)])

    early = bench.take(104.9, lambda seat, suspect: 1, 5, CAPACITY)
    due = bench.next_at(104.9)

    assert early == []
    assert due == 105.0


def bench_that_knows_a_crawl_delay(delay_s: float) -> Workbench:
    bench = bench_of(robotstxt_obey=True)
    bench.add([candidate(1)])
    turn = bench.take(0.0, lambda seat, suspect: 1, 5, CAPACITY)[0]
    entry = replace(robots_entry(100.0), crawl_delay_s=delay_s)
    bench.robots_known(turn.seat, turn.robots_origin, bench.pace(1).agent, entry)
    turn.seat.host.end(1.0, bench.pace(1), answered=True)
    bench.ended(turn.seat)
    return bench


def test_what_a_host_asks_is_told_after_its_pages_have_left_for_another_master() -> None:
    bench = bench_that_knows_a_crawl_delay(4.0)
    host = candidate(1).host
    bucket = bucket_of_hash(host)

    bench.remove({bucket})

    assert bench.notes({bucket}, 2.0) == {host: HostNote(delay_s=4.0)}


def test_host_that_comes_back_without_pages_waits_its_own_delay() -> None:
    bench = bench_that_knows_a_crawl_delay(4.0)
    bucket = bucket_of_hash(candidate(1).host)
    bench.remove({bucket})

    bench.came_over({bucket}, 50.0)
    bench.add([candidate(2)])

    assert bench.take(53.9, lambda seat, suspect: 1, 5, CAPACITY) == []
    assert bench.next_at(53.9) == 54.0


def test_host_that_comes_over_to_whoever_waits_for_old_sessions_waits_as_long() -> None:
    bench = bench_of(download_delay=1.0)
    bench.known.resumed_at = 105.0
    bench.add([candidate(1)])

    bench.came_over({bucket_of_hash(candidate(1).host)}, 100.0)
    bench.add([candidate(2, host=2)])

    assert bench.take(105.9, lambda seat, suspect: 1, 5, CAPACITY) == []
    assert len(bench.take(106.0, lambda seat, suspect: 1, 5, CAPACITY)) == 2


def test_what_was_heard_of_a_host_is_told_on_before_it_has_a_seat() -> None:
    bench = bench_of()
    host = candidate(1).host

    bench.learn(host, HostNote(delay_s=4.0, pause_s=30.0), 10.0)

    assert bench.notes({bucket_of_hash(host)}, 15.0) == {host: HostNote(delay_s=4.0, pause_s=25.0)}
    assert bench.notes({bucket_of_hash(host)}, 50.0) == {host: HostNote(delay_s=4.0)}


def test_busy_host_is_ready_again_when_a_request_ends() -> None:
    bench = bench_of(concurrent_requests_per_domain=1)
    bench.add([candidate(1), candidate(2)])
    turn = bench.take(0.0, lambda seat, suspect: 1, 5, CAPACITY)[0]
    bench.take(0.0, lambda seat, suspect: 1, 5, CAPACITY)
    assert turn.seat.state is SeatState.BUSY

    turn.seat.host.end(1.0, bench.pace(1), answered=True)
    bench.ended(turn.seat)

    assert [t.candidate.record for t in bench.take(1.0, lambda seat, suspect: 1, 5, CAPACITY)] == [2]


def test_wants_of_a_new_host_in_a_dormant_frontier_are_announced() -> None:
    bench = bench_of()
    bench.seating.dormant = True
    bench.add([candidate(1)])

    assert bench.hot.wanting
    assert bench.take(0.0, lambda seat, suspect: 1, 5, CAPACITY) == []


def test_host_whose_slave_is_busy_is_parked_until_that_has_room() -> None:
    bench = bench_of()
    bench.add([candidate(1, host=1), candidate(2, host=2)])
    busy = bench.take(0.0, lambda seat, suspect: -7 if seat.host.name == host_name(1) else 8, 5, CAPACITY)
    parked, due = bench.lines.parked, bench.next_at(0.0)

    others = bench.take(0.0, lambda seat, suspect: 7, 5, CAPACITY)
    bench.lines.unpark(7, 3)
    turns = bench.take(0.0, lambda seat, suspect: 7, 5, CAPACITY)

    assert [t.candidate.record for t in busy] == [2]
    assert (parked, due) == ({7: 1}, None), "nothing is due that could be granted"
    assert others == []
    assert [t.candidate.record for t in turns] == [1]
    assert bench.lines.parked == {}


def test_host_has_run_dry_when_nothing_came_of_its_last_page() -> None:
    bench = bench_of()
    bench.add([candidate(1, host=1), candidate(2, host=2)])
    turns = bench.take(0.0, lambda seat, suspect: 1, 5, CAPACITY)
    bench.take(0.0, lambda seat, suspect: 1, 5, CAPACITY)
    while_open = bench.lines.drained()

    for turn in turns:
        answer(turn, bench, answered=True)
    at_once = bench.lines.drained()
    bench.take(0.0, lambda seat, suspect: 1, 5, CAPACITY)
    bench.add([candidate(3, host=2)])

    assert (while_open, at_once) == ([], [])
    assert [seat.host.name for seat in bench.lines.drained()] == [host_name(1)]
    assert bench.lines.drained() == []


def answer(turn: Pick, bench: Workbench, *, answered: bool, now: float = 0.0) -> None:
    turn.seat.host.end(now, bench.pace(1), answered=answered)
    bench.ended(turn.seat)


def trusted_and_dead(good: int = 2, dead: int = 50, pages: int = 20) -> Workbench:
    """A bench whose hosts from 1 on answered once; those from 100 on never did."""
    bench = bench_of(concurrent_requests_per_domain=8)
    bench.add(candidate(host * 1000, host=host) for host in range(1, good + 1))
    for turn in bench.take(0.0, lambda seat, suspect: 1, 100, CAPACITY):
        answer(turn, bench, answered=True)
    for number in range(1, pages + 1):
        bench.add(candidate(host * 1000 + number, host=host) for host in range(100, 100 + dead))
        bench.add(candidate(host * 1000 + number, host=host) for host in range(1, good + 1))
    return bench


def is_dead(turn: Pick) -> bool:
    return turn.candidate.record >= 100_000


def test_hosts_that_do_not_answer_hold_three_quarters_of_the_capacity_at_most() -> None:
    bench = trusted_and_dead()

    turns = bench.take(1.0, lambda seat, suspect: 1, 100, 16)

    assert sum(is_dead(t) for t in turns) == 12
    assert bench.take(2.0, lambda seat, suspect: 1, 100, 16) == []


@pytest.mark.parametrize("began_s", [1.0, 23.64746])  # In floating point, 23.64746 + 10 is less than 10 later.
def test_hosts_that_do_not_answer_may_have_everything_when_no_other_host_is_busy(began_s: float) -> None:
    bench = trusted_and_dead(pages=1)
    good = [t for t in bench.take(began_s, lambda seat, suspect: 1, 100, 16) if not is_dead(t)]
    for turn in good:
        answer(turn, bench, answered=True)
    bench.take(began_s, lambda seat, suspect: 1, 100, 16)

    due = bench.next_at(began_s + 1.0)
    early = bench.take(began_s + 9.9, lambda seat, suspect: 1, 100, 16)
    late = bench.take(due or 0.0, lambda seat, suspect: 1, 100, 16)

    assert due == began_s + 10.0
    assert early == []
    assert len(late) == 38


def test_hosts_that_answer_go_first_behind_the_share_of_new_ones() -> None:
    bench = trusted_and_dead(good=8)

    turns = bench.take(1.0, lambda seat, suspect: 1, 12, 16)

    assert [is_dead(t) for t in turns] == [True, False] * 4 + [False] * 4


def test_new_hosts_have_their_share_however_many_hosts_answer() -> None:
    bench = trusted_and_dead(good=50, dead=4)

    turns = bench.take(1.0, lambda seat, suspect: 1, 16, 16)

    assert {t.candidate.host for t in turns if is_dead(t)} == {
        host_key(f"http://{host_name(n)}/") for n in range(100, 104)
    }


def test_host_that_answers_at_last_leaves_the_line_of_those_that_do_not() -> None:
    bench = trusted_and_dead()
    dead = [t for t in bench.take(1.0, lambda seat, suspect: 1, 100, 16) if is_dead(t)]

    answer(dead[0], bench, answered=True)
    turns = bench.take(1.0, lambda seat, suspect: 1, 2, 16)

    assert turns[-1].seat is dead[0].seat


def test_new_hosts_have_their_turns_in_another_order_than_they_came_in() -> None:
    """A list of addresses may have the dead ones first."""
    bench = trusted_and_dead(good=0, dead=90)

    turns = bench.take(1.0, lambda seat, suspect: 1, 20, 1000)

    came = [number for turn in turns for number in range(100, 190) if host_name(number) == turn.seat.host.name]
    assert came != sorted(came)
    assert max(came) > 170
    assert len(set(came)) == 20


def test_hosts_that_were_never_tried_go_before_those_that_have_failed() -> None:
    bench = trusted_and_dead(good=0, dead=20)
    first = bench.take(1.0, lambda seat, suspect: 1, 5, 1000)
    for turn in first:
        answer(turn, bench, answered=False)

    turns = bench.take(1.0, lambda seat, suspect: 1, 20, 1000)

    assert not {t.seat.host.name for t in turns[:15]} & {t.seat.host.name for t in first}
    assert {t.seat.host.name for t in turns[15:]} == {t.seat.host.name for t in first}


def test_what_is_open_at_a_host_that_falls_silent_counts_as_doubtful() -> None:
    bench = trusted_and_dead(good=1, dead=0)
    seat = bench.take(1.0, lambda seat, suspect: 1, 100, 16)[0].seat
    before = bench.lines.doubted
    for _ in range(3):
        seat.host.begin()
        seat.host.end(1.0, bench.pace(1), answered=False)
    bench.ended(seat)

    assert before == 0
    assert bench.lines.doubted == seat.host.open > 0
    assert not seat.host.trusted


def test_abandoned_queue_leaves_memory_with_its_retries_and_no_other_does() -> None:
    bench = bench_of()
    bench.open_job(2, pace_of())
    frontier = Frontier(bench)
    frontier.cycle([candidate(n) for n in range(1, 10)] + [candidate(20, job=2), candidate(30, host=2)], limit=0)
    frontier.cycle(limit=1)
    frontier.cycle(retried={1: 5.0}, limit=0)
    key = next(seat.host.key for seat in bench.seats.values() if seat.host.name == host_name(1))

    bench.abandon(1, key)

    assert bench.hot.held == 2
    assert bench.hot.members == {20, 30}
    assert [t.candidate.record for t in bench.take(10.0, lambda seat, suspect: 1, 9, CAPACITY)] == [30]
    assert [t.candidate.record for t in bench.take(60.0, lambda seat, suspect: 1, 9, CAPACITY)] == [20]


def test_queue_whose_part_in_memory_has_ended_elsewhere_goes_on_with_what_is_on_disk() -> None:
    bench = bench_of(memory=4)
    frontier = Frontier(bench)
    frontier.cycle([candidate(record) for record in range(1, 20)], limit=0)
    elsewhere = [record for record in range(1, 20) if record in bench.hot.members]

    for queue in frontier.disk.values():
        for record in elsewhere:
            del queue[record]
    bench.withdraw(elsewhere)
    frontier.drain(cycles=100)

    assert len(frontier.done) == 19 - len(elsewhere)
