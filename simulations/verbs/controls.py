"""``controls``: are the checkers able to fail?"""

from __future__ import annotations

import argparse
import sys
from textwrap import shorten

from p2pcrawl.model.errors import ConfigurationError

from ..checkers import CHECKERS
from ..controls import control_of, controls
from ..kernel.own_name import COMMAND
from ..parallel.processes import in_processes
from .asked import count
from .control_trial import tried

EXAMPLES = f"""\
  {COMMAND} controls
  {COMMAND} controls fencing-off fsync-off"""
SAID_MAX = 100
"""Characters of what a checker said, in the table; the run's own command shows all of it."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these (default: all)")
    parser.add_argument("--jobs", type=count, default=1, help="processes (default 1)")


def run(asked: argparse.Namespace) -> int:
    """Tries controls and prints a table; 1 if one passed unnoticed, or if a checker has none.

    Raises ConfigurationError for a control that there is not.
    """
    try:
        names = [name for name in asked.names or controls() if control_of(name)]
    except ValueError as error:
        raise ConfigurationError(str(error)) from None
    wide, high = max(map(len, controls())), max(map(len, CHECKERS))
    print(f"{'control':<{wide}}  {'checker':<{high}}  seed  what it said")
    unnoticed = 0
    for trial in in_processes(tried, names, asked.jobs):
        unnoticed += not trial.passed
        said = shorten(trial.said, SAID_MAX, placeholder=" ...") or "NOTHING"
        print(f"{trial.name:<{wide}}  {trial.checker:<{high}}  {trial.options.seed:>4}  {said}")
        print(f"{'':<{wide}}  {trial.options.command()}", flush=True)
    idle = sorted(set(CHECKERS) - {control.checker for control in controls().values()})
    print(f"{len(names)} controls, {unnoticed} unnoticed", file=sys.stderr)
    if idle:
        print(f"no control makes these fail: {', '.join(idle)}", file=sys.stderr)
    return 1 if unnoticed or idle else 0
