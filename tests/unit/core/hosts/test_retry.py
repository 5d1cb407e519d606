"""The table of retries."""

from __future__ import annotations

import pytest

from p2pcrawl.core.hosts.retry import retry_in_s
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.outcome import Failure

PASSING = {
    Failure.DNS, Failure.CONNECT, Failure.CONNECT_TIMEOUT, Failure.FIRST_BYTE_TIMEOUT, Failure.TOTAL_TIMEOUT,
    Failure.LOST_CONNECTION, Failure.PROTOCOL, Failure.PROXY, Failure.HTTP_429, Failure.HTTP_5XX, Failure.NO_NAME,
    Failure.NETWORK,
}  # fmt: skip


@pytest.mark.parametrize("failure", Failure)
def test_only_failures_that_may_pass_are_tried_again(failure: Failure) -> None:
    assert (retry_in_s(failure, 1, Settings()) is not None) == (failure in PASSING)


def test_delay_doubles_up_to_its_limit_and_attempts_end() -> None:
    settings = Settings(retry_times=4, retry_backoff=1.0, retry_backoff_max=5.0)

    delays = [retry_in_s(Failure.CONNECT, attempt, settings) for attempt in range(1, 7)]

    assert delays == [1.0, 2.0, 4.0, 5.0, None, None]


def delays_of(failure: Failure, settings: Settings) -> list[float]:
    """Between the attempts, up to the last."""
    delays: list[float] = []
    while (delay := retry_in_s(failure, len(delays) + 1, settings)) is not None:
        delays.append(delay)
    return delays


def test_name_that_does_not_exist_is_confirmed_once() -> None:
    assert delays_of(Failure.NO_NAME, Settings()) == [2.0]
    assert delays_of(Failure.NO_NAME, Settings(retry_times=5)) == [2.0]
    assert delays_of(Failure.NO_NAME, Settings(retry_times=0)) == []


@pytest.mark.parametrize("failure", [Failure.DNS, Failure.NETWORK])
def test_name_server_or_network_that_is_away_for_five_minutes_costs_no_page(failure: Failure) -> None:
    delays = delays_of(failure, Settings())

    assert sum(delays) > 300.0
    assert max(delays) <= 60.0
    assert delays_of(failure, Settings(retry_times=0)) == []


@pytest.mark.parametrize(
    ("failure", "status", "again"),
    [
        (Failure.HTTP_5XX, 503, True),
        (Failure.HTTP_5XX, 501, False),
        (Failure.HTTP_4XX, 408, True),
        (Failure.HTTP_4XX, 404, False),
        (Failure.HTTP_429, 429, True),
        (Failure.TOO_LARGE, 503, False),
    ],
)
def test_statuses_are_tried_again_as_the_setting_says(failure: Failure, status: int, again: bool) -> None:
    assert (retry_in_s(failure, 1, Settings(), status=status) is not None) == again


def test_retries_can_be_switched_off() -> None:
    assert retry_in_s(Failure.CONNECT, 1, Settings(retry_enabled=False)) is None
    assert retry_in_s(Failure.CONNECT, 1, Settings(retry_times=0)) is None


def test_endless_attempts_do_not_overflow() -> None:
    assert retry_in_s(Failure.CONNECT, 900, Settings(retry_times=10_000)) == Settings().retry_backoff_max
    assert retry_in_s(Failure.CONNECT, 5_000, Settings(retry_times=10_000)) == Settings().retry_backoff_max


@pytest.mark.parametrize("settings", [{"proxy_pool": ("http://p:1",)}, {"session_pool": 3}])
@pytest.mark.parametrize("failure", [Failure.PROXY, Failure.BANNED])
def test_troubles_of_a_pool_have_attempts_of_their_own_and_soon(failure: Failure, settings: dict[str, object]) -> None:
    delays = delays_of(failure, Settings().updated({"proxy_retry_times": 4, "retry_times": 1, **settings}))

    assert delays == [0.25, 0.5, 0.75, 1.0]


def test_ban_is_no_failure_that_passes_where_there_is_no_pool() -> None:
    assert delays_of(Failure.BANNED, Settings()) == []
