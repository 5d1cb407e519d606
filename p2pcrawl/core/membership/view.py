"""The view of the cluster: a table of members that merges rumours in any order to the same result.

The theory. Of each member two things are known, and each only ever grows:

* the *facts*, which it says of itself (address, weight, what it holds), ordered by incarnation;
* the *verdict* of the cluster, a pair (incarnation, status), ordered as pairs: at the same
  incarnation ALIVE < SUSPECT < DEAD < LEFT, and a higher incarnation beats them all.

Only the member itself raises its incarnation, so only it can overrule a verdict on it. Both merges take
the greater of two, so they are commutative, associative and idempotent: loss, repetition and reordering
change when views agree, never on what. Facts of equal incarnation differ only when two nodes use one
identity; then the greater tuple wins, so that all see the same one of the two.

What is out of reach of the incarnation that is known (:mod:`p2pcrawl.core.membership.leaps`) is not merged as it is.

Invariants: a verdict without facts is remembered but not shown; ``members`` shows facts under the
verdict's incarnation and status; ``digest`` is equal for two views iff the same ids live in both with the
same weight and neither or both leaving.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from types import MappingProxyType

from p2pcrawl.core.membership.leaps import FIRST_MAX, is_leap, reached
from p2pcrawl.model.cluster.gossip import Entry
from p2pcrawl.model.cluster.node import Member, NodeId, Status

MEMBERS_MAX = 4096
"""More ids than that are refused: a bound on memory, far above any real cluster."""


@dataclass(slots=True)
class _Knowledge:
    facts: Member | None
    incarnation: int
    status: Status
    since: float
    """When this status began, by the clock of this process; an age that travelled is taken off."""
    leapt_at: float = -math.inf
    """When its incarnation last got far ahead of what was known."""
    remembered: bool = False
    """Its last death or farewell is an earlier run's memory of it: nobody has declared it."""


class View:
    """The mergeable table. It knows nothing of time-outs: those are suspicions."""

    def __init__(self) -> None:
        self._lines: dict[NodeId, _Knowledge] = {}
        self._members: dict[NodeId, Member] = {}
        self.members: Mapping[NodeId, Member] = MappingProxyType(self._members)
        self.revision = 0
        """How often anything that is shown, or since when, has changed."""
        self._digest: int | None = None
        self._living: tuple[Member, ...] | None = None

    def verdict(self, id: NodeId) -> tuple[int, Status] | None:
        line = self._lines.get(id)
        return None if line is None else (line.incarnation, line.status)

    def facts(self, id: NodeId) -> Member | None:
        line = self._lines.get(id)
        return None if line is None else line.facts

    def since(self, id: NodeId) -> float:
        return self._lines[id].since

    def is_remembered(self, id: NodeId) -> bool:
        """Tells whether the last death of a member that is known here was merely assumed: by a run that knew it before,
        till it heard of it.
        """
        line = self._lines.get(id)
        return line is not None and line.remembered

    def living(self) -> tuple[Member, ...]:
        """Returns the living members; the same tuple until something changes."""
        if self._living is None:
            self._living = tuple(member for member in self._members.values() if member.living)
        return self._living

    def merge_facts(self, member: Member, now: float, *, own: bool = False) -> bool:
        """Takes a member's own word; True if anything changed. ``own``: it is this very member's."""
        facts = member if member.status is Status.ALIVE else replace(member, status=Status.ALIVE)
        changed = self.merge_verdict(facts.id, facts.incarnation, Status.ALIVE, now, own=own)
        line = self._lines.get(facts.id)
        if line is None or facts.incarnation > line.incarnation:
            return False
        if line.facts is not None and _rank(facts) <= _rank(line.facts):
            return changed
        line.facts = facts
        self._show(line, facts.id)
        return True

    def merge_verdict(
        self, id: NodeId, incarnation: int, status: Status, now: float, age_s: float = 0.0, *, own: bool = False
    ) -> bool:
        """Takes a verdict that has stood for ``age_s``; True if it was news."""
        line = self._lines.get(id)
        if line is None:
            if len(self._lines) >= MEMBERS_MAX or not (own or incarnation <= FIRST_MAX):
                return False
            self._lines[id] = _Knowledge(None, incarnation, status, now - age_s)
            return True
        if (incarnation, status) <= (line.incarnation, line.status):
            return False
        if not own:
            in_reach = reached(line.incarnation, incarnation, status, line.leapt_at, now)
            if in_reach is None:
                return False
            incarnation = in_reach
        if is_leap(line.incarnation, incarnation):
            line.leapt_at = now
        if status is not line.status:
            line.since = now - age_s
        if status >= Status.DEAD:
            line.remembered = False
        line.incarnation, line.status = incarnation, status
        self._show(line, id)
        return True

    def remember(self, id: NodeId, incarnation: int, status: Status, now: float, age_s: float) -> None:
        """Takes in how an earlier run assumes a member to be that it knew."""
        if self.merge_verdict(id, incarnation, status, now, age_s):
            self._lines[id].remembered = True

    def forget(self, now: float, after_s: float) -> list[Member]:
        """Removes who has been dead or gone for long, and verdicts on the never seen; returns whom it showed."""
        old = [
            id
            for id, line in self._lines.items()
            if now - line.since >= after_s and (line.facts is None or line.status >= Status.DEAD)
        ]
        gone = [self._members[id] for id in old if id in self._members]
        for id in old:
            self.revision += 1
            del self._lines[id]
            self._members.pop(id, None)
        return gone

    def entries(self, now: float) -> tuple[Entry, ...]:
        """Returns the whole view, as it travels."""
        return tuple(
            Entry(
                line.facts,
                line.incarnation,
                line.status,
                max(0.0, now - line.since) if line.status >= Status.DEAD else 0.0,
            )
            for line in self._lines.values()
            if line.facts is not None
        )

    @property
    def digest(self) -> int:
        """64 bits of who lives, with weight, and whether it is leaving; kept until something changes."""
        if self._digest is None:
            state = blake2b(digest_size=8)
            for id in sorted(self._members):
                member = self._members[id]
                if member.living:
                    state.update(f"{id} {member.weight} {int(member.leaving)};".encode())
            self._digest = int.from_bytes(state.digest(), "big")
        return self._digest

    def _show(self, line: _Knowledge, id: NodeId) -> None:
        self._digest = self._living = None
        self.revision += 1
        if line.facts is not None:
            self._members[id] = replace(line.facts, incarnation=line.incarnation, status=line.status)


def _rank(facts: Member) -> tuple[int, bytes, str, bytes, int, bool, str]:
    return (
        facts.incarnation,
        facts.boot,
        facts.address,
        facts.store,
        facts.weight,
        facts.leaving,
        facts.api,
    )
