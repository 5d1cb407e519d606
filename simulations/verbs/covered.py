"""``coverage``: which lines of the protocol seeds of the swarm come to, and which messages faults have fallen upon."""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic

from p2pcrawl.model.errors import ConfigurationError

from ..kernel.own_name import COMMAND
from ..play.options import Options
from ..play.stage import Stage
from ..reached.blows import Blows, Pair
from ..reached.corpus import CORPUS, First, Named, Origin, read_corpus, read_named, write_corpus
from ..reached.protocol_lines import Line, is_of_protocol, protocol_lines
from ..reached.traced_lines import TracedLines
from ..scenarios import SCENARIOS
from ..whole.plan import Plan
from ..whole.simulation import Simulation
from .asked import count
from .run import drawn
from .swarm import RAISED, command

EXAMPLES = f"""\
  {COMMAND} coverage --seeds 10 --from 500
  {COMMAND} coverage --corpus
  {COMMAND} coverage --scenarios living scheduled
  {COMMAND} coverage --corpus --seeds 40 --from 900 --keep"""
SEEDS = 10
PAIRS_MIN = 12
"""A seed that comes to no new line is kept for so many new pairs at least: nearly each has one."""
SHOWN_MAX = 40
"""Functions with lines that nobody came to, in the table; --json has every line."""


@dataclass(slots=True)
class _Reached:
    """The lines and pairs that all seeds so far have reached, and who was the first."""

    lines: set[Line] = field(default_factory=set)
    pairs: set[Pair] = field(default_factory=set)
    kept: list[First] = field(default_factory=list)
    broken: dict[Origin, list[str]] = field(default_factory=dict)
    """What was amiss, by run."""


def add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--seeds", type=count, help=f"how many of the swarm (default {SEEDS}; none with --corpus)")
    add("--from", type=int, default=1, dest="first", help="the first of them (default 1)")
    add("--corpus", action="store_true", help="first those that were kept for what they were the first to reach")
    add("--scenarios", nargs="+", choices=sorted(SCENARIOS), metavar="NAME", default=[],
        help="a small run of each of these, besides")  # fmt: skip
    add("--keep", nargs="?", type=Path, const=CORPUS, metavar="FILE",
        help="write those that reached something new, as the corpus or into a file")  # fmt: skip
    add("--json", action="store_true", help="one line of JSON for each run, and one for what nobody came to")


def run(asked: argparse.Namespace) -> int:
    """Makes one run after the other and tells what each was the first to reach; 1 if one broke a promise.

    Raises ConfigurationError for a corpus that cannot be read or written.
    """
    origins = _origins(asked)
    named = _named()
    found = _Reached()
    traced = TracedLines(is_of_protocol, sparing=True)
    try:
        for origin in origins:
            began_s = monotonic()
            first = _first_of(origin, traced, found)
            _tell(first, found, monotonic() - began_s, as_json=asked.json)
    finally:
        if asked.json:
            print(json.dumps(_plain(found, named)), flush=True)
        else:
            print("\n".join(_summed_up(found, named)), file=sys.stderr, flush=True)
    if asked.keep:
        try:
            write_corpus(found.kept, asked.keep)
        except OSError as error:
            raise ConfigurationError(f"{asked.keep}: {error.strerror}") from None
    return 1 if found.broken else 0


def _origins(asked: argparse.Namespace) -> list[Origin]:
    try:
        kept = read_corpus() if asked.corpus else []
    except OSError as error:
        raise ConfigurationError(f"{CORPUS.name}: {error}") from None
    if unknown := [each for each in kept if isinstance(each, str) and each not in SCENARIOS]:
        raise ConfigurationError(f"{CORPUS.name}: {unknown[0]!r} is no seed, and no scenario")
    more = asked.seeds if asked.seeds is not None else 0 if asked.corpus or asked.scenarios else SEEDS
    return list(dict.fromkeys((*kept, *asked.scenarios, *range(asked.first, asked.first + more))))


