"""The lines of the log about pages: each one at DEBUG, and the first that fail at WARNING, so that nobody is left in
the dark and no log fills up. Of a URL they have as many characters as a link may have by default: start URLs, which
know no limit, may have megabytes.
"""

from __future__ import annotations

import logging
from collections import Counter

from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.outcome import Failure, NoPage
from p2pcrawl.wire.messages.slave_messages import Outcome

log = logging.getLogger(__name__)

TOLD_MAX = 3
"""Failures of a reason that a slave tells at WARNING; what follows is told at DEBUG, and counted."""
_HAS_A_TRACEBACK = (Failure.CALLBACK, Failure.ITEM)


class PageLog:
    """One per job and slave. ``name``: the spider's. ``log_counts`` says what was only counted."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._failed: Counter[str] = Counter()
        self._cut = 0

    def answered(self, method: str, url: str, status: int, referer: str | None) -> None:
        """Says that a page has come."""
        log.debug("Crawled (%s) <%s %.2083s> (referer: %.2083s)", status, method, url, referer)

    def ended(self, url: str, outcome: Outcome, attempt: int) -> None:
        """Says what became of a page that did not simply succeed."""
        reason, detail = outcome.reason, _in_a_line(outcome.detail)
        match outcome.phase:
            case Phase.FAILED:
                self._tell_failed(url, reason, detail)
            case Phase.QUEUED:
                wait_s = outcome.retry_in_s
                log.debug("%.2083s: %s%s; attempt %d, again in %.1f s", url, reason, detail, attempt, wait_s)
            case Phase.DROPPED:
                log.debug("%.2083s is left alone: %s%s", url, reason, detail)
            case Phase.DONE if reason == NoPage.REDIRECT:
                log.debug("Redirecting (%s) from %.2083s to %.2083s", outcome.status, url, outcome.detail)

    def cut(self, url: str, left_unread: int) -> None:
        """Says that parsers got only the beginning of a page."""
        self._cut += 1
        level = logging.WARNING if self._cut <= TOLD_MAX else logging.DEBUG
        log.log(level, "%.2083s has too many elements: its last %d bytes were not parsed", url, left_unread)

    def _tell_failed(self, url: str, reason: str, detail: str) -> None:
        if reason in _HAS_A_TRACEBACK:
            # It was told with its traceback.
            return
        self._failed[reason] += 1
        level = logging.WARNING if self._failed[reason] <= TOLD_MAX else logging.DEBUG
        log.log(level, "%.2083s failed: %s%s", url, reason, detail)

    def log_counts(self) -> None:
        """Says how many failures were only counted."""
        for reason, count in self._failed.items():
            if count > TOLD_MAX:
                log.warning("%s: %s, %d more pages failed", self._name, reason, count - TOLD_MAX)
        if self._cut > TOLD_MAX:
            log.warning("%s: %d more pages were not parsed to their end", self._name, self._cut - TOLD_MAX)
        self._failed.clear()
        self._cut = 0


def left_out(url: str, reason: str) -> None:
    """Says that a link is not followed, and why."""
    log.debug("Filtered %.2083s: %s", url, reason)


def _in_a_line(detail: str) -> str:
    lines = detail.strip().splitlines()
    if not lines:
        return ""
    # A traceback says at its end what happened.
    line = lines[-1] if lines[0].startswith("Traceback ") else lines[0]
    return f" ({line[:300]})"
