"""The kademlia package, subclassed to stand clear of its faults.

Its datagrams travel sealed, through the peer's port. Every request and reply is checked before the library
sees it: the sender must be who it says it is, an answer must come from whom it was asked of, contacts must be
addresses. Calls end: by an answer, a time-out or cancellation, without leaving anything behind.

Nobody hands on what another author said: a copy counts its time from the author's own word, so that its age is true and
its end comes.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
from typing import Any

import umsgpack
from kademlia.crawling import NodeSpiderCrawl, ValueSpiderCrawl
from kademlia.network import Server
from kademlia.node import Node
from kademlia.protocol import KademliaProtocol

from p2pcrawl.overlay.bodies import body_of
from p2pcrawl.overlay.records import Aged, RecordStore, key_of
from p2pcrawl.wire.sealed.datagrams import Opened
from p2pcrawl.wire.sealed.signed import EXPIRES_MAX_S, SignedRecord

log = logging.getLogger(__name__)

ANSWER_S = 1.0
"""A member that lives answers in a few milliseconds; the library's 5 s add up along a look-up."""
KSIZE = 20
ALPHA = 3
_ID_BYTES = 20
_ANYBODY = bytes(_ID_BYTES)
"""In place of the id of a node that is not known yet: its answer tells."""
_REQUEST, _RESPONSE = b"\x00", b"\x01"
_ARGUMENTS = {"ping": 1, "store": 3, "find_node": 2, "find_value": 2}
_MESSAGE_MAX = 1400
_HEAD = 21

Answer = tuple[bool, Any]


class _Sealed:
    """The transport that the protocol writes to in place of a socket."""

    def __init__(self, send: Any) -> None:
        self._send = send

    def sendto(self, data: bytes, address: tuple[str, int]) -> None:
        self._send(data, address)

    def close(self) -> None:
        pass


