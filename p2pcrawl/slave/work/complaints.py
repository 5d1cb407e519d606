"""The complaints of spiders' code, in the log: each place with its traceback once, then only counted.

Every page that failed keeps its traceback in the frontier; a million lines of log would say no more.
"""

from __future__ import annotations

import logging
import traceback
from collections import Counter

PLACES_MAX = 1_000

_Place = tuple[str, str, int]


class Complaints:
    """One per job and slave. ``log_counts`` says what was only counted."""

    def __init__(self, logger: logging.LoggerAdapter[logging.Logger]) -> None:
        self._logger = logger
        self._seen: Counter[_Place] = Counter()

    def raised(self, url: str, error: BaseException, trace: str) -> None:
        """Logs that the spider raised ``error``, of which ``trace`` tells, on this page."""
        place = _place_of(error)
        level = logging.DEBUG
        if place in self._seen or len(self._seen) < PLACES_MAX:
            self._seen[place] += 1
            if self._seen[place] == 1:
                level = logging.ERROR
        self._logger.log(level, "the spider raised on %s\n%s", url, trace.rstrip())

    def log_counts(self) -> None:
        for (kind, file, line), count in self._seen.items():
            if count > 1:
                self._logger.error("%s at %s:%d was raised %d times", kind, file, line, count)
        self._seen.clear()


def _place_of(error: BaseException) -> _Place:
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return (type(error).__name__, "", 0)
    return (type(error).__name__, frames[-1].filename, frames[-1].lineno or 0)
