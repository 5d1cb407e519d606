"""Oddities of webs: what is wrong with hosts besides what any web of a simulation has."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from ..play.options import Options

ODDITIES: dict[str, tuple[float, ...]] = {
    "busy": (0.0, 0.5, 0.9),
    "odd_robots": (0.0, 0.3, 0.6),
    "outages": (0.0, 0.2, 0.4),
    "slow_hosts": (0.0, 0.2),
    "far_redirects": (0.5, 1.0),
    "refusing": (0.0, 0.3, 0.6),
}
"""The values that may be drawn of each field of a web's plan."""
SEVERAL = (0.0, 0.5, 1.0)
"""Those of the share of pages that have several items."""


def drawn_oddities(seed: int) -> dict[str, float]:
    """Draws what is odd about a web."""
    dice = Random(f"{seed}/web besides")
    drawn = {name: dice.choice(values) for name, values in ODDITIES.items()}
    # By dice of its own, so that the others are as they were.
    return drawn | {"several": Random(f"{seed}/several items").choice(SEVERAL)}


ABSENT: Final = (0.3, 0.6, 1.0)
PRESENT: Final = frozenset(
    {
        "alone",
        "newcomers",
        "clearing",
        "inject",
        "boards",
        "reextraction",
        "scheduled",
        "living",
        "losses",
        "swarm",
        "clocks",
    }
)
"""Scenarios that count on hosts that answer, or have clocks that jump: what failed is visited again by the time of
day."""


def drawn_absences(options: Options) -> dict[str, Any]:
    """Draws how many hosts are away for minutes."""
    if options.scenario in PRESENT:
        return {}
    return {"absent": Random(f"{options.seed}/absences").choice(ABSENT)}
