"""The other masters, where a test plays them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec.json import Decoder

from p2pcrawl.model.cluster.node import Address, Member, NodeId, Status
from p2pcrawl.model.errors import LinkError, P2PCrawlError
from p2pcrawl.overlay.door import decoded
from p2pcrawl.overlay.peers import ASK_S, SOON_S, T
from p2pcrawl.wire.messages.ask import PeerReply, PeerRequest, R, due
from p2pcrawl.wire.messages.peer_messages import Query

Answer = Callable[[NodeId, Any], Awaitable[PeerReply]]
"""What another master answers to a request; it may raise LinkError."""


async def silence(node: NodeId, request: Any) -> PeerReply:
    raise LinkError(f"{node[:8]} says nothing in this test")


def member(id: NodeId, port: int = 7117, *, life: bytes = bytes(8), leaving: bool = False) -> Member:
    return Member(id, Address(f"127.0.0.1:{port}"), 1, Status.ALIVE, 1, life, bytes(16), leaving=leaving)


class FakePeers:
    """The door to the others (:mod:`p2pcrawl.overlay.peers`); ``answer`` speaks for all of them."""

    def __init__(self, me: NodeId, members: Iterable[Member] = (), answer: Answer = silence) -> None:
        self.me = me
        self.everybody = list(members)
        self.away: list[Member] = []
        self.to_be_asked = False
        self.answer = answer

    @property
    def view_digest(self) -> int:
        return hash(tuple((m.id, m.leaving) for m in self.members())) & 0xFFFF_FFFF_FFFF

    def members(self) -> list[Member]:
        return sorted(self.everybody, key=lambda m: m.id)

    def others(self) -> list[Member]:
        return [m for m in self.members() if m.id != self.me]

    def living(self, node: NodeId) -> Member | None:
        return next((m for m in self.members() if m.id == node), None)

    def known(self, node: NodeId) -> Member | None:
        return next((m for m in [*self.members(), *self.away] if m.id == node), None)

    def all_asked(self) -> bool:
        return not self.to_be_asked

    def missing(self) -> Sequence[Member]:
        return self.away

    async def ask(self, node: NodeId, request: PeerRequest[R], timeout_s: float = ASK_S) -> R:
        if self.living(node) is None:
            raise LinkError(f"{node[:8]} is not a member any more")
        try:
            async with asyncio.timeout(timeout_s):
                return due(type(request), await self.answer(node, request), node[:8])
        except TimeoutError:
            raise LinkError(f"{node[:8]} did not answer") from None

    async def query(
        self, node: NodeId, what: str, arguments: Mapping[str, object], due: Decoder[T], timeout_s: float = SOON_S
    ) -> T:
        answered = await self.ask(node, Query(0, what, json.dumps(arguments).encode()), timeout_s)
        if answered.error:
            raise P2PCrawlError(answered.error)
        return decoded(node[:8], what, answered.body, due)
