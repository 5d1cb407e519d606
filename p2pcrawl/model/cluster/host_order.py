"""An order about a host, and the bounds of it."""

from __future__ import annotations

from typing import Final, NamedTuple

ORDERS_MAX: Final = 2_000
"""Hosts that are changed in one cluster, those counted in of which the change was taken back."""
DELAY_MAX_S: Final = 86_400.0
ORDER_VERSION_MAX: Final = 1 << 62
HOST_CHARS_MAX: Final = 253


class HostOrder(NamedTuple):
    """The word of a person on a host; see :mod:`p2pcrawl.core.hosts.orders`. Without a ``delay_s`` the jobs' counts."""

    host: str
    delay_version: int = 0
    delay_s: float | None = None
    pause_version: int = 0
    paused: bool = False

    @property
    def plain(self) -> bool:
        """True if nothing is asked that the jobs do not."""
        return self.delay_s is None and not self.paused
