"""The directory: signed records that any master can look up, kept by all of them together.

All of it is a hint. It finds peers whose addresses have changed and says who was last known to own a bucket; who is
asked then answers for itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from hashlib import blake2b

import msgspec

from p2pcrawl.model.node import Address, Member, NodeId, parse_address
from p2pcrawl.overlay.kademlia_node import DirectoryServer
from p2pcrawl.overlay.port import DIRECTORY, Port
from p2pcrawl.overlay.records import RecordStore, key_of
from p2pcrawl.wire.datagrams import Opened
from p2pcrawl.wire.identity import Identity
from p2pcrawl.wire.signed import SignedRecord

log = logging.getLogger(__name__)

PEER_TTL_S = 2 * 3600
OWNER_TTL_S = 2 * 3600
CALL_S = 10.0
"""A look-up or a publication takes no longer, whatever the others do."""
CALLS_MAX = 8
"""At once: 300 at once collapse under their own time-outs."""


class Directory:
    """This master's part of the directory."""

    def __init__(self, port: Port, identity: Identity) -> None:
        self._port = port
        self._identity = identity
        loop = asyncio.get_running_loop()
        self._records = RecordStore(loop.time)
        self._server = DirectoryServer(bytes.fromhex(identity.node_id), self._records, self._send)
        self._calls = asyncio.Semaphore(CALLS_MAX)
        self._published: dict[tuple[str, str], SignedRecord] = {}
        port.receivers[DIRECTORY] = self._received

    async def join(self, addresses: Iterable[Address]) -> int:
        """Makes contact through any of these; how many contacts there are then."""
        targets = [parse_address(a) for a in addresses if a != self._port.address]
        if targets:
            async with self._calls:
                try:
                    async with asyncio.timeout(CALL_S):
                        await self._server.bootstrap(targets)
                except TimeoutError:
                    pass
        return self.contacts

    async def publish(self, kind: str, name: str, body: bytes, ttl_s: int = PEER_TTL_S) -> int:
        """Stores a record by this node under ``kind/name``; how many nodes say that they hold it."""
        before = self._published.get((kind, name)) or await self.look_up(kind, name)
        version = before.version + 1 if before is not None else 1
        record = SignedRecord.sign(self._identity, kind, name, version, ttl_s, body)
        self._published[(kind, name)] = record
        return await self._store(record)

    async def refresh(self) -> None:
        """Stores this node's own records again, before they end."""
        for record in list(self._published.values()):
            await self._store(record)

    async def look_up(self, kind: str, name: str) -> SignedRecord | None:
        """The newest record that was found, or None."""
        async with self._calls:
            try:
                async with asyncio.timeout(CALL_S):
                    return await self._server.find(key_of(kind, name))
            except TimeoutError:
                return self._records.record(key_of(kind, name))

    @property
    def contacts(self) -> int:
        return sum(len(bucket.get_nodes()) for bucket in self._server.protocol.router.buckets)

    @property
    def records(self) -> int:
        return len(self._records)

    @property
    def counters(self) -> dict[str, int]:
        return {**self._server.protocol.counters, "refused": self._records.refused}

    def digest(self) -> str:
        """A short text that two directories share when they know the same contacts, themselves included."""
        ids = sorted(n.id for b in self._server.protocol.router.buckets for n in b.get_nodes())
        own = bytes.fromhex(self._identity.node_id)
        return blake2b(b"".join(sorted({*ids, own})), digest_size=8).hexdigest()

    def forget(self, node: NodeId) -> None:
        """Gossip declared the node dead: look-ups need not find that out by time-outs."""
        router = self._server.protocol.router
        for bucket in router.buckets:
            contact = bucket[bytes.fromhex(node)]
            if contact is not None:
                bucket.remove_node(contact)

    async def _store(self, record: SignedRecord) -> int:
        async with self._calls:
            try:
                async with asyncio.timeout(CALL_S):
                    return await self._server.store(key_of(record.kind, record.name), record)
            except TimeoutError:
                log.info("publishing %s/%s took too long", record.kind, record.name)
                return 0

    def _send(self, data: bytes, address: tuple[str, int]) -> None:
        self._port.send(DIRECTORY, data, address)

    def _received(self, opened: Opened, address: tuple[str, int]) -> None:
        self._server.protocol.opened(bytes.fromhex(opened.sender), opened.payload, address)


class PeerBody(msgspec.Struct, array_like=True):
    """The body of a ``peer`` record: where a node is."""

    address: str
    api: str
    weight: int


def peer_body(member: Member) -> bytes:
    return msgspec.msgpack.encode(PeerBody(member.address, str(member.api), member.weight))
