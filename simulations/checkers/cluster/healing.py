"""Checks that whatever a fault has broken is mended in time, once nothing is in its way any more.

Seen from outside, twice a second: who serves what, who counts whom, what lies on the disks of those that are up, which
sessions masters have, and when anything was last asked for. The bounds are made of the times that the product goes by.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from p2pcrawl.core.hosts.politeness import PENALTY_MAX_S
from p2pcrawl.master.copies.upkeep import STABLE_S
from p2pcrawl.model.timings import TIMINGS
from p2pcrawl.overlay.peers import SOON_S

from ...kernel.node import DISK_S
from ...play.evidence import Evidence
from ...play.healing import IDLE, READ_S, SESSION, SPOOLED, THIN, UNSAID, UNSERVED, VIEWS, Ailment
from .membership import notice_s

LASTS_S: Final = 10.0
"""What is amiss for less comes with the work: a link on its way, a bucket between two masters."""
LOOKED_S: Final = 2.0
"""How long it may be until somebody looks, and until that is seen."""
FOUND_S: Final = TIMINGS.looking_s + TIMINGS.patience_s
"""Who was there before looks for the others, and waits for those that it knew."""
HANDED_S: Final = SOON_S
"""One that does not answer is asked once more."""
SESSION_S: Final = TIMINGS.void_s / (1 - TIMINGS.drift) + TIMINGS.watch_s + LOOKED_S
STILL_S: Final = PENALTY_MAX_S + LASTS_S
"""The longest that anybody waits for a host that asks for patience."""
SMALL: Final = frozenset(
    {"pulled rows", "demoted rows", "portion rows", "copied rows", "copied bytes", "bytes of items", "synced leaf"}
)
"""The limits with which a message may carry one row."""
ACCESSES: Final = 10
"""So often the disks of both are accessed for a row that is carried, at most."""
TOLD_MAX: Final = 5


def check(evidence: Evidence) -> Iterator[str]:
    yield from evidence.found.get("healing", ())
    carried_s = _carried_s(evidence)
    late = [a for a in evidence.ailments if _judges(evidence, a) and is_late(a, carried_s)]
    for ailment in late[:TOLD_MAX]:
        example = f", such as {ailment.example}" if ailment.example else ""
        yield (
            f"{ailment.what}{example} from {ailment.began_s:.1f} s to {ailment.ended_s:.1f} s, "
            f"though nothing was in the way since {ailment.calm_s:.1f} s"
        )


def _carried_s(evidence: Evidence) -> float:
    """Returns how long the rows of one master take to another where a message carries one: it is asked for the next one
    when that is stored.
    """
    if not SMALL & evidence.limits.keys():
        return 0.0
    rows = max((len(folder.records) for folder in evidence.folders.values()), default=0)
    return rows * 2 * (evidence.options.latency_s + ACCESSES * DISK_S)


def is_late(ailment: Ailment, carried_s: float = 0.0) -> bool:
    """Tells whether something was amiss longer than it may be."""
    lasts_s = {IDLE: STILL_S, SESSION: 0.0}.get(ailment.what, LASTS_S)
    return (
        ailment.ended_s > ailment.calm_s + bound_s(ailment, carried_s) and ailment.ended_s > ailment.began_s + lasts_s
    )


def bound_s(ailment: Ailment, carried_s: float = 0.0) -> float:
    """Returns how long after everything is calm this may be amiss."""
    if ailment.what == SESSION:
        return SESSION_S
    missed_s = notice_s(ailment.masters, ailment.there) if ailment.there < ailment.masters else 0.0
    whole_s = max(missed_s, FOUND_S) + HANDED_S + carried_s
    if ailment.what in (THIN, SPOOLED):
        # Where half of them vanish at once, most will be back: nothing is copied anew before that.
        stable_s = STABLE_S if 2 * ailment.there <= ailment.masters else 0.0
        # What was taken over has copies made of it then.
        return whole_s + carried_s + stable_s + 2 * READ_S
    if ailment.what == UNSAID:
        return whole_s + carried_s
    return whole_s


def _judges(evidence: Evidence, ailment: Ailment) -> bool:
    """Tells whether there are enough masters for this to be otherwise."""
    if evidence.majority and ailment.there < ailment.masters:
        return ailment.what in (VIEWS, SESSION)
    if ailment.what == SPOOLED:
        return ailment.there >= evidence.options.replicas
    return ailment.what != UNSERVED or ailment.there > 0
