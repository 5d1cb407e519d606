"""The states of a bucket at one master, and what each event makes of them: the table by which buckets change hands.

The theory. By the view that a master acts in, a bucket is either another's or its own. On its way to us it is *claimed*
until everybody has let go of it, then its new epoch *begins* (is written down, and told to all), then it is *served*.
On its way from us it is *left over* until its owner claims it, then *let go of*, then, when the owner has everything,
it is *given up*: its rows become copies, and are forgotten. Whoever never owned it goes the same way with the copies
that it has: it *agrees* to be told.

All that changes a state is an event of ``TRANSITIONS``; whatever is not in the table cannot happen, and is an error.
Whether anything is granted from a bucket that is served depends on the whole master besides (``Ownership.serves``): it
may be looking for others, wait for those who have more, or lack the consent of most.

Invariants: what is another's is never served; nothing of ours is served between an event that casts doubt on it and
the word of everybody; rows are given up for nobody but the owner that was told that it may have them, and what comes
back while they are is not taken in before they are gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum, IntEnum
from functools import cache
from itertools import compress
from typing import Final, NamedTuple

from p2pcrawl.core.ring.rendezvous import BUCKETS


class BucketState(IntEnum):
    """The way on which one bucket is at a master, to it or from it."""

    AWAY = 0
    """Another's. What we have of it are copies at most."""
    LEFT_OVER = 1
    """Another's. It was ours, or its owner may not have heard of us, and nobody has taken what we have of it."""
    AGREED = 2
    """Another's, as it was; its owner has our word that it may have what we hold of it."""
    LET_GO = 3
    """Another's. It was ours; its owner has our word that it may have it."""
    GIVING = 4
    """Another's. Its owner has all of it; what we have is being made copies."""
    RETURNING = 5
    """Ours again, while what we have of it is still being made copies."""
    CLAIMED = 6
    """Ours. It is not served till all others have let go of it."""
    VOUCHED = 7
    """Ours, claimed anew or come back to us; somebody vouches that nobody has served it after us."""
    BEGINNING = 8
    """Ours alone. Its new epoch is being written down, and told to all others."""
    SERVED = 9
    """Ours, and everybody knows it."""


class BucketEvent(Enum):
    """An event that comes to a bucket."""

    GAINED = "a view makes it ours"
    KEPT = "a new view leaves it ours"
    LOST = "a view makes it another's"
    PASSED = "a view gives it from one other to the next"
    DOUBTED = "others may serve it: it is claimed anew"
    OFFERED = "another one has something of it"
    FREED = "all have let go"
    HEARD = "all have heard of its epoch"
    MISSED = "somebody has not heard of its epoch"
    ASSURED = "somebody vouches for it"
    RESUMED = "all who answer have let go"
    ASKED = "its owner claims it"
    TAKEN = "its owner has everything"
    GIVEN = "what was here is copies now"
    SPARED = "it could not be given up"
    VACANT = "nothing was ever here"
    FOUND = "something is here that its owner may not have"


class BucketOutput(Enum):
    """An errand of the shell that an event leads to."""

    CLAIM = "ask for it"
    BEGIN = "write its epoch down, tell all"
    SERVE = "serve it"
    GIVE_UP = "make it copies, forget it"


class NoTransition(RuntimeError):
    """An event came to a bucket in a state in which it cannot: a mistake in this program."""


_S, _E, _O = BucketState, BucketEvent, BucketOutput

