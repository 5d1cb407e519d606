"""Measures how often membership errs, by simulation: ``python benchmarks/run.py false_deaths --runs 1000``.

Ten masters' whole overlay on the simulated network, in virtual time: with one of them standing still at a time, with
four, and with 30 % of the datagrams lost; the same rules as ``stalls`` and ``loss`` have for real processes. Each run
is drawn from its seed alone: ``--only "30 % loss" --seed 7 --runs 1`` shows run 7 again.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import math
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context

from benchmarks.kit.measure import Claims
from benchmarks.masters.membership import BETWEEN_S, SETTLE_S, STALL_S_MAX
from p2pcrawl.core.membership.output import EventKind
from simulations.world.world import World
from tests.simulations.overlay_nodes import Peer, agree, peers_of, until

MASTERS = 10
FIND_S = 90.0
CHUNK = 4
TELL_EVERY_S = 30.0
BOUND = 0.95


@dataclass(frozen=True, slots=True)
class Trouble:
    """A trouble that the masters have to bear."""

    name: str
    stalled: int = 0
    loss: float = 0.0


TROUBLES = (
    Trouble("1 of 10 stalled", stalled=1),
    Trouble("4 of 10 stalled", stalled=4),
    Trouble("30 % loss", loss=0.3),
)


@dataclass(frozen=True, slots=True)
class Run:
    """``died``: how often a living member was declared dead, each peer's verdict counted."""

    seed: int
    died: int
    suspected: int
    agreed: bool


def run(seed: int, trouble: Trouble, seconds: float, stall_s_max: float) -> Run:
    """Plays one run; nobody is killed in it, so each death is a false one."""
    with World(seed=seed) as world:
        world.network.change_law(loss=trouble.loss)
        peers = peers_of(world, MASTERS)

        async def scenario() -> bool:
            peers[0].start()
            await asyncio.sleep(0.5)
            for peer in peers[1:]:
                peer.start([peers[0].address])
            await until(lambda: agree(peers), FIND_S)
            async with asyncio.TaskGroup() as stalls:
                resting: dict[Peer, float] = {}
                for _ in range(trouble.stalled):
                    stalls.create_task(_stall(world, peers, resting, world.now + seconds, stall_s_max))
                stalls.create_task(asyncio.sleep(seconds))
            try:
                await until(lambda: agree(peers), SETTLE_S)
            except AssertionError:
                return False
            return True

        agreed = world.run(scenario(), FIND_S + seconds + 2 * SETTLE_S)
        died, suspected = (sum(len(p.saw(kind)) for p in peers) for kind in (EventKind.DIED, EventKind.SUSPECTED))
        return Run(seed, died, suspected, agreed)


async def _stall(
    world: World, peers: Sequence[Peer], resting: dict[Peer, float], end_s: float, stall_s_max: float
) -> None:
    """Stops one after the other, each for up to so long, and lets none stop again at once."""
    while world.now < end_s:
        able = [p for p in peers if not p.node.paused and resting.get(p, 0.0) <= world.now]
        if not able:
            await asyncio.sleep(0.01)
            continue
        peer = world.random.choice(able)
        peer.node.pause()
        await asyncio.sleep(world.random.uniform(0.0, stall_s_max))
        peer.node.resume()
        resting[peer] = world.now + BETWEEN_S


def at_most(bad: int, runs: int) -> float:
    """Returns the greatest rate under which so few bad runs would still come about in one case of twenty
    (Clopper-Pearson).

    With none it is the rule of three: about 3 / ``runs``.
    """
    if bad >= runs:
        return 1.0
    low, high = bad / runs, 1.0
    for _ in range(60):
        rate = (low + high) / 2
        below = sum(_chance(k, runs, rate) for k in range(bad + 1))
        low, high = (rate, high) if below > 1 - BOUND else (low, rate)
    return high


def _chance(hits: int, runs: int, rate: float) -> float:
    """Returns the probability that just so many of the runs are hit."""
    ways = math.lgamma(runs + 1) - math.lgamma(hits + 1) - math.lgamma(runs - hits + 1)
    return math.exp(ways + hits * math.log(rate) + (runs - hits) * math.log1p(-rate))


def runs_of(trouble: Trouble, seeds: range, seconds: float, stall_s_max: float, processes: int) -> Iterator[Run]:
    """Plays all runs in the order of their seeds; how far it is, is said from time to time."""
    began_s = told_s = time.monotonic()
    bad = 0
    context = get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context, initializer=logging.disable) as pool:
        do = partial(run, trouble=trouble, seconds=seconds, stall_s_max=stall_s_max)
        for number, each in enumerate(pool.map(do, seeds, chunksize=CHUNK), 1):
            bad += each.died > 0
            if time.monotonic() - told_s > TELL_EVERY_S:
                told_s = time.monotonic()
                print(
                    f"  {trouble.name}: {number} runs in {told_s - began_s:.0f} s, {bad} with a false death", flush=True
                )
            yield each


def false_deaths(
    runs: int, seconds: float, seed: int, troubles: Sequence[Trouble], stall_s_max: float, processes: int
) -> Claims:
    """Plays each trouble over so many runs, from this seed on."""
    claims = Claims(f"false deaths by simulation: {runs} runs of {seconds:.0f} s, {MASTERS} masters, from seed {seed}")
    for trouble in troubles:
        ended = list(runs_of(trouble, range(seed, seed + runs), seconds, stall_s_max, processes))
        bad = [each.seed for each in ended if each.died]
        apart = [each.seed for each in ended if not each.agreed]
        value = f"{len(bad)}, <= {at_most(len(bad), runs):.2%} of runs"
        claims.claim(f"{trouble.name}: runs with a false death", value, not bad, f"none{_seeds(bad)}")
        claims.note(f"{trouble.name}: false verdicts, suspicions", _sums(ended))
        claims.claim(f"{trouble.name}: no one view at the end", len(apart), not apart, f"none{_seeds(apart)}")
    return claims


def _sums(ended: Sequence[Run]) -> str:
    return f"{sum(each.died for each in ended)}, {sum(each.suspected for each in ended)}"


def _seeds(seeds: Sequence[int]) -> str:
    return f", not seeds {', '.join(map(str, seeds[:5]))}" if seeds else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000, help="of each trouble")
    parser.add_argument("--seconds", type=float, default=600.0, help="virtual seconds of each run")
    parser.add_argument("--seed", type=int, default=0, help="of the first run; the next has the next")
    parser.add_argument("--only", choices=[trouble.name for trouble in TROUBLES], help="one trouble alone")
    parser.add_argument("--stall", type=float, default=STALL_S_MAX, help="the longest stall; at 20 s deaths are seen")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    o = parser.parse_args()
    troubles = [trouble for trouble in TROUBLES if o.only in (None, trouble.name)]
    return false_deaths(o.runs, o.seconds, o.seed, troubles, o.stall, o.processes).print()


if __name__ == "__main__":
    raise SystemExit(main())
