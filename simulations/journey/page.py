"""One URL on its way: found by a slave of one master, owned by another, copied to the first, and done on both."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from p2pcrawl.core.bench.candidate import host_key
from p2pcrawl.core.ring.rendezvous import bucket_of_hash
from p2pcrawl.model.errors import ConfigurationError

from ..observe.folders import ended_in, print_of
from ..play.options import Options
from ..play.stage import Stage
from ..whole.outcome import Report
from ..whole.plan import Plan
from ..whole.simulation import Simulation
from ..world.machines import Machine
from ..world.web import WebPlan
from .recorder import Entry, Place, UrlRecorder
from .sight import Sight

WEB = WebPlan(
    pages=24, hosts=8, links=0,
    redirect=0.0, missing=0.0, failing=0.0, forbidden=0.0, flaky=0.0, delayed_hosts=0.0, dead_hosts=0.0,
)  # fmt: skip
"""Small and well-behaved; each page is linked from one other."""


class PageJourney:
    """Plays the run and records it; all but ``play`` is known when it has been played."""

    def __init__(self, seed: int) -> None:
        self._plan = Plan(Options(scenario="journey", seed=seed, masters=3, replicas=2), faults=self._follow, web=WEB)
        self.url = self.finder = self.owner = ""
        self.way: list[Entry] = []
        """All entries that had the URL before them, in the order in which they began."""
        self.encodings = 0
        self.carriers: dict[str, bool] = {}
        """The types that held it; True if among their own fields, False if in another carrier only."""

    def play(self) -> Report:
        """Plays and records. Raises ConfigurationError if the seed's web has no such page."""
        return Simulation(self._plan).run()

    @property
    def places(self) -> list[Place]:
        """The functions, in the order in which the URL came to them first."""
        return list(dict.fromkeys(entry.place for entry in self.way))

    def figures(self) -> dict[str, Any]:
        """Returns what must not grow."""
        files = [entry.place.file for entry in self.way]
        places = self.places
        return {
            "functions": len(places),
            "files": len({place.file for place in places}),
            "packages": len({place.package for place in places}),
            "entries": len(self.way),
            "frames": sum(entry.first for entry in self.way),
            "changes_of_file": sum(one != other for one, other in pairwise(files)),
            "encodings": self.encodings,
            "carriers": len(self.carriers),
            "carriers_themselves": sum(self.carriers.values()),
        }

    async def _follow(self, stage: Stage) -> None:
        self.url, finder, owner = _chosen(stage)
        self.finder, self.owner = finder.name, owner.name
        wanted, sight = print_of(self.url), Sight(self.url)
        recorder = UrlRecorder(lambda: stage.world.now, sight)
        with recorder.recording():
            await stage.until(lambda: all(wanted in ended_in(each.folder, stage.job) for each in (finder, owner)))
        self.way, self.encodings = sorted(recorder.seen), recorder.encodings
        self.carriers = {f"{kind.__module__}.{kind.__qualname__}": own for kind, own in sight.carriers.items()}


def _chosen(stage: Stage) -> tuple[str, Machine, Machine]:
    """Returns a page that one other leads to, the owner of that other, who is to keep a copy, and its own owner."""
    sources: dict[str, list[str]] = {}
    for page in stage.web.pages.values():
        for link in page.links:
            sources.setdefault(link, []).append(page.url)
    for url, (source, *others) in sources.items():
        if others or url in stage.web.starts:
            continue
        (owner,), (finder,) = stage.owners_of(url), stage.owners_of(source)
        assert owner.lead is not None
        holders = owner.lead.cluster.ownership.holders(bucket_of_hash(host_key(url)))
        if finder is not owner and finder.id in holders:
            return url, finder, owner
    raise ConfigurationError("no page of this web is found, owned and copied as it should be: try another seed")
