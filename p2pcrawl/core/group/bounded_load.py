"""The choice of the slave of a group that gets a key: consistent hashing with bounded load.

A key goes to the first slave in its own order that has room. The order is weighted rendezvous hashing, so a slave is
first for a share of the keys that follows its weight. Room is bounded: no slave is given more than 1.25 times
its fair share of the placed keys. A key that overflows goes to the next in its order.

**Sticky.** A placed key stays where it is until it has no more URLs, whoever joins and however weights change; then it
is forgotten, and placed anew when it comes back. So a host's connections, cookies and robots.txt stay with one slave.
A slave that leaves frees its own keys and no others.

The history is part of the state here, unlike in :mod:`p2pcrawl.core.ring.rendezvous`: a group has one master, which
alone decides, so nobody needs to come to the same answer apart from it.
"""

from __future__ import annotations

from collections.abc import Mapping

import xxhash

from p2pcrawl.core.ring.costs import hash_cost

WEIGHT_MEAN = 8
"""The weight of a slave that is as fast as the mean of its group."""
WEIGHT_MAX = 16
_MASK = (1 << 64) - 1


class Bounded:
    """Weighted consistent hashing with bounded load over the slaves of one group. A slave's load is its keys."""

    def __init__(self, weights: Mapping[int, int] | None = None, *, slack_percent: int = 25) -> None:
        """``slack_percent``: how far above its fair share a slave may be filled.

        Less slack bounds the load better and sends more keys to their second choice. Raises ValueError for a negative
        slack or a weight below 1.
        """
        if slack_percent < 0:
            raise ValueError("the slack of a bounded load cannot be negative")
        self._slack_percent = slack_percent
        self._weights: dict[int, int] = {}
        self._weight_total = 0
        self._placed: dict[int, int] = {}
        self._urls: dict[int, int] = {}
        self._keys_of: dict[int, set[int]] = {}
        for slave, weight in (weights or {}).items():
            self.weigh(slave, weight)

    def weigh(self, slave: int, weight: int) -> None:
        """Lets a slave join, or changes its weight. No placed key moves. Raises ValueError for a weight below 1."""
        if weight < 1:
            raise ValueError(f"slave {slave} has a weight below 1")
        self._weight_total += weight - self._weights.get(slave, 0)
        self._weights[slave] = weight
        self._keys_of.setdefault(slave, set())

    def leave(self, slave: int) -> list[int]:
        """Takes a slave out. Its keys, which are returned, are forgotten; the caller places again what it still has."""
        if slave not in self._weights:
            return []
        self._weight_total -= self._weights.pop(slave)
        freed = sorted(self._keys_of.pop(slave))
        for key in freed:
            del self._placed[key], self._urls[key]
        return freed

    def place(self, key: int, urls: int = 1) -> int | None:
        """Places so many more URLs of this key, and returns their slave; None: the group has no slaves."""
        slave = self._placed.get(key)
        if slave is None:
            slave = self.first_with_room(key)
            if slave is None:
                return None
            self._placed[key] = slave
            self._urls[key] = 0
            self._keys_of[slave].add(key)
        self._urls[key] += urls
        return slave

    def drain(self, key: int, urls: int = 1) -> None:
        """Takes off so many finished URLs of this key; with the last one its place is forgotten. Unknown keys are
        ignored.
        """
        if key not in self._placed:
            return
        self._urls[key] -= urls
        if self._urls[key] <= 0:
            self._keys_of[self._placed.pop(key)].discard(key)
            del self._urls[key]

    def slave_of(self, key: int) -> int | None:
        """Returns the slave where the key is placed now; None if nowhere."""
        return self._placed.get(key)

    def order(self, key: int) -> list[int]:
        """Returns the slaves in the order in which the key prefers them, full or not."""
        return sorted(self._weights, key=lambda slave: self._cost(key, slave))

    def load(self, slave: int) -> int:
        """Returns how many keys the slave has."""
        return len(self._keys_of[slave])

    def room(self, slave: int) -> int:
        """Returns how many keys the slave may have when one more is to be placed. The group as a whole always has
        room.
        """
        total = (len(self._placed) + 1) * self._weights[slave] * (100 + self._slack_percent)
        return -(-total // (self._weight_total * 100))

    def first_with_room(self, key: int) -> int | None:
        """Returns the slave where the key would be placed now; None: the group has no slaves."""
        free = [slave for slave in self._weights if self.load(slave) < self.room(slave)]
        return min(free, key=lambda slave: self._cost(key, slave), default=None)

    def _cost(self, key: int, slave: int) -> tuple[int, int]:
        """Returns a slave's cost for a key. At equal weights the order is that of
        :func:`p2pcrawl.core.ring.rendezvous.preference`.
        """
        packed = (key & _MASK).to_bytes(8, "big")
        return hash_cost(xxhash.xxh3_64_intdigest(packed, seed=slave), self._weights[slave]), slave


def measured_weight(pages_per_s: float, mean_pages_per_s: float, weight: int = WEIGHT_MEAN) -> int:
    """Returns the weight of a slave by its throughput; ``weight`` is the one that it has.

    Small changes change nothing, so that a group whose slaves are equally fast does not flap: the answer is another
    weight only if it differs from the present one by more than a quarter.
    """
    if mean_pages_per_s <= 0:
        return weight
    wanted = max(1, min(WEIGHT_MAX, round(WEIGHT_MEAN * pages_per_s / mean_pages_per_s)))
    return wanted if abs(wanted - weight) * 4 > weight else weight
