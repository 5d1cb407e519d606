"""Membership messages as bytes: msgpack arrays, tagged by number, every field bounded.

Bytes come from the network: what is not exactly a message is refused with LinkError before anything is built
from it. A datagram carries one message; a push/pull is the body of a stream message.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from p2pcrawl.model.cluster import gossip
from p2pcrawl.model.cluster.node import (
    ADDRESS_CHARS_MAX,
    BOOT_BYTES,
    INCARNATION_MAX,
    NODE_ID_BYTES,
    STORE_BYTES,
    WEIGHT_MAX,
    Address,
    Member,
    NodeId,
    Status,
    is_address,
)
from p2pcrawl.model.errors import LinkError

DATAGRAM_MAX = 1500
PUSH_PULL_MAX = 8 * 1024 * 1024
AGE_S_MAX = 10 * 365 * 86400.0

_Id = Annotated[bytes, Meta(min_length=NODE_ID_BYTES, max_length=NODE_ID_BYTES)]
_Boot = Annotated[bytes, Meta(min_length=BOOT_BYTES, max_length=BOOT_BYTES)]
_Store = Annotated[bytes, Meta(min_length=STORE_BYTES, max_length=STORE_BYTES)]
_Text = Annotated[str, Meta(max_length=ADDRESS_CHARS_MAX)]
_Incarnation = Annotated[int, Meta(ge=0, le=INCARNATION_MAX)]
_Seq = Annotated[int, Meta(ge=0, le=0xFFFF_FFFF)]


class _GossipRow(Struct, array_like=True):
    pass


class _Member(_GossipRow):
    id: _Id
    address: _Text
    incarnation: _Incarnation
    weight: Annotated[int, Meta(ge=1, le=WEIGHT_MAX)]
    boot: _Boot
    store: _Store
    leaving: bool
    api: _Text


class _Alive(_GossipRow, tag=0):
    member: _Member


class _Suspect(_GossipRow, tag=1):
    id: _Id
    incarnation: _Incarnation
    by: _Id


class _Dead(_GossipRow, tag=2):
    id: _Id
    incarnation: _Incarnation
    by: _Id


class _Left(_GossipRow, tag=3):
    id: _Id
    incarnation: _Incarnation


_Update = _Alive | _Suspect | _Dead | _Left
_Updates = Annotated[list[_Update], Meta(max_length=gossip.UPDATES_MAX)]


class _Ping(_GossipRow, tag=0):
    seq: _Seq
    target: _Id
    source: _Id
    boot: _Boot
    incarnation: _Incarnation
    updates: _Updates


class _Ack(_GossipRow, tag=1):
    seq: _Seq
    source: _Id
    boot: _Boot
    incarnation: _Incarnation
    view: Annotated[bytes, Meta(min_length=8, max_length=8)]
    load: Annotated[bytes, Meta(max_length=gossip.LOAD_BYTES_MAX)]
    updates: _Updates


class _PingRequest(_GossipRow, tag=2):
    seq: _Seq
    target: _Id
    address: _Text
    source: _Id
    updates: _Updates


class _Nack(_GossipRow, tag=3):
    seq: _Seq
    source: _Id
    updates: _Updates


class _Gossip(_GossipRow, tag=4):
    source: _Id
    updates: _Updates


class _Entry(_GossipRow):
    member: _Member
    incarnation: _Incarnation
    status: Annotated[int, Meta(ge=0, le=int(max(Status)))]
    age_s: Annotated[float, Meta(ge=0.0, le=AGE_S_MAX)]


class _PushPull(_GossipRow):
    source: _Id
    boot: _Boot
    joining: bool
    entries: Annotated[list[_Entry], Meta(max_length=gossip.ENTRIES_MAX)]


_Message = _Ping | _Ack | _PingRequest | _Nack | _Gossip
_encoder = msgspec.msgpack.Encoder()
_messages: msgspec.msgpack.Decoder[_Message] = msgspec.msgpack.Decoder(_Message)
_push_pulls = msgspec.msgpack.Decoder(_PushPull)


def encode_gossip(message: gossip.Message) -> bytes:
    """Encodes a message as the body of a datagram. Raises ValueError when a field is not what it may be."""
    return _encoder.encode(_pack(message))


def decode_gossip(data: bytes) -> gossip.Message:
    """Reads the message in a datagram's body. Raises LinkError on anything else."""
    if len(data) > DATAGRAM_MAX:
        raise LinkError(f"a datagram of {len(data)} bytes is over the limit of {DATAGRAM_MAX}")
    return _unpack(_read(_messages, data))


