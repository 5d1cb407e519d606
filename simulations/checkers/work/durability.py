"""Checks that nothing that was safe is ever less: what disks know only grows, but for what is lost with the disks
themselves.

Without the loss of a disk nothing may vanish from all disks together, whatever crashes, leaves, or moves. What was once
on as many disks as there are to be outlives the loss of one less, as often as the copies were made whole in between.
A page that is fetched anew, since somebody wants it or its host is open now, is on another visit, which is further.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...observe.folders import PHASES, QUEUED, Print, print_of
from ...observe.inventory import Held, Inventory
from ...play.evidence import Evidence, listed


def check(evidence: Evidence) -> Iterator[str]:
    names = {print_of(url): url for url in evidence.web.pages}
    firm: dict[Print, bool] = {}
    lost: set[str] = set()
    before: Inventory | None = None
    for now in evidence.inventories:
        lost |= now.lost
        allowed = len(lost) >= evidence.options.replicas
        gone = [
            f"{names.get(key, 'a start')} ({_told(held)}, now {_told(now.held.get(key))})"
            for key, held in (before.held.items() if before is not None else ())
            if _is_less(held, now.held.get(key)) and _is_missed(now, allowed, now.held.get(key), firm.pop(key, None))
        ]
        if gone:
            cause = f"the disks of {', '.join(sorted(now.lost))} were lost" if now.lost else "no disk was lost"
            since = before.now_s if before is not None else 0.0
            yield f"between {since:.2f} s and {now.now_s:.2f} s {cause}, and with it {listed(sorted(gone))}"
        enough = min(evidence.options.replicas, now.disks)
        for key, held in now.held.items():
            if held.disks >= enough:
                firm[key] = firm.get(key, False) or held.through >= enough
        if now.whole >= evidence.options.replicas:
            # Where fewer masters are there, all that is there is whole, and what was lost is not made good.
            lost.clear()
        before = now


def _is_less(held: Held, left: Held | None) -> bool:
    """Tells whether less is known of a page than before."""
    return left is None or left.step < held.step


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
