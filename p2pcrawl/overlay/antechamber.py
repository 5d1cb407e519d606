"""Connections that have not said yet who they are or what they want, bounded so that they shut nobody out.

Each costs a descriptor, and whoever reaches a port can open many. When there are too many, the one goes that has waited
longest, of those from the address that has most: so many from one address push out each other, and nobody else. IPv6
addresses count by their first 64 bits, since whoever has one usually has all that begin so.
"""

from __future__ import annotations

import ipaddress
import sys
from collections import Counter
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

WAITING_MAX: Final = 256
SHARE: Final = 4
"""Of all descriptors that this process may have, one in so many at most is for those that wait at one port."""

T = TypeVar("T", bound=Hashable)


class Antechamber(Generic[T]):
    """The connections that wait, by the address they come from."""

    def __init__(self, waiting_max: int = 0) -> None:
        self._max = waiting_max or waiting_max_of(descriptors_max())
        self._waiting: dict[T, str] = {}
        self._from: Counter[str] = Counter()
        self.turned_out = 0

    def enter(self, visitor: T, address: str) -> T | None:
        """Lets ``visitor`` wait from now on; returns who has to go for it, if anybody has."""
        self.leave(visitor)
        victim = self.turn_out() if len(self._waiting) >= self._max else None
        self._waiting[visitor] = whose = _whose(address)
        self._from[whose] += 1
        return victim

    def turn_out(self) -> T | None:
        """Takes out one of those that wait, from the address with the most, and returns it; None when nobody waits."""
        if not self._waiting:
            return None
        most = self._from.most_common(1)[0][0]
        victim = next(visitor for visitor, address in self._waiting.items() if address == most)
        self.leave(victim)
        self.turned_out += 1
        return victim

    def leave(self, visitor: T) -> None:
        """Takes a visitor out: it does not wait any more. May be repeated."""
        address = self._waiting.pop(visitor, None)
        if address is not None:
            self._from[address] -= 1
            if not self._from[address]:
                del self._from[address]

    def __len__(self) -> int:
        return len(self._waiting)


def _whose(address: str) -> str:
    """Returns what stands for all addresses of one visitor: an IPv4 address, or a /64 of IPv6."""
    if ":" not in address:
        return address
    try:
        number = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    return str(number.ipv4_mapped or number.packed[:8].hex())


def descriptors_max() -> int:
    """Returns how many files and connections this process may have open."""
    if sys.platform == "win32":
        return 512
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 20 if soft == resource.RLIM_INFINITY else soft


def waiting_max_of(descriptors: int) -> int:
    return max(8, min(WAITING_MAX, descriptors // SHARE))