class DirectoryProtocol(KademliaProtocol):  # type: ignore[misc] # kademlia has no types
    """The package's protocol with our own reading of datagrams: strict, sealed, and never raising for what others
    send.
    """

    def __init__(self, source_node: Node, storage: RecordStore, ksize: int) -> None:
        super().__init__(source_node, storage, ksize)
        self.counters = {"malformed": 0, "unasked": 0, "failed": 0, "served": 0}

    @property
    def awaited(self) -> int:
        """The number of answers that are waited for."""
        return len(self._outstanding)

    # -- incoming -----------------------------------------------------------------------------

    def opened(self, opened: Opened, address: tuple[str, int]) -> None:
        """Takes in a datagram of the directory. Never raises for its contents."""
        data, sender_id = opened.payload, bytes.fromhex(opened.sender)
        kind, message_id = data[:1], data[1:_HEAD]
        if len(message_id) < _ID_BYTES or len(data) > _MESSAGE_MAX:
            self.counters["malformed"] += 1
        elif kind in (_REQUEST, _RESPONSE):
            self._read(sender_id, kind, message_id, data[_HEAD:], address)
        else:
            self.counters["malformed"] += 1

    def _read(self, sender_id: bytes, kind: bytes, message_id: bytes, packed: bytes, address: tuple[str, int]) -> None:
        try:
            body = umsgpack.unpackb(packed)
        except Exception:  # RecursionError and a dozen of the library's own
            self.counters["malformed"] += 1
            return
        if kind == _REQUEST:
            self._serve(sender_id, message_id, body, address)
        else:
            self._answered(sender_id, message_id, body, address)

    def _serve(self, sender_id: bytes, message_id: bytes, body: Any, address: tuple[str, int]) -> None:
        if not (isinstance(body, list) and len(body) == 2 and isinstance(body[0], str)):
            self.counters["malformed"] += 1
            return
        name, arguments = body
        count = _ARGUMENTS.get(name)
        if (
            count is None
            or not isinstance(arguments, list | tuple)
            or len(arguments) != count
            or arguments[0] != sender_id
            or (count > 1 and not (isinstance(arguments[1], bytes) and len(arguments[1]) == _ID_BYTES))
        ):
            self.counters["malformed"] += 1
            return
        try:
            reply = getattr(self, f"rpc_{name}")(address, *arguments)
        except Exception:
            self.counters["failed"] += 1
            log.debug("a request of the directory failed", exc_info=True)
            return
        self.counters["served"] += 1
        self.transport.sendto(_RESPONSE + message_id + _packed(reply), address)

    def rpc_store(self, sender: tuple[str, int], nodeid: bytes, key: bytes, value: Any) -> bool:
        """Says whether the record is really held now."""
        self.welcome_if_new(Node(nodeid, sender[0], sender[1]))
        return bool(self.storage.offer(key, value))

    def rpc_stun(self, sender: tuple[str, int]) -> None:
        return None

    def rpc_find_value(self, sender: tuple[str, int], nodeid: bytes, key: bytes) -> Any:
        """Answers a look-up: the record with its age, or contacts that are nearer to it."""
        held = self.storage.held(key)
        if held is None:
            return self.rpc_find_node(sender, nodeid, key)
        self.welcome_if_new(Node(nodeid, sender[0], sender[1]))
        return {"value": held.record.encode(), "age": int(held.age_s)}

    def _answered(self, sender_id: bytes, message_id: bytes, body: Any, address: tuple[str, int]) -> None:
        future = self._waiting(sender_id, message_id, address)
        if future is not None and not future.done():
            unknown = self._outstanding[message_id][2] == _ANYBODY
            future.set_result((True, sender_id if unknown else body))

    def _waiting(self, sender_id: bytes, message_id: bytes, address: tuple[str, int]) -> asyncio.Future[Answer] | None:
        """Returns the future that waits for this answer; None, counted, if nobody asked for it."""
        waiting: tuple[asyncio.Future[Answer], tuple[str, int], bytes] | None = self._outstanding.get(message_id)
        # At the address of a node that is gone there may be another by now.
        if waiting is None or waiting[1] != address or waiting[2] not in (sender_id, _ANYBODY):
            self.counters["unasked"] += 1
            return None
        return waiting[0]

    # -- outgoing -----------------------------------------------------------------------------

    async def _ask(self, name: str, node: Node, *arguments: Any) -> Answer:
        message_id = os.urandom(_ID_BYTES)
        address = (node.ip, node.port)
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._outstanding[message_id] = (future, address, node.id)
        try:
            data = _REQUEST + message_id + umsgpack.packb([name, [self.source_node.id, *arguments]])
            self.transport.sendto(data, address)
            async with asyncio.timeout(ANSWER_S):
                return await future
        except TimeoutError:
            return (False, None)
        finally:
            del self._outstanding[message_id]

    async def call_ping(self, node_to_ask: Node) -> Answer:
        answer = await self._ask("ping", node_to_ask)
        sound = isinstance(answer[1], bytes) and len(answer[1]) == _ID_BYTES
        return self._judged(answer if sound else (False, None), node_to_ask)

    async def call_store(self, node_to_ask: Node, key: bytes, value: bytes) -> Answer:
        answer = await self._ask("store", node_to_ask, key, value)
        return self._judged(answer if isinstance(answer[1], bool) else (False, None), node_to_ask)

    async def call_find_node(self, node_to_ask: Node, node_to_find: Node) -> Answer:
        answer = await self._ask("find_node", node_to_ask, node_to_find.id)
        return self._judged((answer[0], _contacts(answer[1])), node_to_ask)

    async def call_find_value(self, node_to_ask: Node, node_to_find: Node) -> Answer:
        answer = await self._ask("find_value", node_to_ask, node_to_find.id)
        body = answer[1]
        if isinstance(body, dict) and (found := _aged(body)) is not None:
            return self._judged((answer[0], {"value": found}), node_to_ask)
        return self._judged((answer[0], _contacts(body)), node_to_ask)

    def _judged(self, answer: Answer, node: Node) -> Answer:
        """Keeps the node that answered as a contact, drops the one that did not."""
        self.handle_call_response(answer, node)
        return answer

    async def ping_address(self, address: tuple[str, int]) -> Node | None:
        """Asks who is at an address. Returns the node that answers, or None."""
        answer = await self._ask("ping", Node(_ANYBODY, *address))
        if not answer[0]:
            return None
        node = Node(answer[1], *address)
        self.welcome_if_new(node)
        return node


