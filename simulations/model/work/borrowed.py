"""The rules of borrowing a host: who does not own it has it asked under a loan of its owner, by so many requests, so
many at once, until its term is over, it is called in, or its bucket is claimed (docs/overlay.md).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from math import inf
from typing import Final, Protocol

from ..acknowledged import Tell
from ..permissions import Permissions

HELD_S: Final = 4.9
"""What a slave that is out of reach had in hand is over so long after its session last went on, at the earliest."""
ON_DISK_S: Final = 1.0
"""What may begin is told to a slave so much later at most, for its lease goes to the disk first,"""
ACCESSES: Final = 2
"""and waits for what is on its way there: so many accesses longer, where each takes its time;"""
LONG_S: Final = 0.1
"""and clocks may differ by so much in the time of a loan."""


class Sight(Protocol):
    """The harness's own knowledge of the machines, and of how they share out the hosts."""

    @property
    def now_s(self) -> float: ...

    def view(self, master: str) -> int:
        """Returns the view in which a master acts at this moment; 0 if it acts in none."""

    def holders(self, master: str, bucket: int) -> tuple[str, ...]:
        """Returns who holds a bucket by the ring, its owner first, in the view in which a master acts."""

    def hindered(self, node: str, from_s: float, until_s: float) -> bool:
        """Tells whether anything befell a node in a time."""

    def disk_s(self, node: str) -> float:
        """Returns how long an access to a node's disk takes at this moment."""

    def asks_hosts(self, job: int) -> bool:
        """Tells whether a job asks hosts for its pages, and does not read stored ones."""


@dataclass(slots=True)
class _Loan:
    """A loan, as its borrower has heard of it."""

    lender: str
    number: int
    count: int
    slots: int
    until_s: float
    bucket: int
    heard_s: float
    over_s: float = inf
    """When it was called in, or its bucket was claimed."""
    used: int = 0
    open: dict[int, tuple[str, float]] = field(default_factory=dict)
    """The records that slaves have in hand, whose, and since when."""


@dataclass(slots=True)
class Borrowed:
    """Judges masters that have hosts asked that others own."""

    sight: Sight
    permissions: Permissions
    """Which knows the bucket of each host."""
    tell: Tell
    _loans: dict[tuple[str, str], _Loan] = field(default_factory=dict)
    """By the borrower and the host."""
    _asking: dict[tuple[str, str], tuple[str, int, bool]] = field(default_factory=dict)
    """The loans that are asked for, by the same: of whom, under which number, and whether it is called in already."""
    _renewed: dict[tuple[str, str], float] = field(default_factory=dict)
    """When a master last said to a slave on a machine of its own that it has a session, or that this goes on."""
    _views: dict[str, tuple[int, float]] = field(default_factory=dict)
    """The view in which each master was seen to act, and since when."""

    def started(self, master: str) -> None:
        """Takes in that a master begins anew."""
        for place in [place for place in self._loans if place[0] == master]:
            del self._loans[place]

    def asks(self, master: str, lender: str, host: str, number: int) -> None:
        """Takes in that a master asks for a loan."""
        self._asking[master, host] = lender, number, False

    def lent(self, master: str, host: str, asked_s: float, loan: tuple[str, int, int, int, float]) -> None:
        """Takes in that a master hears of a loan that it asked for: the lender, the number, how many requests, how many
        at once, and for how long.
        """
        lender, number, count, slots, lasts_s = loan
        if (bucket := self.permissions.buckets.get(host)) is not None:
            called_in = self._asking.pop((master, host), ("", 0, False)) == (lender, number, True)
            over_s = self.sight.now_s if called_in else inf
            until_s = asked_s + lasts_s * (1.0 + LONG_S)
            self._loans[master, host] = _Loan(lender, number, count, slots, until_s, bucket, self.sight.now_s, over_s)

    def called_in(self, master: str, lender: str, host: str, number: int) -> None:
        """Takes in that a master says that it begins nothing more under a loan."""
        if self._asking.get((master, host)) == (lender, number, False):
            self._asking[master, host] = lender, number, True
        loan = self._loans.get((master, host))
        if loan is not None and (loan.lender, loan.number) == (lender, number):
            loan.over_s = min(loan.over_s, self.sight.now_s)

    def claimed(self, master: str, buckets: Collection[int], came_s: float) -> None:
        """Takes in that a master lets others have buckets that they claim; ``came_s``: when they did. Whoever has lent
        it a host of these since then knows that.
        """
        for (borrower, _), loan in self._loans.items():
            if borrower == master and loan.bucket in buckets and loan.heard_s <= came_s:
                loan.over_s = min(loan.over_s, self.sight.now_s)

    def renews(self, master: str, slave: str) -> None:
        """Takes in that a master says to a slave that it has a session, or that this goes on."""
        self._renewed[master, slave] = self.sight.now_s

    def ended(self, master: str, slave: str, records: Iterable[int]) -> None:
        """Takes in that pages are in a slave's hands no more."""
        for record in records:
            for (borrower, _), loan in self._loans.items():
                if borrower == master and loan.open.get(record, ("", 0.0))[0] == slave:
                    del loan.open[record]

    def granted(self, master: str, slave: str, pages: Iterable[tuple[int, int, str]]) -> None:
        """Judges pages, each by its job, record and host, that are given to a slave."""
        now_s, view = self.sight.now_s, self.sight.view(master)
        if self._views.get(master, (0, 0.0))[0] != view:
            self._views[master] = view, now_s
        is_settled = view and self._views[master][1] < now_s - self._grace_s(master)
        for record, host in ((record, host) for job, record, host in pages if self.sight.asks_hosts(job)):
            holders = (
                self.sight.holders(master, bucket) if (bucket := self.permissions.buckets.get(host)) is not None else ()
            )
            if not holders or holders[0] == master:
                continue
            what = self._amiss(master, slave, record, host, holders[0])
            if what and is_settled and not self.sight.hindered(master, now_s - self._grace_s(master), now_s):
                self.tell(f"at {now_s:.3f} s {master} has {slave} ask {host}, which is {holders[0]}'s, {what}")

    # -- inside --------------------------------------------------------------------------------

    def _goes_on(self, master: str, slave: str) -> bool:
        """Tells whether a slave's session with a master goes on, for all that anybody knows."""
        return self.sight.now_s < self._renewed.get((master, slave), inf) + HELD_S

    def _grace_s(self, master: str) -> float:
        return ON_DISK_S + ACCESSES * self.sight.disk_s(master)

    def _amiss(self, master: str, slave: str, record: int, host: str, owner: str) -> str:
        """Says what is wrong with a request that is to begin."""
        now_s, loan = self.sight.now_s, self._loans.get((master, host))
        if loan is None:
            return "without a loan"
        loan.used += 1
        loan.open[record] = slave, now_s
        at_once = sum(
            not self.sight.hindered(who, since_s, now_s) and self._goes_on(master, who)
            for who, since_s in loan.open.values()
        )
        if loan.lender != owner:
            return f"under a loan of {loan.lender}"
        if loan.used > loan.count:
            return f"{loan.used} times under a loan for {loan.count}"
        if at_once > loan.slots:
            return f"by {at_once} requests at once under a loan for {loan.slots}"
        if now_s > loan.over_s + self._grace_s(master):
            return f"under a loan that is over since {loan.over_s:.3f} s"
        if now_s > loan.until_s + self._grace_s(master):
            return f"under a loan whose term was over at {loan.until_s:.3f} s"
        return ""
