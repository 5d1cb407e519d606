"""``mutants``: does the swarm notice small mistakes in the protocol?"""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from difflib import get_close_matches
from itertools import count as counting
from itertools import islice
from textwrap import shorten
from typing import Any

from p2pcrawl.model.errors import ConfigurationError

from ..kernel.own_name import COMMAND
from ..mutants import Mutant, Slip, mutants
from ..mutants.hunting.hunt import ENDED, HUNG, Fate, Hunt, Run
from ..mutants.hunting.known_runs import KnownRuns
from ..mutants.hunting.lone_runs import Found, hunted
from ..mutants.hunting.reach import Reach
from ..mutants.making.edits import NotApplicable, edit_of
from ..whole.simulation import Simulation
from .asked import count
from .run import drawn
from .swarm import RAISED

EXAMPLES = f"""\
  {COMMAND} mutants --list
  {COMMAND} mutants --kind fence --seeds 20 --runs 3 --jobs 2
  {COMMAND} mutants --only epoch-not-raised --from 40 --seeds 1"""
SEEDS = 100
SAID_MAX = 100
"""Characters of what was said first, in a line; --json has all of it."""
_NOT_CHECKERS = ((RAISED, ENDED), (HUNG,))
"""How a run fails that no checker has judged."""
_SURVIVED = {
    Fate.UNREACHED: "to which no seed came",
    Fate.NO_DIFFERENCE: "with which each run was the same as without",
    Fate.UNTOLD: "with which a run was another, and nobody told",
}
HARD = frozenset(
    {
        "aimed",
        "wiped",
        "newcomers",
        "massacre",
        "majority",
        "power-loss",
        "churn",
        "clearing",
        "inject",
        "lying-disks",
        "swarm",
    }
)
"""The scenarios in which masters die or lose their disks, several or again and again."""


def add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--only", nargs="+", metavar="NAME", default=[], help="these, and no others; equivalent ones only here")
    add("--kind", choices=[str(kind) for kind in Slip], help="only mistakes of this kind")
    add("--list", action="store_true", help="say what there is, with the harm that each does, and run nothing")
    add("--seeds", type=count, default=SEEDS, help=f"of the swarm, for each at most (default {SEEDS})")
    add("--runs", type=count, help="of these at most with each put in: those that are known to come to it come first")
    add("--from", type=int, default=1, dest="first", help="the first of them (default 1)")
    add("--hard", action="store_true", help="of the seeds, only those in which masters die or lose their disks")
    add("--known", action="store_true", help="only seeds that earlier hunts have run with this code")
    add("--jobs", type=count, default=1, help="processes (default 1)")
    add("--json", action="store_true", help="one line of JSON for each mutant")


def run(asked: argparse.Namespace) -> int:
    """Hunts mutants and prints a line for each, and the score by kind; 1 if one survives that does harm.

    Raises ConfigurationError for a mutant that there is not, or that does not fit the code.
    """
    chosen = _chosen(asked)
    _refuse_misfits(chosen)
    if asked.list:
        _print_list(chosen, as_json=asked.json)
        return 0
    known = KnownRuns()
    seeds = list(islice(_seeds(asked, known.seeds if asked.known else counting(asked.first)), asked.seeds))
    sound = {seed: amiss for seed in seeds if (amiss := known.read(seed)) is not None}
    hunts = [Hunt(m.name, iter(known.best_first(seeds, m.name)), sound, asked.runs) for m in chosen]
    reach = Reach(mutants().values())
    over: list[Hunt] = []
    try:
        for hunt in hunted(hunts, asked.jobs, lambda run: found_in(run, reach), keep=known.keep):
            over.append(hunt)
            print(json.dumps(_plain(hunt)) if asked.json else _line(hunt), flush=True)
    finally:
        # Who has had enough of it wants the score of what there is.
        print(scored(over), file=sys.stderr, flush=True)
    return 1 if any(not hunt.caught_by and not mutants()[hunt.mutant].equivalent for hunt in over) else 0


def found_in(run: Run, reach: Reach) -> Found:
    """Runs a seed and returns what is amiss, by checker: the first that each says, and no more than one where that
    showed before the run was over; of a sound run also which mutants' places it came to.
    """
    said: dict[str, str] = {}
    trace = ""
    try:
        with ExitStack() as stack:
            stack.enter_context(edit_of(mutants()[run.mutant]).put_in() if run.mutant else reach.noted())
            report = Simulation(drawn(run.seed), hasty=True).run()
            trace = report.trace
            for violation in report.violations:
                said.setdefault(violation.checker, violation.what)
    except Exception:
        said[RAISED] = traceback.format_exc().strip().rpartition("\n")[2]
    return Found(said, None if run.mutant else reach.reached, trace)


