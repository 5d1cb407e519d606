"""All mutants by name. New protocol code comes with its own, in the module of its area."""

from __future__ import annotations

from ..making.mutant import Mutant
from . import (
    of_copies,
    of_frontier,
    of_handover,
    of_keeping,
    of_majority,
    of_membership,
    of_ownership,
    of_standings,
    of_takeover,
)

_AREAS: tuple[tuple[Mutant, ...], ...] = (
    of_copies.MUTANTS,
    of_frontier.MUTANTS,
    of_handover.MUTANTS,
    of_keeping.MUTANTS,
    of_majority.MUTANTS,
    of_membership.MUTANTS,
    of_ownership.MUTANTS,
    of_standings.MUTANTS,
    of_takeover.MUTANTS,
)

MUTANTS: dict[str, Mutant] = {mutant.name: mutant for area in _AREAS for mutant in area}
if len(MUTANTS) != sum(map(len, _AREAS)):
    raise ValueError("two mutants have one name")
