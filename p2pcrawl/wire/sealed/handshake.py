"""The handshake by which two ends of a stream become sure of each other.

    client -> server   HELLO    key id, cluster tag, ephemeral X25519 key, MAC under the cluster key
    server -> client   ANSWER   ephemeral X25519 key
                       PROOF    sealed: boot id, public key, signature over all of the above
    client -> server   PROOF    sealed: boot id, public key, signature over all of the above

or, instead of ANSWER, one REFUSAL that says in one byte why: it is for people, so it is readable, and
it tells a stranger nothing about this peer. Who does not begin with MAGIC is told nothing at all.

The keys of the stream, one for each direction, come from the cluster key, the X25519 secret and a hash
of both messages. Hence only holders of the cluster key can go on from there; a key that leaks later
does not open recorded streams; messages cannot be mixed between connections, nor sent back to where
they came from. The signatures make the node ids true: also another holder of the cluster key
that sits in between can neither claim a node id nor read along, as each signature covers the
ephemeral keys of the one connection that it was made for. Node ids travel sealed.

The version stands in the open at the same place in every version to come. There is no choice of
algorithms, hence nothing to downgrade: another version is refused.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from enum import IntEnum
from typing import Final, NamedTuple

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from p2pcrawl.model.cluster.node import BOOT_BYTES, NodeId
from p2pcrawl.model.errors import LinkError, Mismatch, OtherCluster
from p2pcrawl.wire.sealed.identity import PUBLIC_KEY_BYTES, SIGNATURE_BYTES, Identity, node_id_of, verify
from p2pcrawl.wire.sealed.keys import KEY_ID_BYTES, derive

LINK_VERSION: Final = 3
MAGIC: Final = b"p2pC"
PREFIX: Final = len(MAGIC) + 2
TLS_ALERT, TLS_HANDSHAKE = 0x15, 0x16
"""The first byte of who speaks TLS (:mod:`p2pcrawl.wire.sealed.tls`) where nobody expects it; the next one is 3."""

_TAG: Final = 8
_EPHEMERAL: Final = 32
_MAC: Final = 16
HELLO_BYTES: Final = PREFIX + KEY_ID_BYTES + _TAG + _EPHEMERAL + _MAC
ANSWER_BYTES: Final = PREFIX + _EPHEMERAL
REFUSAL_BYTES: Final = PREFIX + 1
PROOF_BYTES: Final = BOOT_BYTES + PUBLIC_KEY_BYTES + SIGNATURE_BYTES


class HandshakeKind(IntEnum):
    """The kind of a readable message."""

    HELLO = 1
    ANSWER = 2
    REFUSAL = 3


class Refusal(IntEnum):
    """A server's reason to go no further."""

    VERSION = 1
    KEY = 2
    CLUSTER = 3


SIZES: Final = {
    HandshakeKind.HELLO: HELLO_BYTES,
    HandshakeKind.ANSWER: ANSWER_BYTES,
    HandshakeKind.REFUSAL: REFUSAL_BYTES,
}


class RefusedHello(Mismatch):
    """A hello that the server refuses, and tells the client why."""

    def __init__(self, refusal: Refusal, message: str) -> None:
        super().__init__(message)
        self.message: Final = _prefix(HandshakeKind.REFUSAL) + bytes((refusal,))


class OwnNode(LinkError):
    """The other end is this very process."""


class RemotePeer(NamedTuple):
    """The peer at the other end, proven."""

    node_id: NodeId
    boot: bytes
    public_key: bytes


class Secrets(NamedTuple):
    """The secrets that both ends of one connection share after HELLO and ANSWER."""

    client_to_server: ChaCha20Poly1305
    server_to_client: ChaCha20Poly1305
    transcript: bytes


class HalfKey:
    """One end's part of the X25519 secret; used for one connection."""

    def __init__(self) -> None:
        self._private = X25519PrivateKey.from_private_bytes(os.urandom(_EPHEMERAL))
        self.public: Final = self._private.public_key().public_bytes_raw()

    def secrets(self, key: bytes, cluster: bytes, hello: bytes, answer: bytes, public: bytes) -> Secrets:
        """Derives the keys of the connection. Raises LinkError for a half key that is none."""
        try:
            shared = self._private.exchange(X25519PublicKey.from_public_bytes(public))
        except ValueError:
            raise LinkError("the other end sent a key that is none") from None
        transcript = hashlib.sha256(hello + answer).digest()
        mixed = derive(key, "link 1", cluster) + shared
        both = HKDF(hashes.SHA256(), 64, transcript, b"p2pcrawl link 1 directions").derive(mixed)
        return Secrets(ChaCha20Poly1305(both[:32]), ChaCha20Poly1305(both[32:]), transcript)


