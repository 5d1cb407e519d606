"""Overhears the members of a cluster: every datagram and every view that a peer makes or takes in, as it is made.

Their own code is led past here for the length of a run; nothing of it changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from p2pcrawl.core.membership.swim import Membership
from p2pcrawl.model.cluster.gossip import Ack, Alive, Message, Ping, PushPull, Update
from p2pcrawl.model.cluster.node import Address, Status
from p2pcrawl.overlay import gossip

from ..kernel.life import LIFE
from ..model.members.doubts import Doubts
from ..model.members.duties import Duties
from ..model.members.known import Known
from ..model.members.rumours import ALIVE, DEAD, LEFT, SUSPECT, Rumours, Word
from .minds import Minds

_STATUS: Final = {Status.ALIVE: ALIVE, Status.SUSPECT: SUSPECT, Status.DEAD: DEAD, Status.LEFT: LEFT}


@contextmanager
def overheard(rumours: Rumours, known: Known, duties: Duties, doubts: Doubts, ids: Mapping[str, str]) -> Iterator[None]:
    """Lets models hear of all that members say to each other, and come to know, for the block. ``ids`` has those of the
    nodes.
    """
    ears, minds = _Ears(rumours, ids), Minds(known, duties, doubts, ids)
    here: Any = gossip
    real: Any = (
        here.encode_gossip, here.encode_push_pull, Membership.receive, Membership.receive_push_pull, Membership.tick,
    )  # fmt: skip

    def encode_gossip(message: Message) -> bytes:
        ears.says(message)
        minds.says(message)
        encoded: bytes = real[0](message)
        return encoded

    def encode_push_pull(view: PushPull) -> bytes:
        ears.tells(view)
        minds.tells(view)
        encoded: bytes = real[1](view)
        return encoded

    def receive(membership: Membership, now: float, sender: Address, message: Message) -> Any:
        if membership.joined:
            ears.hears(message)
        return minds.hears(membership, message, lambda: real[2](membership, now, sender, message))

    def receive_push_pull(membership: Membership, now: float, sender: Address, view: PushPull) -> Any:
        ears.is_told(view, membership.me.boot, joined=membership.joined)
        return minds.compares(membership, sender, view, lambda: real[3](membership, now, sender, view))

    def tick(membership: Membership, now: float) -> Any:
        out = minds.thinks(membership, lambda: real[4](membership, now))
        ears.goes_on(membership)
        return out

    _put(encode_gossip, encode_push_pull, receive, receive_push_pull, tick)
    try:
        yield
    finally:
        _put(*real)


class _Ears:
    """Hands what is said and heard to a model, in its words."""

    def __init__(self, rumours: Rumours, ids: Mapping[str, str]) -> None:
        self._rumours = rumours
        self._ids = ids

    def says(self, message: Message) -> None:
        if (here := self._here()) is None:
            return
        rumours, me, life = here
        if isinstance(message, Ping | Ack) and message.source == me:
            rumours.speaks(me, life, message.incarnation)
        if isinstance(message, Ack) and message.source == me:
            rumours.answers(me, life, message.seq)
        if isinstance(message, Ping) and message.target != me:
            rumours.asks(me, life, message.target)
        rumours.said(me, life, _words(message.updates))

    def hears(self, message: Message) -> None:
        here = self._here()
        if here is None or message.source == here[1]:
            return
        rumours, me, life = here
        rumours.heard(me, life, _words(message.updates))
        if isinstance(message, Ping) and message.target == me:
            rumours.is_asked(me, life, message.seq)

    def tells(self, view: PushPull) -> None:
        if (here := self._here()) is not None:
            rumours, me, life = here
            rumours.said(me, life, _entries(view))

    def is_told(self, view: PushPull, boot: bytes, *, joined: bool) -> None:
        here = self._here()
        if here is None or view.source == here[1]:
            return
        rumours, me, life = here
        rumours.heard(me, life, _entries(view), view_of=view.source)
        for entry in view.entries:
            if not joined and entry.member.id == me and entry.member.boot != boot:
                rumours.outlives(me, life, entry.incarnation)

    def goes_on(self, membership: Membership) -> None:
        here = self._here()
        if here is not None and membership.joined and membership.me.living:
            rumours, me, life = here
            suspects = [(str(m.id), m.incarnation) for m in membership.members.values() if m.status is Status.SUSPECT]
            rumours.goes_on(me, life, suspects)

    def _here(self) -> tuple[Rumours, str, int] | None:
        life = LIFE.get()
        if life is None or life.dead or life.node.name not in self._ids:
            return None
        return self._rumours, self._ids[life.node.name], life.number


def _words(updates: Iterable[Update]) -> list[Word]:
    return [
        Word(ALIVE, each.id, each.incarnation)
        if isinstance(each, Alive)
        else Word(type(each).__name__.lower(), each.id, each.incarnation, getattr(each, "by", ""))
        for each in updates
    ]


def _entries(view: PushPull) -> list[Word]:
    return [Word(_STATUS[entry.status], entry.member.id, entry.incarnation) for entry in view.entries]


def _put(encode_gossip: Any, encode_push_pull: Any, receive: Any, receive_push_pull: Any, tick: Any) -> None:
    for home, name, what in (
        (gossip, "encode_gossip", encode_gossip), (gossip, "encode_push_pull", encode_push_pull),
        (Membership, "receive", receive), (Membership, "receive_push_pull", receive_push_pull),
        (Membership, "tick", tick),
    ):  # fmt: skip
        setattr(home, name, what)
