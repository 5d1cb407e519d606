"""The Retry-After header, as hosts and receivers of webhooks write it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from p2pcrawl.core.hosts.retry_after import retry_after_s
from p2pcrawl.model.choosing.setting_bounds import SECONDS_MAX

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "120"}, 120.0),
        ({"Retry-After": " 0 "}, 0.0),
        ({"Retry-After": "-5"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "9" * 5000}, SECONDS_MAX),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:30 GMT", "Date": "Wed, 21 Oct 2015 07:28:00 GMT"}, 30.0),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:30 GMT", "Date": "Wed, 21 Oct 2015 07:30:00 GMT"}, 0.0),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:30 GMT"}, 0.0),
        ({"Retry-After": "Thu, 01 Jan 2026 00:00:40 GMT"}, 40.0),
        ({"Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT"}, SECONDS_MAX),
        ({"Retry-After": "Wed, 99 Oct 99999999999999 07:28:30 GMT"}, None),
    ],
)
def test_retry_after_is_read_as_seconds_or_against_the_hosts_own_clock(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after_s(headers, NOW) == seconds