def encode_push_pull(message: gossip.PushPull) -> bytes:
    """Encodes a whole view as the body of a stream message. Raises ValueError when a field is not what it may be."""
    rows = [
        _Entry(_pack_member(entry.member), entry.incarnation, int(entry.status), min(entry.age_s, AGE_S_MAX))
        for entry in message.entries[: gossip.ENTRIES_MAX]
    ]
    return _encoder.encode(_PushPull(_raw(message.source), message.boot, message.joining, rows))


def decode_push_pull(data: bytes) -> gossip.PushPull:
    """Reads the whole view in a stream message. Raises LinkError on anything else."""
    if len(data) > PUSH_PULL_MAX:
        raise LinkError(f"a push/pull of {len(data)} bytes is over the limit of {PUSH_PULL_MAX}")
    row = _read(_push_pulls, data)
    entries = []
    for line in row.entries:
        if line.incarnation < line.member.incarnation:
            raise LinkError("not a push/pull: a verdict older than the facts")
        entries.append(gossip.Entry(_unpack_member(line.member), line.incarnation, Status(line.status), line.age_s))
    return gossip.PushPull(_id(row.source), row.boot, row.joining, tuple(entries))


def _read(decoder: Any, data: bytes) -> Any:
    try:
        return decoder.decode(data)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise LinkError(f"not a membership message: {error}") from error


def _pack(message: gossip.Message) -> _Message:
    updates = [_pack_update(update) for update in message.updates]
    source = _raw(message.source)
    match message:
        case gossip.Ping(seq, target, _, boot, incarnation):
            return _Ping(seq, _raw(target), source, boot, incarnation, updates)
        case gossip.Ack(seq, _, boot, incarnation, view, load):
            return _Ack(seq, source, boot, incarnation, view.to_bytes(8, "big"), load, updates)
        case gossip.PingRequest(seq, target, address):
            return _PingRequest(seq, _raw(target), address, source, updates)
        case gossip.Nack(seq):
            return _Nack(seq, source, updates)
        case gossip.Gossip():
            return _Gossip(source, updates)


def _unpack(row: _Message) -> gossip.Message:
    updates = tuple(_unpack_update(update) for update in row.updates)
    source = _id(row.source)
    match row:
        case _Ping():
            return gossip.Ping(row.seq, _id(row.target), source, row.boot, row.incarnation, updates)
        case _Ack():
            view = int.from_bytes(row.view, "big")
            return gossip.Ack(row.seq, source, row.boot, row.incarnation, view, row.load, updates)
        case _PingRequest():
            return gossip.PingRequest(row.seq, _id(row.target), _address(row.address), source, updates)
        case _Nack():
            return gossip.Nack(row.seq, source, updates)
        case _Gossip():
            return gossip.Gossip(source, updates)


def _pack_update(update: gossip.Update) -> _Update:
    match update:
        case gossip.Alive(member):
            return _Alive(_pack_member(member))
        case gossip.Suspect(id, incarnation, by):
            return _Suspect(_raw(id), incarnation, _raw(by))
        case gossip.Dead(id, incarnation, by):
            return _Dead(_raw(id), incarnation, _raw(by))
        case gossip.Left(id, incarnation):
            return _Left(_raw(id), incarnation)


def _unpack_update(row: _Update) -> gossip.Update:
    match row:
        case _Alive():
            return gossip.Alive(_unpack_member(row.member))
        case _Suspect():
            return gossip.Suspect(_id(row.id), row.incarnation, _id(row.by))
        case _Dead():
            return gossip.Dead(_id(row.id), row.incarnation, _id(row.by))
        case _Left():
            return gossip.Left(_id(row.id), row.incarnation)


def _pack_member(member: Member) -> _Member:
    return _Member(
        _raw(member.id), member.address, member.incarnation, member.weight,
        member.boot, member.store, member.leaving, member.api,
    )  # fmt: skip


def _unpack_member(row: _Member) -> Member:
    return Member(
        _id(row.id), _address(row.address), row.incarnation, Status.ALIVE, row.weight,
        row.boot, row.store, row.leaving, _address(row.api) if row.api else "",
    )  # fmt: skip


def _raw(id: NodeId) -> bytes:
    return bytes.fromhex(id)


def _id(raw: bytes) -> NodeId:
    return NodeId(raw.hex())


def _address(text: str) -> Address:
    if not is_address(text):
        raise LinkError(f"not an address: {text[:80]!r}")
    return Address(text)
