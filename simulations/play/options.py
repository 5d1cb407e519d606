"""The options of a simulation: with the code, these determine a run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import inf
from typing import Any

from p2pcrawl.model.cluster.gossip import ENTRIES_MAX
from p2pcrawl.model.cluster.placement import GroupPlacement, RingName
from p2pcrawl.model.crawl.record import ShardKey
from p2pcrawl.model.crawl.sink_spec import SINKS_MAX
from p2pcrawl.peer.config import Partition

from ..kernel.own_name import COMMAND
from ..world.web import DELAY_S

LAWS = ("exponential", "weibull")
PARTITIONS = tuple(str(partition) for partition in Partition)
KEYS = tuple(str(key) for key in ShardKey)
RINGS = tuple(str(ring) for ring in RingName)
PLACEMENTS = tuple(str(placement) for placement in GroupPlacement)
HOSTS_MIN = 40
PAGES_OF_A_HOST = 12
"""On average, where it is not said how many hosts there are."""
DRAWS = ("limits", "aims", "verbs", "jobs", "web", "hesitation", "letters", "settings", "absences", "slots", "closings")
"""What a seed may add to a scenario: see the package ``draws``."""
RATE_MAX = 60
"""Each master dies once a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of one run. Raises ValueError for what cannot be simulated."""

    scenario: str = "steady"
    seed: int = 1
    masters: int = 5
    replicas: int = 2
    pages: int = 500
    hosts: int | None = None
    """None: one for each twelve pages, and 40 at least."""
    slaves: int = 0
    """Slave machines per master, beside the slave in each master's own process."""
    rate: float | None = None
    """The share of the masters that die in a minute, where the scenario is about that; None: its own."""
    law: str = "exponential"
    """Of the lengths of sessions, where the scenario is about that."""
    latency_s: float = 0.02
    """The least time from one machine to another; the mean of what comes on top is a quarter of it."""
    limit_s: float | None = None
    """Virtual seconds within which the job must be finished; None: an hour, and three times what the web takes at
    least."""
    key: str = str(ShardKey.HOST)
    """What the job shards by."""
    partition: str = ""
    """What the parts of a divided cluster do; nothing: as the scenario says."""
    delay_s: float = DELAY_S
    """Of the job: for how long a host is left alone that asks for nothing."""
    ring: str = str(RingName.RENDEZVOUS)
    """How the masters share out what there is to crawl."""
    placement: str = str(GroupPlacement.BOUNDED)
    """How a master shares out its hosts over its slaves."""
    private: float = 0.0
    """Of the hosts of the web: those at private addresses. Start URLs open every other one of them."""
    sinks: int = 0
    """How many databases the job's items are brought into."""
    buckets: int = 0
    """How many buckets of an object store they are brought into besides, as part files."""
    draws: tuple[str, ...] = ()
    """What is drawn from the seed besides: some of DRAWS."""
    control: str = ""
    """The negative control that is put into the peers: see the package ``controls``."""
    mutant: str = ""
    """The mutant of the catalogue that is put into the peers: see the package ``mutants``."""

    def __post_init__(self) -> None:
        if min(self.masters, self.replicas, self.pages, self.hosts_of_web) < 1:
            raise ValueError("masters, replicas, pages and hosts must be at least 1")
        if self.masters > ENTRIES_MAX:
            raise ValueError(f"a cluster has at most {ENTRIES_MAX} masters")
        if min(self.sinks, self.buckets) < 0 or self.sinks + self.buckets > SINKS_MAX:
            raise ValueError(f"the number of sinks and buckets must be from 0 to {SINKS_MAX}")
        if self.slaves < 0:
            raise ValueError("the number of slaves must not be negative")
        if self.rate is not None and not 0 < self.rate <= RATE_MAX:
            raise ValueError(f"the rate must be above 0, and at most {RATE_MAX}")
        self._check_choices()
        if unknown := [each for each in self.draws if each not in DRAWS]:
            raise ValueError(f"there is no draw {unknown[0]!r}; there are {', '.join(DRAWS)}")
        if not 0 <= self.delay_s < inf:
            raise ValueError("the delay must be from 0, and finite")
        if not 0 <= self.private <= 1:
            raise ValueError("the share of private hosts must be between 0 and 1")
        if not 0 <= self.latency_s < inf:
            raise ValueError("the latency must be from 0, and finite")
        if self.limit_s is not None and not 0 < self.limit_s < inf:
            raise ValueError("the time limit must be above 0, and finite")

    def _check_choices(self) -> None:
        """Raises ValueError for what is none of those that there are."""
        if self.law not in LAWS:
            raise ValueError(f"the law must be one of {', '.join(LAWS)}")
        if self.key not in KEYS:
            raise ValueError(f"the key must be one of {', '.join(KEYS)}")
        if self.partition not in ("", *PARTITIONS):
            raise ValueError(f"partition must be one of {', '.join(PARTITIONS)}")
        if self.ring not in RINGS:
            raise ValueError(f"the ring must be one of {', '.join(RINGS)}")
        if self.placement not in PLACEMENTS:
            raise ValueError(f"the placement must be one of {', '.join(PLACEMENTS)}")

    @property
    def hosts_of_web(self) -> int:
        """The number of hosts that the web has."""
        return max(HOSTS_MIN, self.pages // PAGES_OF_A_HOST) if self.hosts is None else self.hosts

    def plain(self) -> dict[str, Any]:
        return asdict(self)

    def command(self) -> str:
        """Returns the command that runs this again."""
        default = Options()
        names = (
            "masters",
            "slaves",
            "replicas",
            "pages",
            "hosts",
            "private",
            "key",
            "partition",
            "delay_s",
            "ring",
            "placement",
            "sinks",
            "buckets",
            "rate",
            "law",
            "latency_s",
            "limit_s",
        )
        given = [
            f"--{name.removesuffix('_s')} {getattr(self, name)}"
            for name in names
            if getattr(self, name) != getattr(default, name)
        ]
        if self.draws:
            given.append(f"--draws {' '.join(self.draws)}")
        if self.control:
            given.append(f"--control {self.control}")
        if self.mutant:
            given.append(f"--mutant {self.mutant}")
        return " ".join([COMMAND, "run", self.scenario, f"--seed {self.seed}", *given])
