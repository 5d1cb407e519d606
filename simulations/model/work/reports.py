"""The rules of what slaves say: what nobody has acknowledged is said to the next master, and nothing is forgotten by
one that leaves.

A slave whose session is over keeps what it has reported and was not told to be durable, and says it as soon as it has
another session (docs/copies.md): of a page of which a part was sent before only what it led to, for that master may
have forgotten the part. One that leaves in order has reported, or given back, all that it was granted, and was told
that it is safe. What it has given back it does not ask for. And a master gives a page to one slave at a time: to the
next when the session of the one before is over, by any clock (docs/cluster.md).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from math import inf
from typing import Final, NamedTuple, Protocol

from ..acknowledged import Tell
from ..permissions import VOID_S

SOON_S: Final = 2.0
"""Who has a session says so soon what it could not say in the one before."""
KEPT_S: Final = 50.0
"""Nothing is kept for longer than a minute."""
HELD_S: Final = 5.1
"""Pages of a slave that is out of reach go to others so long after its session last went on, by its master's clock."""
ROUNDING_S: Final = 0.02
PATIENCE_S: Final = 9.0
"""Who leaves on its own account waits ten seconds for what is open."""
FENCED_S: Final = 4.9 * 0.98
"""A session is over for its slave so long after it sent the last beat that was answered, or its greeting, at least."""

STALE_S: Final = 10.0
"""A master may take a session for open so long after the machine's next one has begun, till it writes to it."""


class Sight(Protocol):
    """The harness's own knowledge of the machines."""

    @property
    def now_s(self) -> float: ...

    def life(self, node: str) -> int:
        """Returns which life a node is in; 0 if it is down."""

    def clock(self, node: str) -> float:
        """Returns how many seconds a node's clock counts in one of the world's."""

    def lies(self, slave: str) -> bool:
        """Tells whether a slave says what it should not."""

    def hindered(self, node: str, from_s: float, until_s: float) -> bool:
        """Tells whether anything befell a node in a time."""

    def stood_still(self, node: str, from_s: float, until_s: float) -> bool:
        """Tells whether a node stood still at any moment of a time."""


class Told(NamedTuple):
    """A page in a report, or among what is brought to another master."""

    lease: tuple[str, int, int]
    """The master that granted it, the record and the lease."""
    ends: bool
    """It says how the page ended,"""
    leads: bool
    """or where it leads to."""


@dataclass(slots=True)
class _Slave:
    """The pages that a slave has in hand, and those of which it has said something."""

    life: int = 0
    master: str = ""
    opened_s: float = 0.0
    outlives: bool = False
    """The session ends by itself, and what is said in it outlives it."""
    granted: set[tuple[str, int, int]] = field(default_factory=set)
    returned: set[tuple[str, int, int]] = field(default_factory=set)
    parts: set[tuple[str, int, int]] = field(default_factory=set)
    """The pages of which a part was reported first."""
    beats: dict[tuple[int, int], float] = field(default_factory=dict)
    """When those left that nobody has answered, by their sessions and numbers."""
    asked_s: float = inf
    """When the last one left that was answered, or the greeting."""
    flying: dict[int, tuple[float, list[Told]]] = field(default_factory=dict)
    """The reports that nobody has acknowledged, and when each left,"""
    due: dict[tuple[str, int, int], float] = field(default_factory=dict)
    """what of these is to be brought to the next master,"""
    brought: dict[int, list[Told]] = field(default_factory=dict)
    """and what is on its way there."""
    leaves_s: float = 0.0
    """When it was to leave."""
    on_its_own: bool = False


