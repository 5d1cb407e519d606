"""The reasons that people are told for a host that is slow."""

from __future__ import annotations

from p2pcrawl.core.bench.seat import Seat, SeatState
from p2pcrawl.core.bench.slowness import DelayFrom, delay_in_force, duration, slowness_of
from p2pcrawl.core.hosts.politeness import Host, RobotsEntry
from tests.unit.core.bench.benches import pace_of

NOW = 1000.0


def seat_of(**facts: object) -> Seat:
    host = Host(1, "slow.example")
    for name, value in facts.items():
        setattr(host, name, value)
    return Seat(host)


def robots(delay_s: float) -> dict[tuple[str, str], RobotsEntry]:
    return {("http://slow.example", pace_of().agent): RobotsEntry("allow", b"", "", delay_s, 0.0)}


def test_delay_says_where_it_comes_from() -> None:
    obeying = pace_of(robotstxt_obey=True, download_delay=2.0)
    cases = {
        DelayFrom.NOTHING: (Host(1, "a"), pace_of()),
        DelayFrom.DEFAULT: (Host(1, "a"), pace_of(download_delay=None)),
        DelayFrom.SETTING: (Host(1, "a"), obeying),
        DelayFrom.ROBOTS: (seat_of(robots=robots(7.0)).host, obeying),
        DelayFrom.ELSEWHERE: (seat_of(told_delay_s=7.0).host, obeying),
        DelayFrom.TROUBLE: (seat_of(penalty_s=7.0).host, obeying),
        DelayFrom.THROTTLE: (seat_of(throttle_s=7.0).host, pace_of(autothrottle_enabled=True)),
    }

    assert {source: delay_in_force(*_one(*case)).source for source, case in cases.items()} == {s: s for s in cases}


def _one(host, pace):  # type: ignore[no-untyped-def]
    return host, [pace]


def test_longest_delay_of_several_jobs_counts() -> None:
    found = delay_in_force(Host(1, "a"), [pace_of(download_delay=1.0), pace_of(download_delay=3.0)])

    assert found == (3.0, DelayFrom.SETTING)


def test_spaced_host_says_how_long_its_queue_takes() -> None:
    found = slowness_of(seat_of(next_at=NOW + 5), [pace_of(download_delay=2.0)], 600, NOW)

    assert found.through_s == 5 + 1200
    assert found.why == "one page every 2 s (setting): the 600 that wait take 20 min"


def test_what_is_out_of_the_common_is_told_first() -> None:
    paces = [pace_of(download_delay=2.0)]
    asked_to_wait = seat_of(paused_until=NOW + 28, next_at=NOW + 28)
    silent = seat_of(rest_s=4.0, next_at=NOW + 4, unanswered=12, silent_since=NOW - 130)
    down = seat_of(down=True, unanswered=40)

    assert slowness_of(asked_to_wait, paces, 9, NOW).why.endswith("(Retry-After) for 28 s more")
    assert "12 requests in a row without an answer, for 2 min" in slowness_of(silent, paces, 9, NOW).why
    assert slowness_of(down, paces, 9, NOW).why.startswith("it is down: 40 requests")


def test_free_host_is_slow_only_by_slots_or_slaves() -> None:
    busy, ready = seat_of(open=8), seat_of()
    busy.state, ready.state = SeatState.BUSY, SeatState.READY

    assert slowness_of(busy, [pace_of()], 9, NOW).why == "8 requests are open, as many as it may have"
    assert slowness_of(ready, [pace_of()], 9, NOW).why == "the slaves have no room at the moment"
    assert slowness_of(ready, [pace_of()], 0, NOW)[2:] == ("", None)


def test_durations_are_told_in_the_unit_that_fits() -> None:
    assert [duration(s) for s in (0, 119, 120, 7200, 200_000)] == ["0 s", "119 s", "2 min", "2 h", "2 days"]
