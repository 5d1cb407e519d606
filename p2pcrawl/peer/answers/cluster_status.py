"""The state of the cluster, as one master sees it and as the others tell of themselves."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from p2pcrawl.core.ring.rendezvous import BUCKETS
from p2pcrawl.master.cluster import Cluster
from p2pcrawl.master.neighbours.absences import Absences, absent_told
from p2pcrawl.model.cluster.node import Member, NodeId
from p2pcrawl.overlay.node import OverlayNode


def warnings_of(
    copies: int,
    living: Sequence[NodeId],
    missing: Mapping[NodeId, float],
    not_whole: int,
    refusals: Mapping[NodeId, str],
) -> Iterator[str]:
    """Yields what a person should know of, one line each."""
    if len(living) < copies:
        yield f"only {len(living)} masters live: {copies} copies cannot be kept"
    if missing:
        text = absent_told(missing)
        if len(missing) >= copies:
            text += f", as many as there are copies ({copies}) or more: what only they have is out of reach"
        yield text
    if not_whole:
        buckets = "1 bucket is" if not_whole == 1 else f"{not_whole:,} buckets are"
        yield f"{buckets} not whole: who had the rest of it is not here"
    for node, refusal in sorted(refusals.items()):
        if node in living:
            yield f"{node[:8]} cannot run a job: {refusal}"


class ClusterStatus:
    """Describes the cluster as plain data, for ``status`` and its kin."""

    def __init__(self, cluster: Cluster, node: OverlayNode, absences: Absences, name: str) -> None:
        """``name`` is the cluster's."""
        self._cluster = cluster
        self._master = cluster.master
        self._node = node
        self._absences = absences
        self._name = name
        self._counted: tuple[object, Mapping[NodeId, int]] = None, {}
        """A table, and how many buckets each owns by it."""

    def members(self) -> list[dict[str, Any]]:
        """Describes all members that count."""
        return self._members(self._node.members())

    def status(self, told: Iterable[Mapping[str, int]]) -> dict[str, Any]:
        """Describes the whole cluster; ``told`` are the answers to ``figures`` of this master, and of those that gave
        any.
        """
        membership, copies = self._node.membership, self._cluster.ownership.copies
        figures: Counter[str] = Counter()
        for theirs in told:
            figures.update(theirs)
        undelivered = figures.pop("undelivered", 0)
        living = [member.id for member in self._node.members()]
        missing = self._absences.missing()
        standing = self._cluster.mandate.figures()
        warnings = warnings_of(copies, living, missing, figures["not_whole"], self._cluster.mirroring.refusals)
        return {
            "cluster": self._name,
            "view": f"{membership.view_digest:016x}",
            "directory": self._node.directory.digest(),
            "members": self._members(membership.members.values()),
            "copies": {"asked": copies, **figures},
            "jobs": Counter(job.state for job in self._master.jobs.shown),
            "undelivered": undelivered,
            "missing": missing,
            "majority": standing,
            "warnings": [*warnings, *([f"here {standing['reason']}"] if standing and standing["reason"] else [])],
            "here": self.local(),
        }

    def figures(self) -> dict[str, int]:
        """Counts how records and their copies stand at this master."""
        return {**self._cluster.figures(), "moving": self._cluster.ownership.syncing}

    def local(self) -> dict[str, Any]:
        """Describes this master alone."""
        ownership = self._cluster.ownership
        return {
            "id": self._node.me,
            "view": f"{ownership.view:016x}",
            "owned": ownership.owned,
            "syncing": ownership.syncing,
            "handed_over": self._cluster.takeover.handovers,
            "links_under_way": self._cluster.dispatch.under_way,
            "slaves": [
                {
                    "session": s.id,
                    "pid": s.pid,
                    "leases": len(s.leases),
                    "rss_mb": s.rss_bytes >> 20,
                    "at": s.link.remote_host or "here",
                }
                for s in self._master.sessions.values()
            ],
            "counters": self._node.counters(),
        }

    def _members(self, members: Iterable[Member]) -> list[dict[str, Any]]:
        # Slaves ask for this again and again: each table is gone through once, for all members.
        table = self._cluster.ownership.table
        if self._counted[0] is not table:
            self._counted = table, Counter(row[0] for row in table) or {self._node.me: BUCKETS}
        owned = self._counted[1]
        return [self._member(member, owned.get(member.id, 0)) for member in sorted(members, key=lambda m: m.id)]

    def _member(self, member: Member, owned: int) -> dict[str, Any]:
        own = member.id == self._node.me
        raw = self._node.membership.load if own else self._node.membership.loads.get(member.id, b"")
        load = json.loads(raw) if raw else {}
        view = self._node.membership.view_digest if own else self._node.membership.views.get(member.id)
        return {
            "id": member.id,
            "address": member.address,
            "api": member.api,
            "state": member.status.name.lower(),
            "incarnation": member.incarnation,
            "weight": member.weight,
            "drained": member.leaving,
            "slaves": load.get("slaves", 0),
            "load": load,
            "share": round(owned / BUCKETS, 4),
            "view": f"{view:016x}" if view is not None else "",
        }
