"""Loans that were written off, for their borrowers were taken for dead: who is back in the same life has them still.

Beyond a partition a borrower lives, and what it had open when it was cut off stays so for as long as the host leaves
it. The owner cannot wait for that, but it knows of it: as soon as the borrower is there again, its loans count as
before, until it repays them. It does, sooner or later, for a borrower says so until its owner has heard it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from p2pcrawl.master.loans.boots import Lives
from p2pcrawl.model.cluster.node import NodeId


@dataclass(frozen=True, slots=True)
class MadeLoan:
    """A loan that this master has made to one borrower. ``number``: of its question."""

    number: int
    slots: int
    life: bytes | None
    """Of the borrower."""
    until: float
    """It begins nothing after this."""
    job: int = 0
    """For whose requests it is: it runs at the borrower, whatever we have heard."""


class WrittenOff:
    """The loans of masters that are dead, as far as anybody can tell."""

    def __init__(self, lives: Lives) -> None:
        self._lives = lives
        self._loans: dict[NodeId, dict[int, MadeLoan]] = {}
        """By the borrower, and by the host's key."""

    def note(self, key: int, borrower: NodeId, lent: MadeLoan) -> None:
        """Notes a loan that was written off, unless its borrower has begun another life, and knows nothing of it."""
        if self._lives.of(borrower) == lent.life:
            self._loans.setdefault(borrower, {})[key] = lent

    def repaid(self, key: int, borrower: NodeId, number: int) -> bool:
        """Tells whether that loan was written off; now it has ended."""
        loans = self._loans.get(borrower, {})
        if (lent := loans.get(key)) is None or lent.number != number:
            return False
        del loans[key]
        return True

    def returned(self) -> Iterator[tuple[int, NodeId, MadeLoan]]:
        """Takes out, and yields by host, what those have that have come back in the same life."""
        for borrower in [borrower for borrower in self._loans if borrower in self._lives]:
            for key, lent in self._loans.pop(borrower).items():
                if self._lives.of(borrower) == lent.life:
                    # Another object: whoever waits to write off the one before has nothing to do with this one.
                    yield key, borrower, replace(lent)

    def forget(self, borrower: NodeId) -> None:
        """Forgets one that has been away for so long that nothing of then can be open."""
        self._loans.pop(borrower, None)
