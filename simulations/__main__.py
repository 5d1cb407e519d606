"""``python -m simulations VERB``: one verb per simulation."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

from simulations import rings, run


class Verb(NamedTuple):
    """One simulation: what it is for, its options, and what runs it and gives the exit status."""

    summary: str
    add_options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


VERBS: dict[str, Verb] = {
    "rings": Verb("balance, movement and look-up cost of all ways to share out keys", rings.add_options, rings.run),
    "run": Verb("one scenario on a cluster of real peers", run.add_run_options, run.run),
    "swarm": Verb("many scenarios, drawn from their seeds", run.add_swarm_options, run.swarm),
    "replay": Verb("one seed of a swarm again", run.add_replay_options, run.replay),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m simulations", description="Simulations of p2pcrawl.")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for name, verb in VERBS.items():
        verb.add_options(verbs.add_parser(name, help=verb.summary, description=verb.summary))
    chosen = parser.parse_args(arguments)
    return VERBS[chosen.verb].run(chosen)


if __name__ == "__main__":
    sys.exit(main())
