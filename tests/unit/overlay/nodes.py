"""Overlay nodes on loopback."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from p2pcrawl.core.membership.output import Event
from p2pcrawl.core.membership.parameters import MembershipConfig
from p2pcrawl.overlay.node import Credentials, OverlayNode
from p2pcrawl.wire.messages.ask import Answered, PeerReply
from p2pcrawl.wire.messages.peer_messages import Query
from p2pcrawl.wire.sealed.datagrams import DatagramSeal
from p2pcrawl.wire.sealed.identity import Identity
from p2pcrawl.wire.sealed.keys import KeyRing, generate_key

KEY = generate_key()


def credentials(key: str = KEY, cluster: str = "test", identity: Identity | None = None) -> Credentials:
    return Credentials(identity or Identity.generate(), KeyRing.parse(key), cluster, os.urandom(8))


def seal_of(who: Credentials) -> DatagramSeal:
    return DatagramSeal(who.keys, who.identity.node_id, who.boot, who.cluster)


class Seen:
    def __init__(self) -> None:
        self.events: list[Event] = []
        self.requests: list[Any] = []
        self.slaves: list[Any] = []
        self.answer: Callable[[Any], Any] = lambda request: Answered(0, b"{}")

    async def serve(self, request: Any, sender: str) -> PeerReply:
        self.requests.append(request)
        answer = self.answer(request)
        return await answer if asyncio.iscoroutine(answer) else answer


@asynccontextmanager
async def node(who: Credentials | None = None, join: tuple[str, ...] | None = (), seen: Seen | None = None):
    """A node that has begun to gossip; with ``join=None``, one that has only bound its port."""
    seen = seen or Seen()
    made = OverlayNode(
        who or credentials(), bytes(16),
        config=MembershipConfig(), dice=Random(1),
    )  # fmt: skip
    await made.open(
        "127.0.0.1", 0, dict([Query.by(seen.serve)]), lambda link, hello: seen.slaves.append(hello), seen.events.append
    )
    made.seen = seen
    if join is not None:
        made.join(join)
    try:
        yield made
    finally:
        await made.close()


async def until(condition: Callable[[], bool], limit_s: float = 8.0) -> None:
    async with asyncio.timeout(limit_s):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
