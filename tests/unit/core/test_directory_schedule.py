"""What a master says in the directory, and when."""

from __future__ import annotations

from itertools import count, takewhile

import pytest

from p2pcrawl.core.directory_schedule import (
    EVERY_S,
    HOSTS_MAX,
    PAUSE_MIN_S,
    RETRY_S,
    SAME_HOST_S,
    SERVED_S,
    Hints,
    HostHints,
    OwnerHints,
    PublishHost,
    PublishOwner,
)
from p2pcrawl.core.hosts.politeness import HostNote
from p2pcrawl.core.ring.rendezvous import BUCKETS
from p2pcrawl.model.timings import TIMINGS

SLOW = HostNote(delay_s=5.0)
TTL_S = 7_200


def test_bucket_is_said_after_it_was_served_for_a_while_and_anew_in_time() -> None:
    hints = OwnerHints()
    hints.survey({7: 3}, 0.0)
    assert hints.next(0.0) is None

    hints.survey({7: 3}, SERVED_S)
    assert hints.next(SERVED_S) == PublishOwner(7, 3)
    hints.survey({7: 3}, SERVED_S + TIMINGS.record_renew_s - 1)
    assert hints.next(SERVED_S + TIMINGS.record_renew_s - 1) is None
    hints.survey({7: 3}, SERVED_S + TIMINGS.record_renew_s)
    assert hints.next(SERVED_S + TIMINGS.record_renew_s) == PublishOwner(7, 3)


def test_bucket_that_left_before_its_turn_is_not_said() -> None:
    hints = OwnerHints()
    hints.survey({7: 3, 8: 3}, 0.0)
    hints.survey({8: 3}, SERVED_S)

    assert hints.next(SERVED_S) == PublishOwner(8, 3)
    assert hints.next(SERVED_S) is None


def test_new_epoch_of_a_bucket_is_said_anew() -> None:
    hints = OwnerHints()
    for now, counter in ((0.0, 3), (SERVED_S, 3)):
        hints.survey({7: counter}, now)
    hints.next(SERVED_S)

    hints.survey({7: 5}, 100.0)
    hints.survey({7: 5}, 100.0 + SERVED_S)

    assert hints.next(100.0 + SERVED_S) == PublishOwner(7, 5)


def test_bucket_that_nobody_took_is_said_again_soon() -> None:
    hints = OwnerHints()
    hints.survey({7: 3}, 0.0)
    hints.survey({7: 3}, 100.0)
    hints.next(100.0)
    hints.not_stored(7, 100.0)

    hints.survey({7: 3}, 100.0 + RETRY_S)

    assert hints.next(100.0 + RETRY_S) == PublishOwner(7, 3)


def test_all_buckets_and_as_many_hosts_stay_alive_at_two_records_a_second() -> None:
    """Even if one master had them all; each record ends two hours after it was said."""
    hints, counters = Hints(), dict.fromkeys(range(BUCKETS), 1)
    for key in range(BUCKETS):
        hints.hosts.remark(key, 0.0)
    said: dict[tuple[str, int], float] = {}
    count, gaps, now = 0, [], 0.0
    while now < 6 * 3600:
        if now % 30 == 0:
            hints.owners.survey(counters, now)
        if (found := hints.next(now, lambda key: SLOW)) is not None:
            count += 1
            name = (type(found).__name__, found[0])
            gaps.append(now - said.get(name, now))
            said[name] = now
        now += 0.25

    assert count <= 6 * 3600 / EVERY_S
    assert len(said) == 2 * BUCKETS
    assert max(gaps) < TTL_S
    assert now - min(said.values()) < TTL_S


@pytest.mark.parametrize("masters", [2, 10, 50, 200])
def test_all_masters_together_say_few_buckets_a_second_however_many_they_are(masters: int) -> None:
    hints, counters = OwnerHints(), dict.fromkeys(range(BUCKETS // masters), 1)
    hints.survey(counters, 0.0)
    said, now = 0, SERVED_S
    while said < len(counters):
        hints.survey(counters, now)
        said += hints.next(now) is not None
        now += EVERY_S

    took_s = now - SERVED_S
    assert took_s <= 1.3 * TIMINGS.record_spread_s
    assert masters * said / took_s <= 4.0


def test_same_host_is_said_again_only_after_a_minute_and_only_if_it_asks_for_more() -> None:
    hints, asked = HostHints(), {1: HostNote(penalty_s=4.0)}
    hints.remark(1, 0.0)
    assert hints.next(0.0, asked.get) == PublishHost(1, HostNote(penalty_s=4.0))

    hints.remark(1, 1.0)
    asked[1] = HostNote(penalty_s=8.0)
    assert hints.next(SAME_HOST_S - 1, asked.get) is None
    assert hints.next(SAME_HOST_S, asked.get) == PublishHost(1, HostNote(penalty_s=8.0))
    asked[1] = HostNote(penalty_s=2.0)
    hints.remark(1, 200.0)
    assert hints.next(200.0, asked.get) is None
    assert hints.next(SAME_HOST_S + TIMINGS.record_renew_s, asked.get) == PublishHost(1, HostNote(penalty_s=2.0))


def test_pause_is_said_again_when_it_became_longer() -> None:
    hints = HostHints()
    hints.remark(1, 0.0)
    assert hints.next(0.0, lambda key: HostNote(pause_s=200.0)) is not None

    hints.remark(1, 100.0)
    assert hints.next(100.0, lambda key: HostNote(pause_s=100.0)) is None
    hints.remark(1, 101.0)
    assert hints.next(101.0, lambda key: HostNote(pause_s=300.0)) is not None


def test_host_that_asks_for_nothing_or_for_little_is_not_said() -> None:
    for note in (None, HostNote(), HostNote(pause_s=PAUSE_MIN_S - 1)):
        hints = HostHints()
        hints.remark(1, 0.0)

        assert hints.next(0.0, lambda key, note=note: note) is None
        # Nor is it looked at ever again, and what it asks for next is said at once.
        assert hints.next(1e9, lambda key: SLOW) is None
        hints.remark(1, 1.0)
        assert hints.next(1.0, lambda key: SLOW) == PublishHost(1, SLOW)


def test_host_that_nobody_took_is_said_again_soon() -> None:
    hints = HostHints()
    hints.remark(1, 0.0)
    hints.next(0.0, lambda key: SLOW)
    hints.not_stored(1, 0.0)

    assert hints.next(RETRY_S - 1, lambda key: SLOW) is None
    assert hints.next(RETRY_S, lambda key: SLOW) == PublishHost(1, SLOW)


def test_memory_is_bounded_however_many_hosts_ask_for_more() -> None:
    hints = HostHints()
    for key in range(HOSTS_MAX + 1_000):
        hints.remark(key, 0.0)
        hints.remark(key, 1.0)

    said = takewhile(bool, (hints.next(2.0, lambda key: SLOW) for _ in count()))
    assert sum(1 for _ in said) == HOSTS_MAX
