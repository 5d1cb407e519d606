"""Looks into members while they hear, and at each turn: what each knows of the others then."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from p2pcrawl.core.membership.swim import Membership
from p2pcrawl.model.cluster.gossip import Ack, Alive, Dead, Left, Message, Ping, PingRequest, PushPull, Suspect
from p2pcrawl.model.cluster.node import Member

from ..kernel.life import LIFE
from ..model.members.known import ALIVE, DEAD, LEFT, SUSPECT, Facts, Known, Line, Table

Call = Callable[[], Any]


class Minds:
    """Hands what members know to a model, in its words. ``ids`` has those of the nodes."""

    def __init__(self, known: Known, ids: Mapping[str, str]) -> None:
        self._known = known
        self._ids = ids
        self._memberships: dict[str, Membership] = {}
        """Each one's own, as it was seen last."""

    def hears(self, membership: Membership, message: Message, receive: Call) -> Any:
        """Lets a member take in a datagram, and has judged what it makes of it."""
        here = self._here(membership)
        if here is None or not membership.joined or message.source == here[0]:
            return receive()
        me, life = here
        words: dict[str, list[Line]] = defaultdict(list)
        for update in message.updates:
            words[update.id].append(_line(update))
        before = _table(membership) if words else {}
        out = receive()
        if isinstance(message, Ack):
            self._known.answered(me, life, message.source, message.seq)
        if words:
            self._known.hears(me, words, before, _table(membership))
        return out

    def compares(self, membership: Membership, view: PushPull, receive: Call) -> Any:
        """Lets a member take in another one's view, and has judged what it makes of it."""
        here = self._here(membership)
        if here is None or not membership.joined or view.source == here[0]:
            return receive()
        before = _table(membership)
        out = receive()
        words = {str(entry.member.id): Line((entry.incarnation, int(entry.status))) for entry in view.entries
                 if not (view.joining and entry.member.id == view.source)}  # fmt: skip
        self._known.compares(here[0], words, before, _table(membership))
        return out

    def thinks(self, membership: Membership, tick: Call) -> Any:
        """Lets a member do what is due, and has it judged."""
        here = self._here(membership)
        if here is None or not membership.joined:
            return tick()
        before, revision = _table(membership), membership.revision
        out = tick()
        after = before if revision == membership.revision else _table(membership)
        said = [message for _, message in out.datagrams]
        for request in (each for each in said if isinstance(each, PingRequest)):
            self._known.has_help(*here, request.target)
        if after is not before:
            self._known.thinks(*here, before, after)
        # Whom it has just come to suspect, it may ask again at once.
        for ping in (each for each in said if isinstance(each, Ping)):
            self._known.questions(*here, ping.target, ping.seq)
        self._known.goes_on(*here, after)
        return out

    def says(self, message: Message) -> None:
        """Has judged what somebody is about to say."""
        life = LIFE.get()
        me = "" if life is None or life.dead else self._ids.get(life.node.name, "")
        membership = self._memberships.get(me)
        if life is None or membership is None or message.source != me:
            return
        for update in message.updates:
            if isinstance(update, Alive) and update.id == me:
                self._known.describes(me, update.incarnation, _facts(update.member))
        if isinstance(message, Ping) and message.target != me:
            held = membership.members.get(message.target)
            verdict = None if held is None else (held.incarnation, int(held.status))
            told = [update.id for update in message.updates]
            self._known.asks(me, life.number, message.target, verdict, told)
        elif isinstance(message, Ack):
            living = frozenset((str(m.id), m.weight, m.leaving) for m in membership.alive())
            self._known.marks(me, message.view, living)

    def tells(self, view: PushPull) -> None:
        """Has judged a view that somebody is about to tell."""
        for entry in view.entries:
            if entry.member.id == view.source and entry.member.incarnation == entry.incarnation:
                self._known.describes(view.source, entry.incarnation, _facts(entry.member))

    def _here(self, membership: Membership) -> tuple[str, int] | None:
        life = LIFE.get()
        if life is None or life.dead or (me := self._ids.get(life.node.name)) != membership.me.id or me is None:
            return None
        self._memberships[me] = membership
        return me, life.number


def _table(membership: Membership) -> Table:
    return {
        str(id): Line((member.incarnation, int(member.status)), _facts(member))
        for id, member in membership.members.items()
    }


def _line(update: Alive | Suspect | Dead | Left) -> Line:
    match update:
        case Alive(member):
            return Line((member.incarnation, ALIVE), _facts(member))
        case Suspect():
            return Line((update.incarnation, SUSPECT))
        case Dead():
            return Line((update.incarnation, DEAD))
        case Left():
            return Line((update.incarnation, LEFT))


def _facts(member: Member) -> Facts:
    return Facts(member.boot, str(member.address), member.weight, member.leaving, member.store)
