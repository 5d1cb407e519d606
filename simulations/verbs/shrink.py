"""``shrink``: a failure reduced to the least that still fails."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from p2pcrawl.model.errors import ConfigurationError

from ..kernel.own_name import COMMAND
from ..report.outputs import refuse_unwritable
from ..report.telling import shortened
from ..shrink.case import Case, case_of, recorded, text_of
from ..shrink.failures import Failure, failure_of
from ..shrink.reduction import Reduction, TimeIsUp
from ..shrink.story import story_of
from ..shrink.timing import began
from ..whole.outcome import Report
from ..whole.plan import Plan
from ..whole.simulation import Simulation
from .asked import add_plan_options, plan_of, refuse_options
from .run import seed_plan

EXAMPLES = f"""\
  {COMMAND} shrink 1234                      # a seed of a swarm that failed
  {COMMAND} shrink 1234 --draws limits       # and with what it was run with besides
  {COMMAND} shrink 5 --mutant condemned-untold
  {COMMAND} shrink fails.toml -o least.toml
  {COMMAND} shrink churn --seed 7 --masters 5 --minutes 5"""
MINUTES = 10.0


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what", metavar="SEED|PLAN.toml|SCENARIO", help="a seed of a swarm, a plan's file, or a scenario"
    )
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="the plan's file (default shrunk-WHAT.toml)")
    parser.add_argument("--checker", metavar="NAME", help="the one that must tell (default: the first that does)")
    parser.add_argument("--minutes", type=float, default=MINUTES, help=f"real time at most (default {MINUTES:g})")
    add_plan_options(parser)


def run(asked: argparse.Namespace) -> int:
    """Shrinks a failure, prints it as a story and writes it as a plan; 1 if there is one, 0 if nothing is amiss.

    Raises ConfigurationError for what cannot be run or written.
    """
    plan = _plan(asked)
    path: Path = asked.output or Path(f"shrunk-{Path(asked.what).stem}.toml")
    refuse_unwritable(path)
    print(f"{plan.command}", flush=True)
    report = Simulation(plan, hasty=True, judge=asked.checker or "").run()
    told = next((each for each in report.violations if asked.checker in (None, each.checker)), None)
    if told is None:
        print("nothing is amiss" if asked.checker is None else f"{asked.checker} has nothing to tell")
        return 0
    print(f"{told.checker}: {shortened(told.what, 200)}", flush=True)
    reduction = _reduction(_case(plan, report), failure_of(told), asked.minutes)
    try:
        reduction.run()
    except TimeIsUp:
        print(f"the time is up after {reduction.trials} trials", file=sys.stderr)
    finally:
        # Also when somebody has seen enough: what was found by then is worth having.
        if reduction.report is not None:
            _write(reduction, path)
    if reduction.report is None:
        raise ConfigurationError("the failure did not come again: it needs more than a plan can say")
    return 1


def _plan(asked: argparse.Namespace) -> Plan:
    if not asked.what.isdecimal():
        return plan_of(asked.what, asked)
    refuse_options(asked.what, asked, beside=("control", "draws", "mutant"))
    return seed_plan(int(asked.what), asked)


def _case(plan: Plan, report: Report) -> Case:
    """Returns the case of a plan; where a scenario acts by its own code, with what it was seen to do."""
    case = case_of(plan)
    return case if case.parts else recorded(case, report.deeds, began(report))


def _reduction(case: Case, failure: Failure, minutes: float) -> Reduction:
    print(f"{case.size}", flush=True)
    return Reduction(case, failure, 60.0 * minutes, lambda line: print(line, flush=True))


def _write(reduction: Reduction, path: Path) -> None:
    assert reduction.report is not None
    best, checker = reduction.best, reduction.failure.checker
    story = list(story_of(best, reduction.report, checker))
    cost = f"after {reduction.trials} trials and {time.process_time():.0f} s of CPU"
    print("\n".join(["", *story, "", f"{best.size}, {cost}"]))
    if best.options.mutant and not reduction.is_mutants():
        print(f"without {best.options.mutant} {checker} tells it, too")
    if best.plan.command:
        print(best.plan.command, flush=True)
        return
    path.write_text(text_of(best, story), encoding="utf-8")
    print(f"{COMMAND} run {path}", flush=True)