class DirectoryServer(Server):  # type: ignore[misc] # kademlia has no types
    """The library's server, without a socket of its own."""

    protocol_class = DirectoryProtocol

    def __init__(self, node_id: bytes, storage: RecordStore, send: Any) -> None:
        super().__init__(KSIZE, ALPHA, node_id, storage)
        self.records = storage
        self.protocol = self._create_protocol()
        self.protocol.connection_made(_Sealed(send))

    async def bootstrap_node(self, addr: tuple[str, int]) -> Node | None:
        return await self.protocol.ping_address(addr)

    async def store(self, key: bytes, record: SignedRecord) -> int:
        """Stores a record at the nodes nearest to its key. Returns how many, this one included, acknowledged that they
        hold it.
        """
        target = Node(key)
        nearest = self.protocol.router.find_neighbors(target)
        acks = 0
        found = await NodeSpiderCrawl(self.protocol, target, nearest, self.ksize, self.alpha).find() if nearest else []
        if len(found) < self.ksize or self.node.distance_to(target) < max(n.distance_to(target) for n in found):
            acks += self.storage.offer(key, record.encode())
        data = record.encode()
        for happened, stored in await asyncio.gather(*(self.protocol.call_store(n, key, data) for n in found)):
            acks += bool(happened and stored)
        return acks

    async def find(self, key: bytes) -> Aged | None:
        """Looks a key up, and returns the valid record that counts most of those that it came upon."""
        target = Node(key)
        found = [own] if (own := self.records.held(key)) is not None else []
        nearest = self.protocol.router.find_neighbors(target)
        if nearest:
            crawl = _RecordsCrawl(self.protocol, target, nearest, self.ksize, self.alpha)
            found += [each for each in await crawl.find() or () if each.record.verify(each.age_s)]
        return self._best(key, found)

    def _best(self, key: bytes, found: list[Aged]) -> Aged | None:
        best: Aged | None = None
        for each in found:
            record = each.record
            if key != key_of(record.kind, record.name) or body_of(record) is None:
                continue
            if best is None or (
                each.age_s < best.age_s if record == best.record else self.records.counts_more(record, best.record)
            ):
                best = each
        return best


class _RecordsCrawl(ValueSpiderCrawl):  # type: ignore[misc] # kademlia has no types
    """Takes all that a step found, where the library takes the commonest bytes and hands them on."""

    async def _handle_found_values(self, values: list[Aged]) -> list[Aged]:
        return values


def _aged(body: dict[Any, Any]) -> Aged | None:
    """Returns the record of an answer, if it has one and an age that it can have."""
    value, age = body.get("value"), body.get("age")
    record = SignedRecord.decode(value) if isinstance(value, bytes) else None
    if record is None or type(age) is not int or not 0 <= age <= EXPIRES_MAX_S:
        return None
    return Aged(record, float(age))


def _contacts(body: Any) -> list[tuple[bytes, str, int]]:
    """Returns the contacts of an answer that are contacts."""
    if not isinstance(body, list | tuple):
        return []
    found = []
    for each in body[:KSIZE]:
        if (
            isinstance(each, list | tuple)
            and len(each) == 3
            and isinstance(each[0], bytes)
            and len(each[0]) == _ID_BYTES
            and isinstance(each[1], str)
            and isinstance(each[2], int)
            and 0 < each[2] < 65536
        ):
            try:
                ipaddress.ip_address(each[1])
            except ValueError:
                continue
            found.append((each[0], each[1], each[2]))
    return found


def _packed(reply: Any) -> bytes:
    return bytes(umsgpack.packb(reply))
