"""The states of a slave's session at its master, and what each event makes of them.

The theory. A session is *opened* when a slave's link is there and *at work* from the slave's Hello on. It *leaves* when
either side has said that no more is to come, and has *parted* with the slave's Bye. It is over for one of these
reasons: the slave says Hello anew, for then it is over for the slave, too; its link ends; or the last Beat that was
answered is longer ago than the slave's own fence lasts. A session that is over by time alone is *void*: its slave may
live, and what it says counts no more till its Hello. And one whose link ends while its slave may be at work elsewhere
is *severed*, until the time has passed after which the slave has stopped in any case.

What a slave had in hand goes back to its queues once, and never before its slave has stopped: with the end of its
link where slave and link end together, else when the session would have been void.

All that changes a state is an event of ``TRANSITIONS``. Slaves are members, and err: each word of theirs has its row in
every state in which they can be heard. What this program does to a session has rows only where it makes sense, and is
an error elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from math import inf
from typing import Final


class SessionState(Enum):
    """The condition of a slave's session for its master."""

    OPENED = "its slave has not said Hello"
    TURNED_AWAY = "its slave was told to stop before its Hello"
    AT_WORK = "its slave takes pages"
    LEAVING = "its slave finishes what it has in hand, and takes no more"
    PARTED = "its slave has said Bye, and its link is closing"
    SEVERED = "its link is gone, and its slave may be at work still"
    VOID = "over by time, while its link waits for a Hello"
    OVER = "over, and its slave has not said Bye"
    LEFT = "over, and its slave has said Bye"


class SessionEvent(Enum):
    """An event that comes to a session."""

    GREETED = "its slave says Hello"
    STOPPED = "one of the two says that no more is to come"
    SAID_BYE = "its slave says Bye"
    OVERDUE = "it was not renewed in time"
    ENDED = "its link has ended, and its slave with it"
    CUT_OFF = "its link has ended, and its slave may be at work"
    RUN_OUT = "its slave has stopped by now, wherever it is"


class SessionOutput(Enum):
    """An errand of the master that an event leads to."""

    RETURN = "what is in hand goes back to its queues"
    WAIT = "it goes back when the session would have been void"
    RENEW = "another session begins over the same link"
    BLAME = "the slave died of what it had in hand when the session was over"


class NoSuchTurn(RuntimeError):
    """An event came to a session in a state in which it cannot: a mistake in this program."""


_S, _E, _O = SessionState, SessionEvent, SessionOutput
_Step = tuple[SessionState, tuple[SessionOutput, ...]]

_AT_WORK: Final[Mapping[SessionEvent, _Step]] = {
    # For the slave it is over, so it is. It lives, and did not die of what it held.
    _E.GREETED: (_S.OVER, (_O.RETURN, _O.RENEW)),
    _E.STOPPED: (_S.LEAVING, ()),
    _E.SAID_BYE: (_S.PARTED, ()),
    _E.OVERDUE: (_S.VOID, (_O.RETURN,)),
    _E.ENDED: (_S.OVER, (_O.RETURN,)),
    _E.CUT_OFF: (_S.SEVERED, (_O.WAIT,)),
}
"""A slave that leaves is heard, fenced and lost as one at work is."""

