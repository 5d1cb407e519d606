"""The rule which answers reach the spider, by their status."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any

from p2pcrawl.core.hosts.retry_after import retry_after_s
from p2pcrawl.fetch.components.chain import Component
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import FetchError
from p2pcrawl.model.outcome import Failure


class StatusError(FetchError):
    """The host answered, but not with a page that anyone asked for."""

    def __init__(self, kind: Failure, answer: Answer) -> None:
        super().__init__(kind, f"status {answer.status}")
        self.answer = answer
        self.response: Any = None
        """What an errback gets of the answer, where there is one."""
        self.retry_after_s = retry_after_s(answer.headers, datetime.now(UTC))


class HttpStatus(Component):
    """Raises StatusError for what is not 2xx, unless somebody wants to see it: the request (its
    ``handle_httpstatus_list`` is all that it wants, whatever the others say), the spider or the settings.
    """

    order = 550

    def __init__(self, settings: Settings, handled: Collection[int] = ()) -> None:
        self._all = settings.httperror_allow_all
        self._allowed = frozenset((*settings.httperror_allowed_codes, *handled))

    def process_answer(self, request: Request, answer: Answer) -> Answer:
        status, meta = answer.status, request.meta
        if 200 <= status < 300 or (meta and meta.get("handle_httpstatus_all")):
            return answer
        wanted = meta.get("handle_httpstatus_list") if meta else None
        if self._all or status in self._allowed if wanted is None else status in wanted:
            return answer
        raise StatusError(_kind(status), answer)


def wants_status(meta: Mapping[str, Any], status: int) -> bool:
    """Tells whether a request asked to handle ``status`` itself, by handle_httpstatus_all or handle_httpstatus_list."""
    if not meta:
        return False
    return bool(meta.get("handle_httpstatus_all")) or status in meta.get("handle_httpstatus_list", ())


def _kind(status: int) -> Failure:
    if status == 429:
        return Failure.HTTP_429
    if 500 <= status < 600:
        return Failure.HTTP_5XX
    if 400 <= status < 500:
        return Failure.HTTP_4XX
    return Failure.HTTP_OTHER
