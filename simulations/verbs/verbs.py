"""The verbs of ``python -m simulations``, one for each kind of simulation."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NamedTuple

from ..journey import verb as journey
from ..kernel.own_name import COMMAND
from ..news import verb as news
from . import asked, controls, covered, growth, mutants, report, rings, run, shrink, swarm


class Verb(NamedTuple):
    """One simulation: what it is for, its options, and what runs it and gives the exit status."""

    summary: str
    add_options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
    examples: str = ""
    scenarios: bool = False
    """Its help lists them."""


RINGS_EXAMPLES = f"  {COMMAND} rings --nodes 20 --draws 50"
VERBS: dict[str, Verb] = {
    "run": Verb(
        "one scenario, or one plan, on a cluster of real peers", run.add_run_options, run.run, run.EXAMPLES, True
    ),
    "swarm": Verb("many scenarios, drawn from their seeds", swarm.add_swarm_options, swarm.swarm, swarm.EXAMPLES),
    "replay": Verb("one seed of a swarm again", run.add_replay_options, run.replay, run.REPLAY_EXAMPLES),
    "report": Verb("a page with pictures of one run or several", report.add_options, report.run, report.EXAMPLES, True),
    "controls": Verb(
        "mistakes put into the peers, each of which a checker must find",
        controls.add_options,
        controls.run,
        controls.EXAMPLES,
    ),
    "mutants": Verb(
        "small slips in the protocol, and how many of them the swarm notices",
        mutants.add_options,
        mutants.run,
        mutants.EXAMPLES,
    ),
    "coverage": Verb(
        "which lines of the protocol, and which pairs of a message and a fault, seeds come to",
        covered.add_options,
        covered.run,
        covered.EXAMPLES,
    ),
    "shrink": Verb(
        "a failure reduced to the fewest faults and the smallest web that still fail",
        shrink.add_options,
        shrink.run,
        shrink.EXAMPLES,
    ),
    "journey": Verb(
        "one URL, or one death, followed through the code",
        journey.add_options,
        journey.run,
        journey.EXAMPLES,
    ),
    "growth": Verb(
        "messages and bytes as a cluster grows, and how fast it is simulated",
        growth.add_options,
        growth.run,
        growth.EXAMPLES,
    ),
    "news": Verb(
        "news sites that live, read for a month: how fresh, for how many fetches, through deaths",
        news.add_options,
        news.run,
        news.EXAMPLES,
    ),
    "rings": Verb(
        "balance, movement and look-up cost of all ways to share out keys", rings.add_options, rings.run, RINGS_EXAMPLES
    ),
}
DESCRIPTION = f"""\
Whole clusters of real peers on a virtual clock, network, disk and web: one seed gives one run, the same each time.

  {COMMAND} run churn               what happens when masters die and come back
  {COMMAND} report steady churn     the same in pictures, beside a quiet run
  {COMMAND} swarm --seeds 50        is there any order of events in which something is lost?
  {COMMAND} VERB --help             more of each

The exit status is 0 when nothing is amiss, 1 when a promise was broken, 2 for what cannot be run."""


def parser() -> argparse.ArgumentParser:
    """Makes the parser of the whole command line."""
    form = argparse.RawDescriptionHelpFormatter
    whole = argparse.ArgumentParser(prog=COMMAND, description=DESCRIPTION, formatter_class=form)
    verbs = whole.add_subparsers(dest="verb", required=True, metavar="VERB")
    for name, verb in VERBS.items():
        more = f"examples:\n{verb.examples}" if verb.examples else ""
        if verb.scenarios:
            more += f"\n\nscenarios:\n{asked.scenarios()}"
        verb.add_options(
            verbs.add_parser(name, help=verb.summary, description=verb.summary, epilog=more, formatter_class=form)
        )
    return whole
