"""``journey``: follows one URL, or the news of one death, through the code of a simulated cluster."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from ..kernel.own_name import COMMAND
from .death import DeathJourney
from .page import PageJourney
from .recorder import Entry

SEED = 3
EXAMPLES = f"""\
  {COMMAND} journey                 one URL, found at one master, owned by another, done on two copies
  {COMMAND} journey --death         what runs on the others when a master loses power
  {COMMAND} journey --json          the figures, functions and types, to compare"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the verb."""
    parser.add_argument("--death", action="store_true", help="follow a death in place of a URL")
    parser.add_argument("--seed", type=int, default=SEED, metavar="N", help=f"of the run (default: {SEED})")
    parser.add_argument("--json", action="store_true", help="one line of JSON, with functions in place of the way")


def run(asked: argparse.Namespace) -> int:
    """Plays and tells; returns the exit status: 1 if a promise was broken meanwhile."""
    journey: DeathJourney | PageJourney = DeathJourney(asked.seed) if asked.death else PageJourney(asked.seed)
    report = journey.play()
    broken = [f"{violation.checker}: {violation.what}" for violation in report.violations]
    plain = {"seed": asked.seed, **_plain(journey), "violations": broken}
    print(json.dumps(plain) if asked.json else "\n".join(_lines(journey, plain)), flush=True)
    return 1 if broken else 0


def _plain(journey: DeathJourney | PageJourney) -> dict[str, Any]:
    if isinstance(journey, DeathJourney):
        ways = {"masters": _names(journey.masters), "slaves": _names(journey.slaves)}
        return {"dead": journey.dead, "figures": journey.figures(), **ways}
    who = {"url": journey.url, "finder": journey.finder, "owner": journey.owner}
    return {**who, "figures": journey.figures(), "functions": [*map(str, journey.places)], "carriers": journey.carriers}


def _names(way: Sequence[Entry]) -> list[str]:
    return [str(entry.place) for entry in way]


def _lines(journey: DeathJourney | PageJourney, plain: dict[str, Any]) -> list[str]:
    """Returns the figures, and the way behind them: each function once while it goes on."""
    if isinstance(journey, DeathJourney):
        ways = {f"entered on masters since {journey.dead} died": journey.masters, "and on slaves": journey.slaves}
        since_s = journey.died_s
    else:
        ways = {f"{journey.url}, found at {journey.finder}, owned by {journey.owner}": journey.way}
        since_s = journey.way[0].moment_s
    lines = []
    for heading, way in ways.items():
        lines.append(heading)
        for (node, place), entries in groupby(way, key=lambda entry: (entry.node, entry.place)):
            lines.append(f"{next(entries).moment_s - since_s:9.3f} s  {node:<3} {place}")
    lines += [
        f"  carried by {name}{'' if own else ', inside another'}" for name, own in plain.get("carriers", {}).items()
    ]
    lines += [f"  {name.replace('_', ' ')}: {value}" for name, value in plain["figures"].items()]
    return [*lines, *(f"VIOLATION {each}" for each in plain["violations"])]
