"""The key of a bot: an Ed25519 key pair in a PEM file that nobody else can read.

It is no cluster key and no identity of a peer: it says to web servers whose crawler this is. The public half has the
name that RFC 7638 and RFC 8037 give it, its thumbprint, and is published in a directory.
"""

from __future__ import annotations

import hashlib
import json
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.private.secrets import make_secret, read_secret

_SIZE_MAX: Final = 4096
_WHAT: Final = "bot key"


class BotKey:
    """One key pair. Its ``repr`` shows the thumbprint only."""

    def __init__(self, private: Ed25519PrivateKey) -> None:
        self._private = private
        self.x: Final = _text_of(private.public_key().public_bytes_raw())
        """The public half, in base64url."""
        canonical = json.dumps({"crv": "Ed25519", "kty": "OKP", "x": self.x}, separators=(",", ":"))
        self.thumbprint: Final = _text_of(hashlib.sha256(canonical.encode()).digest())

    @classmethod
    def generate(cls) -> BotKey:
        """Makes a new one."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def from_pem(cls, content: bytes) -> BotKey:
        """Raises ValueError for what is no Ed25519 key in PEM without a password."""
        try:
            private = load_pem_private_key(content, None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            raise ValueError("not a private key in PEM without a password") from None
        if not isinstance(private, Ed25519PrivateKey):
            raise ValueError("not an Ed25519 key")
        return cls(private)

    @classmethod
    def read(cls, path: Path) -> BotKey:
        """Reads a key file. Raises ConfigurationError for one that is not there, is none, or that others can read."""
        try:
            return cls.from_pem(read_secret(path, _WHAT, _SIZE_MAX, named=True))
        except ValueError as error:
            raise ConfigurationError(
                f"{path} is no {_WHAT}: {error}; p2pcrawl keygen --bot -o FILE makes one"
            ) from None
        except OSError as error:
            raise ConfigurationError(f"cannot read the {_WHAT} {path}: {error.strerror}") from error

    def write(self, path: Path) -> bool:
        """Makes the key file, for its owner's eyes only; returns False when there is something of that name."""
        pem = self._private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return make_secret(path, pem)

    def sign(self, base: bytes) -> bytes:
        """Signs a signature base."""
        return self._private.sign(base)

    @property
    def jwk(self) -> dict[str, str]:
        """The public half as directories have it."""
        return {"kty": "OKP", "crv": "Ed25519", "kid": self.thumbprint, "x": self.x, "use": "sig"}

    def __repr__(self) -> str:
        return f"BotKey({self.thumbprint})"


def _text_of(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")
