"""Reads living news sites for a month with a cluster that dies now and then, and judges how fresh that was, at what
cost; draws the cost of freshness.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from p2pcrawl.model.choosing.revisit_period import revisit_period
from p2pcrawl.model.errors import ConfigurationError

from ..kernel.own_name import COMMAND
from ..report.outputs import refuse_unwritable
from .figures import curve_of, drawn, plain, table, told
from .month import MonthPlan, lived
from .site import MIXES, LivingWeb, SitePlan
from .verdict import judged

EXAMPLES = f"""\
  {COMMAND} news                                    # 30 days, three masters: about ten minutes
  {COMMAND} news --days 2 --kills 60                # dies every twelve hours
  {COMMAND} news --period 1200 --days 5             # one period for all front pages
  {COMMAND} news --days 0 --mix even                # no cluster: what freshness costs, by the rules alone"""

_PLAN, _SITES = MonthPlan(), SitePlan()


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of ``python -m simulations news``."""
    add = parser.add_argument
    add("--days", type=float, default=_SITES.days, help="of virtual time, at most 30; 0: no cluster")
    add("--sites", type=int, default=_SITES.sites, help=f"each of 24 front pages (default {_SITES.sites})")
    add("--mix", choices=MIXES, default="news", help="how often front pages change (default news)")
    add("--seed", type=int, default=_PLAN.seed)
    add("--masters", type=int, default=_PLAN.masters)
    add("--period", default=_PLAN.period, help="of front pages: seconds, or adaptive (default)")
    add("--budget", type=int, default=_PLAN.budget, help="visits of known pages per host and hour; 0: any number")
    add("--kills", type=float, default=_PLAN.kills, help="in 30 days; every sixth takes all masters")
    add("--slow", type=float, default=_PLAN.slow, help="seconds that one takes by the masters' clocks (default 30)")
    add("--kept", type=Path, metavar="FILE", help="keep the figures here, for the picture")
    add("-o", "--output", type=Path, metavar="FILE.svg", help="draw the picture here")
    add("--json", action="store_true", help="print JSON instead of words")


def run(asked: argparse.Namespace) -> int:
    """Lives, judges, prints; returns the exit status. Raises ConfigurationError."""
    try:
        period = revisit_period(asked.period, "--period")
        plan = SitePlan(sites=asked.sites, days=asked.days or _SITES.days, mix=MIXES[asked.mix])
        month = MonthPlan(
            seed=asked.seed,
            web=plan,
            masters=asked.masters,
            period=asked.period,
            budget=asked.budget,
            kills=asked.kills,
            slow=asked.slow,
        )
    except ValueError as error:
        raise ConfigurationError(str(error)) from None
    if period == 0:
        raise ConfigurationError("--period must be adaptive, or seconds from 1 on")
    for path in (asked.kept, asked.output):
        if path is not None:
            refuse_unwritable(path)
    web, status, kept = LivingWeb(asked.seed, plan), 0, _kept(asked.kept)
    if asked.days:
        verdict = judged(lived(month, lambda line: print(line, file=sys.stderr, flush=True)))
        kept["month"] = figures = plain(verdict, web)
        status = 1 if verdict.broken else 0
        print(json.dumps(figures) if asked.json else told(figures))
    if not asked.days or asked.kept or asked.output:
        kept["curve"] = curve = curve_of(web)
        if not asked.days:
            print(json.dumps(curve) if asked.json else table(curve))
    if asked.kept is not None:
        asked.kept.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    if asked.output is not None:
        asked.output.write_text(drawn(kept), encoding="utf-8")
    return status


def _kept(path: Path | None) -> dict[str, Any]:
    if path is None or not path.exists() or not path.stat().st_size:
        return {}
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(kept, dict) or not set(kept) <= {"month", "curve"}:
            raise ValueError(kept)
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}") from None
    except ValueError:
        raise ConfigurationError(f"{path}: has no figures that were kept by this verb") from None
    return kept
