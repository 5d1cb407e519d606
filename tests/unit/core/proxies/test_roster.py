"""The roster of a pool of proxies, on a clock of the test."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2pcrawl.core.proxies import rests as rests_module
from p2pcrawl.core.proxies import roster as roster_module
from p2pcrawl.core.proxies.proxy_standing import SUSPECT_FAILURES
from p2pcrawl.core.proxies.rests import Rests
from p2pcrawl.core.proxies.roster import CANDIDATES_MAX, Roster, RosterLimits


def roster_of(number: int, passing: bool = True, **limits: float) -> Roster:
    """Makes a roster whose candidates have all been verified at 0, by default with success."""
    roster = Roster(RosterLimits(**{"live_max": 10_000, **limits}))  # type: ignore[arg-type]
    roster.offer([f"http://p{n}:1" for n in range(number)], 0.0)
    for standing in roster.to_verify(0.0, 10_000):
        roster.verified(standing, passing, 0.1, 0.0)
    return roster


draw = random.Random(7).randrange


def test_candidate_is_not_used_before_it_is_verified() -> None:
    roster = Roster(RosterLimits())
    roster.offer(["http://p:1"], 0.0)

    before = roster.choose("a", "", 0.0, draw)
    (standing,) = roster.to_verify(0.0, 10)
    roster.verified(standing, True, 0.1, 0.0)

    assert before is None
    assert roster.choose("a", "", 0.0, draw) is standing


def test_pool_is_filled_up_to_its_maximum_and_refilled_below_its_minimum() -> None:
    roster = Roster(RosterLimits(live_max=10, live_min=5, period_s=100.0))
    roster.offer([f"http://p{n}:1" for n in range(40)], 0.0)

    first = roster.to_verify(0.0, 1_000)
    for standing in first:
        roster.verified(standing, True, 0.1, 0.0)
    second = roster.to_verify(1.0, 1_000)
    for standing in first[:5]:
        roster.broken(standing, 2.0)
    third = roster.to_verify(2.0, 1_000)
    roster.broken(first[5], 3.0)
    fourth = roster.to_verify(3.0, 1_000)

    assert (len(first), second, third) == (10, [], [])
    assert len(fourth) == 6
    assert roster.live == 4


def test_live_proxies_are_verified_again_when_their_period_is_over() -> None:
    roster = roster_of(3, period_s=100.0)

    early, late = roster.to_verify(99.0, 10), roster.to_verify(100.0, 10)
    again = roster.to_verify(100.0, 10)

    assert (len(early), len(late), len(again)) == (0, 3, 0)


def test_proxy_that_does_not_pass_is_tried_ever_less_often() -> None:
    roster = roster_of(1, passing=False, period_s=100.0)
    gaps, now = [], 0.0
    for _ in range(8):
        began = now
        while not (due := roster.to_verify(now, 10)):
            now += 50.0
        gaps.append(now - began)
        roster.verified(due[0], False, 0.0, now)

    assert gaps == [100.0, 200.0, 400.0, 800.0, 1600.0, 3200.0, 3200.0, 3200.0]


def test_liar_is_put_aside_at_once() -> None:
    roster = Roster(RosterLimits(period_s=100.0))
    roster.offer(["http://p:1"], 0.0)
    (standing,) = roster.to_verify(0.0, 10)

    roster.verified(standing, False, 0.1, 0.0, final=True)

    assert roster.to_verify(3199.0, 10) == []
    assert roster.to_verify(3200.0, 10) == [standing]


def test_fast_proxies_are_chosen_before_slow_ones() -> None:
    roster = Roster(RosterLimits())
    roster.offer([f"http://p{n}:1" for n in range(100)], 0.0)
    for number, standing in enumerate(roster.to_verify(0.0, 100)):
        roster.verified(standing, True, 2.0 if number % 4 == 0 else 0.05, 0.0)

    chosen = [roster.choose("a", "", 0.0, draw) for _ in range(2_000)]

    slow = sum(each is not None and each.latency_s > 1.0 for each in chosen)
    assert slow <= 10
    assert len(Counter(each.url for each in chosen if each is not None)) >= 70


def test_banned_proxy_rests_for_that_host_only_and_longer_each_time() -> None:
    roster = roster_of(1, rest_s=60.0, rest_max_s=200.0)
    proxy = roster.choose("a", "", 0.0, draw)
    assert proxy is not None

    rests = [roster.banned(proxy, "a", 0.0) for _ in range(4)]

    assert rests == [60.0, 120.0, 200.0, 200.0]
    assert roster.choose("a", "", 199.0, draw) is None
    assert roster.choose("b", "", 0.0, draw) is proxy
    assert roster.choose("a", "", 200.0, draw) is proxy


def test_host_that_says_for_how_long_is_believed_up_to_the_longest_rest() -> None:
    roster = roster_of(1, rest_s=60.0, rest_max_s=3600.0)
    proxy = roster.choose("a", "", 0.0, draw)
    assert proxy is not None

    assert roster.banned(proxy, "a", 0.0, at_least_s=500.0) == 500.0
    assert roster.banned(proxy, "b", 0.0, at_least_s=1e9) == 3600.0


def test_one_host_that_fails_costs_no_proxy_the_others_use() -> None:
    roster = roster_of(20)
    for _ in range(30):
        if (proxy := roster.choose("bad", "", 0.0, draw)) is not None:
            roster.failed(proxy, "bad", 0.0)

    assert roster.choose("bad", "", 0.0, draw) is None
    assert roster.live == 20
    assert roster.choose("good", "", 0.0, draw) is not None


def test_proxy_that_fails_with_several_hosts_is_verified_before_it_is_used_again() -> None:
    roster = roster_of(1)
    proxy = roster.choose("a", "", 0.0, draw)
    assert proxy is not None

    roster.failed(proxy, "a", 0.0)
    roster.failed(proxy, "b", 0.0)

    assert roster.choose("c", "", 0.0, draw) is None
    assert roster.to_verify(0.0, 10) == [proxy]


def test_proxy_that_fails_again_and_again_with_the_only_host_is_suspended() -> None:
    roster = roster_of(1)
    proxy = roster.choose("a", "", 0.0, draw)
    assert proxy is not None

    for _ in range(SUSPECT_FAILURES):
        roster.failed(proxy, "a", 0.0)

    assert roster.live == 0


def test_without_a_check_candidates_are_live_and_come_back_after_a_rest() -> None:
    roster = Roster(RosterLimits(verifies=False, rest_s=60.0))
    roster.offer(["http://p:1"], 0.0)
    proxy = roster.choose("a", "", 0.0, draw)
    assert proxy is not None

    roster.broken(proxy, 0.0)
    roster.to_verify(59.0, 10)
    gone = roster.choose("a", "", 59.0, draw)
    roster.to_verify(60.0, 10)

    assert gone is None
    assert roster.choose("a", "", 60.0, draw) is proxy


def test_name_keeps_its_proxy_while_that_can_be_used() -> None:
    roster = roster_of(50)
    first = roster.choose("a", "cart 1", 0.0, draw)
    assert first is not None

    same = [roster.choose("a", "cart 1", 0.0, draw) for _ in range(20)]
    roster.banned(first, "a", 0.0)
    other = roster.choose("a", "cart 1", 0.0, draw)

    assert set(same) == {first}
    assert other is not None and other is not first


def test_what_a_request_has_failed_with_it_is_not_given_again() -> None:
    roster = roster_of(2)
    one = roster.choose("a", "name", 0.0, draw)
    assert one is not None

    two = roster.choose("a", "name", 0.0, draw, [one])

    assert two is not None and two is not one
    assert roster.choose("a", "", 0.0, draw, [one, two]) is None


def test_candidates_and_rests_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rests_module, "PAIRS_MAX", 1_000)
    roster = Roster(RosterLimits())
    roster.offer((f"http://p{n}:1" for n in range(CANDIDATES_MAX + 50)), 0.0)
    rests = Rests(60.0, 3600.0)
    for number in range(1_050):
        rests.ban(f"h{number}", "p", 0.0)

    assert len(roster) == CANDIDATES_MAX
    assert len(rests) == 1_000


def test_new_candidates_take_the_places_of_those_that_fail_and_are_named_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(roster_module, "CANDIDATES_MAX", 4)
    roster = Roster(RosterLimits())
    roster.offer(["http://live:1", "http://listed:1", "http://gone:1", "http://gone:2"], 0.0)
    for standing in roster.to_verify(0.0, 10):
        roster.verified(standing, standing.url == "http://live:1", 0.1, 0.0)

    taken = roster.offer(["http://listed:1", "http://new:1", "http://new:2", "http://new:3"], 300.0)

    assert taken == 2 and len(roster) == 4 and roster.live == 1
    assert roster.offer(["http://live:1", "http://listed:1", "http://new:1", "http://new:2"], 300.0) == 0


@pytest.mark.parametrize("seed", range(5))
@given(st.lists(st.tuples(st.sampled_from(["ok", "ban", "fail", "break", "verify"]), st.integers(0, 7)), max_size=60))
def test_who_is_live_is_chosen_and_nobody_else(seed: int, events: list[tuple[str, int]]) -> None:
    roster = roster_of(8)
    everybody = roster.to_verify(300.0, 100)
    for standing in everybody:
        roster.verified(standing, True, 0.1, 300.0)
    for now, (event, number) in enumerate(events, 301):
        standing = everybody[number]
        if event == "ok":
            roster.worked(standing, "a", 0.1)
        elif event == "ban":
            roster.banned(standing, "a", now)
        elif event == "fail":
            roster.failed(standing, "a", now)
        elif event == "break":
            roster.broken(standing, now)
        else:
            for due in roster.to_verify(now, 100):
                roster.verified(due, True, 0.1, now)

    assert roster.live == sum(each.live for each in everybody)
    chosen = roster.choose("b", "", 1_000.0, random.Random(seed).randrange)
    assert (chosen is not None) is (roster.live > 0)
    assert chosen is None or chosen.live
