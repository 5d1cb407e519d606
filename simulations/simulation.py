"""A whole cluster on a virtual clock: peers that run their own code, a web that is known, faults, and a verdict.

    report = Simulation(Options(scenario="churn", seed=7)).run()
    assert not report.violations

First the masters meet and are given a job. Then the scenario does its worst while they crawl. When it is through,
everything that is not gone is healed, and the job must be finished; what is left is given to the checkers.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from p2pcrawl.model.settings import Settings
from p2pcrawl.peer.submission import submission_of
from simulations.checkers import Evidence, Violation, violations
from simulations.clockwork import Deadlock, Livelock, OutOfTime
from simulations.fetcher import fetchers
from simulations.folders import read_folder
from simulations.machines import Machine
from simulations.options import Options
from simulations.pins import real_clock
from simulations.scenarios import SCENARIOS
from simulations.spiders import Walker
from simulations.stage import NotSettled, Stage
from simulations.web import Web, WebPlan
from simulations.world import World

PROGRESS_S = 10.0
"""Virtual seconds between two lines of progress."""

SETTLE_S = 10.0
"""How long the masters have, after all is over, to tidy up."""

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Report:
    """What came of a run. ``trace`` is the same whenever the run is."""

    options: Options
    trace: str
    virtual_s: float
    real_s: float
    figures: dict[str, Any]
    violations: list[Violation]

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "options": self.options.plain(),
            "replay": self.options.command(),
            "trace": self.trace,
            "virtual_s": round(self.virtual_s, 3),
            "real_s": round(self.real_s, 3),
            **self.figures,
            "violations": [violation._asdict() for violation in self.violations],
        }


class Simulation:
    """See the module. Runs once."""

    def __init__(self, options: Options, tell: Tell | None = None, narrate_to: TextIO | None = None) -> None:
        """``tell`` is given lines of progress; ``narrate_to`` gets all that happens, for a person to read."""
        self.options = options
        self._tell = tell or (lambda line: None)
        self._narrate_to = narrate_to
        self._complaints: list[str] = []
        self._results: Counter[str] = Counter()
        self._states: dict[str, str] = {}

    def run(self) -> Report:
        """Plays the scenario and judges what it left."""
        options = self.options
        scenario = SCENARIOS[options.scenario]
        began = real_clock()
        with ExitStack() as stack:
            # Errors name files, and travel: so the disks lie where their names are the same in every run.
            stack.enter_context(chdir(stack.enter_context(tempfile.TemporaryDirectory(prefix="p2pcrawl-sim-"))))
            world = stack.enter_context(World(options.seed, law=scenario.law))
            if self._narrate_to is not None:
                world.narrate(self._narrate_to, loggers=("p2pcrawl",))
            web = Web(options.seed, WebPlan(pages=options.pages, hosts=options.hosts))
            open_fetcher = fetchers(web, world.loop)
            machines = [
                Machine(world, f"m{number}", Path(), options.replicas, open_fetcher)
                for number in range(options.masters)
            ]
            stage = Stage(options, world, web, machines)
            self._play(stage)
            found = violations(self._evidence(stage))
            real_s = real_clock() - began
            return Report(options, world.trace, world.now, real_s, _figures(stage, self._results), found)

    # -- the play -----------------------------------------------------------------------------

    def _play(self, stage: Stage) -> None:
        try:
            stage.world.run(self._scenes(stage), self.options.limit_s)
        except (OutOfTime, Deadlock, Livelock, NotSettled) as error:
            said, _, waiting = f"{type(error).__name__}: {error}".partition("\n")
            self._complaints.append(said)
            stage.world.note(f"{said}\n{waiting}")

    async def _scenes(self, stage: Stage) -> None:
        aside = [asyncio.create_task(stage.watch()), asyncio.create_task(self._tell_progress(stage))]
        try:
            await self._begin(stage)
            await SCENARIOS[self.options.scenario].faults(stage)
            stage.heal()
            self._say(stage, "healed")
            tidy = False
            while not tidy:
                # What one that was away brings back may open the job again.
                await stage.until(lambda: stage.ended)
                self._say(stage, "nothing is left to do")
                await stage.agree()
                await asyncio.sleep(SETTLE_S)
                tidy = stage.ended
            self._states = {machine.name: stage.state(machine) for machine in stage.up}
            await self._collect(stage)
        finally:
            for task in aside:
                task.cancel()
            await asyncio.gather(*aside, return_exceptions=True)

    async def _begin(self, stage: Stage) -> None:
        """The masters meet; one of them is given the job."""
        first, *others = stage.machines
        first.start([])
        for machine in others:
            machine.start([first.address])
        await stage.agree()
        submission = submission_of(Walker, Settings(), {}, {"start_urls": stage.web.start}).plain()
        stage.job = (await stage.random.choice(stage.machines).tell("submit", submission))["job"]
        self._say(stage, f"{len(stage.machines)} masters have begun")

    async def _collect(self, stage: Stage) -> None:
        """The results, as a person would ask for them, of any master."""
        items = await stage.random.choice(stage.up).results(stage.job)
        self._results.update(item["url"] for item in items)

    def _evidence(self, stage: Stage) -> Evidence:
        complaints = [
            *self._complaints,
            *(f"{m.name} gave up: {failure}" for m in stage.machines for failure in m.failures),
            *(f"{m.node} at {m.moment:.2f} s: {m.message}: {m.exception!r}" for m in stage.world.mishaps),
        ]
        folders = {m.name: read_folder(m.folder, stage.job) for m in stage.staying}
        return Evidence(
            self.options, stage.web, folders, self._results, stage.incidents, stage.claims, stage.doubles, complaints,
            self._states,
        )  # fmt: skip

    # -- telling ------------------------------------------------------------------------------

    async def _tell_progress(self, stage: Stage) -> None:
        while True:
            await asyncio.sleep(PROGRESS_S)
            self._say(stage, f"{len(stage.up)} masters up")

    def _say(self, stage: Stage, what: str) -> None:
        self._tell(
            f"{stage.world.now:8.1f} s  {stage.share():6.1%} of the pages, {len(stage.web.visits)} requests; {what}"
        )


def _figures(stage: Stage, results: Counter[str]) -> dict[str, Any]:
    """What the run was like, beside its verdict."""
    pages = [visit for visit in stage.web.visits if not visit.is_robots]
    answers = Counter(visit.url for visit in pages if visit.answered)
    traffic = stage.world.network.traffic
    return {
        "reachable": len(stage.web.reachable()),
        "requests": len(stage.web.visits),
        "answered": len(answers),
        "refetched": answers.total() - len(answers) + sum(visit.failure == "cut" for visit in pages),
        "items": len(results),
        "incidents": [
            {"what": i.what, "nodes": sorted(i.nodes), "began_s": round(i.began_s, 3)} for i in stage.incidents
        ],
        "datagrams": traffic.datagrams,
        "bytes": traffic.datagram_bytes + traffic.segment_bytes,
        "callbacks": stage.world.loop.executed,
    }
