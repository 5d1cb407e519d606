"""Mutants: the catalogue of small plausible mistakes in the protocol, each of which some checker should notice.

What is noticed says how much a green swarm is worth; what is not shows where nobody looks.
"""

from __future__ import annotations

from .making.mutant import Mutant, Slip


def mutants() -> dict[str, Mutant]:
    """Returns all mutants by name, area after area."""
    # Here, not above: only who asks for mutants reads all of them.
    from .catalogue.areas import MUTANTS

    return MUTANTS


__all__ = ["Mutant", "Slip", "mutants"]
