"""The end of a page for which a middleware returned a request: that is made in its place, in its turn, durably.

The same page again is a retry of it, which waits for its back-off and is counted as one. What differs from it (another
URL, a proxy in its meta, other headers) is a page of its own, queued with the same report that ends this one.
"""

from __future__ import annotations

from typing import Any

from p2pcrawl.model.crawl.fingerprint import fingerprint
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.crawl.request import Request, callback_name
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import FetchError
from p2pcrawl.model.http.headers import Headers
from p2pcrawl.model.outcome import Drop, Failure, NoPage
from p2pcrawl.slave.middlewares.peoples import Requeued
from p2pcrawl.slave.pages.harvest import Harvest
from p2pcrawl.wire.messages.slave_messages import Outcome

_OF_A_SLAVE = ("retry_times", "depth", "download_latency")


class RequeueEnds:
    """Tells how pages end for which requests were returned. ``settings``: the crawl's."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        headers = {**settings.default_request_headers, "User-Agent": settings.user_agent}
        self._added = {name.lower(): value for name, value in headers.items()}

    def snapshot(self, request: Request) -> tuple[Any, ...]:
        """Returns what a request asks for, before components have changed it."""
        meta = {name: value for name, value in request.meta.items() if name not in _OF_A_SLAVE}
        plain = (callback_name(request.callback), callback_name(request.errback), request.cb_kwargs, request.cookies)
        return (_print(request), meta, *plain, self._own_headers(request).to_plain())

    def end(self, before: tuple[Any, ...], requeued: Requeued, harvest: Harvest, attempt: int) -> Outcome:
        """Returns the end of a page whose request was ``before``; ``attempt``: its number."""
        request, settings, error = requeued.request, self._settings, requeued.error
        if self.snapshot(request) == before:
            failed = error.kind if isinstance(error, FetchError) else Failure.MIDDLEWARE
            if not request.dont_filter and attempt > settings.retry_times:
                told = f"{requeued.by} returned its request more often than RETRY_TIMES allows"
                return Outcome(Phase.FAILED, failed, told)
            pause_s = min(settings.retry_backoff_max, settings.retry_backoff * 2.0 ** min(attempt - 1, 64))
            return Outcome(Phase.QUEUED, failed, f"{requeued.by} returned its request", retry_in_s=pause_s)
        request.headers = self._own_headers(request)
        if _print(request) == before[0]:
            request = request.replace(dont_filter=True)
        harvest.add_redirect(request)
        if not harvest.gathered:
            return Outcome(Phase.DROPPED, Drop.IGNORED, f"{requeued.by} returned {request.url}, which was left out")
        # Its host was asked, and has not answered: that counts, as where nothing was asked it does not.
        reason = NoPage.REQUEUED_UNANSWERED if isinstance(error, FetchError) else NoPage.REQUEUED
        return Outcome(Phase.DONE, reason, request.url)

    def _own_headers(self, request: Request) -> Headers:
        """Returns the headers that the request brought along: what components added is theirs to add again."""
        own = Headers()
        for name in request.headers:
            lower, values = name.lower(), request.headers.getlist(name)
            if values != [self._added.get(lower)] and not (lower == "cookie" and self._settings.cookies_enabled):
                own.setlist(name, values)
        return own


def _print(request: Request) -> bytes:
    return fingerprint(request.url, request.method, request.body)
