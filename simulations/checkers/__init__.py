"""The checkers of what must hold after every run, whatever happened in it. Each says in words what it found amiss.

They look at what the web saw, at the files in the data folders and at the results, not at what the masters say of
themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..play.evidence import Evidence, Violation
from .cluster import balance, bounds, copies, healing, membership, movement, ownership, parts, quiet
from .history import acknowledged, ballots, consents, counted, endings, handovers, permissions, rumours, tables, verbs
from .wanted import boards, closed, duplicates, entries, reextraction, scheduled, throttling, visits
from .work import (
    answers,
    children,
    conservation,
    contents,
    coverage,
    deleted,
    delivered,
    durability,
    fetches,
    finish,
    items,
    politeness,
    robots,
    statements,
    told,
)

CHECKERS: dict[str, Callable[[Evidence], Iterator[str]]] = {
    "coverage": coverage.check,
    "children": children.check,
    "durability": durability.check,
    "copies": copies.check,
    "items": items.check,
    "contents": contents.check,
    "duplicates": duplicates.check,
    "answers": answers.check,
    "delivered": delivered.check,
    "entries": entries.check,
    "deleted": deleted.check,
    "scheduled": scheduled.check,
    "boards": boards.check,
    "reextraction": reextraction.check,
    "fetches": fetches.check,
    "visits": visits.check,
    "throttling": throttling.check,
    "closed": closed.check,
    "politeness": politeness.check,
    "robots": robots.check,
    "conservation": conservation.check,
    "finish": finish.check,
    "statements": statements.check,
    "acknowledged": acknowledged.check,
    "tables": tables.check,
    "counted": counted.check,
    "handovers": handovers.check,
    "endings": endings.check,
    "permissions": permissions.check,
    "verbs": verbs.check,
    "told": told.check,
    "ballots": ballots.check,
    "consents": consents.check,
    "rumours": rumours.check,
    "ownership": ownership.check,
    "parts": parts.check,
    "movement": movement.check,
    "balance": balance.check,
    "membership": membership.check,
    "healing": healing.check,
    "bounds": bounds.check,
    "quiet": quiet.check,
}


def violations(evidence: Evidence) -> list[Violation]:
    """Runs all checkers over the evidence and returns all that is amiss."""
    return [Violation(name, what) for name, check in CHECKERS.items() for what in check(evidence)]


__all__ = ["CHECKERS", "Evidence", "Violation", "violations"]
