"""One death: a master loses power while all copies are whole.

What runs elsewhere is recorded until the others serve what was its own and have copied it anew, and its slaves work for
them.
"""

from __future__ import annotations

import asyncio
from typing import Any

from ..play.options import Options
from ..play.stage import Stage
from ..whole.outcome import Report
from ..whole.plan import Plan
from ..whole.simulation import Simulation
from ..world.web import WebPlan
from .recorder import Entry, FirstEntries, Place

BEFORE_S = 3.0
"""What ran so shortly before is everyday life."""
LOOK_S = 0.01
AFTER_S = 1.0
"""In which slaves that have found another master tell it what they kept."""
WEB = WebPlan(pages=90, hosts=9, flaky=0.0, delayed_hosts=0.0, dead_hosts=0.0)


class DeathJourney:
    """Plays the run and records it; all but ``play`` is known when it has been played."""

    def __init__(self, seed: int) -> None:
        options = Options(scenario="journey", seed=seed, masters=3, replicas=2, slaves=1)
        self._plan = Plan(options, faults=self._kill, web=WEB)
        self.dead = ""
        self.masters: list[Entry] = []
        """The first entries, on any surviving master, of what none of them had entered in the seconds before."""
        self.slaves: list[Entry] = []
        """The same of the slaves."""
        self.died_s = self.view_s = self.serving_s = self.served_s = self.whole_s = 0.0
        """When it died; when the others had a view without it, served the first of its buckets, served all of them,
        and had all copies again."""

    def play(self) -> Report:
        """Plays and records."""
        return Simulation(self._plan).run()

    def figures(self) -> dict[str, Any]:
        """Returns what should not grow: functions until all is served, where it is not said otherwise."""
        places = {entry.place for entry in self.masters if entry.moment_s <= self.served_s}
        moments = {"view": self.view_s, "serving": self.serving_s, "all_served": self.served_s, "whole": self.whole_s}
        return {
            "functions": len(places),
            "files": len({place.file for place in places}),
            "packages": len({place.package for place in places}),
            "functions_until_whole": len({entry.place for entry in self.masters if entry.moment_s <= self.whole_s}),
            "functions_of_slaves": len({entry.place for entry in self.slaves}),
            **{f"{name}_after_s": round(moment - self.died_s, 3) for name, moment in moments.items()},
        }

    async def _kill(self, stage: Stage) -> None:
        await stage.progress(0.15)
        await stage.sync()
        dead = next(each for each in stage.machines if stage.slaves_of(each))
        orphans, survivors = stage.slaves_of(dead), [each for each in stage.machines if each is not dead]
        before, after = (FirstEntries(lambda: stage.world.now) for _ in range(2))
        with before.recording():
            await asyncio.sleep(BEFORE_S)
        views, left = {each.served()[0] for each in survivors}, dead.served()[1]
        self.dead, self.died_s = dead.name, stage.world.now
        with after.recording():
            stage.crash([dead], power=True)
            while not self.whole_s:
                await asyncio.sleep(LOOK_S)
                told = [each.served() for each in survivors]
                served = frozenset[int]().union(*(buckets for _, buckets in told))
                self.view_s = self.view_s or _now(stage, not views & {view for view, _ in told})
                self.serving_s = self.serving_s or _now(stage, bool(served & left))
                self.served_s = self.served_s or _now(stage, served >= left)
                adopted = all(orphan.works_for not in ("", dead.name) for orphan in orphans)
                self.whole_s = _now(stage, served >= left and adopted and stage.whole())
            await asyncio.sleep(AFTER_S)
        self.masters = _new(before, after, {each.name for each in survivors})
        self.slaves = _new(before, after, {each.name for each in stage.slaves})


def _now(stage: Stage, condition: bool) -> float:
    """Returns the moment if something holds, or 0."""
    return stage.world.now if condition else 0.0


def _new(before: FirstEntries, after: FirstEntries, nodes: set[str]) -> list[Entry]:
    """Returns the first entry, on any of these machines, of each function that none of them had entered before."""
    known: set[Place] = {place for node, place in before.seen if node in nodes}
    new: dict[Place, Entry] = {}
    for (node, place), entry in after.seen.items():
        if node in nodes and place not in known and (place not in new or entry < new[place]):
            new[place] = entry
    return sorted(new.values())