TRANSITIONS: Final[Mapping[SessionState, Mapping[SessionEvent, _Step]]] = {
    _S.OPENED: {
        _E.GREETED: (_S.AT_WORK, ()),
        _E.STOPPED: (_S.TURNED_AWAY, ()),
        _E.SAID_BYE: (_S.PARTED, ()),
        _E.ENDED: (_S.OVER, (_O.RETURN,)),
    },
    _S.TURNED_AWAY: {
        _E.GREETED: (_S.LEAVING, ()),
        _E.STOPPED: (_S.TURNED_AWAY, ()),
        _E.SAID_BYE: (_S.PARTED, ()),
        _E.ENDED: (_S.OVER, (_O.RETURN,)),
    },
    _S.AT_WORK: _AT_WORK,
    _S.LEAVING: _AT_WORK,
    _S.PARTED: {
        # Who has said Bye begins nothing any more.
        _E.GREETED: (_S.PARTED, ()),
        _E.STOPPED: (_S.PARTED, ()),
        _E.SAID_BYE: (_S.PARTED, ()),
        _E.OVERDUE: (_S.LEFT, (_O.RETURN,)),
        _E.ENDED: (_S.LEFT, (_O.RETURN,)),
    },
    _S.SEVERED: {
        _E.STOPPED: (_S.SEVERED, ()),
        _E.RUN_OUT: (_S.OVER, (_O.RETURN,)),
    },
    _S.VOID: {
        _E.GREETED: (_S.OVER, (_O.RENEW,)),
        _E.STOPPED: (_S.VOID, ()),
        _E.SAID_BYE: (_S.LEFT, ()),
        _E.ENDED: (_S.OVER, (_O.BLAME,)),
    },
    _S.OVER: {
        # What a slave says now, it says to the session that came after.
        _E.GREETED: (_S.OVER, ()),
        _E.STOPPED: (_S.OVER, ()),
        _E.SAID_BYE: (_S.OVER, ()),
        _E.ENDED: (_S.OVER, ()),
        # The clock was set when it was severed, and somebody has seen its slave end since.
        _E.RUN_OUT: (_S.OVER, ()),
    },
    _S.LEFT: {
        _E.GREETED: (_S.LEFT, ()),
        _E.STOPPED: (_S.LEFT, ()),
        _E.SAID_BYE: (_S.LEFT, ()),
        _E.ENDED: (_S.LEFT, ()),
    },
}
"""What each event makes of each state in which it can come, and what is to be done then."""

GONE: Final = frozenset({_S.SEVERED, _S.VOID, _S.OVER, _S.LEFT})
"""Nothing is granted under it any more, and nothing that is said under it counts."""
LASTING: Final = frozenset({_S.AT_WORK, _S.LEAVING, _S.PARTED})
"""It ends when it is not renewed in time."""


@dataclass(slots=True)
class SessionTerm:
    """A session's state, and the time until which it lasts, by its master's clock."""

    void_s: float
    """How long it lasts from the last answer to a Beat; 0: as long as its link."""
    state: SessionState = SessionState.OPENED
    renewed_at: float | None = None
    """When its slave said Hello, or a Beat of it was last answered; None before its Hello."""

    def take(self, event: SessionEvent) -> tuple[SessionOutput, ...]:
        """Takes in an event; returns what is to be done. Raises NoSuchTurn where the table has no such event."""
        step = TRANSITIONS[self.state].get(event)
        if step is None:
            raise NoSuchTurn(f"{event.name} came to a session that was {self.state.name}")
        self.state, outputs = step
        return outputs

    def greet(self, now: float) -> tuple[SessionOutput, ...]:
        """Takes in a Hello, from which a session that is new lasts."""
        outputs = self.take(SessionEvent.GREETED)
        if self.renewed_at is None:
            self.renewed_at = now
        return outputs

    def renew(self, now: float) -> bool:
        """Lets the session last from now on, if it is not over by now; tells whether the Beat is to be answered."""
        if self.state not in LASTING or self.void_in_s(now) < 0:
            return False
        self.renewed_at = now
        return True

    def overdue(self, now: float) -> bool:
        """Tells whether it lasts no longer, and nobody has said so yet."""
        return self.state in LASTING and self.void_in_s(now) < 0

    def end(self, now: float, *, elsewhere: bool) -> tuple[SessionOutput, ...]:
        """Takes in the end of its link. ``elsewhere``: its slave may be at work on something for all that."""
        may_work = self.state in (SessionState.AT_WORK, SessionState.LEAVING) and 0 < self.void_in_s(now) < inf
        return self.take(SessionEvent.CUT_OFF if elsewhere and may_work else SessionEvent.ENDED)

    def void_in_s(self, now: float) -> float:
        """Returns after how long its slave has stopped in any case; infinity where only the end of its link tells."""
        return self.renewed_at + self.void_s - now if self.void_s and self.renewed_at is not None else inf
