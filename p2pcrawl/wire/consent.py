"""Questions for consent and their answers as bytes: what is not exactly one is refused with LinkError."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from p2pcrawl.model.consent import SEAT_BYTES, Answer, Question, Version
from p2pcrawl.model.errors import LinkError

_BYTES_MAX = 128

_Count = Annotated[int, Meta(ge=0, le=1 << 62)]
_Digest = Annotated[bytes, Meta(min_length=8, max_length=8)]
_Seat = Annotated[bytes, Meta(min_length=SEAT_BYTES, max_length=SEAT_BYTES)]


class _Question(Struct, array_like=True, tag=0):
    number: _Count
    view: _Digest
    founded: _Count
    version: _Count
    seat: _Seat


class _Answer(Struct, array_like=True, tag=1):
    number: _Count
    agrees: bool
    founded: _Count
    version: _Count
    seat: _Seat


_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[_Question | _Answer] = msgspec.msgpack.Decoder(_Question | _Answer)


def encode_consent(message: Question | Answer) -> bytes:
    """Encodes a question or an answer as the body of a datagram."""
    if isinstance(message, Question):
        view = message.view.to_bytes(8, "big")
        return _encoder.encode(_Question(message.number, view, *message.version, message.seat))
    return _encoder.encode(_Answer(message.number, message.agrees, *message.version, message.seat))


def decode_consent(data: bytes) -> Question | Answer:
    """Reads the body of a datagram as a question or an answer. Raises LinkError on anything else."""
    if len(data) > _BYTES_MAX:
        raise LinkError(f"a question of {len(data)} bytes is over the limit of {_BYTES_MAX}")
    try:
        row = _decoder.decode(data)
    except (msgspec.MsgspecError, ValueError) as error:
        raise LinkError(f"not a question for consent: {error}") from error
    version = Version(row.founded, row.version)
    if isinstance(row, _Question):
        return Question(row.number, int.from_bytes(row.view, "big"), version, row.seat)
    return Answer(row.number, row.agrees, version, row.seat)
