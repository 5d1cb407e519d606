"""``run``, ``swarm`` and ``replay``: simulations from the command line."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from random import Random

from simulations.options import Options
from simulations.scenarios import SCENARIOS
from simulations.simulation import Report, Simulation

_DEFAULT = Options()
LIMIT_S = 1200.0
"""Virtual seconds for a run of a swarm: several times what the largest of their webs takes."""


def add_run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("scenario", choices=sorted(SCENARIOS), metavar="SCENARIO", help=_scenarios())
    parser.add_argument("--seed", type=int, default=_DEFAULT.seed)
    parser.add_argument("--masters", type=int, default=_DEFAULT.masters)
    parser.add_argument("--replicas", type=int, default=_DEFAULT.replicas, help="masters that hold each record")
    parser.add_argument("--pages", type=int, default=_DEFAULT.pages)
    parser.add_argument("--hosts", type=int, default=_DEFAULT.hosts)
    _add_output_options(parser)


def run(asked: argparse.Namespace) -> int:
    """One scenario."""
    try:
        options = Options(
            scenario=asked.scenario, seed=asked.seed, masters=asked.masters, replicas=asked.replicas,
            pages=asked.pages, hosts=asked.hosts,
        )  # fmt: skip
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    return _play(options, asked)


def add_swarm_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seeds", type=int, default=20, help="how many")
    parser.add_argument("--from", type=int, default=1, dest="first", help="the first of them")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--json", action="store_true", help="one line of JSON for each seed")


def swarm(asked: argparse.Namespace) -> int:
    """Many scenarios, each with options drawn from its seed."""
    _quiet()
    failed = 0
    for report in _reports(range(asked.first, asked.first + asked.seeds), asked.jobs):
        failed += bool(report.violations)
        if asked.json:
            print(json.dumps(report.plain()), flush=True)
            continue
        verdict = f"{len(report.violations)} violations" if report.violations else "ok"
        print(f"{report.options.command()}  # {report.virtual_s:.0f} s in {report.real_s:.1f} s: {verdict}", flush=True)
        for violation in report.violations:
            print(f"    {violation.checker}: {violation.what}", flush=True)
    print(f"{asked.seeds} seeds, {failed} with violations", file=sys.stderr)
    return 1 if failed else 0


def add_replay_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("seed", type=int, help="a seed of a swarm")
    _add_output_options(parser)


def replay(asked: argparse.Namespace) -> int:
    """One seed of a swarm again."""
    return _play(drawn(asked.seed), asked)


def drawn(seed: int) -> Options:
    """The options that a swarm draws from a seed."""
    dice = Random(f"{seed}/swarm")
    replicas = dice.choice((1, 2, 2, 2, 3))
    names = sorted(name for name, scenario in SCENARIOS.items() if scenario.replicas_min <= replicas)
    return Options(
        scenario=dice.choice(names),
        seed=seed,
        masters=dice.randint(max(2, replicas), 7),
        replicas=replicas,
        pages=dice.choice((60, 120, 240)),
        hosts=dice.choice((5, 15, 30)),
        limit_s=LIMIT_S,
    )


def _add_output_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="the report as one line of JSON")
    parser.add_argument("--log", metavar="FILE", help="write all that happens to a file; - is standard error")


def _play(options: Options, asked: argparse.Namespace) -> int:
    _quiet()
    print(options.command(), file=sys.stderr if asked.json else sys.stdout, flush=True)
    log = sys.stderr if asked.log == "-" else open(asked.log, "w") if asked.log else None  # noqa: SIM115
    try:
        tell = (lambda line: None) if asked.json else (lambda line: print(line, flush=True))
        report = Simulation(options, tell, log).run()
    finally:
        if log is not None and log is not sys.stderr:
            log.close()
    print(json.dumps(report.plain()) if asked.json else _told(report), flush=True)
    return 1 if report.violations else 0


def _reports(seeds: range, jobs: int) -> Iterator[Report]:
    if jobs < 2:
        yield from map(_report, seeds)
        return
    with ProcessPoolExecutor(jobs, initializer=_quiet) as pool:
        yield from pool.map(_report, seeds)


def _report(seed: int) -> Report:
    return Simulation(drawn(seed)).run()


def _told(report: Report) -> str:
    """The report for a person."""
    lines = [f"{report.virtual_s:.1f} virtual seconds in {report.real_s:.1f} real ones; trace {report.trace}"]
    for name, value in report.figures.items():
        if name == "incidents":
            lines += [f"  at {i['began_s']:.1f} s: {i['what']} of {', '.join(i['nodes'])}" for i in value]
        else:
            lines.append(f"  {name.replace('_', ' ')}: {value}")
    lines += [f"VIOLATION {violation.checker}: {violation.what}" for violation in report.violations]
    lines.append(f"{len(report.violations)} violations" if report.violations else "nothing is amiss")
    return "\n".join(lines)


def _quiet() -> None:
    """What the masters log goes into the event log, if anybody wants one."""
    root = logging.getLogger()
    if not root.handlers:
        root.addHandler(logging.NullHandler())


def _scenarios() -> str:
    return "; ".join(f"{name}: {scenario.summary}" for name, scenario in SCENARIOS.items())
