"""The standing of one proxy: what it has shown, at large and with single hosts.

A failure through a proxy may be the proxy's fault or the host's, and one that looks from outside cannot tell. So it
counts against the pair first: the proxy rests for that host. Only a proxy that fails with several hosts, or with one
again and again, is suspended until it is verified.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

SUSPECT_HOSTS: Final = 2
"""So many hosts in a row that a proxy fails with suspend it;"""
SUSPECT_FAILURES: Final = 6
"""and so many failures in a row, with whomever."""
LATENCY_START_S: Final = 1.0
_WEIGHT: Final = 0.3
"""Of the newest observation."""


@dataclass(slots=True, eq=False)
class ProxyStanding:
    """One proxy. Times are those of one clock; ``url`` may hold a password."""

    url: str
    latency_s: float = LATENCY_START_S
    trust: float = 1.0
    """From 0 to 1, by its last uses."""
    open: int = 0
    failures: int = 0
    """In a row."""
    failed_hosts: set[str] = field(default_factory=set)
    live: bool = False
    checking: bool = False
    checked_at: float | None = None
    named_at: float = 0.0
    """When a source last named it."""
    due_at: float = 0.0
    """When it is to be verified; of one that failed not before that."""
    misses: int = 0
    """Verifications in a row that it did not pass."""
    slot: int = -1
    """Its place among the live ones."""

    @property
    def cost(self) -> float:
        """The cost of choosing it now, to compare: its latency, by those who wait already and by how much it fails."""
        return self.latency_s * (1 + self.open) / max(self.trust, 0.05) ** 2

    def worked(self, latency_s: float) -> None:
        """Notes a use that brought an answer."""
        self.latency_s += _WEIGHT * (latency_s - self.latency_s)
        self.trust += _WEIGHT * (1.0 - self.trust)
        self.failures = 0
        if self.failed_hosts:
            self.failed_hosts.clear()

    def failed(self, host: str) -> bool:
        """Notes a use that brought none; tells whether it has to be verified before it is used again."""
        self.trust -= _WEIGHT * self.trust
        self.failures += 1
        if len(self.failed_hosts) < SUSPECT_HOSTS:
            self.failed_hosts.add(host)
        return len(self.failed_hosts) >= SUSPECT_HOSTS or self.failures >= SUSPECT_FAILURES
