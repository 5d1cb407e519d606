"""Reads from the command line what to simulate: a scenario with its options, or a plan in a file."""

from __future__ import annotations

import argparse
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from p2pcrawl.model.errors import ConfigurationError

from ..play.options import DRAWS, HOSTS_MIN, KEYS, LAWS, PAGES_OF_A_HOST, PARTITIONS, PLACEMENTS, RINGS, Options
from ..scenarios import SCENARIOS
from ..whole.mistakes import check_mistakes
from ..whole.plan import Plan
from ..whole.plan_file import read_plan

PLAN_SUFFIX = ".toml"
_DEFAULT = Options()


def add_plan_options(parser: argparse.ArgumentParser) -> None:
    """Adds the flags that make a plan from a scenario. What is not given is as :class:`Options` and the scenario
    say.
    """
    add = parser.add_argument
    add("--seed", type=int, help=f"what everything is drawn from (default {_DEFAULT.seed}, or as the plan says)")
    add("--masters", type=int, help=f"how many (default {_DEFAULT.masters})")
    add("--slaves", type=int, help="slave machines per master (default: as many as the scenario needs)")
    add("--replicas", type=int, help=f"masters that hold each record (default {_DEFAULT.replicas})")
    add("--pages", type=int, help=f"of the whole web (default {_DEFAULT.pages})")
    add(
        "--hosts",
        type=int,
        help=f"of the whole web (default {HOSTS_MIN}, and more for more than {PAGES_OF_A_HOST * HOSTS_MIN} pages)",
    )
    add("--rate", type=float, help="share of the masters that die per minute, in churn")
    add("--private", type=float, help="share of the web's hosts that are at private addresses (default 0)")
    add(
        "--buckets",
        type=int,
        help="buckets of an object store that the items are brought into, as part files (default 0)",
    )
    add("--sinks", type=int, help="databases that the items are brought into (default: as the scenario needs)")
    add("--key", choices=KEYS, help=f"what the job shards by (default {_DEFAULT.key})")
    add(
        "--partition", choices=PARTITIONS, help="what the parts of a divided cluster do (default: as the scenario says)"
    )
    add(
        "--draws", nargs="+", choices=DRAWS, metavar="WHAT",
        help=f"what the seed adds to the scenario, as in a swarm: {', '.join(DRAWS)}",
    )  # fmt: skip
    add("--delay", type=float, dest="delay_s", metavar="SECONDS", help="the job's own, between two requests of a host")
    add("--ring", choices=RINGS, help=f"how the masters share out what there is (default {_DEFAULT.ring})")
    add("--placement", choices=PLACEMENTS, help=f"how slaves get their hosts (default {_DEFAULT.placement})")
    add("--law", choices=LAWS, help=f"of the lengths of sessions, in churn (default {_DEFAULT.law})")
    add(
        "--latency", type=float, dest="latency_s", metavar="SECONDS",
        help=f"between two machines (default {_DEFAULT.latency_s:g})",
    )  # fmt: skip
    add(
        "--limit", type=float, dest="limit_s", metavar="SECONDS",
        help="virtual time for the whole run (default: an hour, and more for a web that needs more)",
    )  # fmt: skip
    add(
        "--control", metavar="NAME", help="put a mistake into the peers that a checker must find: see the verb controls"
    )
    add_mutant_option(parser)


def add_mutant_option(parser: argparse.ArgumentParser) -> None:
    """Adds the flag that puts a mutant of the catalogue into the peers."""
    parser.add_argument("--mutant", metavar="NAME", help="put a small slip into the peers: see the verb mutants")


def plan_of(what: str, asked: argparse.Namespace) -> Plan:
    """Reads the plan for a scenario's name or a plan's file. Raises ConfigurationError."""
    given = _given(asked)
    if what.endswith(PLAN_SUFFIX):
        refuse_options(what, asked, beside=("seed",))
        return read_plan(Path(what), given.get("seed"))
    scenario = SCENARIOS.get(what)
    if scenario is None:
        near = get_close_matches(what, SCENARIOS, 1)
        say = f"did you mean {near[0]}?" if near else f"there are {', '.join(SCENARIOS)}"
        raise ConfigurationError(f"there is no scenario {what!r} (a plan's file ends with {PLAN_SUFFIX}); {say}")
    given.setdefault("slaves", scenario.slaves_min)
    given.setdefault("sinks", scenario.sinks_min)
    try:
        options = Options(scenario=what, **given)
        check_mistakes(options)
        return Plan(options)
    except ValueError as error:
        raise ConfigurationError(str(error)) from None


def refuse_options(what: str, asked: argparse.Namespace, *, beside: tuple[str, ...] = ()) -> None:
    """Raises ConfigurationError if there are options for what says by itself how it is to be run."""
    for name in _given(asked):
        if name not in beside:
            raise ConfigurationError(f"--{name.removesuffix('_s')} is for scenarios; {what} says it itself")


def _given(asked: argparse.Namespace) -> dict[str, Any]:
    given = {field.name: value for field in fields(Options) if (value := getattr(asked, field.name, None)) is not None}
    given.pop("scenario", None)
    if "draws" in given:
        given["draws"] = tuple(given["draws"])
    return given


def count(text: str) -> int:
    """Reads an option that says how many: one at least."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def scenarios() -> str:
    """Lists all scenarios with what they are, a line each."""
    wide = max(map(len, SCENARIOS))
    return "\n".join(f"  {name:<{wide}}  {scenario.summary}" for name, scenario in SCENARIOS.items())
