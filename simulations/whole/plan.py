"""A plan: all that makes a run, options and what they stand for.

    Plan(Options(masters=7), web=WebPlan(pages=300, dead_hosts=0.2), faults=my_faults, spider=MySpider)

What is left out is as the options say: the faults those of their scenario, the web of their size.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from math import inf
from shlex import quote
from typing import Any

from p2pcrawl.model.cluster.node import WEIGHT_MAX
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.peer.config import Partition
from p2pcrawl.spiders.spider import Spider

from ..draws.beside import drawn_beside
from ..draws.limits import drawn_limits, drawn_slots
from ..draws.oddities import drawn_absences, drawn_oddities
from ..draws.of_jobs import drawn_settings
from ..kernel.own_name import COMMAND
from ..kernel.paths import Law
from ..play.aims import Aim
from ..play.faults import Fault
from ..play.options import Options
from ..play.spiders import SEVERAL, Walker
from ..play.stage import Stage
from ..scenarios import SCENARIOS
from ..world.web import WebPlan

Faults = Callable[[Stage], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class MachinePlan:
    """The peculiarities of one master's machine."""

    name: str
    """Masters are called m0, m1 and so on."""
    weight: int | None = None
    """Its share of the ring, 1 to 16, like ``p2pcrawl peer --weight``; None: as the scenario says."""
    disk_delay_s: float | None = None
    """How long each of its disk accesses takes; None: as usual."""
    drift: float = 0.0
    """How much faster its clock runs than the world's: 0.02 is 2 %."""

    def __post_init__(self) -> None:
        if self.weight is not None and not 1 <= self.weight <= WEIGHT_MAX:
            raise ValueError(f"weight must be between 1 and {WEIGHT_MAX}")
        if self.disk_delay_s is not None and not 0 <= self.disk_delay_s < inf:
            raise ValueError("disk_delay_s must be from 0, and finite")
        if not -0.5 <= self.drift <= 0.5:
            raise ValueError("drift must be between -0.5 and 0.5")


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan of one run. Raises ConfigurationError for a scenario that there is not, or that needs more slaves."""

    options: Options
    faults: Faults | None = None
    """What happens to the machines while they crawl; when it returns, everything is healed."""
    web: WebPlan | None = None
    law: Law | None = None
    """Of the network between any two machines."""
    machines: tuple[MachinePlan, ...] = ()
    weights: tuple[int, ...] = ()
    """Of the masters, again and again; empty: as the scenario says."""
    spider: type[Spider] = Walker
    limits: Mapping[str, int] | None = None
    """Limits of the peers that are small, by their names; None: as the options draw them."""
    settings: Mapping[str, Any] | None = None
    """What the run's own job is set to; None: as the options draw it."""
    beside: tuple[Fault | Aim, ...] | None = None
    """What happens besides; None: as the options draw it."""
    path: str = ""
    """The file that this was read from."""

    def __post_init__(self) -> None:
        if self.faults is not None:
            return
        name = self.options.scenario
        if name not in SCENARIOS:
            raise ConfigurationError(f"there is no scenario {name!r}; there are {', '.join(sorted(SCENARIOS))}")
        if self.options.slaves < SCENARIOS[name].slaves_min:
            raise ConfigurationError(f"{name} needs slave machines, {SCENARIOS[name].slaves_min} per master at least")
        if self.options.sinks < SCENARIOS[name].sinks_min:
            raise ConfigurationError(f"{name} needs sinks, {SCENARIOS[name].sinks_min} at least")

    @property
    def command(self) -> str:
        """The command that runs this again; "" when its parts were made in Python, so that none does."""
        if self.path:
            return f"{COMMAND} run {quote(self.path)} --seed {self.options.seed}"
        made = (
            (self.faults, self.web, self.law, self.limits, self.settings, self.beside) != (None,) * 6
            or self.machines
            or self.weights
        )
        return "" if made or self.spider is not Walker else self.options.command()

    def completed(self) -> Plan:
        """Returns this plan with everything filled in, and options that say what is."""
        options = self.options
        scenario = SCENARIOS.get(options.scenario) if self.faults is None else None
        usual_web = scenario.web if scenario else WebPlan()
        usual_law = (scenario.law if scenario else None) or Law()
        private = options.private or usual_web.private
        drawn: dict[str, Any] = drawn_oddities(options.seed) if "web" in options.draws else {}
        spider = scenario.spider if scenario and self.spider is Walker else self.spider
        if spider not in SEVERAL:
            drawn.pop("several", None)
        drawn |= drawn_absences(options) if "absences" in options.draws else {}
        sizes: dict[str, Any] = {"pages": options.pages, "hosts": options.hosts_of_web, "private": private}
        web = self.web or replace(usual_web, **sizes, **drawn)
        law = self.law or replace(usual_law, latency_s=options.latency_s, jitter_s=options.latency_s / 4)
        return replace(
            self,
            options=replace(options, pages=web.pages, hosts=web.hosts, private=web.private, latency_s=law.latency_s),
            faults=self.faults or (scenario.faults if scenario else None),
            spider=spider,
            web=web,
            law=law,
            weights=self.weights or (scenario.weights if scenario else (1,)),
            limits=self._limits(),
            settings=drawn_settings(options) if self.settings is None else self.settings,
            beside=drawn_beside(options) if self.beside is None else self.beside,
        )

    def _limits(self) -> Mapping[str, int]:
        if self.limits is not None:
            return self.limits
        drawn = drawn_limits(self.options.seed) if "limits" in self.options.draws else {}
        return drawn | (drawn_slots(self.options.seed) if "slots" in self.options.draws else {})

    @property
    def partition(self) -> Partition:
        """The rule for the parts of a divided cluster: given, or the scenario's own."""
        usual = (
            SCENARIOS[self.options.scenario].partition if self.options.scenario in SCENARIOS else Partition.AVAILABLE
        )
        return Partition(self.options.partition) if self.options.partition else usual

    def weight(self, number: int) -> int:
        """Returns the weight of the master with this number, in a completed plan."""
        own = [machine.weight for machine in self.machines if machine.name == names_of(number + 1)[number]]
        return own[0] if own and own[0] is not None else self.weights[number % len(self.weights)]

    def fit(self, stage: Stage) -> None:
        """Makes the machines what they are to be."""
        for machine in stage.machines:
            for special in self.machines:
                if special.name != machine.name:
                    continue
                if special.disk_delay_s is not None:
                    machine.node.executor_delay_s = special.disk_delay_s
                if special.drift:
                    machine.node.drift(1.0 + special.drift)


def names_of(masters: int) -> list[str]:
    """Returns the names of so many masters."""
    return [f"m{number}" for number in range(masters)]
