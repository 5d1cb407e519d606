"""The rule which answers reach the spider, by their status."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from p2pcrawl.fetch.components.chain import Component
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import SECONDS_MAX, Settings
from p2pcrawl.model.errors import FetchError
from p2pcrawl.model.outcome import Failure


class StatusError(FetchError):
    """The host answered, but not with a page that anyone asked for."""

    def __init__(self, kind: Failure, answer: Answer) -> None:
        super().__init__(kind, f"status {answer.status}")
        self.answer = answer
        self.retry_after_s = retry_after_s(answer.headers)


class HttpStatus(Component):
    """Raises StatusError for what is not 2xx, unless settings, the spider or the request want to see it."""

    order = 550

    def __init__(self, settings: Settings, handled: Collection[int] = ()) -> None:
        self._all = settings.httperror_allow_all
        self._allowed = frozenset((*settings.httperror_allowed_codes, *handled))

    def process_answer(self, request: Request, answer: Answer) -> Answer:
        status = answer.status
        if 200 <= status < 300 or self._all or status in self._allowed or wants_status(request.meta, status):
            return answer
        raise StatusError(_kind(status), answer)


def wants_status(meta: Mapping[str, Any], status: int) -> bool:
    """Tells whether a request asked to handle ``status`` itself, by handle_httpstatus_all or handle_httpstatus_list."""
    if not meta:
        return False
    return bool(meta.get("handle_httpstatus_all")) or status in meta.get("handle_httpstatus_list", ())


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Returns the seconds that a Retry-After header asks for, SECONDS_MAX at most; None without a usable one.

    A date is read against the host's own clock where it tells it: ours may be wrong.
    """
    value = headers.get("Retry-After", "").strip()
    if not value:
        return None
    if value.isascii() and value.isdigit():
        return min(float(value[:12]), SECONDS_MAX)
    until = _date(value)
    if until is None:
        return None
    now = _date(headers.get("Date", "")) or datetime.now(UTC)
    return min(max(0.0, (until - now).total_seconds()), SECONDS_MAX)


def _date(text: str) -> datetime | None:
    if not text or len(text) > 100:
        return None
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return date if date.tzinfo is not None else date.replace(tzinfo=UTC)


def _kind(status: int) -> Failure:
    if status == 429:
        return Failure.HTTP_429
    if 500 <= status < 600:
        return Failure.HTTP_5XX
    if 400 <= status < 500:
        return Failure.HTTP_4XX
    return Failure.HTTP_OTHER
