"""The rules of asking hosts: who may ask which host when, from what masters have told each other.

A host is asked by the master that has taken its bucket, for as long as it has not let go of it, and by whoever has it
on loan from that one; and by no slave whose session is over (docs/cluster.md, docs/overlay.md). Who has let go of it
for one that never took it goes on with it when it has the word of another one (docs/copies.md). Nobody is asked
whether he thinks that he may.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol

FENCE_S: Final = 4.9
"""A session lasts so long after its last beat was sent that was answered, by its slave's clock,"""
SESSION_S: Final = FENCE_S / 0.98 + 0.02
"""and by whatever clock."""
VOID_S: Final = 5.1 / 0.98 + 0.1
"""A master that has not answered a beat for so long holds the session for over, by whatever clock."""
GRANTED_S: Final = 2.0
"""What was granted under a loan has begun so much later at most."""
ENDED_S: Final = 0.1
"""A request is over for its master so long before its end is heard of there."""
TOOK, LET_GO, STARTED = "took", "let go", "started"


class Asked(Protocol):
    """A request, as the web saw it."""

    @property
    def url(self) -> str: ...
    @property
    def host(self) -> str: ...
    @property
    def node(self) -> str: ...
    @property
    def master(self) -> str: ...
    @property
    def began_s(self) -> float: ...
    @property
    def ended_s(self) -> float: ...


class Seen(Protocol):
    """The harness's own knowledge of who was there."""

    def alone(self, master: str, from_s: float, until_s: float) -> bool:
        """Tells whether a master was the only one at any time between two moments, and told nobody what it took."""

    def hindered(self, node: str, from_s: float, until_s: float) -> bool:
        """Tells whether anything befell a node in a time, so that it could not hang up."""

    def held_up_s(self, from_s: float, until_s: float) -> float:
        """Returns for how long any disk, or any message, was held up between two moments."""


@dataclass(slots=True)
class _Session:
    """A session of a slave: beats that are not answered yet, and until when it is sure to be over."""

    until_s: float = 0.0
    sent: dict[int, float] = field(default_factory=dict)
    hello_s: float = 0.0
    fenced: bool = False


