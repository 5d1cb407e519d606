"""The rule of sinks that are away: each master tries to open one again after half a minute at most (docs/sinks.md).

However long a sink was away, what waits for it is brought soon after it is back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from ..acknowledged import Tell

WAIT_MAX_S: Final = 31.0
"""So long a sink may be left alone, by the clock of the master that does, and what else it does then."""


class Sight(Protocol):
    """The harness's own knowledge of the machines."""

    @property
    def now_s(self) -> float: ...

    def in_trouble(self, node: str, from_s: float, until_s: float) -> bool:
        """Tells whether anything was in a machine's own way in a time: it stood still, or its disk did not do."""


@dataclass(slots=True)
class SinksAway:
    """Judges for how long masters leave sinks alone."""

    sight: Sight
    tell: Tell

    def tried(self, master: str, sink: str, waited_s: float) -> None:
        """Judges a master that tries to open a sink which it found away so long before, by its own clock."""
        now_s = self.sight.now_s
        if waited_s > WAIT_MAX_S and not self.sight.in_trouble(master, now_s - waited_s - 1.0, now_s):
            text = f"found {sink} away, and tries to open it again {waited_s:.1f} s later only"
            self.tell(f"at {now_s:.3f} s {master} {text}")
