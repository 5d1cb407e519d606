"""Records of the directory: small, signed by their author, versioned, with an end.

Whoever stores or hands on a record cannot change a bit of it: the signature covers every field, and
each record has exactly one encoding (another spelling of the same values is refused), so that bytes
can be compared. A record is signed, not secret: any member may read and repeat it. Its time to live
counts from its arrival, because wall clocks are not trusted; a copy that is handed on starts afresh,
so an end is a bound on forgetting and never a proof of recency. The version is.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.wire.sealed.identity import PUBLIC_KEY_BYTES, SIGNATURE_BYTES, Identity, node_id_of, verify

RECORD_MAX: Final = 1024
"""Bytes of an encoded record; it travels in one datagram."""
BODY_MAX: Final = 768
EXPIRES_MAX_S: Final = 24 * 3600

_PURPOSE: Final = "record 1"

# Printable ASCII only: names reach logs and terminals.
Kind = Annotated[str, Meta(pattern=r"\A[a-z][a-z0-9-]{0,15}\Z")]
Name = Annotated[str, Meta(pattern=r"\A[!-~]{1,255}\Z")]
Version = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Expires = Annotated[int, Meta(ge=1, le=EXPIRES_MAX_S)]
PublicKey = Annotated[bytes, Meta(min_length=PUBLIC_KEY_BYTES, max_length=PUBLIC_KEY_BYTES)]
Body = Annotated[bytes, Meta(max_length=BODY_MAX)]
Signature = Annotated[bytes, Meta(min_length=SIGNATURE_BYTES, max_length=SIGNATURE_BYTES)]


class SignedRecord(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A statement of one node under a name. Make it with :meth:`sign`, read it with :meth:`decode`."""

    kind: Kind
    """``peer``, ``owner`` or ``host``."""
    name: Name
    version: Version
    expires_s: Expires
    """Seconds from its arrival."""
    public_key: PublicKey
    body: Body
    signature: Signature

    @classmethod
    def sign(cls, identity: Identity, kind: str, name: str, version: int, expires_s: int, body: bytes) -> SignedRecord:
        """Makes a record by ``identity``. Raises ValueError when a field is over its limit."""
        signature = identity.sign(_PURPOSE, _content(kind, name, version, expires_s, identity.public_key, body))
        record = cls(kind, name, version, expires_s, identity.public_key, body, signature)
        if cls.decode(record.encode()) is None:
            raise ValueError(f"not a record that others would take: {kind!r:.40} {name!r:.80}, {len(body)} bytes")
        return record

    @classmethod
    def decode(cls, data: bytes) -> SignedRecord | None:
        """Reads the record of these bytes; returns None for anything else. The signature is not looked at yet."""
        if len(data) > RECORD_MAX:
            return None
        try:
            record = _decoder.decode(data)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None
        return record if _encoder.encode(record) == data else None

    def encode(self) -> bytes:
        """Encodes the record in RECORD_MAX bytes at most."""
        return _encoder.encode(self)

    def verify(self, age_s: float) -> bool:
        """Tells whether its author signed the record and, ``age_s`` after its arrival, it still counts."""
        content = _content(self.kind, self.name, self.version, self.expires_s, self.public_key, self.body)
        return 0 <= age_s <= self.expires_s and verify(self.public_key, self.signature, _PURPOSE, content)

    @property
    def signer(self) -> NodeId:
        """The node that it claims to be by; true once :meth:`verify` said so."""
        return node_id_of(self.public_key)

    def supersedes(self, other: SignedRecord) -> bool:
        """Tells whether this record counts more: the higher version, then the greater author, then the greater bytes.

        So all agree; and where the version is the counter of an epoch, the greater epoch wins.
        """
        return (self.version, self.signer, self.encode()) > (other.version, other.signer, other.encode())


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(SignedRecord)


def _content(kind: str, name: str, version: int, expires_s: int, public_key: bytes, body: bytes) -> bytes:
    return _encoder.encode((kind, name, version, expires_s, public_key, body))
