"""The rules of lending a host: it is lent to one at a time, and not asked by its owner meanwhile (docs/overlay.md).

A host on which nobody keeps a distance is shared out, and none of this is said of it. Where one job keeps a distance
and another one none, a host is lent to one at a time for the sake of the first; the owner asks for pages of the second
all the same, as one master alone does.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from .acknowledged import Tell

SURE: Final = 0.9
"""So much of a loan's term is sure to be within it, by whatever clock."""


class _Loan(NamedTuple):
    """A loan of a host: whose, under which number, and from when until when it is in force for certain."""

    borrower: str
    number: int
    from_s: float
    until_s: float


class Distances(Protocol):
    """The harness's own knowledge of who wants hosts to be asked by one at a time."""

    def spaces(self, job: int, host: str) -> bool:
        """Tells whether a job keeps a distance at a host: by its settings, or for the host or a person wants it so."""


@dataclass(slots=True)
class Loans:
    """Judges what owners do with hosts that they have lent."""

    tell: Tell
    sight: Distances
    _open: dict[tuple[str, str], list[_Loan]] = field(default_factory=dict)
    """By the lender and the host."""

    def lent(self, lender: str, borrower: str, host: str, number: int, now_s: float, term_s: float) -> None:
        """Judges a loan of a host that one asks at a time, as the borrower is told of it."""
        others = [loan for loan in self._in_force(lender, host, now_s) if loan.borrower != borrower]
        for loan in others[:1]:
            text = f"lent {host} to {borrower}, and to {loan.borrower} {now_s - loan.from_s:.2f} s before"
            self.tell(f"at {now_s:.3f} s {lender} {text}, which has not paid back")
        self._open[lender, host] = [*others, _Loan(borrower, number, now_s, now_s + SURE * term_s)]

    def asked(self, lender: str, borrower: str, host: str) -> None:
        """Takes in that somebody wants to borrow a host: it has no loan of it that it knows of."""
        if loans := self._open.get((lender, host)):
            self._open[lender, host] = [each for each in loans if each.borrower != borrower]

    def repaid(self, lender: str, borrower: str, host: str, number: int) -> None:
        """Takes in that a loan is over."""
        if loans := self._open.get((lender, host)):
            self._open[lender, host] = [each for each in loans if each[:2] != (borrower, number)]

    def granted(self, lender: str, slave: str, pages: Collection[tuple[int, str]], now_s: float) -> None:
        """Judges pages, each by its job and host, that are given to a slave of the lender itself."""
        for host in dict.fromkeys(host for job, host in pages if self.sight.spaces(job, host)):
            for loan in self._in_force(lender, host, now_s)[:1]:
                text = f"has {slave} ask {host}, which is lent to {loan.borrower} since {loan.from_s:.3f} s"
                self.tell(f"at {now_s:.3f} s {lender} {text}")

    def ended(self, lender: str) -> None:
        """Takes in that a lender begins anew: it knows nothing of what it lent."""
        for place in [place for place in self._open if place[0] == lender]:
            del self._open[place]

    def _in_force(self, lender: str, host: str, now_s: float) -> list[_Loan]:
        return [loan for loan in self._open.get((lender, host), ()) if now_s < loan.until_s]
