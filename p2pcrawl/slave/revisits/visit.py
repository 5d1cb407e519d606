"""A visit of a page: what is known of it goes along with its request, and what is learnt goes to the next visit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from p2pcrawl.fetch.components.status import StatusError
from p2pcrawl.model.choosing.revisit_period import revisit_period
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.model.http.headers import Headers
from p2pcrawl.model.outcome import NoPage
from p2pcrawl.model.page_past import ADAPTIVE, PagePast
from p2pcrawl.slave.revisits.content_digest import content_digest
from p2pcrawl.spiders.page.response import Response
from p2pcrawl.wire.messages.past_form import packed_past, past_in
from p2pcrawl.wire.messages.slave_messages import Outcome, Task

META: Final = "revisit"
"""The key of a request's meta that names a period of its own."""
_CONDITIONS: Final = (("If-None-Match", "etag"), ("If-Modified-Since", "modified"))
_GONE: Final = (404, 410)


class Visit:
    """One visit of a page. Raises ConfigurationError for a period that is none."""

    def __init__(self, task: Task, request: Request, settings: Settings) -> None:
        self._number = task.visit
        self._past = past_in(task.past)
        self._learnt: PagePast | None = None
        self._conditional = False
        self._settings = settings
        if META in request.meta:
            self._past = replace(self._past, own=_own_period(request.meta[META], settings))
        self._recurs = bool(self._past.own or settings.revisit_index or settings.revisit_detail)

    @property
    def was_there(self) -> bool:
        """Tells whether an earlier visit had the page."""
        return bool(self._number and self._past.asked)

    def ask(self, request: Request) -> None:
        """Asks only for what is new, unless the request has conditions of its own."""
        if not self.was_there or request.method != "GET" or not self._past.digest:
            return
        if any(name in request.headers for name, _ in _CONDITIONS):
            return
        for name, of in _CONDITIONS:
            if value := getattr(self._past, of):
                request.headers[name] = value
                self._conditional = True

    def mark(self, response: Response) -> None:
        """Tells the callback of a page which visit this is."""
        response.visit, response.changed = self._number, self.was_there

    def is_unchanged(self, response: Response, outcome: Outcome) -> bool:
        """Tells whether a page says what it said before, and completes its end if so. Raises TooSlow."""
        if not self._recurs:
            return False
        self._learnt = _with_validators(self._past, response.answer.headers)
        self._learnt = replace(self._learnt, digest=content_digest(response))
        if not self.was_there or self._learnt.digest != self._past.digest:
            return False
        outcome.reason, outcome.past = NoPage.UNCHANGED, packed_past(self._learnt)
        return True

    def recur_after(self, period: float | str) -> None:
        """Takes another period than its request named, now that the page is read. Raises ConfigurationError."""
        own = _own_period(period, self._settings)
        self._past = replace(self._past, own=own)
        self._recurs = self._recurs or bool(own)
        if self._learnt is not None:
            self._learnt = replace(self._learnt, own=own)

    def learn(self, outcome: Outcome) -> None:
        """Lets the next visit know what this one has learnt. Of a page that failed that is nothing new: it is to be had
        in full again.
        """
        kept = self._learnt if outcome.phase == Phase.DONE and self._learnt is not None else self._past
        if self._recurs and not outcome.past:
            outcome.past = packed_past(kept)

    def ends_without_page(self, error: StatusError, outcome: Outcome) -> bool:
        """Completes the end of a page that the host says is unchanged, or not there any more. Tells whether that is
        all: of a page that is gone errbacks hear once.
        """
        if not self.was_there:
            return False
        answer = error.answer
        if answer.status == 304 and self._conditional:
            outcome.phase, outcome.reason, outcome.detail = Phase.DONE, NoPage.UNCHANGED, ""
            outcome.past = packed_past(_with_validators(self._past, answer.headers, kept=True))
            return True
        if answer.status in _GONE:
            outcome.phase, outcome.reason = Phase.DONE, NoPage.GONE
            outcome.past = packed_past(replace(self._past, etag="", modified="", digest=b""))
            return self._past.gone > 0
        return False


def visit_for(task: Task, request: Request, settings: Settings) -> Visit | None:
    """Returns the visit that a task is; None in a crawl that never asks for a page again."""
    if not (task.visit or settings.revisit_index or settings.revisit_detail or META in request.meta):
        return None
    return Visit(task, request, settings)


def _own_period(value: Any, settings: Settings) -> int:
    seconds = revisit_period(value, f"meta[{META!r}]")
    if isinstance(seconds, str):
        return ADAPTIVE
    if seconds > settings.revisit_max:
        raise ConfigurationError(
            f"meta[{META!r}] is {seconds:g} s, longer than REVISIT_MAX ({settings.revisit_max:g} s)"
        )
    return round(seconds)


def _with_validators(past: PagePast, headers: Headers | Any, *, kept: bool = False) -> PagePast:
    etag, modified = (_sendable(headers.get(name)) for name in ("ETag", "Last-Modified"))
    if kept:
        etag, modified = etag or past.etag, modified or past.modified
    return replace(past, etag=etag, modified=modified)


def _sendable(validator: str | None) -> str:
    """Returns a validator as it can be sent back; "" for what no header can hold."""
    return str(validator) if validator and validator.isascii() and validator.isprintable() else ""
