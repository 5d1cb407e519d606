"""Questions for consent and their answers as bytes: what is not exactly one is refused with LinkError."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from p2pcrawl.model.cluster.consent import SEAT_BYTES, ConsentAnswer, ConsentQuestion, Version
from p2pcrawl.model.errors import LinkError

_BYTES_MAX = 128

_Count = Annotated[int, Meta(ge=0, le=1 << 62)]
_Digest = Annotated[bytes, Meta(min_length=8, max_length=8)]
_Seat = Annotated[bytes, Meta(min_length=SEAT_BYTES, max_length=SEAT_BYTES)]


class _QuestionRow(Struct, array_like=True, tag=0):
    number: _Count
    view: _Digest
    founded: _Count
    version: _Count
    seat: _Seat


class _AnswerRow(Struct, array_like=True, tag=1):
    number: _Count
    agrees: bool
    founded: _Count
    version: _Count
    seat: _Seat


_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[_QuestionRow | _AnswerRow] = msgspec.msgpack.Decoder(_QuestionRow | _AnswerRow)


def encode_consent(message: ConsentQuestion | ConsentAnswer) -> bytes:
    """Encodes a question or an answer as the body of a datagram."""
    if isinstance(message, ConsentQuestion):
        view = message.view.to_bytes(8, "big")
        return _encoder.encode(_QuestionRow(message.number, view, *message.version, message.seat))
    return _encoder.encode(_AnswerRow(message.number, message.agrees, *message.version, message.seat))


def decode_consent(data: bytes) -> ConsentQuestion | ConsentAnswer:
    """Reads the body of a datagram as a question or an answer. Raises LinkError on anything else."""
    if len(data) > _BYTES_MAX:
        raise LinkError(f"a question of {len(data)} bytes is over the limit of {_BYTES_MAX}")
    try:
        row = _decoder.decode(data)
    except (msgspec.MsgspecError, ValueError) as error:
        raise LinkError(f"not a question for consent: {error}") from error
    version = Version(row.founded, row.version)
    if isinstance(row, _QuestionRow):
        return ConsentQuestion(row.number, int.from_bytes(row.view, "big"), version, row.seat)
    return ConsentAnswer(row.number, row.agrees, version, row.seat)
