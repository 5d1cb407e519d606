"""Sightings: who was there when, and who counted whom as a member; told in changes, as seen by one who looks at all at
once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple


class Sighting(NamedTuple):
    """From this moment on ``by`` counted ``of``, or did not any more."""

    now_s: float
    by: str
    of: str
    seen: bool


@dataclass(slots=True)
class Presence:
    """A master was up and awake, in one life, all the time from ``began_s`` to ``ended_s``."""

    name: str
    life: int
    began_s: float
    ended_s: float = inf


@dataclass(slots=True)
class Sightings:
    """Collects the changes in who is there, and in who counts whom."""

    sightings: list[Sighting] = field(default_factory=list)
    presences: list[Presence] = field(default_factory=list)
    _there: dict[str, Presence] = field(default_factory=dict)
    _counted: dict[str, frozenset[str]] = field(default_factory=dict)

    def look(self, now_s: float, lives: Mapping[str, int], counted: Mapping[str, Collection[str]]) -> None:
        """Notes what has changed. ``lives``: the life of each that is up and awake; ``counted``: whom each of them
        counts.
        """
        for name, presence in list(self._there.items()):
            if lives.get(name) != presence.life:
                presence.ended_s = now_s
                del self._there[name]
        for name, life in lives.items():
            if name not in self._there:
                self._there[name] = Presence(name, life, now_s)
                self.presences.append(self._there[name])
        for by, those in counted.items():
            before, now = self._counted.get(by, frozenset()), frozenset(those)
            if before == now:
                continue
            self._counted[by] = now
            self.sightings += [Sighting(now_s, by, of, of in now) for of in sorted(before ^ now)]
