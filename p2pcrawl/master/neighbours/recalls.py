"""Hosts of which a master that is gone may have known something: the directory is to be asked about them.

When buckets came from such a master nobody handed over what it knew of their hosts. So for each of them the directory
is asked before the host's first request, or soon after it (:mod:`p2pcrawl.master.neighbours.notes`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from time import monotonic

from p2pcrawl.core.buckets.ownership import Change, Ownership
from p2pcrawl.core.directory_schedule import PAUSE_MIN_S
from p2pcrawl.core.hosts.politeness import Host
from p2pcrawl.core.ring.rendezvous import bucket_of_hash
from p2pcrawl.model.timings import TIMINGS

RECALL_S = 2.0
"""How long an answer is waited for; a host that is asked about is left alone for so long."""
RECALLS_MAX = 10_000
"""Hosts that wait to be asked about; those beyond start without what the dead master knew."""


class Recalls:
    """Lines them up in ``waiting``, as they come to the bench."""

    def __init__(self, ownership: Ownership) -> None:
        self._ownership = ownership
        self._bereft: dict[int, float] = {}
        """Buckets that nobody handed over, and since when they are ours."""
        self.waiting: asyncio.Queue[Host] = asyncio.Queue(RECALLS_MAX)

    def view_changed(self, change: Change, hosts: Iterable[Host]) -> None:
        """Takes into account that buckets came; costs a pass over ``hosts``, all that have a seat, if some of them came
        from a master that is gone."""
        now = monotonic()
        asked_from = now - TIMINGS.record_ttl_s
        self._bereft = {b: at for b, at in self._bereft.items() if at > asked_from and b not in change.lost}
        if not change.bereft:
            return
        self._bereft.update(dict.fromkeys(change.bereft, now))
        for host in hosts:
            self.seated(host)

    def seated(self, host: Host) -> None:
        """Has a host that is at the bench wait for the answer, if a dead master may have known of it."""
        at, now = self._bereft.get(bucket_of_hash(host.key)), monotonic()
        if at is None or now >= at + TIMINGS.record_ttl_s:
            return
        if self._ownership.copies == 1:
            # Who holds copies is told of each pause, but there is nobody; and the directory knows of long ones only.
            host.next_at = max(host.next_at, at + PAUSE_MIN_S)
        if self.waiting.full():
            return
        host.next_at = max(host.next_at, now + RECALL_S)
        self.waiting.put_nowait(host)
