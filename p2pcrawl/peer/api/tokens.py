"""The tokens of a peer's API, and how somebody shows that he has one without saying it.

There are two: with ``token`` one may change things, and read; with ``token-read`` one may read. A token is 32 random
bytes as 64 hex digits, in a file of the data folder. Programs that keep it to themselves *sign*
each call with it: they take a nonce from the peer, and send HMAC-SHA256(token, nonce, method, target, digest of the
body). Whoever answers at the address in place of the peer learns nothing that would be good for another call, and each
nonce is good for one. Saying the token itself, as ``curl`` does, is accepted too. The Authorization header is ``Bearer
TOKEN`` or ``P2PCrawl NONCE DIGEST SIGNATURE``.

Nothing is remembered of whoever takes a nonce: it carries its time and is sealed by a secret of this process. Only
nonces with which somebody who has the token has signed are remembered, until their time is up.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Final

from p2pcrawl.model.errors import ConfigurationError, StorageError
from p2pcrawl.private.secrets import make_secret, read_secret

TOKEN_FILE: Final = "token"
READ_TOKEN_FILE: Final = "token-read"
WHAT: Final = "token file"
NONCE_S: Final = 60.0
USED_MAX: Final = 10_000
"""Nonces of the last minute; more calls than that in a minute are refused."""

_TOKEN: Final = re.compile(r"[0-9a-f]{64}\Z")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}\Z")
_NONCE: Final = re.compile(r"[0-9a-f]{80}\Z")
_SIZE_MAX: Final = 256


def is_token(text: str) -> bool:
    """Tells whether a text has the form of a token; nothing else ever opens anything."""
    return _TOKEN.match(text) is not None


def token_of(text: str, where: str) -> str:
    """Returns the token in a text from outside. Raises ConfigurationError when there is none."""
    token = text.strip()
    if not is_token(token):
        raise ConfigurationError(f"there is no token in {where}: it has 64 hex digits")
    return token


def read_token(path: Path, *, named: bool = False) -> str:
    """Reads the token in a file that nobody else can use. Raises ConfigurationError, OSError."""
    return _text(read_secret(path, WHAT, _SIZE_MAX, lambda content: _check(content, path), named=named)).strip()


def load_or_make_token(folder: Path, file: str = TOKEN_FILE) -> str:
    """Reads a token of a data folder, made when it has none. Raises ConfigurationError for a file that is none."""
    path = folder / file
    try:
        try:
            return read_token(path)
        except FileNotFoundError:
            make_secret(path, secrets.token_hex(32).encode())
        return read_token(path)
    except OSError as error:
        raise StorageError(f"cannot use the token file {path}: {error.strerror or error}") from error


def load_or_make_tokens(folder: Path) -> tuple[str, str]:
    """Reads both tokens of a data folder, that for changes first. Raises ConfigurationError, also where they are one
    and the same: whoever was to read only could change things.
    """
    token, read_token = load_or_make_token(folder), load_or_make_token(folder, READ_TOKEN_FILE)
    if _same(token, read_token):
        raise ConfigurationError(
            f"{folder / READ_TOKEN_FILE} has the token of {TOKEN_FILE}: remove it, and the peer makes another one"
        )
    return token, read_token


def body_digest(body: bytes) -> str:
    return sha256(body).hexdigest()


def authorization(token: str, nonce: str, method: str, target: str, body: bytes) -> str:
    """Makes the header that shows that whoever makes this call has the token. ``target``: path and query, as sent."""
    digest = body_digest(body)
    return f"P2PCrawl {nonce} {digest} {_signature(token, nonce, method, target, digest)}"


def _signature(token: str, nonce: str, method: str, target: str, digest: str) -> str:
    said = "\0".join(("p2pcrawl api 1", nonce, method, target, digest)).encode("utf-8", "surrogatepass")
    return hmac.digest(token.encode(), said, "sha256").hex()


class Doorkeeper:
    """Says who may change anything, and who may read."""

    def __init__(
        self, token: str, clock: Callable[[], float] = time.monotonic, *, read_token: str | None = None
    ) -> None:
        """``read_token``: opens reading only. Raises ValueError for what is no token: an empty one would open to
        everybody.
        """
        if not is_token(token) or not (read_token is None or is_token(read_token)):
            raise ValueError("a token has 64 hex digits")
        self._token = token
        self._readers = (token,) if read_token is None else (token, read_token)
        self._clock = clock
        self._secret = os.urandom(32)
        self._used: dict[str, float] = {}

    def nonce(self) -> str:
        """Makes a nonce that is good for one call within NONCE_S."""
        head = f"{int(self._clock() * 1000) & (1 << 64) - 1:016x}{os.urandom(8).hex()}"
        return head + self._seal(head)

    def admits(self, authorization: str, method: str, target: str, *, reading: bool = False) -> str | None:
        """Returns what the digest of the body has to be if this header allows this call, "" if any; None when it does
        not. ``reading``: the call changes nothing, and either token will do.

        A nonce that was good is used up. Never raises.
        """
        tokens = self._readers if reading else (self._token,)
        match authorization.split(" "):
            case [scheme, said] if scheme.lower() == "bearer":
                return "" if any([_same(said, token) for token in tokens]) else None
            case [scheme, nonce, digest, signed] if scheme.lower() == "p2pcrawl" and self._is_ours(nonce):
                if _DIGEST.match(digest) is None:
                    return None
                shown = any([_same(signed, _signature(token, nonce, method, target, digest)) for token in tokens])
                return digest if shown and self._use(nonce) else None
        return None

    def _is_ours(self, nonce: str) -> bool:
        if _NONCE.match(nonce) is None or not _same(nonce[32:], self._seal(nonce[:32])):
            return False
        return 0 <= self._clock() - int(nonce[:16], 16) / 1000 <= NONCE_S

    def _use(self, nonce: str) -> bool:
        now = self._clock()
        for old in [old for old, at in self._used.items() if now - at > 2 * NONCE_S]:
            del self._used[old]
        if nonce in self._used or len(self._used) >= USED_MAX:
            return False
        self._used[nonce] = now
        return True

    def _seal(self, head: str) -> str:
        return hmac.digest(self._secret, head.encode(), "sha256")[:24].hex()


def _same(one: str, other: str) -> bool:
    """Compares texts in a time that does not depend on where they differ. What came in a header may be no text at
    all.
    """
    return hmac.compare_digest(one.encode("utf-8", "surrogatepass"), other.encode())


def _check(content: bytes, path: Path) -> None:
    if not is_token(_text(content).strip()):
        raise ConfigurationError(
            f"{path} is no token file: it has to have 64 hex digits; remove it, and the peer makes a new one"
        )


def _text(content: bytes) -> str:
    return content.decode("ascii", "replace")
