"""The identity of a peer: an Ed25519 key pair, and a node id that is the hash of its public half.

The cluster key says that a peer may take part; its identity says which one it is. Nobody can sign for
a node id without the seed behind it, not even another holder of the cluster key. Every signature is
bound to a purpose, so that one made for a link is worth nothing under a record.
"""

from __future__ import annotations

import hashlib
import os
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from p2pcrawl.model.cluster.node import NODE_ID_BYTES, NodeId

SEED_BYTES: Final = 32
PUBLIC_KEY_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64

_WEAK_KEYS: Final = frozenset(
    bytes.fromhex(text)
    for text in (
        "00" * 32,
        "01" + "00" * 31,
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "ec" + "ff" * 30 + "7f",
        "ed" + "ff" * 30 + "7f",
        "ee" + "ff" * 30 + "7f",
    )
)
"""The points of small order, sign bit cleared: under these as public keys anybody can sign, with zeros."""


class Identity:
    """One peer's key pair. Its ``repr`` shows the node id only."""

    def __init__(self, seed: bytes) -> None:
        if len(seed) != SEED_BYTES:
            raise ValueError(f"a seed has {SEED_BYTES} bytes, not {len(seed)}")
        self._seed = bytes(seed)
        self._private = Ed25519PrivateKey.from_private_bytes(self._seed)
        self.public_key: Final = self._private.public_key().public_bytes_raw()
        self.node_id: Final = node_id_of(self.public_key)

    @classmethod
    def generate(cls) -> Identity:
        """Makes a new identity."""
        return cls(os.urandom(SEED_BYTES))

    @property
    def seed(self) -> bytes:
        """The secret that an identity file holds."""
        return self._seed

    def sign(self, purpose: str, data: bytes) -> bytes:
        """Makes 64 bytes that only this identity can make, for this purpose and this data."""
        return self._private.sign(_bound(purpose, data))

    def __repr__(self) -> str:
        return f"Identity({self.node_id})"


def verify(public_key: bytes, signature: bytes, purpose: str, data: bytes) -> bool:
    """Tells whether the holder of ``public_key`` signed this; False for rubbish of any length."""
    if len(public_key) != PUBLIC_KEY_BYTES or len(signature) != SIGNATURE_BYTES:
        return False
    if public_key[:-1] + bytes((public_key[-1] & 0x7F,)) in _WEAK_KEYS:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, _bound(purpose, data))
    except (InvalidSignature, ValueError):
        return False
    return True


def node_id_of(public_key: bytes) -> NodeId:
    """Returns 40 hex digits, the BLAKE2b-160 of the public key; the same 160 bits place it in the directory."""
    return NodeId(hashlib.blake2b(public_key, digest_size=NODE_ID_BYTES).hexdigest())


def _bound(purpose: str, data: bytes) -> bytes:
    label = purpose.encode("ascii")
    return b"p2pcrawl" + len(label).to_bytes(1, "big") + label + data
