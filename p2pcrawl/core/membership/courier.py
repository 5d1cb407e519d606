"""Makes this member's messages: who it is, and as much news as the packet holds.

Two rules make gossip heal itself. A member is told first what is held against it, so that it can refute in its
very answer; and when news about oneself has to go out, the load makes room for it.

That somebody left in order is said only to those who count: they know the members that it handed over to. Who was away
meanwhile may not know of these, and would miss nobody; it learns of both in an exchange of views.

Invariant: no message takes more than ``message_max`` bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from p2pcrawl.core.membership.dissemination import News
from p2pcrawl.core.membership.view import View
from p2pcrawl.model.cluster.gossip import (
    HEAD_SIZE_MAX,
    Ack,
    Alive,
    Dead,
    Gossip,
    Left,
    Nack,
    Ping,
    PingRequest,
    Suspect,
    Update,
)
from p2pcrawl.model.cluster.node import Member, NodeId, Status


class Courier:
    """Speaks for ``me``."""

    def __init__(self, me: Member, view: View, news: News, message_max: int) -> None:
        self.me = me
        self.load = b""
        self._view = view
        self._news = news
        self._budget = message_max - HEAD_SIZE_MAX

    def ping(self, seq: int, target: NodeId) -> Ping:
        """Makes a ping that tells its target what is held against it."""
        me = self.me
        return Ping(seq, target, me.id, me.boot, me.incarnation, self._fill(self.charge(target), to=target))

    def challenge(self, seq: int) -> Ping:
        """Makes a ping to whoever else claims to be this node."""
        me = self.me
        return Ping(seq, me.id, me.id, me.boot, me.incarnation)

    def ack(self, seq: int, asker: NodeId, incarnation: int) -> Ack:
        """Makes an answer that corrects what the asker does not know about itself."""
        me = self.me
        first: list[Update] = []
        verdict = self._view.verdict(asker)
        if verdict is not None and verdict > (incarnation, Status.ALIVE):
            first = self.charge(asker) or self._past(asker, verdict[0])
        if not me.living:
            first += self.charge(me.id) if self._counts(asker) else [Dead(me.id, me.incarnation, me.id)]
        elif self._news.about(me.id):
            first.append(Alive(me))
        load = self.load
        if sum(update.size_max for update in first) > self._budget - len(load):
            load = b""
        updates = self._fill(first, len(load), asker)
        return Ack(seq, me.id, me.boot, me.incarnation, self._view.digest, load, updates)

    def pass_on(self, ack: Ack, seq: int) -> Ack:
        """Forwards another's answer to the one who asked through us."""
        return replace(ack, seq=seq, updates=self._fill((), len(ack.load)))

    def ping_request(self, seq: int, target: Member) -> PingRequest:
        """Makes a request to ping another. The relay has to know the charge, to pass it on."""
        updates = self._fill(self.charge(target.id), len(target.address.encode()))
        return PingRequest(seq, target.id, target.address, self.me.id, updates)

    def nack(self, seq: int) -> Nack:
        return Nack(seq, self.me.id, self._fill(()))

    def gossip(self, to: NodeId) -> Gossip | None:
        """Makes a message of news; None when there is none."""
        updates = self._fill((), to=to)
        return Gossip(self.me.id, updates) if updates else None

    def gossip_about(self, id: NodeId) -> Gossip | None:
        """Writes what is known of one member now, for somebody who believes something older; None when its last
        incarnation was only heard of: what it said of itself before that is not its word under this one.
        """
        verdict, facts = self._view.verdict(id), self._view.facts(id)
        if verdict is None or facts is None or facts.incarnation != verdict[0]:
            return None
        return Gossip(self.me.id, self._fill([Alive(facts), *self.charge(id)]))

    def charge(self, id: NodeId) -> list[Update]:
        """Returns what is held against a member, for its own ears."""
        verdict = self._view.verdict(id)
        if verdict is None:
            return []
        incarnation, status = verdict
        match status:
            case Status.ALIVE:
                return []
            case Status.SUSPECT:
                return [Suspect(id, incarnation, self.me.id)]
            case Status.DEAD:
                # What is merely remembered is refuted in the same way, and has to be told from what others act on.
                by = self.me.id
                return [Suspect(id, incarnation, by) if self._view.is_remembered(id) else Dead(id, incarnation, by)]
            case Status.LEFT:
                return [Left(id, incarnation)]

    def last_charge(self, member: Member) -> Gossip | None:
        """Makes the word to one that is back, in the life that it was in, that it was held dead here until now; None
        when nobody had declared that.
        """
        if self._view.is_remembered(member.id):
            return None
        return Gossip(self.me.id, (Dead(member.id, member.incarnation, self.me.id),))

    def _past(self, id: NodeId, incarnation: int) -> list[Update]:
        """Returns an earlier life of a member, under a higher incarnation than it has now."""
        facts = self._view.facts(id)
        return [] if facts is None else [Alive(replace(facts, incarnation=incarnation))]

    def _counts(self, id: NodeId | None) -> bool:
        member = self._view.members.get(id) if id is not None else None
        return member is not None and member.living

    def _fill(self, first: Sequence[Update], taken: int = 0, to: NodeId | None = None) -> tuple[Update, ...]:
        """Chooses the updates that fit beside ``first``. ``to`` whom they go, if that is known."""
        return self._news.fill(self._budget - taken, len(self._view.members), first, farewells=self._counts(to))
