"""Losses: what was settled and is out of reach, as somebody sees it who reads all disks; and what masters say of it.

A fact is *firm* when it was once on the disks of all that hold its bucket, as many as there are to be copies. It is out
of reach as long as no disk of a master that is there has it. What masters say is written down beside that each time
that they have come to rest: nothing is left to do, all act in one view, and say the same for a while.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from .folders import Print
from .keepers import Keepers, Rows

REST_S = 10.0
"""For so long all have to say the same before they are taken at their word."""


class Said(NamedTuple):
    """The word of one master on what is out of reach."""

    state: str
    """Of the job."""
    named: tuple[int, ...]
    """The buckets that it serves, and lacks something of."""
    missing: tuple[str, ...]
    """The masters that it misses, by their ids."""
    certificate: bytes


class Reach(NamedTuple):
    """The reach of what was settled, at one moment."""

    now_s: float
    gone: frozenset[str]
    """The masters that are to be missed, by their ids."""
    lacking: dict[int, Print]
    """The buckets of which something firm is out of reach, each with one such fact."""
    storeless: frozenset[int]
    """The buckets of which nobody is there who ever had anything."""
    bereft: frozenset[int]
    """The buckets of which something may be out of reach."""


class Telling(NamedTuple):
    """The words of all that are there, and what is true."""

    reach: Reach
    said: dict[str, Said]
    """By the names of machines."""
    since_s: dict[int, float]
    """Since when each lacking bucket lacks something."""
    rest_s: float
    """For how long all have said the same."""
    named_s: float
    """Since when anybody names a bucket."""
    certified_s: dict[str, float]
    """When each was first seen with its certificate."""
    answers: Mapping[str, dict[str, Any]] = MappingProxyType({})
    """To the verb ``job``, where all were asked."""
    statuses: Mapping[str, dict[str, Any]] = MappingProxyType({})

    @property
    def at_rest(self) -> bool:
        """True if they may be taken at their word; else only who says that the job is finished."""
        return self.rest_s >= REST_S


@dataclass(slots=True)
class Losses:
    """Keeps what is firm, and on which disks that is."""

    buckets: Mapping[Print, int]
    """Of all pages of the web."""
    keepers: Keepers = field(default_factory=Keepers)
    firm: dict[Print, int] = field(default_factory=dict)
    """How far each firm fact is known to be, in steps."""
    since_s: dict[int, float] = field(default_factory=dict)
    """Since when each bucket lacks something firm that it lacks still."""

    def settle(self, disks: Mapping[str, Mapping[Print, int]], rows: Rows, copies: int) -> None:
        """Takes in what is firm, at a moment at which all act by one table. ``disks``: by masters' ids, what each
        knows.
        """
        for key, bucket in self.buckets.items():
            row = rows[bucket]
            if len(row) < copies or not all(holder in disks for holder in row):
                continue
            step = min(disks[holder].get(key, -1) for holder in row)
            if step >= 0:
                self.firm[key] = max(step, self.firm.get(key, 0))

    def reach(
        self, now_s: float, disks: Mapping[str, Mapping[Print, int]], there: Collection[str], gone: Collection[str]
    ) -> Reach:
        """Judges what is out of reach. ``disks``: of those that are there; ``there``: these, and who left in order."""
        lacking: dict[int, Print] = {}
        for key, step in self.firm.items():
            if step > max((known.get(key, -1) for known in disks.values()), default=-1):
                lacking.setdefault(self.buckets[key], key)
        self.since_s = {bucket: self.since_s.get(bucket, now_s) for bucket in lacking}
        keepers = self.keepers
        return Reach(now_s, frozenset(gone), lacking, keepers.storeless(there), keepers.bereft(there))
