"""The seal of secrets that a master keeps on its disk: under the cluster's key, bound to what they are for.

The passwords of a job's sinks travel with the job as one sealed text, from whoever took the job in to every master and
into its data folder: only a master that is about to open a sink reads them. Sealed means ChaCha20-Poly1305 under a key
that HKDF makes of the cluster's for this purpose alone. Bound means that they open only together with the very words
that they were sealed with (the job and the addresses of its sinks): whoever can write into a data folder cannot have a
password sent to an address of his own.

What is sealed names its key, so that a change of keys is noticed: whatever is not sealed under the key in use is sealed
anew as long as the old key is known, see :meth:`RestSeal.renewed`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from p2pcrawl.wire.sealed.keys import KEY_ID_BYTES, KeyRing, cluster_bytes, derive

_FORM = b"\x01"
_NONCE_BYTES = 12
_HEAD_BYTES = len(_FORM) + KEY_ID_BYTES
_OVERHEAD_BYTES = _HEAD_BYTES + _NONCE_BYTES + 16
_decode = msgspec.msgpack.Decoder(list[str]).decode


class SealedAway(ValueError):
    """Raised for what cannot be opened here: its key is not known, or it is not what was sealed."""


class RestSeal:
    """Seals and opens texts with a ring of keys; one of another cluster opens nothing of this one."""

    def __init__(self, keys: KeyRing, cluster: str) -> None:
        self._keys = keys
        self._cluster = cluster_bytes(cluster)

    def seal(self, texts: Sequence[str], about: bytes) -> bytes:
        """Seals texts together with what they are ``about``; nothing at all where none of them says anything."""
        if not any(texts):
            return b""
        head, nonce = _FORM + self._keys.in_use_id, os.urandom(_NONCE_BYTES)
        plain = msgspec.msgpack.encode(list(texts))
        return head + nonce + self._cipher(self._keys.in_use).encrypt(nonce, plain, head + about)

    def open(self, sealed: bytes, about: bytes) -> list[str]:
        """Returns the texts; none for nothing. Raises SealedAway, which says nothing of them."""
        if not sealed:
            return []
        head, nonce, rest = sealed[:_HEAD_BYTES], sealed[_HEAD_BYTES:][:_NONCE_BYTES], sealed[_HEAD_BYTES:]
        if head[:1] != _FORM or len(sealed) < _OVERHEAD_BYTES:
            raise SealedAway("it is not what was sealed")
        name = head[1:]
        key = self._keys.named(name)
        if key is None:
            raise SealedAway(f"it was sealed under cluster key {name.hex()}, which is not known here")
        try:
            return _decode(self._cipher(key).decrypt(nonce, rest[_NONCE_BYTES:], head + about))
        except (InvalidTag, msgspec.MsgspecError):
            raise SealedAway("it is not what was sealed") from None

    def knows(self, sealed: bytes) -> bool:
        """Tells whether the key that something was sealed under is known here."""
        return not sealed or sealed[1:_HEAD_BYTES] in self._keys

    def renewed(self, sealed: bytes, about: bytes) -> bytes:
        """Returns the same, sealed under the key in use; as it is where it cannot be opened."""
        if not sealed or sealed[1:_HEAD_BYTES] == self._keys.in_use_id:
            return sealed
        try:
            return self.seal(self.open(sealed, about), about)
        except SealedAway:
            return sealed

    def _cipher(self, key: bytes) -> ChaCha20Poly1305:
        return ChaCha20Poly1305(derive(key, "at rest 1", self._cluster))
