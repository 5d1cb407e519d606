"""Failures: which of two runs have failed the same way."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..checkers import Violation
from ..whole.outcome import Report

WORDS = 6
"""So many different words of what a checker says are compared."""
_NAMES = re.compile(r"\w+://\S+|\b[ms]\d+\b|\([^)]*\)|'[^']*'")
_WORD = re.compile(r"[a-z-]+")


@dataclass(frozen=True, slots=True)
class Failure:
    """A law that was broken, and how: the first words of what was said, without names and numbers."""

    checker: str
    kind: tuple[str, ...]

    def came_in(self, report: Report) -> bool:
        """Tells whether a run has failed like this."""
        return any(failure_of(violation) == self for violation in report.violations)


def failure_of(violation: Violation) -> Failure:
    """Returns the way in which a law is broken."""
    said = dict.fromkeys(_WORD.findall(_NAMES.sub(" ", violation.what.lower())))
    return Failure(violation.checker, tuple(said)[:WORDS])
