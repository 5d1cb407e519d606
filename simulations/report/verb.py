"""``report``: runs simulations and writes a page with pictures."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from p2pcrawl.model.errors import ConfigurationError
from simulations.asked import add_plan_options, plan_of
from simulations.outcome import Progress
from simulations.plan import Plan
from simulations.report.page import page
from simulations.run import drawn
from simulations.simulation import Simulation
from simulations.telling import verdict

EXAMPLES = """\
  python -m simulations report churn -o churn.html
  python -m simulations report steady churn massacre --masters 9 --seed 4 -o compared.html
  python -m simulations report simulations/examples/outage.toml -o outage.html
  python -m simulations report 13 -o seed-13.html"""


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
    plans = [Plan(drawn(int(what))) if what.isdecimal() else plan_of(what, asked) for what in asked.runs]
    try:
        asked.output.touch()
    except OSError as error:
        raise ConfigurationError(f"{asked.output}: {error.strerror}") from None
    reports = []
    for place, plan in enumerate(plans, 1):
        print(plan.command, flush=True)
        reports.append(Simulation(plan, _tell).run())
        print(f"{place} of {len(plans)}: {verdict(reports[-1])}", flush=True)
        # What there is can be looked at while the rest goes on.
        asked.output.write_text(page(reports))
    print(f"written to {asked.output}", file=sys.stderr)
    return 1 if any(report.violations for report in reports) else 0


def _tell(progress: Progress) -> None:
    print(progress, flush=True)
