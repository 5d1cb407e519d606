"""The Retry-After header: for how long a host, or whoever takes what we post, wants to be left alone."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from p2pcrawl.model.choosing.setting_bounds import SECONDS_MAX


def retry_after_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """Returns the seconds that a Retry-After header asks for, SECONDS_MAX at most; None without a usable one.

    A date is read against the host's own clock where it tells it, for ours may be wrong, else against ``now``.
    """
    value = headers.get("Retry-After", "").strip()
    if not value:
        return None
    if value.isascii() and value.isdigit():
        return min(float(value[:12]), SECONDS_MAX)
    until = _date(value)
    if until is None:
        return None
    begin = _date(headers.get("Date", "")) or now
    return min(max(0.0, (until - begin).total_seconds()), SECONDS_MAX)


def _date(text: str) -> datetime | None:
    if not text or len(text) > 100:
        return None
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return date if date.tzinfo is not None else date.replace(tzinfo=UTC)
