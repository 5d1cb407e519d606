"""``report``: runs simulations and writes a page with pictures."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..kernel.own_name import COMMAND, example
from ..report.outputs import refuse_unwritable
from ..report.page import page
from ..report.telling import verdict
from ..whole.outcome import Progress
from ..whole.plan import Plan
from ..whole.simulation import Simulation
from .asked import add_plan_options, plan_of, refuse_options
from .run import drawn

EXAMPLES = f"""\
  {COMMAND} report churn -o churn.html
  {COMMAND} report steady churn massacre --masters 9 --seed 4 -o compared.html
  {COMMAND} report {example("outage.toml")} -o outage.html
  {COMMAND} report 13 -o seed-13.html"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs",
        nargs="+",
        metavar="RUN",
        help="a scenario, a plan's file (.toml), or a seed of a swarm; several compare",
    )
    parser.add_argument("-o", "--output", type=Path, default=Path("report.html"), metavar="FILE", help="(report.html)")
    add_plan_options(parser)


def run(asked: argparse.Namespace) -> int:
    """Runs all that is asked for, one after the other; 1 when something is amiss in any."""
    # All of them first: a mistake in the last should not show after the others have run.
    plans = [_plan_of(what, asked) for what in asked.runs]
    refuse_unwritable(asked.output)
    reports = []
    for place, plan in enumerate(plans, 1):
        print(plan.command, flush=True)
        reports.append(Simulation(plan, _tell).run())
        print(f"{place} of {len(plans)}: {verdict(reports[-1])}", flush=True)
        # What there is can be looked at while the rest goes on.
        asked.output.write_text(page(reports), encoding="utf-8")
    print(f"written to {asked.output}", file=sys.stderr)
    return 1 if any(report.violations for report in reports) else 0


def _plan_of(what: str, asked: argparse.Namespace) -> Plan:
    if not what.isdecimal():
        return plan_of(what, asked)
    refuse_options(f"seed {what}", asked)
    return Plan(drawn(int(what)))


def _tell(progress: Progress) -> None:
    print(progress, flush=True)
