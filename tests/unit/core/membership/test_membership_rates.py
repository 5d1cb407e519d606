"""How often membership errs, and how fast it is, by simulation over many seeds.

``make soak`` runs it and prints the table; ``python -m tests.unit.core.membership.test_membership_rates 100`` runs
fewer.
Every run draws everything from its seed, so a bad one can be replayed: ``false_deaths(seed, ...)``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

import pytest

from p2pcrawl.core.membership.swim import EventKind
from tests.unit.core.membership.membership_world import World, deaths, stall_at_random

RUNS = 1000


def false_deaths(seed: int, *, stalled: int = 0, loss: float = 0.0) -> float:
    """Members declared dead by mistake in 10 minutes at 10 members (each counted once per incarnation)."""
    world = World(seed, loss=loss)
    nodes = world.cluster(10)
    stall_at_random(world, nodes[:stalled], world.now + 600.0)
    world.run(600.0)
    return len({(event.member.id, event.member.incarnation) for _, event in deaths(nodes)})


def detection(seed: int, *, loss: float = 0.0) -> Iterator[float]:
    """Seconds until each of 9 others knew that a killed member is dead."""
    world = World(seed, loss=loss)
    nodes = world.cluster(10)
    world.run(world.rng.uniform(0.0, 30.0))
    victim = world.rng.choice(nodes)
    killed_at = world.now
    victim.kill()
    world.run(120.0)
    for node in nodes:
        if node is not victim:
            at = [at for at, event in node.happened(EventKind.DIED) if event.member.id == victim.machine.me.id]
            yield at[0] - killed_at if at else float("inf")


def slowest_detection(seed: int, *, loss: float = 0.0) -> float:
    return max(detection(seed, loss=loss))


def healing(seed: int) -> float:
    """Seconds after a partition of 2 minutes (5 | 5) until all share one view again."""
    world = World(seed)
    nodes = world.cluster(10)
    whole = nodes[0].machine.view_digest
    cut = world.rng.sample(nodes, 5)
    world.partition(cut, [node for node in nodes if node not in cut])
    world.run(120.0)
    assert all(len(node.machine.alive()) == 5 for node in nodes)
    world.heal()
    return world.run_until(lambda: all(node.machine.view_digest == whole for node in nodes), 300.0)


EXPERIMENTS: dict[str, Callable[[int], float]] = {
    "false deaths in 10 min, 1 of 10 stalled up to 5 s": partial(false_deaths, stalled=1),
    "false deaths in 10 min, 4 of 10 stalled up to 5 s": partial(false_deaths, stalled=4),
    "false deaths in 10 min, 30 % loss": partial(false_deaths, loss=0.3),
    "detection by all, s": slowest_detection,
    "detection by all, 30 % loss, s": partial(slowest_detection, loss=0.3),
    "healing of a 2 min partition, s": healing,
}


def measure(name: str, runs: int) -> list[float]:
    """The figures of all runs, in order of size."""
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        return sorted(pool.map(EXPERIMENTS[name], range(runs), chunksize=5))


def line(name: str, figures: list[float]) -> str:
    if name.startswith("false"):
        return f"{name}: {sum(figures):.0f} in {len(figures)} runs, {sum(f > 0 for f in figures)} runs with any"
    p50, p99 = figures[len(figures) // 2], figures[int(len(figures) * 0.99)]
    return f"{name}: p50 {p50:.1f}, p99 {p99:.1f}, worst {figures[-1]:.1f} in {len(figures)} runs"


@pytest.mark.soak
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_rates_over_many_runs_meet_their_goals(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    figures = measure(name, RUNS)

    with capsys.disabled():
        print("\n" + line(name, figures))
    goal = {"f": 0.0, "d": 15.0, "h": 60.0}[name[0]]
    if "detection by all, 30 %" not in name:
        assert figures[int(len(figures) * 0.99)] <= goal
    if name.startswith("false"):
        assert sum(figures) == 0


if __name__ == "__main__":
    for experiment in EXPERIMENTS:
        print(line(experiment, measure(experiment, int(sys.argv[1]) if sys.argv[1:] else RUNS)), flush=True)
