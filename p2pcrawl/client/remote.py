"""A peer's API as the verbs of the command line use it: blocking calls, and errors as one line.

A token is read from where the user says, or from the data folder of a peer of this user that runs here, as that peer
has noted it for this user alone; never from where somebody at the other end says. It is not sent: calls are signed
with it (:mod:`p2pcrawl.peer.api.tokens`), so that whoever answers in place of a peer learns nothing.
"""

from __future__ import annotations

import http.client
import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote, urlencode

from p2pcrawl.client.clusters_here import peer_of_the_one
from p2pcrawl.model.cluster.node import Address, format_address, parse_address
from p2pcrawl.model.errors import ConfigurationError, NotNow, NotThere, P2PCrawlError
from p2pcrawl.peer.api.tokens import authorization, read_token, token_of
from p2pcrawl.private.presence import peers_here, token_file_of

TOKEN_VARIABLE = "P2PCRAWL_TOKEN"  # nosec B105  # the name of a variable, not what is in it
PEER_VARIABLE = "P2PCRAWL_PEER"
CALL_S = 60.0
LOOK_S = 5.0
"""For how long a peer is waited for that nobody has named."""
PIECE = 256 * 1024
_OF_THE_CALLER = {400: ConfigurationError, 404: NotThere, 409: NotNow, 413: ConfigurationError}
ANSWER_MAX = 64 * 1024 * 1024
"""Of what is not read piece by piece; a line of items is no longer."""


def with_host(address: str) -> str:
    """Completes ``:7118``, which is on this machine."""
    return f"127.0.0.1{address}" if address.startswith(":") and address.count(":") == 1 else address


def job_path(called: str | int, *rest: str) -> str:
    """Returns the path of a job in the API. Raises ConfigurationError where no job is named."""
    if not str(called):
        # A variable that is not set would name the list of all jobs, and the verb might be `delete`.
        raise ConfigurationError("no job is named: give its number or its name, or --last")
    return "/".join(("/v1/jobs", quote(str(called), safe=""), *rest))


class _NeedsToken(ConfigurationError):
    """Raised where a peer wants a token for a question, too."""


