"""``run`` and ``replay``: one simulation from the command line."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from dataclasses import replace
from random import Random
from typing import TextIO

from p2pcrawl.model.errors import ConfigurationError

from ..kernel.own_name import COMMAND, example
from ..play.options import DRAWS, LAWS, PLACEMENTS, RINGS, Options
from ..report.telling import told
from ..scenarios import SCENARIOS
from ..whole.mistakes import check_mistakes
from ..whole.outcome import Progress
from ..whole.plan import Plan
from ..whole.simulation import Simulation
from .asked import add_mutant_option, add_plan_options, plan_of

_DEFAULT = Options()
SHARES = {
    "aims": 0.65,
    "web": 0.4,
    "limits": 0.4,
    "jobs": 0.25,
    "verbs": 0.3,
    "hesitation": 0.5,
    "letters": 0.3,
    "settings": 0.125,
    "absences": 0.1,
    "slots": 0.125,
    "closings": 0.0,
}
"""The share of the seeds in which each is drawn besides."""
DELAYLESS = {"host": 0.15, "url": 0.5}
"""The share of those runs that leave no delay where hosts ask for none, by what they shard by: hosts that are borrowed
are lent to several at once then.
"""
MAJORITY = 0.2
"""The share of those runs with aimed faults in which only the greater part of the masters goes on."""
OF_A_HUNDRED = {"jostling": 8, "majority": 7, "partition": 2, "churn": 2, "one-way": 1, "wiped": 1, "newcomers": 1}
"""So many of each hundred seeds, from 1, 101 and so on, have these scenarios, if they have enough copies: by chance
none of the first hundred had the first three."""
_RINGS = (*[_DEFAULT.ring] * 7, *RINGS)
LIMIT_S = 1200.0
"""Virtual seconds for a run of a swarm: several times what the largest of their webs takes."""


EXAMPLES = f"""\
  {COMMAND} run steady
  {COMMAND} run churn --seed 7 --masters 9 --replicas 3
  {COMMAND} run churn --seed 7 --log churn.log
  {COMMAND} run {example("outage.toml")} --seed 3"""
REPLAY_EXAMPLES = f"""\
  {COMMAND} replay 13
  {COMMAND} replay 13 --log 13.log
  {COMMAND} replay 13 --draws limits jobs"""


def add_run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scenario", metavar="SCENARIO|PLAN.toml", help="one of the scenarios below, or a plan's file")
    add_plan_options(parser)
    _add_output_options(parser)


def run(asked: argparse.Namespace) -> int:
    """Runs one scenario, or one plan."""
    return _play(plan_of(asked.scenario, asked), asked)


def add_replay_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("seed", type=int, help="a seed of a swarm")
    add_draws_option(parser)
    add_mutant_option(parser)
    _add_output_options(parser)


def add_draws_option(parser: argparse.ArgumentParser) -> None:
    """Adds the flag that says what the seeds of a swarm draw besides, in place of what they draw by themselves."""
    parser.add_argument(
        "--draws", nargs="+", choices=DRAWS, metavar="WHAT",
        help=f"what is drawn besides (default: as the seed has it): {', '.join(DRAWS)}",
    )  # fmt: skip


def replay(asked: argparse.Namespace) -> int:
    """Runs one seed of a swarm again."""
    return _play(seed_plan(asked.seed, asked), asked)


def seed_plan(seed: int, asked: argparse.Namespace) -> Plan:
    """Returns the plan of a seed of a swarm, with the draws and the mistakes that are asked for.

    Raises ConfigurationError for a mistake that there is not.
    """
    mistakes = {name: said for name in ("control", "mutant") if (said := getattr(asked, name, None)) is not None}
    options = replace(drawn(seed, asked.draws), **mistakes)
    try:
        check_mistakes(options)
    except ValueError as error:
        raise ConfigurationError(str(error)) from None
    return Plan(options)


def drawn(seed: int, draws: Sequence[str] | None = None) -> Options:
    """Draws the options of a swarm's run from a seed: with these draws besides, or with what the seed has itself."""
    dice = Random(f"{seed}/swarm")
    replicas = dice.choice((1, 2, 2, 2, 3))
    fit = {name: each for name, each in SCENARIOS.items() if each.replicas_min <= replicas and each.drawn}
    name = dice.choice(sorted(name for name, each in fit.items() if not each.share))
    for rare, each in fit.items():
        if Random(f"{seed}/{rare}").random() < each.share:
            name = rare
    name = _place(seed, fit) or name
    scenario = SCENARIOS[name]
    delay = Random(f"{seed}/delay").random()
    fewest = max(2, replicas, scenario.masters_min)
    options = Options(
        scenario=name,
        seed=seed,
        masters=dice.randint(fewest, 7) if dice.random() < 0.97 else dice.randint(8, 16),
        replicas=replicas,
        slaves=max(scenario.slaves_min, dice.choice((0, 0, 1, 1))),
        pages=min(scenario.pages_max, dice.choice((60, 120, 240))),
        hosts=min(scenario.hosts_max, dice.choice((5, 15, 30))),
        law=dice.choice(LAWS) if name == "churn" else _DEFAULT.law,
        latency_s=dice.choice((0.0005, 0.02, 0.02, 0.08)),
        limit_s=LIMIT_S,
        key=dice.choice(("host", "host", "host", "url")),
        private=dice.choice((0.0, 0.0, 0.0, 0.5)),
        sinks=max(scenario.sinks_min, Random(f"{seed}/sinks").choice((0, 0, 0, 1, 2))),
        # What part files have twice after all disks that knew of it are gone, nobody can tell.
        buckets=0 if name == "losses" else Random(f"{seed}/buckets").choice((0, 0, 0, 1)),
        partition="majority" if name == "aimed" and Random(f"{seed}/greater part").random() < MAJORITY else "",
        ring=_DEFAULT.ring if len(scenario.weights) > 1 else Random(f"{seed}/ring").choice(_RINGS),
        placement=Random(f"{seed}/placement").choice(PLACEMENTS),
        draws=tuple(each for each in _beside(seed) if each in scenario.besides) if draws is None else tuple(draws),
    )
    return replace(options, delay_s=0.0) if delay < DELAYLESS[options.key] else options