def kind_of(data: bytes | bytearray, wanted: tuple[HandshakeKind, ...]) -> HandshakeKind | None:
    """Returns the kind of the message that begins here, or None while that cannot be told yet.

    Raises LinkError as soon as it is not one of those wanted; RefusedHello for another version.
    """
    start = bytes(data[:PREFIX])
    if not start.startswith(MAGIC[: len(start)]):
        if start[0] in (TLS_ALERT, TLS_HANDSHAKE) and start[1:2] == b"\x03":
            raise Mismatch("the other end speaks TLS, and this peer does not: start both with it, or both without")
        raise LinkError(f"the other end does not speak p2pcrawl (it began with {start!r})")
    if len(start) > len(MAGIC) and start[len(MAGIC)] != LINK_VERSION:
        raise RefusedHello(
            Refusal.VERSION,
            f"the other end speaks another protocol version {start[len(MAGIC)]}, this one {LINK_VERSION}: "
            "run the same version of p2pcrawl on both",
        )
    if len(start) < PREFIX:
        return None
    if start[-1] not in wanted:
        raise LinkError(f"the other end sent a message of kind {start[-1]} out of turn")
    return HandshakeKind(start[-1])


def hello(key: bytes, name: bytes, cluster: bytes, half: HalfKey) -> bytes:
    """Makes the client's first message, under the cluster key of this id."""
    body = _prefix(HandshakeKind.HELLO) + name + _cluster_tag(key, cluster) + half.public
    return body + _hello_mac(key, body)


def check_hello(message: bytes, key: bytes | None, cluster: bytes) -> bytes:
    """Checks a hello, and returns the client's ephemeral key. Raises RefusedHello, or LinkError for a forgery.

    This much is done for strangers, who lack the key: one comparison or two hashes.
    """
    if key is None:
        name = message[PREFIX : PREFIX + KEY_ID_BYTES].hex()
        raise RefusedHello(Refusal.KEY, f"the other end uses another cluster key ({name}), which is not in our ring")
    body, mac = message[:-_MAC], message[-_MAC:]
    if not hmac.compare_digest(mac, _hello_mac(key, body)):
        raise LinkError("the other end forged its hello: it does not hold the cluster key that it names")
    tag = body[PREFIX + KEY_ID_BYTES : -_EPHEMERAL]
    if not hmac.compare_digest(tag, _cluster_tag(key, cluster)):
        raise RefusedHello(
            Refusal.CLUSTER,
            f"the other end belongs to another cluster than ours, {cluster.decode()!r}, with the same key",
        )
    return body[-_EPHEMERAL:]


def named_key(message: bytes) -> bytes:
    """Returns the id of the cluster key that a hello is made with."""
    return message[PREFIX : PREFIX + KEY_ID_BYTES]


def answer(half: HalfKey) -> bytes:
    """Makes the server's first message."""
    return _prefix(HandshakeKind.ANSWER) + half.public


def refused(message: bytes, name: bytes, cluster: bytes) -> LinkError:
    """Explains a refusal to the client; anybody on the way may have made it up."""
    match message[PREFIX]:
        case Refusal.KEY:
            text = f"the other end uses another cluster key: ours ({name.hex()}) is not in its ring"
        case Refusal.CLUSTER:
            return OtherCluster(
                f"the other end belongs to another cluster than ours, {cluster.decode()!r}, with the same key"
            )
        case Refusal.VERSION:
            text = f"the other end refuses protocol version {LINK_VERSION}: run the same version of p2pcrawl on both"
        case code:
            text = f"the other end refuses us for reason {code}, which this version does not know"
    return Mismatch(text)


def proof(identity: Identity, role: str, transcript: bytes, boot: bytes) -> bytes:
    """Signs who this end is, for this connection and this role alone; to be sealed."""
    signature = identity.sign(f"link 1 {role}", transcript + boot + identity.public_key)
    return boot + identity.public_key + signature


def check_proof(message: bytes, role: str, transcript: bytes) -> RemotePeer:
    """Returns who the other end is. Raises LinkError when it is not who it says."""
    boot, public_key = message[:BOOT_BYTES], message[BOOT_BYTES : BOOT_BYTES + PUBLIC_KEY_BYTES]
    signature = message[BOOT_BYTES + PUBLIC_KEY_BYTES :]
    node_id = node_id_of(public_key)
    if not verify(public_key, signature, f"link 1 {role}", transcript + boot + public_key):
        raise LinkError(f"the other end claims to be node {node_id} and cannot sign for it")
    return RemotePeer(node_id, boot, public_key)


def after_server_proof(transcript: bytes, server_proof: bytes) -> bytes:
    """Extends a transcript by the server's proof. The client signs the result, and so all that the server signed and
    that it saw the server's proof.
    """
    return hashlib.sha256(transcript + server_proof).digest()


def _prefix(kind: HandshakeKind) -> bytes:
    return MAGIC + bytes((LINK_VERSION, kind))


def _hello_mac(key: bytes, body: bytes) -> bytes:
    return hmac.digest(derive(key, "link hello 1"), body, "sha256")[:_MAC]


def _cluster_tag(key: bytes, cluster: bytes) -> bytes:
    """Names the cluster to holders of its key and to nobody else."""
    return derive(key, "link cluster 1", cluster)[:_TAG]
