"""The memory of what this slave lately reported, so that it is not reported again.

Only what is on its way in an ordered report may be remembered: the master makes reports durable in
order, so a page that leaves a link out is never marked done before that link is safe. Two
generations keep it bounded; forgetting is harmless, the master's table decides.
"""

from __future__ import annotations

from collections.abc import Iterable

CAPACITY = 300_000


class Memory:
    """A bounded set of URLs (or of fingerprints, for what is not a plain GET)."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._young: set[str | bytes] = set()
        self._old: set[str | bytes] = set()

    def __contains__(self, key: str | bytes) -> bool:
        return key in self._young or key in self._old

    def remember(self, keys: Iterable[str | bytes]) -> None:
        self._young.update(keys)
        if len(self._young) > self._capacity:
            self._old = self._young
            self._young = set()
