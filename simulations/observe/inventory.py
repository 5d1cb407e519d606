"""Inventories: what the disks of all masters hold together at one moment, read from their files.

A crash takes nothing away from a disk, so those of masters that are down count too, as long as they are not lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from .folders import Print, phase_of, read_spooled, read_steps


class Held(NamedTuple):
    """The state of one URL on all disks."""

    step: int
    """The furthest that any of them knows: its visit, and how far that is."""
    disks: int
    """How many know the URL at all."""
    through: int
    """How many know that it is through."""

    @property
    def phase(self) -> int:
        """The phase of its last visit."""
        return phase_of(self.step)


@dataclass(frozen=True, slots=True)
class Inventory:
    """The contents of all disks together, at one moment."""

    now_s: float
    held: dict[Print, Held]
    disks: int
    """How many there are, those of masters that are gone for good left out."""
    lost: frozenset[str] = frozenset()
    """Whose disks were lost since the inventory before."""
    whole: int = 0
    """On how many disks everything was, as the masters said just then; 0 while they said that copies were missing."""
    spooled: frozenset[Print] = frozenset()
    """What is kept besides by those that found it, for want of copies elsewhere."""


@dataclass(slots=True)
class Stock:
    """Takes inventories."""

    inventories: list[Inventory] = field(default_factory=list)
    _alike: dict[Held, Held] = field(default_factory=dict)
    """One for all URLs that stand alike: there are few of them, and many URLs."""

    def take(
        self, now_s: float, job: int, folders: Iterable[Path], *, lost: frozenset[str] = frozenset(), whole: int = 0
    ) -> None:
        """Reads all disks: ``folders`` are those of all masters that are not gone for good."""
        standing: dict[Print, Held] = {}
        spooled: set[Print] = set()
        count = 0
        first = Held(0, 0, 0)
        for folder in folders:
            count += 1
            spooled |= read_spooled(folder, job)
            for key, step in read_steps(folder, job).items():
                known, disks, through = standing.get(key, first)
                held = Held(max(known, step), disks + 1, through + bool(phase_of(step)))
                standing[key] = self._alike.setdefault(held, held)
        self.inventories.append(Inventory(now_s, standing, count, lost, whole, frozenset(spooled)))
