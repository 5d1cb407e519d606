"""One master's place in the overlay: its port, its membership, its part of the directory, its links."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from p2pcrawl.core.membership.output import Event, EventKind
from p2pcrawl.core.membership.parameters import MembershipConfig
from p2pcrawl.core.membership.swim import Membership
from p2pcrawl.model.cluster.node import Address, Member, NodeId, Status
from p2pcrawl.model.timings import TIMINGS
from p2pcrawl.overlay.calls import OnSlave, Reception
from p2pcrawl.overlay.directory import Directory
from p2pcrawl.overlay.door import Door
from p2pcrawl.overlay.gossip import GossipDriver
from p2pcrawl.overlay.port import Port
from p2pcrawl.overlay.tasks import end
from p2pcrawl.overlay.tls import TlsContexts
from p2pcrawl.wire.messages.ask import Answers
from p2pcrawl.wire.messages.peer_messages import Sync, Synced
from p2pcrawl.wire.sealed.datagrams import DatagramSeal
from p2pcrawl.wire.sealed.identity import Identity
from p2pcrawl.wire.sealed.keys import KeyRing
from p2pcrawl.wire.sealed.streams import StreamSeal
from p2pcrawl.wire.sealed.tls import Seal, TlsStream

log = logging.getLogger(__name__)

LOOK_S = 1.0
REJOIN_S = 30.0
"""While it lacks contacts, the directory makes contact through the members that gossip knows: first after ``LOOK_S``,
then less and less, at last this often."""
JOIN_MAX = 20
"""Through so many at a time, of those that are new if there are any: they lead to the others."""
CONTACTS_ENOUGH = 40
"""With so many contacts a look-up finds its way, and it does not look for more: a node keeps few of those that are far
from it, so it never has all of a large cluster."""
LOOKS_MAX = 5
"""So often it is looked whether anybody else comes or goes before contact is made."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """The proofs of who a process is and which cluster it belongs to."""

    identity: Identity
    keys: KeyRing
    cluster: str
    boot: bytes
    tls: TlsContexts | None = None
    """With it all links are TLS, and the seal is inside."""

    def client(self) -> Seal:
        seal = StreamSeal.client(self.keys, self.identity, self.boot, self.cluster)
        return TlsStream.client(self.tls.client, seal) if self.tls else seal

    def server(self) -> Seal:
        seal = StreamSeal.server(self.keys, self.identity, self.boot, self.cluster)
        return TlsStream.server(self.tls.server, seal) if self.tls else seal


class OverlayNode:
    """The node of one master: open it, then :meth:`join`."""

    def __init__(
        self,
        credentials: Credentials,
        store: bytes,
        *,
        weight: int = 1,
        config: MembershipConfig | None = None,
        dice: random.Random | None = None,
        door: Door | None = None,
    ) -> None:
        """``door``: the way out, if others have it already."""
        self.credentials = credentials
        self._store = store
        self._weight = weight
        self._config = config or MembershipConfig()
        self._dice = dice or random.Random()
        self.door = door or Door(credentials.identity.node_id, credentials.client)
        self._caller = self.door.caller
        self._seal = DatagramSeal(credentials.keys, credentials.identity.node_id, credentials.boot, credentials.cluster)
        self.port = Port(self._seal)
        self._upkeep: asyncio.Task[None] | None = None
        self._seen: set[Address] = set()
        """Where the others were when they were last looked at."""

    @property
    def me(self) -> NodeId:
        return self.credentials.identity.node_id

    async def open(
        self,
        host: str,
        port: int,
        answers: Answers,
        on_slave: OnSlave,
        on_event: Callable[[Event], None],
        *,
        advertise: Address | None = None,
        api: str = "",
        incarnation: int = 1,
    ) -> None:
        """Binds. Other peers get ``answers`` to what they ask, ``on_slave`` the links of slaves; ``on_event`` hears of
        members. ``incarnation`` is greater than any that this identity had, as far as this machine knows.

        Raises ConfigurationError when it cannot.
        """
        self._on_event = on_event
        synced = Sync.by(self._synced)
        self._reception = Reception(self.credentials.server, dict([synced, *answers.items()]), on_slave)
        bound = await self.port.open(host, port, self._reception.make_link)
        self.address = advertise or bound
        me = Member(
            self.me, self.address, incarnation, Status.ALIVE, self._weight, self.credentials.boot, self._store, api=api
        )
        self.membership = Membership(me, self._config, self._dice)
        self.door.open_to(self.membership)
        self.gossip = GossipDriver(self.membership, self.port, self._exchange, self._happened)
        self.directory = Directory(self.port, self.credentials.identity, self.door.lives)

    def join(self, addresses: Sequence[Address]) -> None:
        """Begins to gossip; joins through any of these, for as long as it takes."""
        self.gossip.start(addresses)
        self._upkeep = asyncio.create_task(self._keep_up(list(addresses)))

    async def leave(self, *, handed_over: bool) -> None:
        """Says good-bye; see :meth:`Membership.leave`."""
        await self.gossip.leave(handed_over=handed_over)

    async def close(self) -> None:
        if self._upkeep is not None:
            await end([self._upkeep])
        await self.gossip.close()
        self._caller.close()
        await self._reception.close()
        self.port.close()

    def members(self) -> list[Member]:
        """Returns all that count, this one included, by id."""
        return self.door.members()

    def living(self, node: NodeId) -> Member | None:
        """Returns the member, if it counts."""
        return self.door.living(node)

    def say_leaving(self) -> None:
        """Tells the others that this master is about to leave, so that they take its buckets."""
        self.gossip.update_me(leaving=True)

    def counters(self) -> dict[str, dict[str, int]]:
        """Counts what went over the port, and what was dropped there and why."""
        return {
            "port": dict(self.port.counters),
            "links": self._reception.counters(),
            "calls": self._caller.counters(),
            "datagrams": dict(self._seal.counters),
            "knocks": dict(self.port.knocks.counters),
            "addresses": self.port.knocks.addresses(),
            "directory": self.directory.counters,
            "gossip": {"malformed": self.gossip.malformed, "exchanges_failed": self.gossip.exchanges_failed},
        }

    async def _synced(self, request: Sync, sender: NodeId) -> Synced:
        member = self.membership.members.get(sender)
        address = member.address if member is not None else Address("")
        return Synced(0, self.gossip.answer_exchange(sender, address, request.members))

    async def _exchange(self, address: Address, view: bytes) -> bytes:
        reply = await self._caller.call(address, Sync(0, view))
        return reply.members

    def _happened(self, event: Event) -> None:
        member = event.member
        if event.kind in (EventKind.DIED, EventKind.LEFT):
            self._caller.hang_up(member.address)
            self.directory.forget(member.id)
        elif (
            event.kind is EventKind.UPDATED
            and (old := event.previous)
            and (old.address, old.boot) != (member.address, member.boot)
        ):
            self._caller.hang_up(old.address)
        elif event.kind in (EventKind.REFUTED, EventKind.JOINED):
            self._caller.renew(member.address)
        if event.kind is EventKind.CONFLICT:
            log.error(
                "another process at %s uses the identity of this peer (%s): give each peer a data folder of its own",
                member.address,
                member.id[:8],
            )
        self._on_event(event)

    async def _keep_up(self, seeds: list[Address]) -> None:
        """Keeps up the directory's contacts and records, which follow gossip, which heals by itself."""
        published_at, pause_s = float("-inf"), LOOK_S
        loop = asyncio.get_running_loop()
        join_at, known = loop.time(), set[Address]()
        while True:
            others = await self._steady_others()
            if others - known:
                join_at, pause_s = loop.time(), LOOK_S
            lacks = self.directory.contacts < min(len(others), CONTACTS_ENOUGH)
            try:
                if loop.time() >= join_at and (others - known or lacks):
                    join_at, pause_s = loop.time() + pause_s, min(2 * pause_s, REJOIN_S)
                    await self.directory.join(self._some_of(others - known or others) or seeds)
                    known = others
                if others and loop.time() - published_at > TIMINGS.peer_renew_s:
                    published_at = loop.time()
                    await self.directory.publish_peer(self.membership.me)
            except Exception:
                log.exception("the upkeep of the directory failed; it goes on")
            await asyncio.sleep(LOOK_S)

    async def _steady_others(self) -> set[Address]:
        """Returns where the others are; while they come or go waits a while, for to look for each of many costs too
        much.
        """
        others = self._addresses()
        for _ in range(LOOKS_MAX):
            if others == self._seen:
                break
            self._seen = others
            await asyncio.sleep(LOOK_S)
            others = self._addresses()
        self._seen = others
        return others

    def _addresses(self) -> set[Address]:
        return {member.address for member in self.door.others()}

    def _some_of(self, addresses: set[Address]) -> list[Address]:
        return self._dice.sample(sorted(addresses), min(JOIN_MAX, len(addresses)))
