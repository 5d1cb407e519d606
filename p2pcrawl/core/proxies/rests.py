"""The rests of pairs of proxy and host: after a ban, or a failure, the proxy is not used for that host for a while.

The while doubles with each time in a row, and is forgotten as far after an answer that was none.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

PAIRS_MAX: Final = 200_000
FAILED_S: Final = 5.0
"""After a failure, which may be the host's own."""


class Rests:
    """``first_s``: after the first ban; ``most_s``: however many there were."""

    def __init__(self, first_s: float, most_s: float) -> None:
        self._first_s = first_s
        self._most_s = most_s
        self._pairs: OrderedDict[tuple[str, str], tuple[float, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._pairs)

    def until(self, host: str, proxy: str) -> float:
        """Returns when the proxy may be used for the host again; 0: now."""
        pair = self._pairs.get((host, proxy))
        return pair[0] if pair is not None else 0.0

    def ban(self, host: str, proxy: str, now: float, at_least_s: float = 0.0) -> float:
        """Lets the pair rest, for ``at_least_s`` if the host said so; returns for how long."""
        return self._rest(host, proxy, now, self._first_s, at_least_s)

    def fail(self, host: str, proxy: str, now: float) -> float:
        """Lets the pair rest after a failure; returns for how long."""
        return self._rest(host, proxy, now, min(FAILED_S, self._first_s), 0.0)

    def forgive(self, host: str, proxy: str) -> None:
        """Forgets the pair: an answer came that was none of a ban."""
        if self._pairs:
            self._pairs.pop((host, proxy), None)

    def _rest(self, host: str, proxy: str, now: float, first_s: float, at_least_s: float) -> float:
        _, times = self._pairs.pop((host, proxy), (0.0, 0))
        rest_s = max(min(first_s * 2.0 ** min(times, 40), self._most_s), min(at_least_s, self._most_s))
        self._pairs[(host, proxy)] = (now + rest_s, times + 1)
        if len(self._pairs) > PAIRS_MAX:
            self._pairs.popitem(last=False)
        return rest_s
