"""The order of a job's states: says which one counts when masters tell different ones.

The theory. Whoever changes a job's state gives the change the next version, and tells the others; they hear of
changes late, twice and in any order. So controls are ordered, all of them, and of two the greater one counts: first
by version, then by state (deleted over cancelled over finished over incomplete over paused over running), then by what
is left. The greater of two in a total order is commutative, associative and idempotent, so all masters that have heard
the same hold the same.

Cancelling is final: it has the greatest version there is, so that no change made elsewhere in ignorance of it undoes
it. Only deleting comes after it, and nothing after that.
"""

from __future__ import annotations

from typing import Final, NamedTuple

RUNNING: Final = "running"
PAUSED: Final = "paused"
INCOMPLETE: Final = "incomplete"
"""Nothing is left to do, but something of the job is out of reach: see ``docs/copies.md``."""
FINISHED: Final = "finished"
CANCELLED: Final = "cancelled"
DELETED: Final = "deleted"
"""All that was kept of it is gone, but for this: whoever comes back with the rest learns that it is to go, too."""

OVER: Final = (FINISHED, INCOMPLETE)
"""The states in which nothing more of a job is awaited, though something may come."""
ENDS: Final = (*OVER, CANCELLED)
"""Nothing more comes of it, as far as anybody knows who is here."""

FINAL: Final = 1 << 62
"""The version of what cannot be changed any more."""

PAUSE: Final = "pause"
RESUME: Final = "resume"
CANCEL: Final = "cancel"
RETRY: Final = "retry"
DELETE: Final = "delete"
VERBS: Final = (PAUSE, RESUME, CANCEL, RETRY, DELETE)

_RANK = {RUNNING: 0, PAUSED: 1, INCOMPLETE: 2, FINISHED: 3, CANCELLED: 4, DELETED: 5}

_TRANSITIONS: dict[str, dict[str, str]] = {
    PAUSE: {RUNNING: PAUSED, PAUSED: PAUSED, INCOMPLETE: PAUSED},
    RESUME: {PAUSED: RUNNING, RUNNING: RUNNING, INCOMPLETE: INCOMPLETE},
    CANCEL: {RUNNING: CANCELLED, PAUSED: CANCELLED, INCOMPLETE: CANCELLED, CANCELLED: CANCELLED},
    RETRY: {RUNNING: RUNNING, PAUSED: PAUSED, INCOMPLETE: RUNNING, FINISHED: RUNNING},
    DELETE: {INCOMPLETE: DELETED, FINISHED: DELETED, CANCELLED: DELETED},
}
"""What a verb makes of each state. What is not here is refused."""


class Control(NamedTuple):
    """A job's state under its version. The order of two is that of the module."""

    version: int = 0
    state: str = RUNNING
    reason: str = ""
    certificate: bytes = b""
    """How the job ended, as its masters have signed it."""

    @property
    def rank(self) -> tuple[int, int, str, bytes]:
        return self.version, _RANK[self.state], self.reason, self.certificate

    @property
    def valid(self) -> bool:
        """True if it is a control at all: what others tell may be anything."""
        return self.state in _RANK and 0 <= self.version <= FINAL

    def then(self, state: str, reason: str = "", certificate: bytes = b"") -> Control:
        """Returns the next control, which counts more than this one unless this one is final."""
        version = FINAL if state in (CANCELLED, DELETED) else min(self.version + 1, FINAL - 1)
        return Control(version, state, reason, certificate)


def merged(one: Control, other: Control) -> Control:
    """Returns the control that counts of two."""
    return max(one, other, key=lambda control: control.rank)


def steered(now: Control, verb: str) -> Control | None:
    """Returns the control that a verb makes of a job's; the given one when it is so already, None when that cannot
    be.
    """
    state = _TRANSITIONS[verb].get(now.state)
    if state is None or state == now.state:
        return None if state is None else now
    return now.then(state)


def refusal(now: Control, verb: str) -> str:
    """Says in words why a verb cannot be."""
    if verb == DELETE:
        return f"it is {now.state}; `p2pcrawl cancel` ends it first"
    if now.state == CANCELLED:
        return "it is cancelled, which is final"
    if verb == RESUME:
        return "it is finished; `p2pcrawl retry` lets its failed pages run again"
    return "it is finished"
