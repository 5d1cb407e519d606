"""The bound on how far an incarnation may be ahead of what was known, so that nothing can be said of a member that it
cannot refute.

The theory. Only a member itself raises its incarnation, a step at a time; but whoever has the cluster key can say
anything in a datagram. A rumour under the greatest incarnation that there is would stand for ever. So nobody takes in
an incarnation that is out of reach:

* of a member that is known, one that is more than LEAP ahead; and one that is more than STEP ahead only when the last
  such leap was ``leap_every_s`` ago;
* of a member that is not known, one above FIRST_MAX.

A member that hears a rumour about itself follows under the same law: it exceeds it, or gets as near as it may, and the
next time that it is told nearer still. And who hears that a member lives under an incarnation that is out of reach
takes in that it lives, under the nearest that is not. So the member and all that know it find to each other, however
much each of them is told apart.

To use up all incarnations that there are takes centuries of such rumours; to bring a member so far that newcomers do
not take it in takes hours of them.
"""

from __future__ import annotations

from typing import Final

from p2pcrawl.model.cluster.node import Status
from p2pcrawl.model.timings import LEAPS_TO_FIRST_MAX, TIMINGS

STEP: Final = 1 << 10
"""More than a member says of itself within the time that news of it may get lost."""
LEAP: Final = 1 << 32
"""More than it says of itself in any partition."""
FIRST_MAX: Final = LEAPS_TO_FIRST_MAX * LEAP


def is_leap(known: int, incarnation: int) -> bool:
    """Tells whether ``incarnation`` is so far ahead of the known one that it is taken in only now and then."""
    return incarnation > known + STEP


def reached(known: int, incarnation: int, status: Status, leapt_at: float, now: float) -> int | None:
    """Returns the incarnation to take in for a greater one that was told of a known member; None: nothing."""
    if not is_leap(known, incarnation):
        return incarnation
    if now - leapt_at < TIMINGS.leap_every_s:
        return None
    if incarnation > known + LEAP:
        return known + LEAP if status is Status.ALIVE else None
    return incarnation
