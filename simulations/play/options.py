"""The options of a simulation: with the code, these determine a run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import inf
from typing import Any

from p2pcrawl.model.cluster.gossip import ENTRIES_MAX
from p2pcrawl.model.crawl.record import ShardKey
from p2pcrawl.model.crawl.sink_spec import SINKS_MAX
from p2pcrawl.peer.config import Partition

from ..kernel.own_name import COMMAND

LAWS = ("exponential", "weibull")
PARTITIONS = tuple(str(partition) for partition in Partition)
KEYS = tuple(str(key) for key in ShardKey)
HOSTS_MIN = 40
PAGES_OF_A_HOST = 12
"""On average, where it is not said how many hosts there are."""
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
    private: float = 0.0
    """Of the hosts of the web: those at private addresses. Start URLs open every other one of them."""
    sinks: int = 0
    """How many databases the job's items are brought into."""
    control: str = ""
    """The negative control that is put into the peers: see the package ``controls``."""

    def __post_init__(self) -> None:
        if min(self.masters, self.replicas, self.pages, self.hosts_of_web) < 1:
            raise ValueError("masters, replicas, pages and hosts must be at least 1")
        if self.masters > ENTRIES_MAX:
            raise ValueError(f"a cluster has at most {ENTRIES_MAX} masters")
        if not 0 <= self.sinks <= SINKS_MAX:
            raise ValueError(f"the number of sinks must be from 0 to {SINKS_MAX}")
        if self.slaves < 0:
            raise ValueError("the number of slaves must not be negative")
        if self.rate is not None and not 0 < self.rate <= RATE_MAX:
            raise ValueError(f"the rate must be above 0, and at most {RATE_MAX}")
        if self.law not in LAWS:
            raise ValueError(f"the law must be one of {', '.join(LAWS)}")
        if self.key not in KEYS:
            raise ValueError(f"the key must be one of {', '.join(KEYS)}")
        if self.partition not in ("", *PARTITIONS):
            raise ValueError(f"partition must be one of {', '.join(PARTITIONS)}")
        if not 0 <= self.private <= 1:
            raise ValueError("the share of private hosts must be between 0 and 1")
        if not 0 <= self.latency_s < inf:
            raise ValueError("the latency must be from 0, and finite")
        if self.limit_s is not None and not 0 < self.limit_s < inf:
            raise ValueError("the time limit must be above 0, and finite")

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
            "sinks",
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
        if self.control:
            given.append(f"--control {self.control}")
        return " ".join([COMMAND, "run", self.scenario, f"--seed {self.seed}", *given])