@dataclass(slots=True)
class Permissions:
    """Takes down who may ask which host, and judges the requests that were made."""

    buckets: dict[str, int] = field(default_factory=dict)
    """The bucket of each host."""
    lasts_s: Callable[[str], float] = lambda slave: SESSION_S
    """Says how long a session of a slave lasts at most after a beat."""
    _moves: dict[tuple[str, int], list[tuple[float, str]]] = field(default_factory=lambda: defaultdict(list))
    """What became of a bucket at a master."""
    _loans: dict[tuple[str, str], list[tuple[float, float, str]]] = field(default_factory=lambda: defaultdict(list))
    """From when until when a master had a host on loan, and whose,"""
    _repaid: dict[tuple[str, str, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    """and when the lender heard that one of these was over."""
    _sessions: dict[str, _Session] = field(default_factory=lambda: defaultdict(_Session))
    found: list[str] = field(default_factory=list)
    """What masters have said of sessions that were over."""
    _answered_s: dict[tuple[str, str, int], float] = field(default_factory=dict)
    """When a master last answered a beat of a slave's session."""
    _over: dict[str, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))
    """When the sessions of a slave were over: from when, until when."""

    # -- what masters say ----------------------------------------------------------------------

    def took(self, master: str, buckets: Collection[int], now_s: float) -> None:
        """Takes down that a master has buckets from now on."""
        self._move(master, buckets, now_s, TOOK)

    def let_go(self, master: str, buckets: Collection[int], now_s: float) -> None:
        """Takes down that a master has buckets no more, for another one claims them."""
        self._move(master, buckets, now_s, LET_GO)

    def started(self, master: str, now_s: float) -> None:
        """Takes down that a master begins anew: it may be alone, and have all that there is."""
        self._move(master, set(self.buckets.values()), now_s, STARTED)
        for place in [place for place in self._answered_s if place[0] == master]:
            del self._answered_s[place]

    def lent(self, lender: str, borrower: str, host: str, now_s: float, term_s: float) -> None:
        """Takes down that a host is lent for a time."""
        self._loans[borrower, host].append((now_s, now_s + term_s / 0.98 + GRANTED_S, lender))

    def repaid(self, lender: str, borrower: str, host: str, now_s: float) -> None:
        """Takes down that a lender hears that a loan is over."""
        self._repaid[borrower, host, lender].append(now_s)

    # -- what slaves hear ----------------------------------------------------------------------

    def greets(self, slave: str, now_s: float) -> None:
        """Takes down that a slave asks for a session."""
        self._sessions[slave].hello_s = now_s

    def welcomed(self, slave: str, fence_s: float, now_s: float) -> None:
        """Takes down that a slave has a session."""
        session = self._sessions[slave]
        if session.fenced and session.until_s < now_s:
            self._over[slave].append((session.until_s, now_s))
        session.until_s, session.fenced = session.hello_s + self.lasts_s(slave), fence_s > 0.0
        session.sent.clear()

    def beats(self, slave: str, number: int, now_s: float) -> None:
        """Takes down that a slave has sent a beat."""
        self._sessions[slave].sent[number] = now_s

    def renewed(self, slave: str, number: int, now_s: float) -> None:
        """Takes down that a slave heard the answer to a beat: too late, if its session is over."""
        session = self._sessions[slave]
        if (sent_s := session.sent.get(number)) is not None and now_s <= session.until_s:
            session.until_s = max(session.until_s, sent_s + self.lasts_s(slave))

    def renews(self, master: str, slave: str, session: int, now_s: float) -> None:
        """Judges the word of a master that a session goes on: it is not over for long."""
        last_s = self._answered_s.get((master, slave, session), now_s)
        if now_s - last_s > VOID_S:
            self.found.append(
                f"at {now_s:.3f} s {master} renewed a session of {slave}, for the first time in {now_s - last_s:.2f} s"
            )
        self._answered_s[master, slave, session] = now_s

    def halted(self, slave: str, now_s: float) -> None:
        """Takes down that a slave was told that its session is over."""
        session = self._sessions[slave]
        session.until_s = min(session.until_s, now_s)

    # -- what the web saw ----------------------------------------------------------------------

    def broken_by(self, asked: Asked, seen: Seen) -> Iterator[str]:
        """Yields what is wrong with a request."""
        at_s, who = asked.began_s, f"{asked.node} asked for {asked.url} at {asked.began_s:.3f} s"
        for from_s, until_s in self._sessions_over(asked.node):
            if from_s < at_s < until_s:
                yield f"{who}, {at_s - from_s:.2f} s after its session was over"
                break
        bucket = self.buckets.get(asked.host)
        if bucket is None:
            return
        lenders = self._lenders(asked, at_s, seen)
        moved_s, what = self._last_move(asked.master, bucket, at_s)
        if what == LET_GO and not lenders and not seen.alone(asked.master, moved_s, at_s):
            yield f"{who}, and its master {asked.master} had let go of bucket {bucket} of that host at {moved_s:.3f} s"
        if seen.hindered(asked.node, at_s, asked.ended_s):
            return
        owners = {each for each in lenders if not self._is_repaid(asked, each, at_s)}
        # Who began anew may owe its word on what it had before, and have the host on loan from who has it now.
        if not owners or what == TOOK:
            owners.add(asked.master)
        for master in owners:
            moved_s, what = self._last_move(master, bucket, asked.ended_s - ENDED_S)
            # Who began anew since then knows nothing of what it had lent.
            if what == LET_GO and moved_s > at_s and not self._has_started(master, bucket, at_s, moved_s):
                yield f"{who}, and {master} let go of that host's bucket {bucket} at {moved_s:.3f} s, before it ended"
                return

    # -- inside --------------------------------------------------------------------------------

    def _move(self, master: str, buckets: Collection[int], now_s: float, what: str) -> None:
        for bucket in set(self.buckets.values()).intersection(buckets):
            self._moves[master, bucket].append((now_s, what))

    def _last_move(self, master: str, bucket: int, at_s: float) -> tuple[float, str]:
        moves = self._moves.get((master, bucket), [])
        place = bisect_right(moves, at_s, key=lambda move: move[0])
        return moves[place - 1] if place else (0.0, "")

    def _has_started(self, master: str, bucket: int, from_s: float, until_s: float) -> bool:
        """Tells whether a master began anew between two moments."""
        return any(
            what == STARTED and from_s <= at_s <= until_s for at_s, what in self._moves.get((master, bucket), ())
        )

    def _lenders(self, asked: Asked, at_s: float, seen: Seen) -> list[str]:
        """Returns the masters that had lent this host to whoever asked. What waited for a disk till the loan's term was
        over begins late, under a loan that nobody has repaid: for its master's, or for another one's, without whose
        word that one takes in nothing more of the slave.
        """
        loans = self._loans.get((asked.master, asked.host), ())
        return [
            lender
            for from_s, until_s, lender in loans
            if from_s <= at_s <= until_s
            or (
                from_s <= at_s <= until_s + seen.held_up_s(from_s, at_s)
                and not any(from_s <= said_s <= at_s for said_s in self._repaid[asked.master, asked.host, lender])
            )
        ]

    def _is_repaid(self, asked: Asked, lender: str, at_s: float) -> bool:
        """Tells whether all that was lent to whoever asked is repaid by then: it asks as the owner, and not on loan."""
        loans = self._loans.get((asked.master, asked.host), ())
        lent_s = max((from_s for from_s, _, who in loans if who == lender and from_s <= at_s), default=0.0)
        return any(lent_s <= said_s <= at_s for said_s in self._repaid[asked.master, asked.host, lender])

    def _sessions_over(self, slave: str) -> Iterator[tuple[float, float]]:
        yield from self._over.get(slave, ())
        session = self._sessions.get(slave)
        if session is not None and session.fenced:
            yield session.until_s, float("inf")
