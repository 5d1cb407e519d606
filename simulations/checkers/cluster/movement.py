"""Monotone movement: when masters come and go, nothing moves between two that stay.

Compared is who served each bucket each time that all agreed on it. The weights of the masters do not change while they
run, and rendezvous hashing makes this exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from p2pcrawl.model.cluster.placement import RingName

from ...observe.tables import Table
from ...play.evidence import Evidence


def check(evidence: Evidence) -> Iterator[str]:
    if evidence.options.ring != RingName.RENDEZVOUS:
        return

    def name(member: str) -> str:
        return evidence.names.get(member, member)

    for before, after in pairwise(evidence.tables):
        stay = {m for m, weight in before.weights.items() if after.weights.get(m) == weight}
        where = f"between {before.now_s:.2f} s and {after.now_s:.2f} s"
        moved = [
            bucket
            for bucket, (old, new) in enumerate(zip(before.owners, after.owners, strict=True))
            if old != new and old in stay and new in stay
        ]
        if moved:
            old, new = name(before.owners[moved[0]]), name(after.owners[moved[0]])
            example = f"such as {moved[0]} from {old} to {new}"
            yield f"{where} {len(moved)} buckets moved between masters that stayed, {example}"
        copied = _copied(before, after)
        if copied:
            yield f"{where} {len(copied)} buckets got holders for no reason, such as {copied[0]}"
        strangers = sorted({name(owner) for owner in after.owners} - {name(member) for member in after.weights})
        if strangers:
            yield f"at {after.now_s:.2f} s buckets are served by {', '.join(strangers)}, which take no part"


def _copied(before: Table, after: Table) -> list[int]:
    """Buckets whose copies went to others than those that came, or from others than those that left.

    Judged where masters only came or only left: then the copies are monotone as well.
    """
    came, left = after.weights.keys() - before.weights.keys(), before.weights.keys() - after.weights.keys()
    if came and left:
        return []
    pairs = enumerate(zip(before.holders, after.holders, strict=True))
    if left:
        return [bucket for bucket, (old, new) in pairs if not set(old) - set(new) <= left]
    return [bucket for bucket, (old, new) in pairs if not set(new) - set(old) <= came]