class Remote:
    """One connection for each call."""

    def __init__(self, address: Address, token_file: Path | None = None, *, patience_s: float = CALL_S) -> None:
        self.address = address
        self._token_file = token_file
        self._patience_s = patience_s
        self._signs = False
        """Whether questions are signed, too: only where the peer wants it, for it costs a call more."""

    @classmethod
    def find(
        cls, typed: str | None, token_file: Path | None = None, otherwise: str = "", *, itself: bool = False
    ) -> Self:
        """Finds the peer that was named, else one of the only cluster that runs on this machine; where the peer
        ``itself`` is meant, it has to be the only one. Raises ConfigurationError, with what else could be typed.
        """
        if typed:
            host, port = parse_address(with_host(typed.removeprefix("http://").rstrip("/")))
            return cls(format_address(host, port), token_file)
        here = peers_here()
        if not here:
            raise ConfigurationError(
                "no peer runs on this machine: start one with `p2pcrawl peer`, "
                f"or name one with --peer or {PEER_VARIABLE}{otherwise}"
            )
        if len(here) > 1 and itself:
            raise ConfigurationError(
                f"{len(here)} peers run on this machine: name one with --peer ({', '.join(sorted(here))})"
            )
        if len(here) > 1:
            return cls(
                peer_of_the_one(here, lambda at: cls(at, token_file, patience_s=LOOK_S).get("/v1/status")), token_file
            )
        return cls(here[0], token_file)

    def get(self, path: str, **query: object) -> Any:
        """Asks a question, and returns the JSON answer. Raises P2PCrawlError when there is none."""
        target = path + ("?" + urlencode(query) if query else "")
        if not self._signs:
            try:
                return self._call("GET", target)
            except _NeedsToken:
                self._signs = True
        return self._call("GET", target, None, self._signed("GET", target))

    def job(self, called: str) -> int:
        """Returns the number of the job that is called so. Raises ConfigurationError when none is, or several are."""
        return int(self.get(job_path(called, "number"))["job"])

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """Makes a call that changes something, and returns the JSON answer."""
        return self.change("POST", path, body)

    def change(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """Makes a call that changes something, by any method, and returns the JSON answer."""
        data = json.dumps(body).encode() if body is not None else b""
        headers = {**self._signed(method, path, data), "Content-Type": "application/json"}
        return self._call(method, path, data, headers)

    def lines(self, path: str) -> Generator[list[bytes]]:
        """Yields the lines of an answer, in batches as they come. Raises P2PCrawlError when it is cut short."""
        connection = self._connection()
        try:
            response = self._begin_lines(connection, path)
            rest = b""
            while piece := response.read1(PIECE):
                *lines, rest = (rest + piece).split(b"\n")
                if len(rest) > ANSWER_MAX:
                    raise self._stranger()
                if lines:
                    yield lines
            # A chunked answer that was cut looks like its end to read1; only the last chunk says which it was.
            if rest or (response.chunked and response.chunk_left):
                raise http.client.IncompleteRead(rest)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise P2PCrawlError(f"the answer of the peer at {self.address} was cut short; try again") from error
        finally:
            connection.close()

    # -- inside -------------------------------------------------------------------------------

    def _begin_lines(self, connection: http.client.HTTPConnection, path: str) -> http.client.HTTPResponse:
        if not self._signs:
            try:
                return self._send(connection, "GET", path)
            except _NeedsToken:
                self._signs = True
                connection.close()
        return self._send(connection, "GET", path, None, self._signed("GET", path))

    def _signed(self, method: str, target: str, body: bytes = b"") -> dict[str, str]:
        """Returns the headers of a call that is signed with the token."""
        told = self._call("GET", "/v1/nonce")
        if not isinstance(nonce := told.get("nonce"), str):
            raise self._stranger()
        token = self._token(str(told.get("token_file")))
        return {"Authorization": authorization(token, nonce, method, target, body)}

    def _connection(self) -> http.client.HTTPConnection:
        host, port = parse_address(self.address)
        return http.client.HTTPConnection(host, port, timeout=self._patience_s)

    def _call(self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> Any:
        connection = self._connection()
        try:
            said = self._send(connection, method, path, body, headers).read(ANSWER_MAX + 1)
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(error) from error
        finally:
            connection.close()
        try:
            answer = json.loads(said) if len(said) <= ANSWER_MAX else None
        except (ValueError, RecursionError) as error:
            raise self._stranger() from error
        if not isinstance(answer, dict):
            raise self._stranger()
        return answer

    def _stranger(self) -> ConfigurationError:
        return ConfigurationError(
            f"what answers at {self.address} is no peer's API, or of another version (--peer takes the API's address)"
        )

    def _send(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> http.client.HTTPResponse:
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(error) from error
        if response.status == 200:
            return response
        text = _error_text(response.read(PIECE))
        if response.status in _OF_THE_CALLER:
            raise _OF_THE_CALLER[response.status](text)
        if response.status == 401 and not headers:
            raise _NeedsToken(text)
        if response.status in (401, 403) and headers:
            what = "token" if response.status == 401 else "call"
            raise ConfigurationError(f"the peer at {self.address} refuses the {what}: {text}")
        raise P2PCrawlError(text or f"the peer at {self.address} answered with status {response.status}")

    def _unreachable(self, error: Exception) -> P2PCrawlError:
        if isinstance(error, TimeoutError):
            return P2PCrawlError(f"the peer at {self.address} did not answer in {self._patience_s:g} s")
        if isinstance(error, http.client.HTTPException):
            return P2PCrawlError(f"what answers at {self.address} is no peer's API (--peer takes the API's address)")
        reason = getattr(error, "strerror", None) or str(error)
        return P2PCrawlError(f"no peer answers at {self.address} ({reason}): is it running, and is this its API?")

    def _token(self, told: str) -> str:
        """Finds the token of the peer. ``told``: where the peer says that its token is, for people."""
        if self._token_file is not None:
            return _read(self._token_file, named=True)
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
