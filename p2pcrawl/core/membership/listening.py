"""Decides what a member does with what arrives: datagrams of others, of itself as it seems, and whole views.

Invariants: a member that has not joined takes in views only, and answers nothing; every ping that names this
member is answered, also under a suspicion, because the answer carries the refutation.
"""

from __future__ import annotations

from p2pcrawl.core.membership.comparing import Exchanges
from p2pcrawl.core.membership.courier import Courier
from p2pcrawl.core.membership.dissemination import News
from p2pcrawl.core.membership.hearsay import Hearsay
from p2pcrawl.core.membership.output import Event, EventKind, MembershipOutput
from p2pcrawl.core.membership.probing import Prober
from p2pcrawl.core.membership.self_defence import Claims
from p2pcrawl.core.membership.view import View
from p2pcrawl.model.cluster.gossip import (
    Ack,
    Alive,
    Dead,
    Entry,
    Left,
    Message,
    Nack,
    Ping,
    PingRequest,
    PushPull,
    Suspect,
)
from p2pcrawl.model.cluster.node import Address, NodeId, Status


class Listener:
    """Hands each part of a message to whom it concerns."""

    def __init__(
        self,
        courier: Courier,
        view: View,
        news: News,
        prober: Prober,
        exchanges: Exchanges,
        claims: Claims,
        hearsay: Hearsay,
    ) -> None:
        self._courier = courier
        self._view = view
        self._news = news
        self._prober = prober
        self._exchanges = exchanges
        self._claims = claims
        self._hearsay = hearsay
        self.loads: dict[NodeId, bytes] = {}
        self.views: dict[NodeId, int] = {}
        self.heard: dict[NodeId, float] = {}
        """When each member that is known last sent a datagram here."""

    def receive(self, now: float, sender: Address, message: Message, out: MembershipOutput) -> None:
        """Takes in a datagram."""
        if not self._claims.joined:
            # Somebody knows an earlier life of this node: as good a way in as any.
            self._exchanges.want(now, sender, out)
            return
        if message.source == self._courier.me.id:
            self._hear_oneself(sender, message, out)
            return
        if message.source in self._view.members:
            self.heard[message.source] = now
        for update in message.updates:
            if update.id == self._courier.me.id and isinstance(update, Dead | Left):
                self._claims.condemned(update.incarnation, out)
            self._hearsay.take(update, now, out)
        match message:
            case Ping() if message.target == self._courier.me.id:
                self._answer(now, sender, message, out)
            case PingRequest():
                self._prober.relay(now, sender, message, out)
                self._correct(now, sender, message, out)
            case Ack():
                self._hearsay.witness(message.source, message.incarnation, now, out)
                self._prober.acked(message, out)
                self._note(now, message, out)
            case Nack():
                self._prober.nacked(message)

    def receive_push_pull(self, now: float, sender: Address, message: PushPull, out: MembershipOutput) -> None:
        """Takes in another's whole view."""
        me = self._courier.me.id
        if message.source == me:
            self._claims.met(message.boot, sender, out)
            return
        for entry in message.entries:
            if entry.member.id == me:
                self._hear_of_oneself(now, entry, out)
        news = self._claims.joined
        if not news:
            # What a newcomer is told is news to itself alone.
            self._claims.join(now)
            self._exchanges.joined(now, sender)
            self._prober.start(now)
            self._hearsay.hurry = True
        for entry in message.entries:
            id = entry.member.id
            # Who is joining does not know its last incarnation: what is known here is better than its own word.
            known = self._view.verdict(id) if message.joining and id == message.source else None
            unsure = known is not None and entry.incarnation <= known[0]
            if id != me and not unsure:
                self._hearsay.take_entry(entry, message.source, now, out, news=news)

    def forget(self, id: NodeId) -> None:
        self.loads.pop(id, None)
        self.views.pop(id, None)
        self.heard.pop(id, None)

    def _answer(self, now: float, sender: Address, ping: Ping, out: MembershipOutput) -> None:
        if self._view.verdict(ping.source) is None:
            self._exchanges.want(now, sender, out)
        else:
            self._hearsay.witness(ping.source, ping.incarnation, now, out)
        out.datagrams.append((sender, self._courier.ack(ping.seq, ping.source, ping.incarnation)))

    def _correct(self, now: float, sender: Address, request: PingRequest, out: MembershipOutput) -> None:
        """Tells a member that asks about a suspect what the suspect has refuted already: it missed that news, and the
        suspect may be silent again by now. A datagram says that with what the suspect says of itself since then; where
        that was not heard here, views are compared.
        """
        charges = [u.incarnation for u in request.updates if isinstance(u, Suspect) and u.id == request.target]
        verdict = self._view.verdict(request.target)
        if not charges or verdict is None or verdict <= (charges[0], Status.LEFT):
            return
        if (news := self._courier.gossip_about(request.target)) is not None:
            out.datagrams.append((sender, news))
        else:
            self._exchanges.want(now, sender, out)

    def _note(self, now: float, ack: Ack, out: MembershipOutput) -> None:
        """Keeps what an ack told, and compares views when it shows another one though no news is under way."""
        member = self._view.members.get(ack.source)
        if member is None:
            return
        self.loads[ack.source] = ack.load
        self.views[ack.source] = ack.view
        if ack.view != self._view.digest and not self._news and self._courier.me.status is Status.ALIVE:
            self._exchanges.differs(now, member.address, out)

    def _hear_oneself(self, sender: Address, message: Message, out: MembershipOutput) -> None:
        """Takes in a datagram under our own id."""
        match message:
            case Ping() if message.boot != self._courier.me.boot:
                self._claims.met(message.boot, sender, out)
                out.datagrams.append((sender, self._courier.ack(message.seq, message.source, message.incarnation)))
            case Ack():
                self._claims.acked(message, sender, out)

    def _hear_of_oneself(self, now: float, entry: Entry, out: MembershipOutput) -> None:
        """Takes in what another's view says of this node."""
        if not self._claims.joined and entry.member.boot != self._courier.me.boot:
            self._claims.exceed(now, entry.incarnation)
            if entry.status <= Status.SUSPECT:
                out.events.append(Event(EventKind.OUTLIVED, self._courier.me, entry.member))
        self._hearsay.take(Alive(entry.member), now, out)
        if entry.status is not Status.ALIVE:
            # Any verdict is refuted in the same way; a farewell is the strongest.
            self._hearsay.take(Left(entry.member.id, entry.incarnation), now, out)
