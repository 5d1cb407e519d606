"""What a run of a simulation is made from: with the code, these determine it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """See the module. Raises ValueError for what cannot be simulated."""

    scenario: str = "steady"
    seed: int = 1
    masters: int = 5
    replicas: int = 2
    pages: int = 500
    hosts: int = 40
    limit_s: float = 3600.0
    """Virtual seconds within which the job must be finished."""

    def __post_init__(self) -> None:
        if self.masters < 1 or self.replicas < 1 or self.pages < 1 or self.hosts < 1:
            raise ValueError("masters, replicas, pages and hosts must be at least 1")
        if self.limit_s <= 0:
            raise ValueError("the time limit must be above 0")

    def plain(self) -> dict[str, Any]:
        return asdict(self)

    def command(self) -> str:
        """What runs this again."""
        default = Options()
        given = [
            f"--{name} {getattr(self, name)}"
            for name in ("masters", "replicas", "pages", "hosts")
            if getattr(self, name) != getattr(default, name)
        ]
        return " ".join(["python -m simulations run", self.scenario, f"--seed {self.seed}", *given])
