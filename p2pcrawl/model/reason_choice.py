"""Reasons why pages are not there, as people name them: one that is in records, a few under one word, or a status.

``no-such-name`` is a reason itself; ``unknown-host`` and ``host-gone`` are words for several; ``http-404`` is the one
status of ``http-4xx``. Whoever lists, exports or takes up pages by their reason reads it here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import Final

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.model.outcome import Drop, Failure, Filter


class Outside(StrEnum):
    """The ways in which a link or a page ends without being one of the job's results."""

    FAILED = "failed"
    """It was tried, in vain."""
    DROPPED = "dropped"
    """It was not to be fetched, or not to be kept."""
    FILTERED = "filtered"
    """A slave did not follow the link: there is no record of it, only a count and some examples."""


_UNKNOWN_HOST: Final = (Failure.NO_NAME, Failure.DNS, Drop.ROBOTS_UNKNOWN_HOST)
WORDS: Final[Mapping[str, tuple[Failure | Drop, ...]]] = {
    "unknown-host": _UNKNOWN_HOST,
    "host-gone": (
        *_UNKNOWN_HOST,
        *(Failure.HOST_DOWN, Failure.CONNECT, Failure.CONNECT_TIMEOUT, Drop.ROBOTS_UNREACHABLE),
    ),
}
"""What several reasons are called together."""
_STATUS: Final = re.compile(r"http-([1-5]\d\d)").fullmatch
_FILTERS: Final = frozenset(map(str, Filter))
_KNOWN: Final = frozenset({*Failure, *Drop, *Filter}) - {Filter.SEEN}


@dataclass(frozen=True, slots=True)
class ReasonChoice:
    """Some reasons, and perhaps the one status that is meant; no ``reasons`` mean all."""

    reasons: tuple[str, ...] = ()
    status: int = 0

    def covers(self, reason: str, status: int) -> bool:
        """Tells whether a page that ended so is meant."""
        return (not self.reasons or reason in self.reasons) and (not self.status or status == self.status)


EVERY_REASON: Final = ReasonChoice()


def reasons_named(text: str) -> ReasonChoice:
    """Reads a reason as people name it; "" is every one. Raises ConfigurationError for what is none, with the nearest
    that is.
    """
    if not text:
        return EVERY_REASON
    if text in WORDS:
        return ReasonChoice(tuple(map(str, WORDS[text])))
    if text in _KNOWN:
        return ReasonChoice((text,))
    if status := _STATUS(text):
        kinds = {"4": Failure.HTTP_4XX, "5": Failure.HTTP_5XX}
        kind = Failure.HTTP_429 if status[1] == "429" else kinds.get(status[1][0], Failure.HTTP_OTHER)
        return ReasonChoice((str(kind),), int(status[1]))
    near = get_close_matches(text, sorted({*map(str, _KNOWN), *WORDS}), 3)
    hint = f"did you mean {' or '.join(near)}?" if near else "`p2pcrawl why --summary` lists those that there are"
    raise ConfigurationError(f"{text!r:.60} is not a reason: {hint}")


def pages_named(text: str) -> ReasonChoice:
    """Reads a reason of which there are records. Raises ConfigurationError, too, for one of which none are kept."""
    choice = reasons_named(text)
    for reason in choice.reasons:
        if reason in _FILTERS:
            raise ConfigurationError(
                f"links that are not followed ({reason}) are counted, and leave no records: --summary has examples"
            )
    return choice
