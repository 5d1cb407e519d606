"""The output of the membership: what it asks its shell to do, and what it tells it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from p2pcrawl.model.cluster.gossip import Message
from p2pcrawl.model.cluster.node import Address, Member, Status


class EventKind(StrEnum):
    JOINED = "joined"
    """It lives and did not before, as far as was known."""
    LEFT = "left"
    """It said good-bye."""
    DIED = "died"
    SUSPECTED = "suspected"
    REFUTED = "refuted"
    """It is not suspect any more; of oneself: a rumour had to be refuted."""
    UPDATED = "updated"
    """It lives, and says something new of itself. Another ``boot`` than the previous one: it has restarted."""
    CONFLICT = "conflict"
    """Another process lives under this node's identity; ``member`` has its boot id and address."""
    CONDEMNED = "condemned"
    """Of oneself: others have declared this member dead, or gone, in the life that it is in, and gone on without it."""
    OUTLIVED = "outlived"
    """Of oneself: the others count an earlier life of this node, ``previous``, which ended a moment ago."""
    FORGOTTEN = "forgotten"
    """It was dead or gone for so long that it does not count any more."""


@dataclass(frozen=True, slots=True)
class Event:
    """One change in what is known of a member."""

    kind: EventKind
    member: Member
    previous: Member | None = None


@dataclass(frozen=True, slots=True)
class MembershipOutput:
    """To be done now: datagrams to send, members to exchange views with over a stream. And what happened."""

    datagrams: list[tuple[Address, Message]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    sync_with: list[Address] = field(default_factory=list)


def changes(before: Member | None, after: Member | None) -> list[Event]:
    """Returns the events that lead from one state of a member to the next."""
    if after is None or before == after:
        return []
    lived = before is not None and before.living
    kinds = []
    match after.status:
        case Status.LEFT:
            kinds = [EventKind.LEFT] if lived else []
        case Status.DEAD:
            kinds = [EventKind.DIED] if lived else []
        case Status.ALIVE | Status.SUSPECT:
            if not lived:
                kinds.append(EventKind.JOINED)
            suspected = lived and before is not None and before.status is Status.SUSPECT
            if suspected and after.status is Status.ALIVE:
                kinds.append(EventKind.REFUTED)
            if lived and before is not None and _own_facts(before) != _own_facts(after):
                kinds.append(EventKind.UPDATED)
            if not suspected and after.status is Status.SUSPECT:
                kinds.append(EventKind.SUSPECTED)
    return [Event(kind, after, before) for kind in kinds]


def _own_facts(member: Member) -> tuple[object, ...]:
    return (member.address, member.weight, member.boot, member.store, member.leaving, member.api)
