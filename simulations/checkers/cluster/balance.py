"""Load follows capacity: of all buckets each master serves its weight's share, as exactly as hashing can.

The ring throws each bucket at random, so what a master gets differs from its share by chance. Five times the usual
difference does not happen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import sqrt

from p2pcrawl.model.cluster.placement import RingName

from ...play.evidence import Evidence

DEVIATIONS = 5.0


def check(evidence: Evidence) -> Iterator[str]:
    if evidence.options.ring != RingName.RENDEZVOUS:
        return
    for table in evidence.tables:
        buckets, whole = len(table.owners), sum(table.weights.values())
        served = Counter(table.owners)
        for member, weight in table.weights.items():
            share = weight / whole
            wanted, spread = buckets * share, sqrt(buckets * share * (1.0 - share))
            if abs(served[member] - wanted) > DEVIATIONS * spread:
                name = evidence.names.get(member, member)
                yield (
                    f"at {table.now_s:.2f} s {name} served {served[member]} of {buckets} buckets; "
                    f"with {share:.1%} of the weight {wanted:.0f} or so are its own"
                )
