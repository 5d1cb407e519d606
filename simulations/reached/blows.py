"""Pairs of a message and a fault: which blows fell where a message of which kind had just left or come.

The windows of a protocol lie between two of its messages; a pair that never was is a window that nobody looked into.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Final

from ..kernel.moments import CAME, LEFT, TOLD, Moment
from ..play.stage import Stage

NEAR_S: Final = 0.05
"""So long before a blow at most a message is near it."""
NEAR_MAX: Final = 64
NO_BLOWS: Final = frozenset({"start", "thaw", "join", "take-snapshot", "ask"})
Pair = tuple[str, str]
"""The kind of the message, and what was done."""


class Blows:
    """Notes the pairs of one run, from when on it is let in."""

    def __init__(self) -> None:
        self.pairs: set[Pair] = set()
        self._near: dict[str, deque[tuple[float, str]]] = defaultdict(lambda: deque(maxlen=NEAR_MAX))
        self._known = 0
        self._stage: Stage | None = None

    def listen(self, stage: Stage) -> None:
        """Listens to a stage till its run is over."""
        self._stage, self._known = stage, len(stage.deeds)
        stage.world.moments.listen(self._hear)

    def _hear(self, moment: Moment) -> None:
        if self._stage is not None and len(self._stage.deeds) > self._known:
            self._look(self._stage)
        if moment.phase not in (LEFT, CAME, TOLD):
            return
        self._near[moment.node].append((moment.at, moment.kind))
        if moment.peer:
            self._near[moment.peer].append((moment.at, moment.kind))

    def _look(self, stage: Stage) -> None:
        """Looks what was near the blows that have fallen since."""
        for deed in stage.deeds[self._known :]:
            struck = set(deed.who) | {name for group in deed.groups for name in group}
            for name in struck if deed.do not in NO_BLOWS else ():
                self.pairs |= {(kind, deed.do) for at_s, kind in self._near[name] if at_s >= deed.at_s - NEAR_S}
        self._known = len(stage.deeds)
