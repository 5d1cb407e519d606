"""Trying a control: its run with the cause in the peers, and the same run without."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..controls import Control, control_of
from ..play.options import Options
from ..whole.simulation import Simulation

SEEDS = 6
"""A cause need not show in each run: the peers' order of events changes with their code. In one of so many it does."""


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of trying a control."""

    name: str
    checker: str
    """The one that must tell."""
    options: Options
    """The last run that was tried."""
    said: str
    """What the checker said of it; nothing if it did not tell, in any of the runs."""

    @property
    def passed(self) -> bool:
        """True if the cause was told of, and is the cause."""
        return bool(self.said)


def tried(name: str, *, twice: bool = True) -> Trial:
    """Runs a control until its checker tells. ``twice``: that counts only if it is silent without the control.

    Raises ValueError if there is none of this name.
    """
    control = control_of(name)
    options = control.options
    for seed in range(control.options.seed, control.options.seed + SEEDS):
        options = replace(control.options, seed=seed, control=name)
        said = _said(options, control)
        if said and not (twice and _said(replace(options, control=""), control)):
            return Trial(name, control.checker, options, said)
    return Trial(name, control.checker, options, "")


def _said(options: Options, control: Control) -> str:
    found = [
        violation.what for violation in Simulation(options).run().violations if violation.checker == control.checker
    ]
    return next((what for what in found if control.says in what), "")
