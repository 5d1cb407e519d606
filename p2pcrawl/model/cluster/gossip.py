"""The messages by which members tell each other who lives.

*Updates* are rumours: they travel on every message and are passed on. *Messages* are what one datagram
carries; a :class:`PushPull` is a whole view and travels on a stream.

``size_max`` is how many bytes a value takes on the wire at most; ``wire.gossip`` keeps that promise, and
those who decide pack by it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from p2pcrawl.model.cluster.node import Address, Member, NodeId, Status

LOAD_BYTES_MAX = 200
UPDATES_MAX = 64
"""Most updates on one message."""
HEAD_SIZE_MAX = 96
"""Most bytes of a message without its updates, address and load."""
MEMBER_SIZE_MAX = 1200
"""Most bytes of the largest member that may travel."""
ENTRIES_MAX = 4096
"""Most entries of a push/pull."""


@dataclass(frozen=True, slots=True)
class Alive:
    """A member's own word about itself; only its incarnation's owner may make one."""

    member: Member

    @property
    def id(self) -> NodeId:
        return self.member.id

    @property
    def incarnation(self) -> int:
        return self.member.incarnation

    @property
    def size_max(self) -> int:
        member = self.member
        return 81 + len(member.address.encode()) + len(member.api.encode())


@dataclass(frozen=True, slots=True)
class Suspect:
    """``by`` had no answer from the member."""

    id: NodeId
    incarnation: int
    by: NodeId

    @property
    def size_max(self) -> int:
        return 56


@dataclass(frozen=True, slots=True)
class Dead:
    """The suspicion was not refuted in time; ``by`` declared it. The member itself says so when it goes and others lack
    what it has."""

    id: NodeId
    incarnation: int
    by: NodeId

    @property
    def size_max(self) -> int:
        return 56


@dataclass(frozen=True, slots=True)
class Left:
    """The member's own good-bye, said when all that it had is with others."""

    id: NodeId
    incarnation: int

    @property
    def size_max(self) -> int:
        return 34


Update = Alive | Suspect | Dead | Left


@dataclass(frozen=True, slots=True)
class Ping:
    """Are you there? ``target`` says who is meant: an address may have a new tenant."""

    seq: int
    target: NodeId
    source: NodeId
    boot: bytes
    incarnation: int
    updates: tuple[Update, ...] = ()


@dataclass(frozen=True, slots=True)
class Ack:
    """``source`` is there. A relay passes it on under the asker's ``seq``."""

    seq: int
    source: NodeId
    boot: bytes
    incarnation: int
    view: int
    """The source's view digest, to be compared with one's own."""
    load: bytes = b""
    updates: tuple[Update, ...] = ()


@dataclass(frozen=True, slots=True)
class PingRequest:
    """Ping ``target`` for me: I had no answer."""

    seq: int
    target: NodeId
    address: Address
    source: NodeId
    updates: tuple[Update, ...] = ()


@dataclass(frozen=True, slots=True)
class Nack:
    """The relay lives but had no answer either, so the fault is hardly the asker's."""

    seq: int
    source: NodeId
    updates: tuple[Update, ...] = ()


@dataclass(frozen=True, slots=True)
class Gossip:
    """News and nothing else."""

    source: NodeId
    updates: tuple[Update, ...] = ()


Message = Ping | Ack | PingRequest | Nack | Gossip


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a view: what the member last said of itself, and the verdict on it."""

    member: Member
    """As it announced itself, with the incarnation under which it did."""
    incarnation: int
    status: Status
    age_s: float = 0.0
    """For how long it has been dead or gone. Clocks are not shared, so ages travel, not times."""


@dataclass(frozen=True, slots=True)
class PushPull:
    """A whole view, as one member sends it to another. ``joining``: the sender may not know its own last incarnation
    yet.
    """

    source: NodeId
    boot: bytes
    joining: bool
    entries: tuple[Entry, ...] = field(default=())
