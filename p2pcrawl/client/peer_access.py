"""The way to one peer's API: its address, the token that calls to it are signed with, and what its refusals mean.

A token is read from where the user says, or from the data folder of a peer of this user that runs here, as that peer
has noted it for this user alone; never from where somebody at the other end says. It is not sent: calls are signed
with it (:mod:`p2pcrawl.peer.api.tokens`), so that whoever answers in place of a peer learns nothing.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from p2pcrawl.model.cluster.node import Address, format_address, parse_address
from p2pcrawl.model.errors import ConfigurationError, NotNow, NotThere, P2PCrawlError
from p2pcrawl.peer.api.tokens import authorization, read_token, token_of
from p2pcrawl.private.presence import token_file_of

TOKEN_VARIABLE: Final = "P2PCRAWL_TOKEN"  # nosec B105  # the name of a variable, not what is in it
NONCE_PATH: Final = "/v1/nonce"
_OF_THE_CALLER: Final = {400: ConfigurationError, 404: NotThere, 409: NotNow, 413: ConfigurationError}


class NeedsToken(ConfigurationError):
    """Raised where a peer wants a token for a question, too."""


def with_host(address: str) -> str:
    """Completes ``:7118``, which is on this machine."""
    return f"127.0.0.1{address}" if address.startswith(":") and address.count(":") == 1 else address


def api_address(typed: str) -> Address:
    """Reads the address of an API as people type it. Raises ConfigurationError."""
    return format_address(*parse_address(with_host(typed.removeprefix("http://").rstrip("/"))))


@dataclass(frozen=True, slots=True)
class PeerAccess:
    """One peer, as seen from outside. ``token`` goes before ``token_file``, and that before what is found."""

    address: Address
    token_file: Path | None = None
    token: str = field(default="", repr=False)

    def signed(self, told: Any, method: str, target: str, body: bytes = b"") -> dict[str, str]:
        """Returns the headers of a call that is signed with the token. ``told``: the peer's answer with a nonce."""
        nonce = told.get("nonce") if isinstance(told, dict) else None
        if not isinstance(nonce, str):
            raise self.stranger()
        said = authorization(self._token(str(told.get("token_file"))), nonce, method, target, body)
        return {"Authorization": said}

    def answer(self, said: bytes) -> Any:
        """Reads a JSON answer. Raises ConfigurationError for what no peer says."""
        try:
            answer = json.loads(said)
        except (ValueError, RecursionError) as error:
            raise self.stranger() from error
        if not isinstance(answer, dict):
            raise self.stranger()
        return answer

    def refusal(self, status: int, said: bytes, *, signed: bool) -> P2PCrawlError:
        """Returns the error that a refusal is."""
        text = _error_text(said)
        if status in _OF_THE_CALLER:
            return _OF_THE_CALLER[status](text)
        if status == 401 and not signed:
            return NeedsToken(text)
        if status in (401, 403) and signed:
            what = "token" if status == 401 else "call"
            return ConfigurationError(f"the peer at {self.address} refuses the {what}: {text}")
        return P2PCrawlError(text or f"the peer at {self.address} answered with status {status}")

    def stranger(self) -> ConfigurationError:
        """Returns the error that an answer is which no peer gives."""
        return ConfigurationError(
            f"what answers at {self.address} is no peer's API, or of another version (--peer takes the API's address)"
        )

    def no_http(self) -> P2PCrawlError:
        """Returns the error that something is which does not speak HTTP."""
        return P2PCrawlError(f"what answers at {self.address} is no peer's API (--peer takes the API's address)")

    def silent(self, patience_s: float) -> P2PCrawlError:
        """Returns the error that it is when no answer comes in time."""
        return P2PCrawlError(f"the peer at {self.address} did not answer in {patience_s:g} s")

    def unreachable(self, error: Exception) -> P2PCrawlError:
        """Returns the error that it is when there is no connection."""
        reason = getattr(error, "strerror", None) or str(error)
        return P2PCrawlError(f"no peer answers at {self.address} ({reason}): is it running, and is this its API?")

    def cut_short(self) -> P2PCrawlError:
        """Returns the error that a stream is which has no end."""
        return P2PCrawlError(f"the answer of the peer at {self.address} was cut short; try again")

    def _token(self, told: str) -> str:
        """Finds the token of the peer. ``told``: where the peer says that its token is, for people."""
        if self.token:
            return token_of(self.token, "what was given as the token")
        if self.token_file is not None:
            return _read(self.token_file, named=True)
        if text := os.environ.get(TOKEN_VARIABLE):
            return token_of(text, TOKEN_VARIABLE)
        if (path := token_file_of(self.address)) is not None:
            return _read(path, named=False)
        raise ConfigurationError(
            f"the peer at {self.address} is none that you run on this machine; it says that its token is in "
            f"{told[:200]!r}: copy that file and name it with --token-file, or put its text into {TOKEN_VARIABLE}"
        )


def _read(path: Path, *, named: bool) -> str:
    try:
        return read_token(path, named=named)
    except OSError as error:
        raise ConfigurationError(f"cannot read the token file {path}: {error.strerror}") from error


def _error_text(body: bytes) -> str:
    try:
        return str(json.loads(body)["error"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
