"""The journal of a master: the last things that happened and that people want to hear of.

It is for what is rare: deaths, hand-overs, the states of jobs. Hosts may go down by the thousand, so of these it notes
some and counts the rest. It is bounded, and what falls out of it is gone; whoever reads it can tell by the numbers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final

from p2pcrawl.model.cluster.notable import Detail, Notable, NotedEvent

KEPT: Final = 2_000
TEXT_MAX: Final = 300
"""Characters of a field."""
CROWDS: Final = (Notable.HOST_DOWN, Notable.HOST_BACK)
"""The kinds of which there may be very many at once."""
CROWD_MAX: Final = 20
"""So many of these are noted in CROWD_S; the next one then says how many were not."""
CROWD_S: Final = 60.0


class Journal:
    """Notes events. ``clock`` tells the time in seconds since 1970."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._events: deque[NotedEvent] = deque(maxlen=KEPT)
        self._crowds = {kind: _NotedCrowd() for kind in CROWDS}
        self.last = 0
        """The number of the last event."""

    def note(self, kind: Notable, **fields: Detail) -> Mapping[str, Any]:
        """Notes an event. Returns what a line of the log says of it beside its text, to be given as ``extra``."""
        at = self._clock()
        crowd = self._crowds.get(kind)
        if crowd is not None:
            if not crowd.admits(at):
                return {}
            fields |= {"unnoted": crowd.unnoted}
            crowd.unnoted = 0
        self.last += 1
        told = {name: value[:TEXT_MAX] if isinstance(value, str) else value for name, value in fields.items()}
        self._events.append(NotedEvent(self.last, at, kind, told))
        return {"event": kind.value, "fields": told}

    def after(self, seq: int, limit: int = KEPT) -> list[NotedEvent]:
        """Returns the events after this one, the oldest first, as many as there are or the newest of them."""
        newer = min(self.last - seq, len(self._events), limit)
        return [self._events[place] for place in range(len(self._events) - max(0, newer), len(self._events))]


class _NotedCrowd:
    """The bookkeeping of a kind of which there may be very many."""

    def __init__(self) -> None:
        self._since = 0.0
        self._noted = 0
        self.unnoted = 0

    def admits(self, at: float) -> bool:
        """Tells whether one more is to be noted, and counts it."""
        if not 0.0 <= at - self._since < CROWD_S:
            self._since, self._noted = at, 0
        self._noted += 1
        if self._noted > CROWD_MAX:
            self.unnoted += 1
            return False
        return True
