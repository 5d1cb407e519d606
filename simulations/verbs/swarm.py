"""``swarm``: many simulations, drawn from their seeds."""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from ..kernel.own_name import COMMAND
from ..parallel.processes import in_processes
from ..report.telling import shortened
from ..whole.outcome import Report
from ..whole.simulation import Simulation
from .asked import count
from .run import add_draws_option, drawn

EXAMPLES = f"""\
  {COMMAND} swarm --seeds 50
  {COMMAND} swarm --from 1000 --seeds 500 --jobs 2
  {COMMAND} swarm --seeds 200 --json > swarm.jsonl
  {COMMAND} swarm --seeds 40 --draws limits jobs verbs"""
RAISED = "raised"
"""The kind of failure of a seed whose simulation itself broke."""


class Outcome(NamedTuple):
    """The outcome of one seed."""

    seed: int
    draws: tuple[str, ...] | None
    """What was drawn besides; None: what the seed has itself."""
    report: Report | None
    error: str = ""
    """The traceback, if the simulation broke."""

    @property
    def failures(self) -> list[tuple[str, str]]:
        """The failures of the run: each the checker and what it found."""
        if self.report is None:
            return [(RAISED, self.error.strip().rpartition("\n")[2])]
        return [(violation.checker, violation.what) for violation in self.report.violations]

    def plain(self) -> dict[str, Any]:
        """Returns the outcome as data for JSON."""
        if self.report is None:
            return {"seed": self.seed, "replay": command(self.seed, self.draws), "error": self.error}
        return {"seed": self.seed, **self.report.plain()}


def add_swarm_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seeds", type=count, default=20, help="how many (default 20)")
    parser.add_argument("--from", type=int, default=1, dest="first", help="the first of them (default 1)")
    parser.add_argument("--jobs", type=count, default=1, help="processes (default 1)")
    add_draws_option(parser)
    parser.add_argument("--json", action="store_true", help="one line of JSON for each seed")


def swarm(asked: argparse.Namespace) -> int:
    """Runs many scenarios, each with options drawn from its seed. One that breaks does not keep others from being
    run.
    """
    kinds: dict[str, dict[int, int]] = {}
    failed = 0
    wide = len(str(asked.seeds))
    draws = None if asked.draws is None else tuple(asked.draws)
    again = f"{COMMAND} swarm --from {asked.first} --seeds {asked.seeds}{_flag(draws)}"
    print(again, file=sys.stderr if asked.json else sys.stdout, flush=True)
    drawn_from = range(asked.first, asked.first + asked.seeds)
    for place, outcome in enumerate(in_processes(partial(_outcome, draws), drawn_from, asked.jobs), 1):
        failed += bool(outcome.failures)
        for kind, _ in outcome.failures:
            seeds = kinds.setdefault(kind, {})
            seeds[outcome.seed] = seeds.get(outcome.seed, 0) + 1
        if asked.json:
            print(json.dumps(outcome.plain()), flush=True)
        else:
            print(f"[{place:{wide}}/{asked.seeds}] {_told(outcome)}", flush=True)
    print(_summed_up(asked.seeds, failed, kinds), file=sys.stderr)
    return 1 if failed else 0


def command(seed: int, draws: Sequence[str] | None = None) -> str:
    """Returns the command that runs one of them again."""
    return f"{COMMAND} replay {seed}{_flag(draws)}"


def _flag(draws: Sequence[str] | None) -> str:
    return "" if draws is None else f" --draws {' '.join(draws)}"


def _told(outcome: Outcome) -> str:
    options = drawn(outcome.seed, outcome.draws)
    size = f"{options.scenario} of {options.masters} masters"
    if outcome.report is None:
        lines = [f"{command(outcome.seed, outcome.draws)}  # {size}: FAILED", outcome.error.rstrip()]
    else:
        report, count = outcome.report, len(outcome.failures)
        verdict = f"{count} VIOLATION{'S' if count > 1 else ''}" if count else "ok"
        took = f"{report.virtual_s:.0f} s in {report.real_s:.1f} s"
        lines = [
            f"{command(outcome.seed, outcome.draws)}  # {size}: {took}: {verdict}",
            *(f"{kind}: {shortened(what)}" for kind, what in outcome.failures),
        ]
    return "\n".join(lines).replace("\n", "\n    ")


def _summed_up(seeds: int, failed: int, kinds: dict[str, dict[int, int]]) -> str:
    lines = [f"{seeds} seeds, {failed} with something amiss"]
    for kind, found in sorted(kinds.items()):
        those = ", ".join(map(str, list(found)[:20])) + (" ..." if len(found) > 20 else "")
        lines.append(f"  {kind}: {sum(found.values())} in {len(found)} seeds: {those}")
    return "\n".join(lines)


def _outcome(draws: tuple[str, ...] | None, seed: int) -> Outcome:
    try:
        return Outcome(seed, draws, Simulation(drawn(seed, draws)).run())
    except Exception:
        return Outcome(seed, draws, None, traceback.format_exc())
