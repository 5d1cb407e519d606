"""Notes of what becomes of members.

All masters hear the same of a member, so one of them notes it: the one with the smallest id of those that live, the
member itself aside. Where they do not agree on who lives, each side has one that does. A master that comes notes that
itself, for to it all others seem to have come as well.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from p2pcrawl.core.journal import Journal
from p2pcrawl.core.membership.output import Event, EventKind
from p2pcrawl.model.cluster.node import Member, NodeId, Status
from p2pcrawl.model.cluster.notable import Notable
from p2pcrawl.overlay.peers import Peers

log = logging.getLogger(__name__)

_KINDS: Final[Mapping[EventKind, Notable]] = {
    EventKind.SUSPECTED: Notable.MEMBER_SUSPECT,
    EventKind.DIED: Notable.MEMBER_DEAD,
    EventKind.LEFT: Notable.MEMBER_LEFT,
}


class MemberNotes:
    """Notes what happens to the other masters, where it falls to this one."""

    def __init__(self, peers: Peers, journal: Journal) -> None:
        self._peers = peers
        self._journal = journal
        self._met: dict[NodeId, bytes] = {}
        """The members that were seen alive here, with the life that they were in."""

    def came(self, me: Member) -> None:
        """Notes that this master is there."""
        noted = self._journal.note(Notable.MEMBER_JOINED, peer=me.id, address=me.address, api=str(me.api))
        log.info("this master is %s at %s", me.id[:8], me.address, extra=noted)

    def happened(self, event: Event) -> None:
        """Takes in an event of the membership."""
        member = event.member
        was = self._was(event)
        if member.living:
            self._met[member.id] = member.boot
        elif event.kind is EventKind.FORGOTTEN:
            self._met.pop(member.id, None)
        if member.id == self._peers.me or not self._falls_to_me(member.id):
            return
        if event.kind in _KINDS:
            noted: Mapping[str, Any] = self._journal.note(_KINDS[event.kind], peer=member.id, address=member.address)
            log.info("%s %s at %s", noted["event"], member.id[:8], member.address, extra=noted)
        elif was:
            noted = self._journal.note(Notable.MEMBER_BACK, peer=member.id, address=member.address, was=was)
            log.info("member-back %s at %s, was %s", member.id[:8], member.address, was, extra=noted)

    def _was(self, event: Event) -> str:
        """Tells what a member was taken for that is here again, in the same life; "" when there is no such news."""
        if event.kind is EventKind.REFUTED:
            return "suspect"
        known = self._met.get(event.member.id) == event.member.boot
        if event.kind is EventKind.JOINED and known and event.previous is not None:
            return Status(event.previous.status).name.lower()
        return ""

    def _falls_to_me(self, about: NodeId) -> bool:
        return min((m.id for m in self._peers.members() if m.id != about), default="") == self._peers.me
