"""Masters that are killed, wiped, restarted or all gone at once in mid-crawl: ``python -m benchmarks.failover churn``.

The first word says what is measured:

churn    every so many seconds masters are killed with -9 and as many join, or come back with a wiped disk (``--wipe``)
rolling  each master in turn leaves in order and comes back
power    all are killed at one instant and come back in any order
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import statistics
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks.kit.measure import Claims
from benchmarks.masters.trial import Death, Plan, Trial, Visit, rate

FIRST_FETCH_S_MAX = 20.0
"""The goal for 99 of 100 hosts of a dead master."""
DYING_S = 1.0
"""What is asked for so soon after a kill may still be the dead master's slave."""
WINDOW_S = 10.0
"""Before and after a kill, over which the throughput of the rest is taken."""
KEPT_OF_A_WIPED_ONE = ("identity",)


# -- masters that die -----------------------------------------------------------------------------


def churn(folder: Path, plan: Plan, every_s: float, at_once: int, wipe: bool) -> Claims:
    """Kills until the crawl is over. The last kill comes with enough left to fetch that it can do harm."""
    kills = f"kill -9 of {at_once} every {every_s:g} s" + (", wiped and restarted" if wipe else "")
    with Trial(folder, f"churn, {kills}", plan) as trial:
        trial.until_fetched(plan.pages // 20)
        while trial.wait(every_s if trial.deaths else every_s / 2) and trial.fetched < 0.9 * plan.pages:
            victims = trial.chosen.sample(trial.peers.living, at_once)
            trial.kill(victims)
            for victim in victims:
                if wipe:
                    _wipe(victim.data)
                trial.start(victim.data if wipe else None)
        trial.claims.claim("kills", len(trial.deaths), len(trial.deaths) > 0, "some")
        visits = trial.conclude()
        _tell_first_fetches(trial, visits, claims_time=not plan.orphans and not wipe)
    return trial.claims


def _wipe(data: Path) -> None:
    for path in data.iterdir():
        if path.name not in KEPT_OF_A_WIPED_ONE:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _tell_first_fetches(trial: Trial, visits: Sequence[Visit], *, claims_time: bool) -> None:
    """Reports how long a host of a dead master waited, and what the others got meanwhile.

    Only of local slaves can it be told from outside whose request it was: orphans go on with what they have.
    """
    claims = trial.claims
    waited = sorted(wait for death in trial.deaths for wait in _first_fetches(death, visits))
    if claims_time and waited:
        p50, p99 = statistics.median(waited), waited[min(len(waited) - 1, int(0.99 * len(waited)))]
        value = f"{p50:.1f}, {p99:.1f}, {waited[-1]:.1f}"
        claims.note("hosts that had to wait for a new owner", len(waited))
        claims.claim(
            "seconds to their first fetch: p50, p99, most",
            value,
            p99 <= FIRST_FETCH_S_MAX,
            f"p99 <= {FIRST_FETCH_S_MAX:g}",
        )
    ratios = []
    for death in trial.deaths:
        others = set(trial.site.hosts) - death.hosts
        before = rate(visits, others, death.at_s - WINDOW_S, death.at_s)
        after = rate(visits, others, death.at_s, death.at_s + WINDOW_S)
        ratios.append(after / before if before else 1.0)
    if ratios:
        value = f"{statistics.median(ratios):.2f}, {min(ratios):.2f}"
        claims.note(f"rate of the rest, {WINDOW_S:g} s after against before: median, least", value)


def _first_fetches(death: Death, visits: Sequence[Visit]) -> list[float]:
    first: dict[str, float] = {}
    for visit in visits:
        since_s = visit.begin_s - death.at_s
        if visit.host in death.hosts and since_s > DYING_S:
            first[visit.host] = min(since_s, first.get(visit.host, since_s))
    return list(first.values())


# -- masters that leave in order ------------------------------------------------------------------


def rolling(folder: Path, plan: Plan, by_verb: bool) -> Claims:
    """Restarts each master once, the next one when all agree again."""
    how = "drain" if by_verb else "SIGTERM"
    with Trial(folder, f"rolling restart by {how}", plan) as trial:
        trial.until_fetched(plan.pages // 20)
        codes = []
        for leaver in list(trial.peers.living):
            if by_verb:
                trial.peers.run("drain", at=leaver)
                codes.append(leaver.wait(60).code)
            else:
                codes.append(leaver.leave())
            trial.peers.drop(leaver)
            trial.say(f"{leaver.id[:8]} ({leaver.folder.name}) has left at {trial.fetched} pages")
            trial.start(leaver.data)
            trial.peers.until_agreed()
            trial.say("all agree")
        at = trial.fetched
        trial.claims.claim("exit codes", codes, not any(codes), "0")
        trial.claims.claim("pages fetched when all had been restarted", at, at < plan.pages, f"< {plan.pages}")
        trial.conclude(refetched_max=0)
    return trial.claims


# -- all at once ----------------------------------------------------------------------------------


def power(folder: Path, plan: Plan, times: int) -> Claims:
    """Kills all masters when a part of the pages is fetched, and brings them back in another order.

    What was in a slave's hands is asked for again: one page of each host, as they have a delay.
    """
    with Trial(folder, f"power loss of all, {times} times", plan) as trial:
        for number in range(times):
            trial.until_fetched((number + 1) * plan.pages // (times + 1))
            everybody = list(trial.peers.living)
            trial.kill(everybody)
            for peer in trial.chosen.sample(everybody, len(everybody)):
                trial.start(peer.data)
        trial.conclude(refetched_max=times * plan.hosts)
    return trial.claims


# -- by name --------------------------------------------------------------------------------------


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["churn", "rolling", "power"])
    parser.add_argument("--masters", type=int, default=5)
    parser.add_argument("--copies", type=int, default=2)
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--delay", type=float, default=2.0, help="seconds between two requests of one host")
    parser.add_argument("--orphans", action="store_true", help="remote slaves, which outlive their master")
    parser.add_argument("--every", type=float, default=20.0, help="churn: seconds between kills")
    parser.add_argument("--at-once", type=int, default=1, help="churn: how many are killed at one instant")
    parser.add_argument("--wipe", action="store_true", help="churn: the killed one comes back without its data")
    parser.add_argument("--drain", action="store_true", help="rolling: by the verb drain instead of SIGTERM")
    parser.add_argument("--times", type=int, default=1, help="power: how often")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--keep", type=Path, help="a new folder that keeps the logs and data of all peers")
    o = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    plan = Plan(
        pages=o.pages,
        hosts=o.hosts,
        delay_s=o.delay,
        masters=o.masters,
        copies=o.copies,
        seed=o.seed,
        orphans=o.orphans,
    )
    with ExitStack() as stack:
        folder = o.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="p2pcrawl-")))
        match o.what:
            case "churn":
                claims = churn(folder, plan, o.every, o.at_once, o.wipe)
            case "rolling":
                claims = rolling(folder, plan, o.drain)
            case _:
                claims = power(folder, plan, o.times)
    return claims.print()


if __name__ == "__main__":
    raise SystemExit(main())
