"""Checks that nothing that was safe is ever less: what disks know only grows, but for what is lost with the disks
themselves.

Without the loss of a disk nothing may vanish from all disks together, whatever crashes, leaves, or moves. What was once
on as many disks as there are to be outlives the loss of one less, as often as the copies were made whole in between.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...observe.folders import DROPPED, FAILED, PHASES, QUEUED, Print, print_of
from ...observe.inventory import Held, Inventory
from ...play.evidence import Evidence, listed

ANEW_S = 60.0
"""So late an order may be obeyed that nobody has answered, and so late an inventory may be taken after it."""


def check(evidence: Evidence) -> Iterator[str]:
    names = {print_of(url): url for url in evidence.web.pages}
    firm: dict[Print, bool] = {}
    lost: set[str] = set()
    before: Inventory | None = None
    anew = evidence.asked_anew()
    for now in evidence.inventories:
        lost |= now.lost
        allowed = len(lost) >= evidence.options.replicas
        gone = [
            f"{names.get(key, 'a start')} ({_told(held)}, now {_told(now.held.get(key))})"
            for key, held in (before.held.items() if before is not None else ())
            if _is_less(held, now.held.get(key))
            and not _is_anew(held, now.held.get(key), now.now_s, anew)
            and _is_missed(now, allowed, now.held.get(key), firm.pop(key, None))
        ]
        if gone:
            cause = f"the disks of {', '.join(sorted(now.lost))} were lost" if now.lost else "no disk was lost"
            since = before.now_s if before is not None else 0.0
            yield f"between {since:.2f} s and {now.now_s:.2f} s {cause}, and with it {listed(sorted(gone))}"
        enough = min(evidence.options.replicas, now.disks)
        for key, held in now.held.items():
            if held.disks >= enough:
                firm[key] = firm.get(key, False) or held.through >= enough
        if now.whole:
            lost.clear()
        before = now


def _is_less(held: Held, left: Held | None) -> bool:
    """Tells whether less is known of a page than before."""
    # What was dropped is queued again when a start URL opens its host; how it ends, coverage judges.
    return left is None or (left.phase < held.phase and held.phase != DROPPED)


def _is_anew(held: Held, left: Held | None, now_s: float, anew: list[tuple[float, float]]) -> bool:
    """Tells whether a page that had failed is queued because somebody has had it fetched anew of late."""
    late = any(began_s <= now_s <= ended_s + ANEW_S for began_s, ended_s in anew)
    return left is not None and (held.phase, left.phase) == (FAILED, QUEUED) and late


def _is_missed(now: Inventory, allowed: bool, left: Held | None, was_through: bool | None) -> bool:
    """Tells whether what is less ought not to be. ``allowed``: as many disks were lost as there are copies;
    ``was_through``: whether it was through on enough disks, None when it was on too few.
    """
    if not now.lost:
        return True
    kept_through = left is not None and left.phase > QUEUED
    return not allowed and was_through is not None and (left is None or was_through > kept_through)


def _told(held: Held | None) -> str:
    return "unknown" if held is None else f"{PHASES[held.phase]} on {held.disks} disks"
