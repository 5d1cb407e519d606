"""The rule which answers reach the spider, by their status."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from p2pcrawl.core.hosts.retry import retry_in_s
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
    ``handle_httpstatus_list`` is all that it wants, whatever the others say), the spider by a list of its own, or the
    settings where it has none.
    """

    order = 0
    """Nearer to the spider than middlewares, which see answers of any status."""

    def __init__(self, settings: Settings, handled: Collection[int] | None = None) -> None:
        self._all = settings.httperror_allow_all
        self._allowed = frozenset(settings.httperror_allowed_codes if handled is None else handled)

    def process_answer(self, request: Request, answer: Answer) -> Answer:
        if self.wants(request, answer.status):
            return answer
        raise StatusError(_kind(answer.status), answer)

    def wants(self, request: Request, status: int) -> bool:
        """Tells whether an answer of this status is for the spider."""
        meta = request.meta
        if 200 <= status < 300 or (meta and meta.get("handle_httpstatus_all")):
            return True
        wanted = meta.get("handle_httpstatus_list") if meta else None
        return self._all or status in self._allowed if wanted is None else status in wanted


class Retry(Component):
    """Keeps middlewares that are nearer to the spider from what is tried again: raises StatusError for such an answer,
    and lets such a failure pass them by.
    """

    order = 550

    def __init__(self, settings: Settings, statuses: HttpStatus, retried: tuple[type[BaseException], ...] = ()) -> None:
        self._settings = settings
        self._retried = retried
        self._statuses = statuses

    def process_answer(self, request: Request, answer: Answer) -> Answer:
        status = answer.status
        if 200 <= status < 300 or self._statuses.wants(request, status):
            return answer
        kind = _kind(status)
        if self.again_in_s(request, kind, status) is None:
            return answer
        raise StatusError(kind, answer)

    def process_error(self, request: Request, error: Exception) -> None:
        if isinstance(error, FetchError) and self.again_after_s(request, error) is not None:
            raise error

    def again_after_s(self, request: Request, error: Exception, status: int = 0) -> float | None:
        """Returns the seconds until a request is made again for which an exception was raised; None: it is not.

        Exceptions of people's own are tried again where they are named.
        """
        named = isinstance(error, self._retried)
        if not isinstance(error, FetchError):
            return self.again_in_s(request, Failure.CONNECT) if named else None
        known = not isinstance(error, StatusError) and type(error) is not FetchError
        return self.again_in_s(request, error.kind, status) if named or not (known and self._retried) else None

    def again_in_s(self, request: Request, kind: Failure, status: int = 0) -> float | None:
        """Returns the seconds until a request that failed is made again; None: it is not."""
        settings, meta = self._settings, request.meta
        if meta.get("dont_retry"):
            return None
        if "max_retry_times" in meta:
            settings = replace(settings, retry_times=int(meta["max_retry_times"]))
        return retry_in_s(kind, int(meta.get("retry_times", 0)) + 1, settings, status=status)


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
