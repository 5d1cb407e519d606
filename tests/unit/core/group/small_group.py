"""A master and one slave, with a link between them that may end, on clocks that are as far apart as they may be.

Both ends are the product's own: ``SessionTerm`` and ``FenceTerm``. A time is a number of ticks. By the law that the
timings are held to, fence and session last equally long where the slave's clock is slow, and the master's fast, by all
that is allowed; so both last ``TICKS`` here. Whoever stands still simply takes no step while others do.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import inf

from p2pcrawl.core.group.fence_term import FenceTerm
from p2pcrawl.core.group.session_states import GONE, SessionEvent, SessionOutput, SessionState, SessionTerm
from tests.exploring import Action

TICKS = 2
FLYING_MAX = 2
"""Words that are on the way in one direction at a time."""
LONG_AGO = -TICKS - 1
"""What is older differs from nothing else that is over."""
LAST = (SessionState.OVER, SessionState.LEFT)

Word = tuple[str, int, int]
"""What is said, of which session, and when the slave sent the Beat that it is or answers."""


@dataclass(slots=True)
class Known:
    """A session at the master. The slave has something in hand under each, as long as that has not gone back."""

    term: SessionTerm = field(default_factory=lambda: SessionTerm(TICKS))
    linked: bool = True
    """Its master has not seen its link end."""
    returned: bool = False


@dataclass(slots=True)
class SmallGroup:
    """``linked``: for the slave; ``cut``: the link has ended, and the slave has not seen that."""

    now: int = 0
    fence_ticks: int = TICKS
    known: dict[int, Known] = field(default_factory=dict)
    last: int = 0
    """The session of the newest link."""
    fence: FenceTerm | None = None
    under: int = 0
    """The session that the slave is in, or was in last."""
    linked: bool = False
    cut: bool = False
    asked_at: int | None = None
    """When the slave said the Hello that was not answered yet."""
    to_master: list[Word] = field(default_factory=list)
    to_slave: list[Word] = field(default_factory=list)
    faults: dict[str, int] = field(default_factory=dict)
    """How often each may still happen."""

    @property
    def works(self) -> bool:
        """Tells whether the slave asks hosts, or may in this instant."""
        return self.fence is not None and not self.fence.passed(self.now)

    @property
    def healed(self) -> bool:
        here = self.known.get(self.under)
        return self.works and here is not None and here.term.state is SessionState.AT_WORK and len(self.known) == 1

    def packed(self) -> bytes:
        """Puts it away by what matters: times from now on, and sessions in their order."""

        def since(at: float) -> float:
            return at if at in (inf, -inf) else max(LONG_AGO, at - self.now)

        kept = [
            number
            for number, one in self.known.items()
            if number in (self.under, self.last) or one.term.state not in LAST
        ]
        rank = {number: place - len(kept) + 1 for place, number in enumerate(kept)}
        forgotten = -len(kept)

        def words(said: list[Word]) -> list[Word]:
            return [(what, rank.get(of, forgotten), int(since(at))) for what, of, at in said]

        def alike(one: Known) -> Known:
            renewed = one.term.renewed_at
            return replace(one, term=replace(one.term, renewed_at=None if renewed is None else since(renewed)))

        fence = self.fence and replace(
            self.fence, until=since(self.fence.until), sent={int(since(at)): since(at) for at in self.fence.sent}
        )
        small = replace(
            self,
            now=0,
            known={rank[number]: alike(self.known[number]) for number in kept},
            last=0,
            fence=fence,
            under=rank.get(self.under, forgotten),
            asked_at=None if self.asked_at is None else int(since(self.asked_at)),
            to_master=words(self.to_master),
            to_slave=words(self.to_slave),
        )
        return pickle.dumps(small)

    def steps(self) -> Iterator[Action]:
        """Yields all that may happen next without a fault."""
        yield ("tick",)
        if self.to_master:
            yield ("master hears",)
        if self.to_slave:
            yield ("slave hears",)
        if self.cut:
            yield ("slave sees the end",)
        elif not self.linked:
            yield ("slave connects",)
        elif self.works and len(self.to_master) < FLYING_MAX and self.fence and self.now not in self.fence.sent:
            yield ("slave beats",)
        elif self.fence is not None and not self.works:
            yield ("slave says hello anew",)
        for number, one in self.known.items():
            if one.linked and (number != self.last or not self.linked or self.cut):
                yield "master sees the end", number
            if one.term.overdue(self.now):
                yield "master looks", number
            if one.term.state is SessionState.SEVERED and one.term.void_in_s(self.now) <= 0:
                yield "timer", number

    def mishaps(self) -> Iterator[Action]:
        """Yields the faults that may happen next."""
        if self.linked and not self.cut and self.faults.get("cut"):
            yield ("cut",)
        if self.linked and not self.cut and self.works and self.faults.get("leave"):
            yield ("leave",)

    def do(self, action: Action) -> None:
        """Lets one of these happen."""
        match action:
            case ("tick",):
                self.now += 1
            case ("master hears",):
                self._master_hears(*self.to_master.pop(0))
            case ("slave hears",):
                self._slave_hears(*self.to_slave.pop(0))
            case ("slave sees the end",):
                self.linked = self.cut = False
                self.fence = self.asked_at = None
            case ("slave connects",):
                self.linked = True
                self._welcome()
                self._hello()
            case ("slave beats",):
                assert self.fence is not None
                self.fence.send(self.now, self.now)
                self.to_master.append(("beat", self.under, self.now))
            case ("slave says hello anew",):
                self.fence = None
                self._hello()
            case ("master sees the end", number):
                one = self.known[number]
                one.linked = False
                self._follow(one, one.term.end(self.now, elsewhere=not one.returned))
            case ("master looks", number):
                self._follow(self.known[number], self.known[number].term.take(SessionEvent.OVERDUE))
            case ("timer", number):
                self._follow(self.known[number], self.known[number].term.take(SessionEvent.RUN_OUT))
            case ("cut",):
                self.faults["cut"] -= 1
                self.cut = True
                self.to_master, self.to_slave = [], []
            case ("leave",):
                self.faults["leave"] -= 1
                self.fence = None
                self.to_master.append(("bye", self.under, self.now))
            case _:
                raise AssertionError(action)

    def _welcome(self) -> None:
        self.last += 1
        self.known[self.last] = Known()
        self.to_slave.append(("welcome", self.last, self.now))

    def _hello(self) -> None:
        self.to_master.append(("hello", self.last, self.now))
        self.asked_at = self.now

    def _master_hears(self, what: str, of: int, at: int) -> None:
        one = self.known[self.last]
        match what:
            case "hello":
                outputs = one.term.greet(self.now)
                self._follow(one, outputs)
                if SessionOutput.RENEW in outputs:
                    one.linked = False
                    self._welcome()
                    self.known[self.last].term.greet(self.now)
            case "beat":
                if one.term.state not in GONE and of == self.last and one.term.renew(self.now):
                    self.to_slave.append(("renewed", of, at))
            case "bye":
                self._follow(one, one.term.take(SessionEvent.SAID_BYE))
                self.cut = True
                self.to_master, self.to_slave = [], []

    def _slave_hears(self, what: str, of: int, at: int) -> None:
        if what == "welcome" and self.asked_at is not None:
            self.under, self.fence, self.asked_at = of, FenceTerm.begun(self.fence_ticks, self.asked_at), None
        elif what == "renewed" and of == self.under and self.fence is not None:
            self.fence.renew(at, self.now)

    def _follow(self, one: Known, outputs: tuple[SessionOutput, ...]) -> None:
        if SessionOutput.RETURN in outputs:
            assert not one.returned, "what was in hand goes back twice"
            # Nothing was ever granted before a Hello.
            one.returned = one.term.renewed_at is not None
