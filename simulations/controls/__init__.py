"""Negative controls: causes that are put into the peers, each of which a checker must tell of.

A checker that never fails says nothing. Each control swaps a piece of the peers' real code for one that does what must
never be done, in a run in which that shows; without it the same run has nothing amiss.
"""

from __future__ import annotations

from .making.control import Control


def controls() -> dict[str, Control]:
    """Returns all controls by name."""
    # Here, not above: only who asks for controls depends on every piece that one swaps being where it was.
    from .registry import CONTROLS

    return CONTROLS


def control_of(name: str) -> Control:
    """Raises ValueError if there is none of this name."""
    if name not in controls():
        raise ValueError(f"there is no control {name!r}; there are {', '.join(controls())}")
    return controls()[name]


__all__ = ["Control", "control_of", "controls"]
