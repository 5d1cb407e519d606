"""The bodies of the directory's records, one for each kind, read strictly, for they may come from anybody.

``peer/<node id>``: where a node is. Only the node itself may say so.
``owner/<bucket>``: its author serves the bucket. The record's version is the counter of the bucket's epoch, so that
(version, author) is the epoch, and the greater epoch counts.
``host/<host>``: what a host asks of whoever visits it, where that is more than a job's own delay.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from p2pcrawl.core.hosts.politeness import PENALTY_MAX_S, HostNote
from p2pcrawl.core.ring.rendezvous import BUCKETS
from p2pcrawl.model.cluster.node import ADDRESS_CHARS_MAX, Member, is_address
from p2pcrawl.wire.sealed.signed import SignedRecord

PEER: Final = "peer"
OWNER: Final = "owner"
HOST: Final = "host"

DAY_S: Final = 86_400.0

AddressText = Annotated[str, Meta(max_length=ADDRESS_CHARS_MAX)]
Seconds = Annotated[float, Meta(ge=0.0, le=DAY_S)]


class PeerBody(Struct, frozen=True, array_like=True):
    """The addresses of a node."""

    address: AddressText
    api: AddressText

    @classmethod
    def of(cls, member: Member) -> PeerBody:
        return cls(member.address, str(member.api))


class OwnerBody(Struct, frozen=True, array_like=True):
    """The owner's address at the time it published the record."""

    address: AddressText


class HostBody(Struct, frozen=True, array_like=True):
    """A host's wishes; ``pause_s`` counts from the record's arrival."""

    delay_s: Seconds
    penalty_s: Annotated[float, Meta(ge=0.0, le=PENALTY_MAX_S)]
    pause_s: Seconds

    @classmethod
    def of(cls, note: HostNote) -> HostBody:
        return cls(min(note.delay_s, DAY_S), min(note.penalty_s, PENALTY_MAX_S), min(note.pause_s, DAY_S))


Body = PeerBody | OwnerBody | HostBody


def encode_body(body: Body) -> bytes:
    return _encoder.encode(body)


def body_of(record: SignedRecord) -> Body | None:
    """Returns the body of a record; None when it is not what its kind, name and author may say."""
    try:
        match record.kind:
            case "peer":
                peer = _peer.decode(record.body)
                sound = is_address(peer.address) and (not peer.api or is_address(peer.api))
                return peer if sound and record.name == record.signer else None
            case "owner":
                owner = _owner.decode(record.body)
                return owner if is_address(owner.address) and _is_bucket(record.name) else None
            case "host":
                return _host.decode(record.body)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        pass
    return None


def _is_bucket(name: str) -> bool:
    """Tells whether a name is the number of a bucket, in its one spelling."""
    return name.isdecimal() and len(name) <= 4 and int(name) < BUCKETS and name == str(int(name))


_encoder = msgspec.msgpack.Encoder()
_peer = msgspec.msgpack.Decoder(PeerBody)
_owner = msgspec.msgpack.Decoder(OwnerBody)
_host = msgspec.msgpack.Decoder(HostBody)
