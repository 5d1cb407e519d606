"""The rules of lending a host: it is lent to one at a time, and not asked by its owner meanwhile (docs/overlay.md).

A host on which nobody keeps a distance is shared out, and none of this is said of it. Where one job keeps a distance
and another one none, a host is lent to one at a time for the sake of the first; the owner asks for pages of the second
all the same, as one master alone does.

Of any host, with a delay or without: when its bucket moves, its owner lets go of that when nothing of it is lent. And a
loan of which the borrower never heard, for the answer got lost, it repays as well, until its owner has heard that: else
the host would wait for ever.

What a host asks for is told with a loan, both ways, and is kept; what jobs keep to there by themselves is no wish of
its.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from .acknowledged import Tell

SURE: Final = 0.9
"""So much of a loan's term is sure to be within it, by whatever clock."""
REPAID_S: Final = 40.0
"""A borrower that has not heard of its loan gives up waiting, and repays it, within this time."""


class _Loan(NamedTuple):
    """A loan of a host: whose, under which number, and from when until when it is in force for certain."""

    borrower: str
    number: int
    from_s: float
    until_s: float


class Distances(Protocol):
    """The harness's own knowledge of who wants hosts to be asked by one at a time."""

    @property
    def now_s(self) -> float: ...

    def spaces(self, job: int, host: str) -> bool:
        """Tells whether a job keeps a distance at a host: by its settings, or for the host or a person wants it so."""

    def wanted_s(self, host: str) -> float:
        """Returns the delay that a host asks for, whoever asks it."""

    def away_since(self, since_s: float) -> frozenset[str]:
        """Returns the masters to which anything has happened since then, and those to which it happens still."""


@dataclass(slots=True)
class Loans:
    """Judges what owners do with hosts that they have lent."""

    tell: Tell
    sight: Distances
    _open: dict[tuple[str, str], list[_Loan]] = field(default_factory=dict)
    """By the lender and the host."""
    _out: dict[tuple[str, str], dict[str, _Loan]] = field(default_factory=dict)
    """The same of all hosts, by the borrower besides."""
    _unheard: dict[tuple[str, str, str], _Loan] = field(default_factory=dict)
    """Loans of which the borrower has not heard, by the lender, the borrower and the host."""

    def lends(self, lender: str, borrower: str, host: str, number: int, now_s: float, term_s: float) -> None:
        """Takes in a loan of any host, as its lender says so."""
        loan = _Loan(borrower, number, now_s, now_s + SURE * term_s)
        self._out.setdefault((lender, host), {})[borrower] = loan
        self._unheard[lender, borrower, host] = loan

    def hears(self, lender: str, borrower: str, host: str) -> None:
        """Takes in that a borrower hears of its loan."""
        self._unheard.pop((lender, borrower, host), None)

    def says(self, teller: str, hearer: str, host: str, asked_s: float) -> None:
        """Judges what one master tells another that a host asks for."""
        if asked_s > (wanted_s := self.sight.wanted_s(host)):
            text = f"tells {hearer} that {host} asks for {asked_s:g} s between two requests, of {wanted_s:g} s"
            self.tell(f"at {self.sight.now_s:.3f} s {teller} {text}")

    def lets_go(self, lender: str, claimer: str, hosts: Collection[str], now_s: float) -> None:
        """Judges a master that lets another one have the buckets of these hosts: nothing of them is lent."""
        for host in hosts:
            for loan in self._out.get((lender, host), {}).values():
                if now_s < loan.until_s:
                    text = f"lets {claimer} have the bucket of {host}, which is lent to {loan.borrower}"
                    self.tell(f"at {now_s:.3f} s {lender} {text} since {loan.from_s:.3f} s")
                    return

    def look(self) -> None:
        """Judges whether borrowers have paid back what they never heard of."""
        now_s = self.sight.now_s
        late = [place for place, loan in self._unheard.items() if loan.from_s < now_s - REPAID_S]
        away = self.sight.away_since(now_s - REPAID_S) if late else frozenset()
        for place in late:
            lender, borrower, host = place
            if not away & {lender, borrower}:
                since_s = self._unheard.pop(place).from_s
                text = f"has not repaid {host}, which {lender} lent it at {since_s:.3f} s, and it did not hear of that"
                self.tell(f"at {now_s:.3f} s {borrower} {text}")

    def lent(self, lender: str, borrower: str, host: str, number: int, now_s: float, term_s: float) -> None:
        """Judges a loan of a host that one asks at a time, as the borrower is told of it."""
        others = [loan for loan in self._in_force(lender, host, now_s) if loan.borrower != borrower]
        for loan in others[:1]:
            text = f"lent {host} to {borrower}, and to {loan.borrower} {now_s - loan.from_s:.2f} s before"
            self.tell(f"at {now_s:.3f} s {lender} {text}, which has not paid back")
        self._open[lender, host] = [*others, _Loan(borrower, number, now_s, now_s + SURE * term_s)]

    def asked(self, lender: str, borrower: str, host: str) -> None:
        """Takes in that somebody wants to borrow a host: it has no loan of it that it knows of."""
        self._ends(lender, borrower, host)
        if loans := self._open.get((lender, host)):
            self._open[lender, host] = [each for each in loans if each.borrower != borrower]

    def repaid(self, lender: str, borrower: str, host: str, number: int) -> None:
        """Takes in that a loan is over."""
        if (loan := self._out.get((lender, host), {}).get(borrower)) is not None and loan.number == number:
            self._ends(lender, borrower, host)
        if loans := self._open.get((lender, host)):
            self._open[lender, host] = [each for each in loans if each[:2] != (borrower, number)]

    def granted(self, lender: str, slave: str, pages: Collection[tuple[int, str]], now_s: float) -> None:
        """Judges pages, each by its job and host, that are given to a slave of the lender itself."""
        for host in dict.fromkeys(host for job, host in pages if self.sight.spaces(job, host)):
            for loan in self._in_force(lender, host, now_s)[:1]:
                text = f"has {slave} ask {host}, which is lent to {loan.borrower} since {loan.from_s:.3f} s"
                self.tell(f"at {now_s:.3f} s {lender} {text}")

    def ended(self, lender: str) -> None:
        """Takes in that a lender begins anew: it knows nothing of what it lent, or has borrowed."""
        for unheard in [each for each in self._unheard if lender in each[:2]]:
            del self._unheard[unheard]
        for place in [place for place in {*self._out, *self._open} if place[0] == lender]:
            self._out.pop(place, None)
            self._open.pop(place, None)

    def _ends(self, lender: str, borrower: str, host: str) -> None:
        self._out.get((lender, host), {}).pop(borrower, None)
        self._unheard.pop((lender, borrower, host), None)

    def _in_force(self, lender: str, host: str, now_s: float) -> list[_Loan]:
        return [loan for loan in self._open.get((lender, host), ()) if now_s < loan.until_s]
