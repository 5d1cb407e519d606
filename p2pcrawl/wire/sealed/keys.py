"""The cluster's keys: who has one may take part.

A key is 32 random bytes that all peers of a cluster share. It never encrypts anything itself: every
use has a key of its own, made from it by HKDF (:func:`derive`), so that bytes from one use mean
nothing in another. A peer holds a ring of keys and seals with one, *the key in use*; it opens what
was sealed with any. That is what lets a cluster change its key while it runs: add the new key
everywhere, then use it everywhere, then remove the old one everywhere.

What is sealed names its key by four bytes. They are no secret; they save the receiver from trying
each key on whatever a stranger sends.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Iterable
from typing import Final

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from p2pcrawl.model.errors import ConfigurationError

KEY_BYTES: Final = 32
KEY_ID_BYTES: Final = 4
KEYS_MAX: Final = 8
"""Keys of one ring; a change of keys needs two."""
CLUSTER_NAME_MAX: Final = 64
KEY_VARIABLE: Final = "P2PCRAWL_KEY"
"""The environment variable that may hold the keys, as a key file does."""
DEFAULT_CLUSTER: Final = "p2pcrawl"

KEY_FILE_MAX: Final = 64 * 1024
_DISTINCT_MIN: Final = 10
"""Different bytes in a key: 32 random ones never have fewer in practice, typed ones often do."""


def generate_key() -> str:
    """Makes a new random key, as a line for a key file."""
    return base64.b64encode(os.urandom(KEY_BYTES)).decode("ascii")


def derive(key: bytes, purpose: str, context: bytes = b"") -> bytes:
    """Derives the 32 byte key for one purpose; HKDF-Expand, as ``key`` is uniformly random already."""
    info = b"p2pcrawl " + purpose.encode("ascii") + b"\0" + context
    return HKDFExpand(hashes.SHA256(), KEY_BYTES, info).derive(key)


def key_id(key: bytes) -> bytes:
    """Returns four bytes that name a key in the open and tell nothing about it."""
    return derive(key, "key id")[:KEY_ID_BYTES]


def cluster_bytes(name: str) -> bytes:
    """Returns a cluster's name as it is bound into everything sealed. Raises ConfigurationError."""
    if not 1 <= len(name) <= CLUSTER_NAME_MAX or not name.isprintable():
        raise ConfigurationError(f"a cluster's name has 1 to {CLUSTER_NAME_MAX} printable characters, not {name!r:.80}")
    return name.encode("utf-8")


class KeyRing:
    """The keys that this peer opens with, the first one being in use.

    One ring is shared by all that seals: a change counts from the next datagram and the next link on.
    Its ``repr`` and its errors never show a key.
    """

    def __init__(self, keys: Iterable[bytes]) -> None:
        """Raises ConfigurationError for no keys, too many, a repeated one, or one of the wrong length."""
        self._keys: dict[bytes, bytes] = {}
        for key in keys:
            self.add(key)
        if not self._keys:
            raise ConfigurationError("there is no cluster key; make one with: p2pcrawl keygen")
        self._in_use = next(iter(self._keys))

    @classmethod
    def parse(cls, text: str) -> KeyRing:
        """Reads a key file: a base64 key on each line, the first one in use; # begins a comment.

        Raises ConfigurationError, naming the line and never its text.
        """
        if len(text) > KEY_FILE_MAX:
            raise ConfigurationError("the key file is too long to be one")
        lines = (
            (number, line.partition("#")[0].strip())
            for number, line in enumerate(text.lstrip("\ufeff").splitlines(), 1)
        )
        return cls(_key_of(line, number) for number, line in lines if line)

    def text(self) -> str:
        """Writes the key file of this ring: what :meth:`parse` reads. Secret."""
        first = self._keys[self._in_use]
        ordered = [first, *(key for key in self._keys.values() if key is not first)]
        return "".join(f"{base64.b64encode(key).decode('ascii')}\n" for key in ordered)

    def add(self, key: bytes) -> None:
        """Opens with ``key`` too from now on; adding a key twice is refused, like more than KEYS_MAX."""
        if not isinstance(key, bytes) or len(key) != KEY_BYTES:
            raise ConfigurationError(f"a cluster key has {KEY_BYTES} bytes; make one with: p2pcrawl keygen")
        name = key_id(key)
        if name in self._keys:
            raise ConfigurationError(f"cluster key {name.hex()} is in the ring already")
        if len(self._keys) >= KEYS_MAX:
            raise ConfigurationError(f"a ring holds at most {KEYS_MAX} cluster keys; remove those that are out of use")
        self._keys[name] = key

    def use(self, key: bytes) -> None:
        """Seals with ``key`` from now on. Raises ConfigurationError unless it was added."""
        self._in_use = self._member(key)

    def remove(self, key: bytes) -> None:
        """Opens nothing sealed with ``key`` any more. Raises ConfigurationError for the one in use."""
        name = self._member(key)
        if name == self._in_use:
            raise ConfigurationError(f"cluster key {name.hex()} is in use; use another one before removing it")
        del self._keys[name]

    def reload(self, text: str) -> None:
        """Becomes what a key file says now; on ConfigurationError it stays as it was."""
        fresh = KeyRing.parse(text)
        # The same key stays the same object, which tells the seals that nothing changed for them.
        self._keys = {name: self._keys.get(name, key) for name, key in fresh._keys.items()}
        self._in_use = fresh._in_use

    @property
    def in_use(self) -> bytes:
        """The key that seals."""
        return self._keys[self._in_use]

    @property
    def in_use_id(self) -> bytes:
        """The name of the key that seals."""
        return self._in_use

    @property
    def ids(self) -> tuple[str, ...]:
        """The names of all keys in hex, the one in use first; for people."""
        return (self._in_use.hex(), *(name.hex() for name in self._keys if name != self._in_use))

    def named(self, name: bytes) -> bytes | None:
        """Returns the key with this id, if the ring has it."""
        return self._keys.get(name)

    def __contains__(self, name: bytes) -> bool:
        return name in self._keys

    def __len__(self) -> int:
        return len(self._keys)

    def __repr__(self) -> str:
        return f"KeyRing({', '.join(self.ids)})"

    def _member(self, key: bytes) -> bytes:
        name = key_id(key)
        if name not in self._keys:
            raise ConfigurationError(f"cluster key {name.hex()} is not in the ring; add it first")
        return name


def _key_of(line: str, number: int) -> bytes:
    """Reads the key on one line; whoever finds the error in a log must not find the key there."""
    wrong = ConfigurationError(f"line {number} of the key file is not a cluster key; make one with: p2pcrawl keygen")
    try:
        key = base64.b64decode(line.encode("ascii").translate(bytes.maketrans(b"-_", b"+/")), validate=True)
    except (binascii.Error, ValueError):
        raise wrong from None
    if len(key) != KEY_BYTES or len(set(key)) < _DISTINCT_MIN:
        raise wrong
    return key
