"""The directory: signed records that any master can look up, kept by all of them together.

All of it is a hint. It finds peers whose addresses have changed, says who was last known to own a bucket, and what a
host asks of its visitors; who is asked then answers for itself. What each kind of record says is told in
:mod:`p2pcrawl.overlay.bodies`, which of two counts in :mod:`p2pcrawl.overlay.records`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import blake2b
from math import ceil

from p2pcrawl.core.hosts.politeness import HostNote
from p2pcrawl.model.cluster.node import Address, Member, NodeId, parse_address
from p2pcrawl.model.timings import TIMINGS
from p2pcrawl.overlay.bodies import (
    HOST,
    OWNER,
    PEER,
    Body,
    HostBody,
    OwnerBody,
    PeerBody,
    body_of,
    encode_body,
)
from p2pcrawl.overlay.kademlia_node import DirectoryServer
from p2pcrawl.overlay.port import DIRECTORY, Port
from p2pcrawl.overlay.records import Aged, RecordStore, key_of
from p2pcrawl.wire.sealed.datagrams import Opened
from p2pcrawl.wire.sealed.identity import Identity
from p2pcrawl.wire.sealed.signed import EXPIRES_MAX_S, SignedRecord

log = logging.getLogger(__name__)

TTL_S = int(TIMINGS.record_ttl_s)
"""How long a record counts. A pause that is longer is told of until it is over."""
CALL_S = 10.0
"""A look-up or a publication takes no longer, whatever the others do."""
CALLS_MAX = 8
"""At once: 300 at once collapse under their own time-outs."""


@dataclass(frozen=True, slots=True)
class OwnerHint:
    """The master that was last heard to serve a bucket."""

    owner: NodeId
    counter: int
    """With ``owner`` the epoch of the bucket."""
    address: Address
    age_s: float


class Directory:
    """The directory as this master uses it. What it publishes may be refused by all; each method says how many
    took it.
    """

    def __init__(self, port: Port, identity: Identity, lives: Callable[[NodeId], bool]) -> None:
        """``lives`` says whether a node is a living member, as far as is known here."""
        self._sender = port.sender
        self._address = port.address
        self._identity = identity
        loop = asyncio.get_running_loop()
        self._records = RecordStore(loop.time, lives)
        self._server = DirectoryServer(bytes.fromhex(identity.node_id), self._records, self._send)
        self._calls = asyncio.Semaphore(CALLS_MAX)
        self._version = 0
        """Of our own peer record."""
        port.receivers[DIRECTORY] = self._received

    async def join(self, addresses: Iterable[Address]) -> int:
        """Makes contact through any of these; returns how many contacts there are then."""
        targets = [parse_address(a) for a in addresses if a != self._address]
        if targets:
            async with self._calls:
                try:
                    async with asyncio.timeout(CALL_S):
                        await self._server.bootstrap(targets)
                except TimeoutError:
                    pass
        return self.contacts

    async def publish_peer(self, me: Member) -> int:
        """Publishes where this node is; returns how many nodes hold that then."""
        if not self._version and (before := await self.look_up(PEER, me.id)) is not None:
            self._version = before.version
        self._version += 1
        return await self._publish(PEER, me.id, self._version, TTL_S, PeerBody.of(me))

    async def publish_owner(self, bucket: int, counter: int, address: Address) -> int:
        """Publishes that this node serves a bucket under the epoch of this counter; returns how many nodes hold that
        then.

        None do while they hold a greater epoch.
        """
        return await self._publish(OWNER, str(bucket), counter, TTL_S, OwnerBody(address))

    async def publish_host(self, host: str, note: HostNote) -> int:
        """Publishes what a host asks, in place of what was published before; returns how many nodes hold that then.

        Raises ValueError for a host whose name no record can have.
        """
        before = await self.look_up(HOST, host)
        version = before.version + 1 if before is not None else 1
        ttl_s = min(EXPIRES_MAX_S, max(TTL_S, ceil(note.pause_s)))
        return await self._publish(HOST, host, version, ttl_s, HostBody.of(note))

    async def owner(self, bucket: int) -> OwnerHint | None:
        """Looks up who says that it serves a bucket; None if nobody does."""
        found = await self._find(OWNER, str(bucket))
        if found is None or not isinstance(body := body_of(found.record), OwnerBody):
            return None
        return OwnerHint(found.record.signer, found.record.version, Address(body.address), found.age_s)

    async def host(self, host: str) -> HostNote | None:
        """Looks up what is known of a host, with what is left of its pause; None if nothing is."""
        found = await self._find(HOST, host)
        if found is None or not isinstance(body := body_of(found.record), HostBody):
            return None
        return HostNote(body.delay_s, body.penalty_s, max(0.0, body.pause_s - found.age_s))

    async def look_up(self, kind: str, name: str) -> SignedRecord | None:
        """Looks a record up, and returns the one that counts most of those that were found, or None."""
        found = await self._find(kind, name)
        return found.record if found is not None else None

    @property
    def contacts(self) -> int:
        return sum(map(len, self._server.protocol.router.buckets))

    @property
    def counters(self) -> dict[str, int]:
        return {
            **self._server.protocol.counters,
            "refused": self._records.refused,
            "records": len(self._records),
            "awaited": self._server.protocol.awaited,
        }

    def digest(self) -> str:
        """Returns a short text that two directories share when they know the same contacts, themselves included."""
        ids = sorted(n.id for b in self._server.protocol.router.buckets for n in b.get_nodes())
        own = bytes.fromhex(self._identity.node_id)
        return blake2b(b"".join(sorted({*ids, own})), digest_size=8).hexdigest()

    def forget(self, node: NodeId) -> None:
        """Drops a node that gossip declared dead: look-ups need not find that out by time-outs."""
        router = self._server.protocol.router
        for bucket in router.buckets:
            contact = bucket[bytes.fromhex(node)]
            if contact is not None:
                bucket.remove_node(contact)

    async def _find(self, kind: str, name: str) -> Aged | None:
        key = key_of(kind, name)
        async with self._calls:
            try:
                async with asyncio.timeout(CALL_S):
                    return await self._server.find(key)
            except TimeoutError:
                return self._records.held(key)

    async def _publish(self, kind: str, name: str, version: int, ttl_s: int, body: Body) -> int:
        record = SignedRecord.sign(self._identity, kind, name, version, ttl_s, encode_body(body))
        async with self._calls:
            try:
                async with asyncio.timeout(CALL_S):
                    return await self._server.store(key_of(record.kind, record.name), record)
            except TimeoutError:
                log.info("publishing %s/%s took too long", record.kind, record.name)
                return 0

    def _send(self, data: bytes, address: tuple[str, int]) -> None:
        self._sender.send(DIRECTORY, data, address)

    def _received(self, opened: Opened, address: tuple[str, int]) -> None:
        self._server.protocol.opened(opened, address)