def options_of(origin: Origin) -> Options:
    """Returns what a run of a seed, or a small one of a scenario, is made with."""
    if isinstance(origin, int):
        return drawn(origin)
    return Options(scenario=origin, masters=4, pages=80, hosts=10, sinks=2, slaves=SCENARIOS[origin].slaves_min)


def _named() -> list[Named]:
    try:
        return read_named()
    except (OSError, ValueError) as error:
        raise ConfigurationError(str(error)) from None


def _first_of(origin: Origin, traced: TracedLines, found: _Reached) -> First:
    """Makes a run, and returns what it was the first to reach."""
    blows = Blows()
    broken: list[str] = []
    try:
        with traced.noted():
            report = Simulation(_listened_to(options_of(origin), blows)).run()
        broken = [f"{violation.checker}: {violation.what}" for violation in report.violations]
    except Exception:
        broken = [f"{RAISED}: {traceback.format_exc().strip().rpartition(chr(10))[2]}"]
    every = protocol_lines()
    lines = [every[place] for place in sorted(traced.take()) if place in every]
    first = First(origin, lines, sorted(blows.pairs - found.pairs))
    found.lines.update(lines)
    found.pairs |= blows.pairs
    if lines or len(first.pairs) >= PAIRS_MIN:
        found.kept.append(first)
    if broken:
        found.broken[origin] = broken
    return first


def _listened_to(options: Options, blows: Blows) -> Plan:
    """Returns the plan of a run whose faults are noted."""
    plan = Plan(options).completed()
    faults = plan.faults

    async def and_listen(stage: Stage) -> None:
        blows.listen(stage)
        if faults is not None:
            await faults(stage)

    return replace(plan, faults=and_listen)


def _tell(first: First, found: _Reached, real_s: float, *, as_json: bool) -> None:
    broken = found.broken.get(first.of, [])
    if as_json:
        lines, pairs = list(map(str, first.lines)), [f"{kind}/{do}" for kind, do in first.pairs]
        told = {"of": first.of, "lines": lines, "pairs": pairs, "broken": broken, "real_s": round(real_s, 1)}
        print(json.dumps(told), flush=True)
        return
    print(f"{first}; {len(found.lines)} and {len(found.pairs)} by now ({real_s:.0f} s)", flush=True)
    for what in broken:
        again = command(first.of) if isinstance(first.of, int) else options_of(first.of).command()
        print(f"    {again}: {what}", flush=True)


def _unreached(found: _Reached, named: Sequence[Named]) -> Iterator[tuple[Line, str]]:
    """Yields the lines that nobody came to, each with the reason where there is one."""
    for line in protocol_lines().values():
        if line not in found.lines:
            yield line, next((each.reason for each in named if each.names(line)), "")


def _plain(found: _Reached, named: Sequence[Named]) -> dict[str, object]:
    left = list(_unreached(found, named))
    return {
        "lines": len(protocol_lines()),
        "reached": len(found.lines),
        "named": sum(bool(reason) for _, reason in left),
        "unreached": [str(line) for line, reason in left if not reason],
        "pairs": len(found.pairs),
        "kept": [first.of for first in found.kept],
        "broken": found.broken,
    }


def _summed_up(found: _Reached, named: Sequence[Named]) -> Iterator[str]:
    left = list(_unreached(found, named))
    open_ = [line for line, reason in left if not reason]
    every, reached = len(protocol_lines()), len(found.lines)
    yield (
        f"{reached} of {every} lines ({reached / every:.1%}) and {len(found.pairs)} pairs of a message and a fault; "
        f"{len(left) - len(open_)} lines are named as not to be reached, {len(open_)} are open"
    )
    yield f"{len(found.kept)} runs reached something new: {', '.join(str(first.of) for first in found.kept)}"
    functions = Counter(line.place for line in open_)
    for place, number in functions.most_common(SHOWN_MAX):
        yield f"  {number:>4} open in {place}"
    if len(functions) > SHOWN_MAX:
        yield f"  and {len(functions) - SHOWN_MAX} functions more; --json names every line"
    for each in named:
        if any(each.names(line) for line in found.lines):
            yield f"named as not to be reached, and reached all the same: {each.pattern}"
