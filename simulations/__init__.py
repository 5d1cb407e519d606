"""Deterministic simulations of p2pcrawl: virtual time, an in-memory network, one seed per run.

    from . import Options, Simulation

    report = Simulation(Options(scenario="churn", seed=7)).run()
    assert not report.violations, report.violations

docs/simulation.md tells what is simulated, what is checked, and how to put in one's own faults and spiders.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .kernel.paths import Law
    from .play.options import Options
    from .play.stage import Stage
    from .whole.outcome import Progress, Report
    from .whole.plan import MachinePlan, Plan
    from .whole.simulation import Simulation
    from .world.web import WebPlan

_HOMES = {
    "Law": "kernel.paths",
    "MachinePlan": "whole.plan",
    "Options": "play.options",
    "Plan": "whole.plan",
    "Progress": "whole.outcome",
    "Report": "whole.outcome",
    "Simulation": "whole.simulation",
    "Stage": "play.stage",
    "WebPlan": "world.web",
}

__all__ = ["Law", "MachinePlan", "Options", "Plan", "Progress", "Report", "Simulation", "Stage", "WebPlan"]


def __getattr__(name: str) -> Any:
    """Loads what is asked for: a test of one part, such as the loop, needs none of the peers."""
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
