"""Statements of sites about the use of their content, and what several of them come to.

A statement allows or forbids purposes, or is silent about them. Where statements of different kinds differ the most
restrictive one counts: what any of them forbids is forbidden. Within a kind its own rules say which statement stands
(a longer path, a page before its site).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from p2pcrawl.model.crawl.purpose import Purpose
from p2pcrawl.model.outcome import Drop

Verdicts = Mapping[Purpose, bool]
"""Whether a purpose is allowed, for those that are spoken of."""

SAID_MAX: Final = 500
"""Characters of a statement that are kept."""
POLICY_MAX: Final = 500
STATEMENTS_MAX: Final = 20
"""Statements whose words an item carries; all of them count."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement: ``said`` in its own words, found in ``place``. ``policy``: where a licence can be had."""

    by: Drop
    place: str
    said: str
    verdicts: Verdicts
    policy: str = ""

    @property
    def words(self) -> str:
        """The statement for people."""
        return f"{self.said[:SAID_MAX]} ({self.place})"


def forbidding(signals: Sequence[Statement], purposes: Collection[Purpose]) -> Statement | None:
    """Returns the first statement that forbids one of the purposes; None when nobody does."""
    for signal in signals:
        for purpose in purposes:
            if signal.verdicts.get(purpose) is False:
                return signal
    return None


def ground_of(signal: Statement, purposes: Collection[Purpose]) -> str:
    """Says in words why a page is left out."""
    against = ", ".join(p for p in purposes if signal.verdicts.get(p) is False)
    policy = f"; its policy: {signal.policy}" if signal.policy else ""
    return f"its site forbids {against}: {signal.words}{policy}"


def told(signals: Sequence[Statement]) -> dict[str, Any]:
    """Returns statements as plain data that an item can carry: each purpose that is spoken of with true or false, the
    words that say so, and where a licence can be had.
    """
    usage: dict[str, Any] = {}
    for signal in signals:
        for purpose, allowed in signal.verdicts.items():
            usage[purpose.value] = allowed and usage.get(purpose.value, True)
    if signals:
        usage["said"] = list(dict.fromkeys(signal.words for signal in signals))[:STATEMENTS_MAX]
    if policy := next((signal.policy for signal in signals if signal.policy), ""):
        usage["policy"] = policy
    return usage