TRANSITIONS: Final[Mapping[BucketState, Mapping[BucketEvent, tuple[BucketState, BucketOutput | None]]]] = {
    _S.AWAY: {
        _E.GAINED: (_S.CLAIMED, _O.CLAIM),
        _E.PASSED: (_S.AWAY, None),
        _E.ASKED: (_S.AGREED, None),
        _E.FOUND: (_S.LEFT_OVER, None),
    },
    _S.LEFT_OVER: {
        _E.GAINED: (_S.CLAIMED, _O.CLAIM),
        _E.PASSED: (_S.LEFT_OVER, None),
        _E.ASKED: (_S.LET_GO, None),
        _E.VACANT: (_S.AWAY, None),
        _E.FOUND: (_S.LEFT_OVER, None),
    },
    _S.AGREED: {
        _E.GAINED: (_S.CLAIMED, _O.CLAIM),
        _E.PASSED: (_S.AWAY, None),
        _E.ASKED: (_S.AGREED, None),
        _E.TAKEN: (_S.GIVING, _O.GIVE_UP),
        # Whoever has our word may have pulled what was here, and need not say that it has taken it.
        _E.FOUND: (_S.LEFT_OVER, None),
    },
    _S.LET_GO: {
        _E.GAINED: (_S.CLAIMED, _O.CLAIM),
        # A word that was given to one owner is none to the next.
        _E.PASSED: (_S.LEFT_OVER, None),
        _E.ASKED: (_S.LET_GO, None),
        _E.TAKEN: (_S.GIVING, _O.GIVE_UP),
    },
    _S.GIVING: {
        # Our own copies are asked for when they are all there.
        _E.GAINED: (_S.RETURNING, _O.CLAIM),
        _E.PASSED: (_S.GIVING, None),
        _E.GIVEN: (_S.AWAY, None),
        # Its owner was not answered, and says it again.
        _E.SPARED: (_S.LET_GO, None),
    },
    _S.RETURNING: {
        _E.KEPT: (_S.RETURNING, None),
        _E.LOST: (_S.GIVING, None),
        _E.DOUBTED: (_S.RETURNING, _O.CLAIM),
        _E.OFFERED: (_S.RETURNING, _O.CLAIM),
        _E.ASSURED: (_S.RETURNING, None),
        _E.GIVEN: (_S.CLAIMED, _O.CLAIM),
        _E.SPARED: (_S.CLAIMED, _O.CLAIM),
    },
    _S.CLAIMED: {
        _E.KEPT: (_S.CLAIMED, None),
        _E.LOST: (_S.LEFT_OVER, None),
        _E.DOUBTED: (_S.CLAIMED, _O.CLAIM),
        _E.OFFERED: (_S.CLAIMED, _O.CLAIM),
        _E.ASSURED: (_S.VOUCHED, None),
        _E.FREED: (_S.BEGINNING, _O.BEGIN),
    },
    _S.VOUCHED: {
        # Views come back: in another one it may have been served since.
        _E.KEPT: (_S.CLAIMED, None),
        _E.LOST: (_S.LEFT_OVER, None),
        _E.DOUBTED: (_S.CLAIMED, _O.CLAIM),
        _E.OFFERED: (_S.VOUCHED, _O.CLAIM),
        _E.ASSURED: (_S.VOUCHED, None),
        _E.RESUMED: (_S.SERVED, _O.SERVE),
        _E.FREED: (_S.BEGINNING, _O.BEGIN),
    },
    _S.BEGINNING: {
        # Who is new in the view has to hear of the epoch, too: it begins anew.
        _E.KEPT: (_S.CLAIMED, None),
        _E.LOST: (_S.LEFT_OVER, None),
        _E.DOUBTED: (_S.CLAIMED, _O.CLAIM),
        _E.OFFERED: (_S.BEGINNING, _O.CLAIM),
        _E.ASSURED: (_S.BEGINNING, None),
        # Who offered it has let go before all had heard of the epoch, and may know of a later one.
        _E.FREED: (_S.BEGINNING, _O.BEGIN),
        _E.HEARD: (_S.SERVED, _O.SERVE),
        _E.MISSED: (_S.CLAIMED, _O.CLAIM),
    },
    _S.SERVED: {
        _E.KEPT: (_S.SERVED, None),
        _E.LOST: (_S.LEFT_OVER, None),
        _E.DOUBTED: (_S.CLAIMED, _O.CLAIM),
        # It goes on, and joins what the other has.
        _E.OFFERED: (_S.SERVED, _O.CLAIM),
        _E.ASSURED: (_S.SERVED, None),
    },
}
"""What each event makes of each state in which it can come, and what is to be done then."""


class BucketStates:
    """The states of all buckets at one master. Nothing but an event changes them."""

    __slots__ = ("_found", "_states")

    def __init__(self, buckets: int = BUCKETS) -> None:
        self._states = bytearray(buckets)
        self._found: dict[tuple[BucketState, ...], frozenset[int]] = {}
        """The buckets in these states, as far as anybody has asked since one of them changed."""

    def take(self, event: BucketEvent, buckets: Iterable[int]) -> frozenset[int]:
        """Takes in an event of these buckets; returns those for which it has an output, which is the same for all of
        an event's. Raises NoTransition, and takes in nothing, where the table has no such event.
        """
        steps, states, taken = _STEPS[event], self._states, list(buckets)
        before = bytes(map(states.__getitem__, taken))
        if wrong := before.translate(None, steps.known):
            bucket = taken[before.index(wrong[0])]
            raise NoTransition(f"{event.name} came to bucket {bucket}, which was {self[bucket].name}")
        after = before.translate(steps.after)
        if after != before:
            self._found.clear()
            for bucket, state in zip(taken, after, strict=True):
                states[bucket] = state
        return frozenset(compress(taken, before.translate(steps.due)))

    def __getitem__(self, bucket: int) -> BucketState:
        return BucketState(self._states[bucket])

    def serves(self, bucket: int) -> bool:
        return self._states[bucket] == _SERVED

    def count(self, state: BucketState) -> int:
        """Counts the buckets in a state."""
        known = self._found.get((state,))
        return self._states.count(state) if known is None else len(known)

    def among(self, buckets: Iterable[int], *wanted: BucketState) -> frozenset[int]:
        """Returns those of the buckets that are in one of these states."""
        asked = list(buckets)
        states = bytes(map(self._states.__getitem__, asked))
        return frozenset(compress(asked, states.translate(_mask(wanted))))

    def those(self, *wanted: BucketState) -> frozenset[int]:
        """Returns all buckets in one of these states."""
        # Asked many times a second, and nearly always as before.
        if (found := self._found.get(wanted)) is None:
            there = self._states.translate(_mask(wanted))
            found = frozenset(compress(range(len(there)), there)) if 1 in there else frozenset()
            self._found[wanted] = found
        return found

    def __bytes__(self) -> bytes:
        return bytes(self._states)


@cache
def _mask(wanted: tuple[BucketState, ...]) -> bytes:
    """Returns a table that makes each of these states 1, and all others 0."""
    return bytes(state in wanted for state in range(256))


_SERVED = int(BucketState.SERVED)


class _Steps(NamedTuple):
    """The row of an event, as tables of bytes: thousands of buckets are looked up in them at once."""

    known: bytes
    """The states in which it can come."""
    after: bytes
    """What each of these becomes,"""
    due: bytes
    """and 1 where that has an output."""


def _steps_of(event: BucketEvent) -> _Steps:
    steps = {state: step for state, row in TRANSITIONS.items() if (step := row.get(event)) is not None}
    after, due = bytearray(range(256)), bytearray(256)
    for state, (becomes, output) in steps.items():
        after[state], due[state] = becomes, output is not None
    return _Steps(bytes(steps), bytes(after), bytes(due))


_STEPS: Final = {event: _steps_of(event) for event in BucketEvent}
