"""What must hold after every run, whatever happened in it. Each checker says in words what it found amiss.

They look at what the web saw, at the files in the data folders and at the results, not at what the masters say of
themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from simulations.checkers import conservation, coverage, fetches, finish, items, ownership, politeness, quiet
from simulations.checkers.evidence import Evidence, Violation

CHECKERS: dict[str, Callable[[Evidence], Iterator[str]]] = {
    "coverage": coverage.check,
    "items": items.check,
    "fetches": fetches.check,
    "politeness": politeness.check,
    "conservation": conservation.check,
    "finish": finish.check,
    "ownership": ownership.check,
    "quiet": quiet.check,
}


def violations(evidence: Evidence) -> list[Violation]:
    """All that is amiss."""
    return [Violation(name, what) for name, check in CHECKERS.items() for what in check(evidence)]


__all__ = ["CHECKERS", "Evidence", "Violation", "violations"]
