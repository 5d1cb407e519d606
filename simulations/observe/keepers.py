"""Keepers: on which disks each bucket is, as it follows from the views that masters acted in and what befell disks.

No master is asked what it has, or lacks. Each view says who holds a bucket by the ring; what is acknowledged while it
is in force is on the disks of all these, so one of them is enough. A bucket is *bereft* when of one such view nobody is
there that held it then, with the disk of then; it is *storeless* when nobody is there that ever held it before, so
that no other can have got anything of it. Who held it till another came in its place, and has not been told to drop it,
holds it still.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf

Rows = Sequence[tuple[str, ...]]
"""By bucket: who holds it."""
Disk = tuple[str, int]
"""A master's id, and how many disks it had before."""


@dataclass(slots=True)
class Spell:
    """A time in which masters acted by one table."""

    rows: Rows
    ended_s: float = inf
    """When nobody acted by it any more."""
    lost: set[str] = field(default_factory=set)
    """Whose disk of that time is no more, or not as it was then."""
    only: frozenset[int] | None = None
    """The buckets of which it still says something; None: all."""
    _alike: frozenset[tuple[str, ...]] = frozenset()
    """The rows, each once: there are few, of thousands of buckets."""

    def bereft(self, up: Container[str]) -> frozenset[int]:
        """Returns the buckets of which nobody is there who held them then, with the disk of then."""
        if not self._alike:
            self._alike = frozenset(self.rows)
        away = {row for row in self._alike if not any(id in up and id not in self.lost for id in row)}
        if not away:
            return frozenset()
        buckets = range(len(self.rows)) if self.only is None else self.only
        return frozenset([bucket for bucket in buckets if self.rows[bucket] in away])


@dataclass(slots=True)
class Keepers:
    """Keeps the spells in which something may have been acknowledged that matters still."""

    spells: list[Spell] = field(default_factory=list)
    _acting: dict[str, tuple[Rows, Spell]] = field(default_factory=dict)
    """By which table each master acts, and the spell of that."""
    _had: Counter[str] = field(default_factory=Counter)
    """How many disks each master has lost."""
    _having: dict[int, frozenset[Disk]] = field(default_factory=dict)
    """The disks that may have something of each bucket."""
    _copied: frozenset[str] | None = None
    """Who was there when all was last copied, if nothing has changed hands since and no disk was lost."""
    _known: frozenset[Disk] = frozenset()
    """The disks that were ever in use."""
    _gaps: dict[int, frozenset[Disk]] = field(default_factory=dict)
    """Of buckets that came to others when none of these was there: one of them must come back."""

    def look(self, now_s: float, tables: Mapping[str, Rows], up: Collection[str]) -> None:
        """Takes in by which table each master acts at this moment. ``up``: who is there."""
        acting = {who: known for who, known in self._acting.items() if known[0] is tables.get(who)}
        new = self._disks(tables) - self._known
        if new or acting.keys() != tables.keys():
            self._known |= new
            self._copied = None
            for who, rows in tables.items():
                if who not in acting:
                    spell = next((s for s in self.spells if s.ended_s == inf and s.rows == rows), None)
                    if spell is None:
                        self.spells.append(spell := Spell(rows))
                        self._come_to(rows, up)
                    acting[who] = rows, spell
                if (who, self._had[who]) in new:
                    # Who comes back with an empty disk is brought what it is to have, be it in the same view.
                    self._come_to(rows, up)
        self._acting = acting
        there = [id(spell) for _, spell in acting.values()]
        for spell in self.spells:
            if spell.ended_s == inf and id(spell) not in there:
                spell.ended_s, self._copied = now_s, None
        if self._gaps:
            disks = self._disks(up)
            self._gaps = {bucket: those for bucket, those in self._gaps.items() if not those & disks}

    @property
    def at_rest(self) -> bool:
        """True if nothing has changed hands since all was last copied, and no disk was lost."""
        return len(self.spells) == 1 and not self.spells[0].lost

    def copied(self, now_s: float, up: Collection[str]) -> None:
        """Takes in that all that is there has been copied to those that are to hold it now, and dropped by others. What
        was before matters only where nobody is there who has it.
        """
        if self.at_rest or self.is_copied(up):
            return
        anew = {id(spell): Spell(spell.rows) for spell in self.spells if spell.ended_s == inf}
        kept = [
            replace(spell, ended_s=min(spell.ended_s, now_s), only=bereft)
            for spell in self.spells
            if (spell.lost or spell.ended_s < inf) and (bereft := spell.bereft(up))
        ]
        self.spells = [*kept, *anew.values()]
        self._acting = {who: (rows, anew[id(spell)]) for who, (rows, spell) in self._acting.items()}
        disks = self._disks(up)
        # Who is away has what it had.
        self._having = {bucket: those - disks for bucket, those in self._having.items()}
        for spell in anew.values():
            self._come_to(spell.rows, up, begins=False)
        self._copied = frozenset(up)

    def is_copied(self, up: Collection[str]) -> bool:
        """Tells whether all was copied among those that are there, and nothing was to be copied since."""
        return self._copied == frozenset(up)

    def lose(self, ids: Collection[str], since_s: float | None = None) -> None:
        """Takes in that these disks are gone; or that they are again as they were at a moment."""
        self._copied = None
        for spell in self.spells:
            if since_s is None or spell.ended_s > since_s:
                spell.lost.update(ids)
        if since_s is None:
            self._had.update(ids)

    def bereft(self, up: Container[str]) -> frozenset[int]:
        """Returns the buckets of which something may be out of reach."""
        return frozenset[int]().union(*(spell.bereft(up) for spell in self.spells))

    def storeless(self, up: Collection[str]) -> frozenset[int]:
        """Returns the buckets of which all that there was till some moment is out of reach for certain."""
        disks = self._disks(up)
        there: dict[frozenset[Disk], bool] = {}
        known = [*self._having.items(), *self._gaps.items()]
        for _, those in known:
            if those not in there:
                there[those] = not those.isdisjoint(disks)
        return frozenset(bucket for bucket, those in known if not there[those])

    def _come_to(self, rows: Rows, up: Collection[str], *, begins: bool = True) -> None:
        """Takes in that those that hold the buckets by a table may have what is there of them; what nobody has who is
        there when they ``begin`` to hold it, they never had.
        """
        disks, alike = self._disks(up), dict[tuple[frozenset[Disk], tuple[str, ...]], frozenset[Disk]]()
        having, nobody = self._having, frozenset[Disk]()
        for bucket, row in enumerate(rows):
            had = having.get(bucket, nobody)
            if begins and had and had.isdisjoint(disks):
                self._gaps.setdefault(bucket, had)
            now = alike.get((had, row))
            if now is None:
                now = alike[had, row] = had | self._disks(row)
            having[bucket] = now

    def _disks(self, ids: Collection[str]) -> frozenset[Disk]:
        return frozenset((id, self._had[id]) for id in ids)


def has_excess(holder: str, rows: Rows, epochs: Sequence[int], lacks: Sequence[int]) -> bool:
    """Tells whether somebody takes itself for whole in a bucket that it does not hold: its owner has stayed, and has
    not told it yet that another one holds it now, so it does not know that it lacks what comes. ``epochs``: the last
    one of each bucket that it knows; ``lacks``: the last one of these that it lacks, or 0.
    """
    return any(epoch and not lack and holder not in row for row, epoch, lack in zip(rows, epochs, lacks, strict=True))
