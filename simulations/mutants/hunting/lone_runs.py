"""Runs each of many seeds in a process of its own, with a mutant put in, and ends what takes too long.

A mutant may loop for ever, fill the memory, or leave its marks in caches that the next run would read: so nothing that
ran with one runs on. Ending a process takes its folders with it.
"""

from __future__ import annotations

import multiprocessing
import resource
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from math import ceil
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import NamedTuple

from ...parallel.processes import end_all, end_at_signals
from .hunt import ENDED, HUNG, Amiss, Hunt, Run

HANG_S = 300.0
"""Real seconds for one run: seeds of the swarm take a few of them, the longest about fifty."""
CPU_MIN_S = 20.0
CPU_TIMES = 8.0
"""Seconds of a processor for a run with a mutant: so many times as many as without it, and some at least."""
PARKED_MAX = 16
"""Hunts that wait for a run which another one has begun."""
_FORK = multiprocessing.get_context("fork")
"""A run's process begins with all that is imported and compiled here: that takes longer than many a run."""


class Found(NamedTuple):
    """The findings of one run, by its own process."""

    said: dict[str, str]
    reached: dict[str, int] | None = None
    trace: str = ""
    cpu_s: float = 0.0


Work = Callable[[Run], Found]
"""Runs a seed and returns what is amiss, by checker, and which mutants' places it came to."""
Keep = Callable[[int, Amiss], None]
"""Is told what came of a seed without a mutant."""


class _Lone(NamedTuple):
    hunt: Hunt
    run: Run
    process: BaseProcess
    began_s: float


def hunted(
    hunts: Iterable[Hunt], jobs: int, work: Work, hang_s: float = HANG_S, keep: Keep = lambda seed, amiss: None
) -> Iterator[Hunt]:
    """Goes through all hunts, so many at a time, and yields each when it is over. However this ends, its processes
    end, and what they had opened is put away.
    """
    waiting = iter(hunts)
    running: dict[Connection, _Lone] = {}
    going: deque[Hunt] = deque()
    parked: list[Hunt] = []
    try:
        while True:
            while len(running) < jobs and len(parked) < PARKED_MAX:
                hunt = going.popleft() if going else next(waiting, None)
                if hunt is None:
                    break
                yield from _go_on(hunt, work, running, parked)
            if not running:
                return
            soonest_s = min(lone.began_s for lone in running.values()) + hang_s
            ready = wait(list(running), max(0.0, soonest_s - time.monotonic()))
            for here in list(running):
                lone = running[here]
                took_s = time.monotonic() - lone.began_s
                if here in ready:
                    found = _heard(here, lone.process)
                elif took_s >= hang_s:
                    found = Found({HUNG: f"it is not over after {hang_s:.0f} s"})
                else:
                    continue
                end_all([lone.process])
                here.close()
                del running[here]
                amiss = Amiss(found.said, found.cpu_s or took_s, found.reached, found.trace)
                if not lone.run.mutant:
                    keep(lone.run.seed, amiss)
                lone.hunt.take(lone.run, amiss)
                going += [lone.hunt, *parked]
                parked.clear()
    finally:
        end_all([lone.process for lone in running.values()])
        for here in running:
            here.close()


def _go_on(hunt: Hunt, work: Work, running: dict[Connection, _Lone], parked: list[Hunt]) -> Iterator[Hunt]:
    """Begins the next run of a hunt; yields it when there is none, and parks it when another makes the same run."""
    run = hunt.next_run()
    if run is None:
        yield hunt
        return
    if any(lone.run == run for lone in running.values()):
        parked.append(hunt)
        return
    here, there = _FORK.Pipe(duplex=False)
    sound = hunt.sound.get(run.seed) if run.mutant else None
    cpu_s = None if sound is None else ceil(CPU_MIN_S + CPU_TIMES * sound.cpu_s)
    process = _FORK.Process(target=_tell, args=(work, run, there, cpu_s), daemon=True)
    process.start()
    there.close()
    running[here] = _Lone(hunt, run, process, time.monotonic())


def _heard(here: Connection, process: BaseProcess) -> Found:
    try:
        found: Found = here.recv()
    except EOFError:
        process.join()
        if process.exitcode == -signal.SIGXCPU:
            return Found({HUNG: "it takes many times as long as without the mutant"})
        return Found({ENDED: "its process ended without a word"})
    return found


def _tell(work: Work, run: Run, there: Connection, cpu_s: int | None) -> None:
    """Tells, in a process of its own, what is amiss in a run."""
    # Ctrl-C reaches all processes of a terminal: the first says so, and ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_at_signals()
    if cpu_s is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, resource.RLIM_INFINITY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    began_s = time.process_time()
    there.send(work(run)._replace(cpu_s=round(time.process_time() - began_s, 2)))
