"""A Bloom filter in front of the table of fingerprints, as a negative cache only.

What it says is new is new; what it says was seen is looked up. It is only asked while it is *complete*,
which means that it knows every fingerprint of the table. Filters of fixed size are stacked, each eight
times the one before (a pybloom-live filter that is asked to hold more than its capacity raises, and its
scalable kind misses its promised rate); past the largest, the table alone is asked.
"""

from __future__ import annotations

from pybloom_live import BloomFilter

FIRST_CAPACITY = 1_000_000
GROWTH = 8
CAPACITY_MAX = 16_000_000
ERROR_RATE = 0.001


class SeenFilter:
    """Says "surely new" or "perhaps seen"."""

    def __init__(self, first_capacity: int = FIRST_CAPACITY, capacity_max: int = CAPACITY_MAX) -> None:
        self._capacity_max = capacity_max
        self._capacity = first_capacity
        self._room = first_capacity
        self._filters = [BloomFilter(first_capacity, ERROR_RATE)]
        self.complete = False

    def add(self, key: str) -> bool:
        """Remembers ``key``; True if it is surely new."""
        if not self._filters:
            return False
        # What an older filter knows must not take room in the last one, which raises when it is full.
        if any(key in older for older in self._filters[:-1]) or self._filters[-1].add(key):
            return False
        self._room -= 1
        if self._room <= 1:
            self._grow()
        return self.complete

    def _grow(self) -> None:
        self._capacity *= GROWTH
        if self._capacity > self._capacity_max:
            self._filters.clear()
            self.complete = False
            return
        self._room = self._capacity
        self._filters.append(BloomFilter(self._capacity, ERROR_RATE))