def _place(seed: int, fit: Collection[str]) -> str:
    """Returns the scenario that this seed has by its place among a hundred; "" if it has none by that."""
    hundred, place = divmod(seed - 1, 100)
    places = Random(f"{hundred}/places").sample(range(100), sum(OF_A_HUNDRED.values()))
    names = (name for name, count in OF_A_HUNDRED.items() for _ in range(count))
    name = dict(zip(places, names, strict=True)).get(place, "")
    return name if name in fit else ""


def _beside(seed: int) -> tuple[str, ...]:
    return tuple(what for what, share in SHARES.items() if Random(f"{seed}/draws {what}").random() < share)


def _add_output_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="the report as one line of JSON")
    parser.add_argument(
        "--log", metavar="FILE", nargs="?", const="-",
        help="write all that happens, line by line, to a file; without one to standard error",
    )  # fmt: skip


def _play(plan: Plan, asked: argparse.Namespace) -> int:
    with ExitStack() as stack:
        log = sys.stderr if asked.log == "-" else stack.enter_context(_opened(asked.log)) if asked.log else None
        print(plan.command, file=sys.stderr if asked.json else sys.stdout, flush=True)
        report = Simulation(plan, None if asked.json else _tell, log).run()
    print(json.dumps(report.plain()) if asked.json else told(report), flush=True)
    return 1 if report.violations else 0


def _opened(path: str) -> TextIO:
    try:
        return open(path, "w", encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}") from None


def _tell(progress: Progress) -> None:
    print(progress, flush=True)
