"""The missing masters, and since when: for people, in the time of clocks on walls, also after a restart."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from p2pcrawl.model.cluster.gossip import Entry
from p2pcrawl.model.cluster.node import NodeId, Status
from p2pcrawl.overlay.door import Door

SHOWN = 5


def absent_told(missing: Mapping[NodeId, float]) -> str:
    """Writes ``1 master is missing (1a2b3c4d since 2026-11-19 01:22:10 UTC)``."""
    names = ", ".join(f"{node[:8]} since {moment_told(at)}" for node, at in sorted(missing.items())[:SHOWN])
    more = ", ..." if len(missing) > SHOWN else ""
    return f"{len(missing)} {'master is' if len(missing) == 1 else 'masters are'} missing ({names}{more})"


def moment_told(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S} UTC"


class Absences:
    """Keeps since when each missing master is missing."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._since: dict[NodeId, float] = {}

    def recall(self, known: Iterable[tuple[Entry, float | None]]) -> None:
        """Takes in what an earlier run knew of others."""
        rows = list(known)
        self._door.membership.remember((entry for entry, _ in rows), asyncio.get_running_loop().time())
        self._since = {entry.member.id: since for entry, since in rows if since is not None}

    def known(self) -> Sequence[tuple[Entry, float | None]]:
        """Returns what a next run should know of others."""
        self._forget_the_living()
        entries = self._door.membership.acquaintances(asyncio.get_running_loop().time())
        return [
            (entry, self._gone_since(entry.member.id) if entry.status >= Status.DEAD else None) for entry in entries
        ]

    def missing(self) -> dict[NodeId, float]:
        """Returns the missing masters by their ids, and since when they are."""
        self._forget_the_living()
        return {
            member.id: self._gone_since(member.id)
            for member in sorted(self._door.membership.missing(), key=lambda m: m.id)
        }

    def _gone_since(self, id: NodeId) -> float:
        """Returns since when a master is gone: a moment that stays the same till it is back."""
        if id not in self._since:
            away_s = self._door.membership.away_s(id, asyncio.get_running_loop().time())
            self._since[id] = round(time.time() - away_s, 1)
        return self._since[id]

    def _forget_the_living(self) -> None:
        away = {member.id for member in self._door.membership.members.values() if not member.living}
        self._since = {node: at for node, at in self._since.items() if node in away}
