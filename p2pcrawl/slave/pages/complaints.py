"""The complaints of spiders' code, in the log: each place with its traceback once, then only counted.

Every page that failed keeps its traceback in the frontier; a million lines of log would say no more. Items that are
dropped are told of in the same way, by where and as what they are.
"""

from __future__ import annotations

import logging
import traceback
from collections import Counter
from typing import Any

from p2pcrawl.model.crawl.job import page_name
from p2pcrawl.model.errors import DropItem
from p2pcrawl.spiders.aids.log_formatter import level_named

PLACES_MAX = 1_000

_Place = tuple[str, str, int]


class Complaints:
    """One per job and slave. ``log_counts`` says what was only counted."""

    def __init__(self, logger: logging.LoggerAdapter[logging.Logger]) -> None:
        self._logger = logger
        self._seen: Counter[_Place] = Counter()
        self._dropped: Counter[_Place] = Counter()

    def raised(self, url: str, error: BaseException, trace: str) -> None:
        """Logs that the spider raised ``error``, of which ``trace`` tells, on this page."""
        level = logging.ERROR if _is_first(self._seen, error) else logging.DEBUG
        self._logger.log(level, "the spider raised on %s\n%s", page_name(url), trace.rstrip())

    def item_failed(self, url: str, error: BaseException, trace: str) -> None:
        """Logs that an item of this page failed with ``error``, of which ``trace`` tells."""
        level = logging.ERROR if _is_first(self._seen, error) else logging.DEBUG
        self._logger.log(level, "an item of %s failed\n%s", page_name(url), trace.rstrip())

    def item_dropped(self, url: str, item: Any, error: DropItem) -> None:
        """Logs that a pipeline dropped an item of this page, and why."""
        wanted = level_named(error.log_level, logging.WARNING)
        level = wanted if _is_first(self._dropped, error) else min(wanted, logging.DEBUG)
        if self._logger.isEnabledFor(level):
            self._logger.log(level, "an item of %s was dropped: %s\n%.2000r", url, error, item)

    def log_counts(self) -> None:
        """Says how often what was only counted came."""
        for (kind, file, line), count in self._seen.items():
            if count > 1:
                self._logger.error("%s at %s:%d was raised %d times", kind, file, line, count)
        for (kind, file, line), count in self._dropped.items():
            if count > 1:
                self._logger.warning("%d items were dropped by %s at %s:%d", count, kind, file, line)
        self._seen.clear()
        self._dropped.clear()


def _is_first(seen: Counter[_Place], error: BaseException) -> bool:
    """Counts an error at its place. Tells whether it is the first there."""
    place = _place_of(error)
    if place not in seen and len(seen) >= PLACES_MAX:
        return False
    seen[place] += 1
    return seen[place] == 1


def _place_of(error: BaseException) -> _Place:
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return (type(error).__name__, "", 0)
    return (type(error).__name__, frames[-1].filename, frames[-1].lineno or 0)
