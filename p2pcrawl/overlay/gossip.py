"""Drives the membership: its datagrams through the port, its exchanges over links, its timer on the loop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from p2pcrawl.core.membership.output import Event, MembershipOutput
from p2pcrawl.core.membership.swim import Membership
from p2pcrawl.model.cluster.gossip import Ack
from p2pcrawl.model.cluster.node import Address, NodeId, format_address
from p2pcrawl.model.errors import LinkError
from p2pcrawl.overlay.port import GOSSIP, Port
from p2pcrawl.overlay.tasks import Tasks
from p2pcrawl.wire.messages.gossip import decode_gossip, decode_push_pull, encode_gossip, encode_push_pull
from p2pcrawl.wire.sealed.datagrams import Opened

log = logging.getLogger(__name__)

Exchange = Callable[[Address, bytes], Awaitable[bytes]]
"""Sends a view to a member over a link and returns its answer."""
OnEvent = Callable[[Event], None]

EXCHANGES_MAX = 8
"""Exchanges under way; whoever cannot be reached holds up one of these for a while."""


class GossipDriver:
    """Drives a :class:`Membership` and performs what it asks for. All that happens comes out of ``on_event``, in
    order.
    """

    def __init__(self, membership: Membership, port: Port, exchange: Exchange, on_event: OnEvent) -> None:
        self.membership = membership
        self._sender = port.sender
        self._exchange = exchange
        self._on_event = on_event
        self._timer: asyncio.TimerHandle | None = None
        self._due_at = float("inf")
        self._exchanges = Tasks()
        self._to_ask: dict[Address, None] = {}
        """Those with whom views are to be exchanged, as soon as one of the others has answered, or does not."""
        self._loop = asyncio.get_running_loop()
        self._closed = False
        self.malformed = 0
        self.exchanges_failed = 0
        port.receivers[GOSSIP] = self._received

    def start(self, join: Sequence[Address] = ()) -> None:
        """Begins, and joins through any of ``join``, for as long as it takes."""
        now = self._loop.time()
        self.membership.start(now)
        output = self.membership.join(now, join)
        self.membership.unasked.update(output.sync_with)
        self._perform(output)

    def join(self, addresses: Sequence[Address]) -> None:
        """Joins through these too, from now on."""
        self._perform(self.membership.join(self._loop.time(), addresses))

    async def leave(self, *, handed_over: bool, patience_s: float = 2.0) -> None:
        """Says good-bye and waits until it is told."""
        self._perform(self.membership.leave(self._loop.time(), handed_over=handed_over))
        until = self._loop.time() + patience_s
        while not self.membership.quiet and self._loop.time() < until:  # noqa: ASYNC110 - no event tells of it
            await asyncio.sleep(0.05)

    def dismiss(self, id: NodeId) -> None:
        """Says of a member that is dead that it has left; see :meth:`Membership.dismiss`."""
        self._perform(self.membership.dismiss(self._loop.time(), id))

    async def close(self) -> None:
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        await self._exchanges.close()

    def update_me(self, **fields: object) -> None:
        """Tells something new of this member."""
        self._perform(self.membership.update_me(self._loop.time(), **fields))

    def answer_exchange(self, sender: NodeId, address: Address, data: bytes) -> bytes:
        """Serves the other end of an exchange: takes their view in, and returns ours.

        Raises LinkError for nonsense, and for a view in the name of another than the link is with.
        """
        theirs = decode_push_pull(data)
        if theirs.source != sender:
            raise LinkError("a view must be the sender's own")
        ours = encode_push_pull(self.membership.push_pull_message(self._loop.time()))
        self._perform(self.membership.receive_push_pull(self._loop.time(), address, theirs))
        return ours

    def _received(self, opened: Opened, address: tuple[str, int]) -> None:
        try:
            message = decode_gossip(opened.payload)
        except (LinkError, ValueError):
            self.malformed += 1
            return
        # An ack may come through a relay; everything else speaks for its sender.
        if message.source != opened.sender and not isinstance(message, Ack):
            self.malformed += 1
            return
        self._perform(self.membership.receive(self._loop.time(), format_address(*address), message))

    def _tick(self) -> None:
        self._timer = None
        self._perform(self.membership.tick(self._loop.time()))

    def _perform(self, output: MembershipOutput) -> None:
        if self._closed:
            # Something was still on its way.
            return
        for address, message in output.datagrams:
            self._sender.send_to(GOSSIP, encode_gossip(message), address)
        self._to_ask.update(dict.fromkeys(output.sync_with))
        self._begin_exchanges()
        for event in output.events:
            log.info("%s %s at %s", event.member.id[:8], event.kind, event.member.address)
            self._on_event(event)
        self._schedule()

    def _begin_exchanges(self) -> None:
        """Begins as many exchanges as there may be. None is left out: the first of those that somebody joins through
        may all be gone, and be asked again before the others.
        """
        while self._to_ask and len(self._exchanges) < EXCHANGES_MAX and not self._closed:
            address = next(iter(self._to_ask))
            del self._to_ask[address]
            self._exchanges.start(self._compare(address)).add_done_callback(lambda _: self._begin_exchanges())

    def _schedule(self) -> None:
        at = self.membership.next_at
        if self._timer is not None:
            # Not asked of the timer: uvloop's has no time when that was past already.
            if self._due_at <= at:
                return
            self._timer.cancel()
        self._due_at = at
        self._timer = self._loop.call_at(at, self._tick) if at < float("inf") else None

    async def _compare(self, address: Address) -> None:
        ours = encode_push_pull(self.membership.push_pull_message(self._loop.time()))
        try:
            theirs = decode_push_pull(await self._exchange(address, ours))
        except (LinkError, ValueError) as error:
            self.exchanges_failed += 1
            log.debug("no exchange with %s: %s", address, error)
            return
        finally:
            self.membership.unasked.discard(address)
        self._perform(self.membership.receive_push_pull(self._loop.time(), address, theirs))