@dataclass(slots=True)
class Reports:
    """Judges what slaves say, and what they keep to themselves."""

    sight: Sight
    tell: Tell
    _slaves: dict[str, _Slave] = field(default_factory=dict)
    _greeted: dict[str, float] = field(default_factory=dict)
    """When a slave last asked for a session."""
    _answered: dict[tuple[str, str], float] = field(default_factory=dict)
    """When a master last answered a beat of a slave, or its greeting."""
    _hands: dict[tuple[str, int], tuple[str, int, float]] = field(default_factory=dict)
    """The slave that has a page, by the master and the record there, in the how manieth of its sessions, since when;"""
    _arrived: dict[tuple[str, int], str] = field(default_factory=dict)
    """the slave to which it came, for what goes to a process that is dead comes to nobody;"""
    _sessions: Counter[tuple[str, str]] = field(default_factory=Counter)
    """and how many are over, by the master and the slave,"""
    _over_s: dict[tuple[str, str], float] = field(default_factory=dict)
    """and when the last one was."""
    _late: dict[tuple[str, str], set[int]] = field(default_factory=lambda: defaultdict(set))
    """The reports that came to a master when the session was over there."""
    _looks: list[tuple[float, str, float, frozenset[tuple[str, int, int]]]] = field(default_factory=list)

    # -- sessions ------------------------------------------------------------------------------

    def welcomed(self, slave: str, master: str, *, outlives: bool) -> None:
        """Takes in that a slave has a session from now on."""
        now_s, state = self.sight.now_s, self._of(slave)
        if state.outlives:
            for at_s, pages in state.flying.values():
                # The end of a page of which a part went ahead is not told to another: it is fetched again.
                ends = {page.lease for page in pages if page.ends} - state.parts
                state.due.update({page.lease: at_s for page in pages if page.leads or page.lease in ends})
            for pages in state.brought.values():
                state.due.update({page.lease: now_s - SOON_S for page in pages if page.lease not in state.due})
        due = {lease: at_s for lease, at_s in state.due.items() if at_s > now_s - KEPT_S and outlives}
        asked_s = self._greeted.get(slave, now_s)
        self._slaves[slave] = _Slave(state.life, master, now_s, outlives, parts=state.parts, due=due, asked_s=asked_s)
        if due:
            self._looks.append((now_s + SOON_S, slave, now_s, frozenset(due)))

    def greets(self, slave: str) -> None:
        """Takes in that a slave asks for a session."""
        self._greeted[slave] = self.sight.now_s

    def beats(self, slave: str, session: int, number: int) -> None:
        """Takes in that a slave asks whether its session goes on."""
        self._of(slave).beats[session, number] = self.sight.now_s

    def goes_on(self, slave: str, session: int, number: int) -> None:
        """Takes in that a slave hears the answer to that."""
        state = self._of(slave)
        if (at_s := state.beats.pop((session, number), None)) is not None:
            state.asked_s = max(state.asked_s, at_s)

    def granted(self, slave: str, leases: Iterable[tuple[int, int]]) -> None:
        """Takes in which pages have come to a slave."""
        state = self._of(slave)
        for record, lease in leases:
            state.granted.add((state.master, record, lease))
            self._arrived[state.master, record] = slave

    def gives_back(self, slave: str, records: Collection[int]) -> None:
        """Takes in that a slave gives pages back."""
        state = self._of(slave)
        state.returned.update(lease for lease in state.granted if lease[1] in records)
        state.granted -= state.returned

    # -- reports -------------------------------------------------------------------------------

    def reports(self, slave: str, sequence: int, pages: Collection[tuple[int, int, bool, bool]]) -> None:
        """Judges a report as it leaves: record, lease, whether the page ends with it, and whether it leads anywhere."""
        self._look_again()
        state = self._of(slave)
        told = [Told((state.master, record, lease), ends, leads) for record, lease, ends, leads in pages]
        state.flying[sequence] = self.sight.now_s, told
        for page in told:
            if page.lease in state.returned:
                self._tell(slave, f"reports record {page.lease[1]} to {state.master}, which it has given back")
            if page.ends:
                state.granted.discard(page.lease)
            else:
                state.parts.add(page.lease)

    def is_safe(self, slave: str, sequence: int) -> None:
        """Takes in that a slave hears that reports are durable."""
        state = self._of(slave)
        state.flying = {number: each for number, each in state.flying.items() if number > sequence}

    def brings(self, slave: str, sequence: int, pages: Collection[tuple[tuple[int, int], bool, bool]]) -> None:
        """Judges what a slave brings from the masters before: record and lease there, and what it says of the page."""
        state = self._of(slave)
        told = []
        for lease, ends, leads in pages:
            whole = next((each for each in (*state.due, *state.parts) if each[1:] == lease), ("", *lease))
            if ends and whole in state.parts:
                self._tell(
                    slave, f"brings {state.master} the end of record {lease[0]}, of which a part went to another"
                )
            told.append(Told(whole, ends, leads))
            state.due.pop(whole, None)
        state.brought[sequence] = told
        self._look_again()

    def is_adopted(self, slave: str, sequence: int) -> None:
        """Takes in that a slave hears that what it has brought is safe."""
        self._of(slave).brought.pop(sequence, None)

    # -- leaving -------------------------------------------------------------------------------

    def is_to_leave(self, slave: str, *, on_its_own: bool) -> None:
        """Takes in that a slave is to leave."""
        state = self._of(slave)
        if not state.leaves_s:
            state.leaves_s, state.on_its_own = self.sight.now_s, on_its_own

    def leaves(self, slave: str) -> None:
        """Judges a slave that says good-bye in order: nothing of it is open."""
        state, now_s = self._of(slave), self.sight.now_s
        if not state.leaves_s or (state.on_its_own and now_s > state.leaves_s + PATIENCE_S):
            return
        if state.outlives and now_s > state.asked_s + FENCED_S:
            # Its session is over, by its own clock: who stood still, or was cut off, can say nothing in it any more.
            return
        if state.granted:
            self._tell(slave, f"leaves {state.master} with {len(state.granted)} pages neither reported nor given back")
        elif state.flying:
            self._tell(slave, f"leaves {state.master}, which has not said that its last reports are safe")
        elif state.brought and state.outlives:
            self._tell(slave, f"leaves {state.master}, which has not said that what it brought is safe")
        self._slaves.pop(slave, None)

    # -- masters -------------------------------------------------------------------------------

    def renews(self, master: str, slave: str) -> None:
        """Takes in that a master welcomes a slave, or says that its session goes on."""
        self._answered[master, slave] = self.sight.now_s
        self._late.pop((master, slave), None)

    def grants(self, master: str, slave: str, records: Iterable[int]) -> None:
        """Judges a grant: no page of it is in the hands of another slave, whose session goes on."""
        for record in records:
            page, now_s = (master, record), self.sight.now_s
            holder, session, since_s = self._hands.get(page, (slave, self._sessions[master, slave], now_s))
            went_s = now_s - self._answered.get((master, holder), -inf)
            held_s = HELD_S / max(1.0, self.sight.clock(master)) - ROUNDING_S
            goes_on = session == self._sessions[master, holder] and went_s < held_s
            # What went to a session that the machine's last loss of power has ended comes to nobody.
            on_its_way = self._over_s.get((master, holder), -inf) < since_s - STALE_S and now_s < since_s + SOON_S
            has_it = self._arrived.pop(page, "") == holder or on_its_way
            if has_it and goes_on and holder not in (slave, master) and not self.sight.lies(holder):
                text = f"granted record {record} to {slave}, which {holder} has, whose session went on"
                self._tell(master, f"{text} {went_s:.2f} s before")
            self._hands[page] = slave, self._sessions[master, slave], now_s

    def is_back(self, master: str, slave: str, records: Collection[int]) -> None:
        """Takes in that pages are in a slave's hands no more."""
        for record in records:
            if (hand := self._hands.get((master, record))) is not None and hand[0] == slave:
                del self._hands[master, record]

    def is_over(self, master: str, slave: str) -> None:
        """Takes in that a slave begins anew, or says good-bye, or is told that its session is over."""
        self._sessions[master, slave] += 1
        self._over_s[master, slave] = self.sight.now_s

    def started(self, master: str) -> None:
        """Takes in that a master begins anew: it knows of no session."""
        for place in [place for place in self._hands if place[0] == master]:
            del self._hands[place]

    def comes(self, master: str, slave: str, sequence: int, ended: Collection[int]) -> None:
        """Takes in that a report is there, of pages that have ended by it."""
        self.is_back(master, slave, ended)
        now_s = self.sight.now_s
        answered_s = self._answered.get((master, slave), now_s)
        # One that stood still first hears what came in time.
        if now_s > answered_s + VOID_S and not self.sight.stood_still(master, answered_s, now_s):
            self._late[master, slave].add(sequence)

    def acknowledges(self, master: str, slave: str, sequence: int) -> None:
        """Judges the word of a master that reports are durable: not of those that came when the session was over."""
        late = sorted(number for number in self._late.get((master, slave), ()) if number <= sequence)
        if late and not self.sight.lies(slave):
            self._tell(master, f"takes report {late[0]} of {slave}, which came when its session was over")

    # -- inside --------------------------------------------------------------------------------

    def _of(self, slave: str) -> _Slave:
        """Returns what a slave has in hand, and has said, in this life."""
        state, life = self._slaves.get(slave), self.sight.life(slave)
        if state is None or state.life != life:
            state = self._slaves[slave] = _Slave(life)
        return state

    def _look_again(self) -> None:
        """Looks at what was to be brought by now."""
        while self._looks and self._looks[0][0] <= self.sight.now_s:
            _, slave, opened_s, wanted = self._looks.pop(0)
            state = self._of(slave)
            if state.opened_s != opened_s or not (kept := wanted & state.due.keys()):
                continue
            if not state.brought and not self.sight.hindered(slave, opened_s, self.sight.now_s):
                records = ", ".join(str(lease[1]) for lease in sorted(kept))
                self._tell(slave, f"has not brought {state.master} what nobody has said to be safe, records {records}")

    def _tell(self, node: str, what: str) -> None:
        if not self.sight.lies(node):
            self.tell(f"at {self.sight.now_s:.3f} s {node} {what}")
