"""Negative controls: mistakes on purpose, each with the checker that must tell of it."""

from __future__ import annotations

from dataclasses import dataclass

from ...play.options import Options
from .swaps import Swap

LIMIT_S = 150.0
"""Virtual seconds for the run of a control: what hangs because of it need not hang for long. Without the control they
are through in 30 to 125."""
LONG_S = 400.0
"""For a control that is seen only where its run, which it makes longer, comes to its end."""


@dataclass(frozen=True, slots=True)
class Control:
    """A cause that is put into the peers so that a checker must tell of it."""

    summary: str
    checker: str
    options: Options
    """A small run in which it shows."""
    swaps: tuple[Swap, ...]
    says: str = ""
    """Words of the checker that name the law which is broken, where it has many."""