def scored(over: Sequence[Hunt]) -> str:
    """Returns the score of those hunts that are over, by kind, as a table, and who has survived."""
    judged = [hunt for hunt in over if not mutants()[hunt.mutant].equivalent]
    groups = [(str(kind), [h for h in judged if mutants()[h.mutant].kind is kind]) for kind in Slip]
    groups.append(("written blind", [h for h in judged if mutants()[h.mutant].blind]))
    groups.append(("all", judged))
    lines = [f"{'kind':<14} {'caught':>6} {'of':>5}  by checkers, by a raised error, by hanging"]
    for name, hunts in groups:
        if hunts:
            caught = [hunt for hunt in hunts if hunt.caught_by]
            raised, hung = (sum(not hunt.caught_by.keys().isdisjoint(how) for hunt in caught) for how in _NOT_CHECKERS)
            told = f"{len(caught) - raised - hung}, {raised}, {hung}"
            lines.append(f"{name:<14} {len(caught):>6} {len(hunts):>5}  {told}")
    return "\n".join([*lines, *_not_caught([hunt for hunt in judged if not hunt.caught_by])])


def _not_caught(survivors: Sequence[Hunt]) -> Iterator[str]:
    """Yields lines with the names of all that survived, by how near they came to be caught."""
    yield f"survived: {len(survivors) or 'none'}"
    for fate, words in _SURVIVED.items():
        if those := [hunt.mutant for hunt in survivors if hunt.fate is fate]:
            yield f"  {len(those)}, {words}: {', '.join(those)}"


def _chosen(asked: argparse.Namespace) -> list[Mutant]:
    known = mutants()
    for name in asked.only:
        if name not in known:
            near = get_close_matches(name, known, 1)
            say = f"did you mean {near[0]}?" if near else f"`{COMMAND} mutants --list` says which there are"
            raise ConfigurationError(f"there is no mutant {name!r}; {say}")
    wanted = [known[name] for name in asked.only] or [m for m in known.values() if asked.list or not m.equivalent]
    return [mutant for mutant in wanted if asked.kind in (None, mutant.kind)]


def _refuse_misfits(chosen: Sequence[Mutant]) -> None:
    """Raises ConfigurationError where the code has changed; what fits is compiled from what is read here."""
    for mutant in chosen:
        try:
            edit_of(mutant)
        except NotApplicable as error:
            raise ConfigurationError(str(error)) from None


def _seeds(asked: argparse.Namespace, there: Iterable[int]) -> Iterator[int]:
    return (seed for seed in there if seed >= asked.first and (not asked.hard or _is_hard(seed)))


def _is_hard(seed: int) -> bool:
    options = drawn(seed)
    return options.replicas > 1 and options.scenario in HARD


def _line(hunt: Hunt) -> str:
    mutant = mutants()[hunt.mutant]
    start = f"{hunt.mutant:<34} {mutant.kind:<8}"
    cost = f"{hunt.tried} seed{'s' if hunt.tried > 1 else ''}, {hunt.cpu_s:.0f} s"
    if hunt.never_there:
        cost += f"; {hunt.never_there} did not come to its place"
    if hunt.same:
        cost += f"; the same in {', '.join(map(str, hunt.same))}"
    if hunt.passed_over:
        cost += f"; passed over: {', '.join(map(str, hunt.passed_over))}"
    if not hunt.caught_by:
        fate = f"equivalent, as is said: {mutant.equivalent}" if mutant.equivalent else mutant.harm
        return f"{start} SURVIVED ({hunt.fate}) {cost}\n    {fate}"
    what = shorten(next(iter(hunt.caught_by.values())), SAID_MAX, placeholder=" ...")
    yet = " THOUGH EQUIVALENT" if mutant.equivalent else ""
    return f"{start} caught{yet} by {', '.join(hunt.caught_by)} in seed {hunt.caught_in} ({cost})\n    {what}"


def _plain(hunt: Hunt) -> dict[str, Any]:
    mutant = mutants()[hunt.mutant]
    return {
        "mutant": hunt.mutant,
        "kind": str(mutant.kind),
        "blind": mutant.blind,
        "equivalent": mutant.equivalent,
        "caught_by": hunt.caught_by,
        "seed": hunt.caught_in,
        "seeds_tried": hunt.tried,
        "seeds_never_there": hunt.never_there,
        "fate": str(hunt.fate),
        "same": hunt.same,
        "other": hunt.other,
        "passed_over": hunt.passed_over,
        "cpu_s": round(hunt.cpu_s, 1),
    }


def _print_list(chosen: Sequence[Mutant], *, as_json: bool) -> None:
    for mutant in chosen:
        if as_json:
            told = {name: getattr(mutant, name) for name in Mutant.__slots__}
            print(json.dumps({**told, "kind": str(mutant.kind)}))
        else:
            print(f"{mutant.name:<34} {mutant.kind:<8} {mutant.where}\n    {mutant.harm}")
            if mutant.equivalent:
                print(f"    equivalent: {mutant.equivalent}")
    if not as_json:
        same = sum(bool(mutant.equivalent) for mutant in chosen)
        print(f"{len(chosen)} mutants, {same} of them equivalent", file=sys.stderr)
