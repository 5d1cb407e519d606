"""Overlay nodes on the simulated network, with what they saw."""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import Sequence
from random import Random

from p2pcrawl.core.membership.output import Event, EventKind
from p2pcrawl.model.cluster.node import BOOT_BYTES, STORE_BYTES, Address
from p2pcrawl.overlay.node import Credentials, OverlayNode
from p2pcrawl.wire.messages.ask import Answered
from p2pcrawl.wire.messages.peer_messages import Query
from p2pcrawl.wire.sealed.identity import Identity
from p2pcrawl.wire.sealed.keys import KeyRing
from simulations.kernel.node import Node
from simulations.world.world import World

KEYS = base64.b64encode(bytes(range(32))).decode()
PORT = 7117


class Peer:
    """One node of the overlay, on one machine of the world."""

    def __init__(self, world: World, node: Node, *, keys: str = KEYS, cluster: str = "sim") -> None:
        self.world = world
        self.node = node
        self.keys = keys
        self.cluster = cluster
        self.identity = Identity(Random(f"{world.seed}/{node.name}").randbytes(32))
        self.events: list[tuple[float, EventKind, str]] = []
        self.overlay: OverlayNode | None = None

    @property
    def address(self) -> Address:
        return Address(f"{self.node.address}:{PORT}")

    def start(self, join: Sequence[Address] = ()) -> None:
        self.node.start(self._main, join)

    async def _main(self, join: Sequence[Address]) -> None:
        credentials = Credentials(self.identity, KeyRing.parse(self.keys), self.cluster, os.urandom(BOOT_BYTES))
        self.overlay = OverlayNode(
            credentials, bytes(STORE_BYTES), dice=Random(os.urandom(8)),
        )  # fmt: skip
        answers = dict([Query.by(self._answer)])
        await self.overlay.open(self.node.address, PORT, answers, lambda link, hello: None, self._happened)
        self.overlay.join(join)
        await asyncio.Event().wait()

    async def _answer(self, request: Query, sender: str) -> Answered:
        return Answered(0, b"here")

    def _happened(self, event: Event) -> None:
        self.events.append((self.world.now, event.kind, event.member.id))

    def saw(self, kind: EventKind) -> list[str]:
        return [id for _, what, id in self.events if what is kind]

    @property
    def view(self) -> frozenset[str]:
        return frozenset(m.id for m in self.overlay.members()) if self.overlay is not None else frozenset()


def peers_of(world: World, count: int) -> list[Peer]:
    return [Peer(world, world.node(f"n{number}")) for number in range(count)]


def agree(peers: Sequence[Peer]) -> bool:
    """Tells whether all know exactly each other, in gossip and in the directory."""
    ids = frozenset(p.identity.node_id for p in peers)
    if any(p.view != ids for p in peers):
        return False
    return len({p.overlay.membership.view_digest for p in peers}) == 1


def one_directory(peers: Sequence[Peer]) -> bool:
    return len({p.overlay.directory.digest() for p in peers}) == 1


async def until(condition, limit_s: float, step_s: float = 0.25) -> float:
    """Waits for a condition, and returns how long that took; AssertionError when it does not come about in time."""
    waited = 0.0
    while not condition():
        assert waited < limit_s, f"not so within {limit_s} s"
        await asyncio.sleep(step_s)
        waited += step_s
    return waited
