"""The dismissal of a dead master, for good: a person knows what no peer can, that it will not come back."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, TypedDict

from msgspec.json import Decoder

from p2pcrawl.master.cluster import Cluster
from p2pcrawl.master.neighbours.absences import Absences
from p2pcrawl.model.cluster.node import Member, NodeId, Status
from p2pcrawl.model.errors import ConfigurationError, NotNow, NotThere, P2PCrawlError
from p2pcrawl.overlay.node import OverlayNode

log = logging.getLogger(__name__)

DIGITS_MIN = 4
"""Of an id, by which a master may be called."""
ASK_S = 5.0


class SeenPeer(TypedDict):
    """The status of a master, as another one sees it."""

    status: str


_SEEN = Decoder(SeenPeer)


class Dismissal:
    """Dismisses masters in the whole cluster."""

    def __init__(self, cluster: Cluster, node: OverlayNode, absences: Absences) -> None:
        self._cluster = cluster
        self._peers = cluster.peers
        self._node = node
        self._absences = absences

    def seen(self, id: NodeId) -> SeenPeer:
        """Returns how a master is seen here."""
        member = self._node.membership.members.get(id)
        return {"status": member.status.name.lower() if member is not None else "unknown"}

    async def dismiss(self, called: str) -> dict[str, Any]:
        """Lets nobody miss a master any more, and tells what may be lost with it. Raises ConfigurationError for one
        that lives for anybody, or has left in order, and P2PCrawlError where not all can be asked.
        """
        member = self._member_called(called)
        name = member.id[:8]
        if member.status is Status.LEFT:
            raise NotNow(f"{name} has left: nobody misses it")
        await self._check_dead(member)
        since = self._absences.missing().get(member.id)
        self._node.gossip.dismiss(member.id)
        broken = self._cluster.ownership.broken()
        log.warning("%s at %s is forgotten, because a person said so", name, member.address)
        return {"peer": member.id, "address": member.address, "missing_since": since, "not_whole": sorted(broken)}

    def _member_called(self, called: str) -> Member:
        known = [member for member in self._node.membership.members.values() if member.id != self._peers.me]
        found = [m for m in known if called in (m.id, m.address)] or [
            m for m in known if len(called) >= DIGITS_MIN and m.id.startswith(called)
        ]
        if len(found) == 1:
            return found[0]
        if found:
            raise ConfigurationError(f"{called:.60} may be one of {', '.join(sorted(m.id[:12] for m in found))}")
        raise NotThere(f"no other master is called {called!r:.60}; `p2pcrawl status` lists them by their ids")

    async def _check_dead(self, member: Member) -> None:
        others = [each.id for each in self._peers.others()]
        asked = (self._peers.query(node, "tell:peer-seen", {"peer": member.id}, _SEEN, ASK_S) for node in others)
        try:
            answers = await asyncio.gather(*asked)
        except P2PCrawlError as error:
            raise P2PCrawlError(f"not every living master could be asked whether it is dead: {error}") from error
        seen = {self._peers.me: self.seen(member.id), **dict(zip(others, answers, strict=True))}
        for node, answer in seen.items():
            if answer["status"] in ("alive", "suspect"):
                here = "" if node == self._peers.me else f" for {node[:8]}"
                how = "let it leave with `p2pcrawl drain`, or stop it and wait until it is missed"
                raise NotNow(f"{member.id[:8]} is alive{here}: {how}")
