"""A peer's API as the verbs of the command line use it: blocking calls, and errors as one line."""

from __future__ import annotations

import http.client
import json
from collections.abc import Generator
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote, urlencode

from p2pcrawl.client.clusters_here import peer_of_the_one
from p2pcrawl.client.peer_access import NONCE_PATH, NeedsToken, PeerAccess, api_address
from p2pcrawl.model.cluster.node import Address, parse_address
from p2pcrawl.model.errors import ConfigurationError, P2PCrawlError
from p2pcrawl.private.presence import peers_here

PEER_VARIABLE = "P2PCRAWL_PEER"
CALL_S = 60.0
LOOK_S = 5.0
"""For how long a peer is waited for that nobody has named."""
PIECE = 256 * 1024
ANSWER_MAX = 64 * 1024 * 1024
"""Of what is not read piece by piece; a line of items is no longer."""


def job_path(called: str | int, *rest: str) -> str:
    """Returns the path of a job in the API. Raises ConfigurationError where no job is named."""
    if not str(called):
        # A variable that is not set would name the list of all jobs, and the verb might be `delete`.
        raise ConfigurationError("no job is named: give its number or its name, or --last")
    return "/".join(("/v1/jobs", quote(str(called), safe=""), *(quote(each, safe="") for each in rest)))


class Remote:
    """One connection for each call."""

    def __init__(self, address: Address, token_file: Path | None = None, *, patience_s: float = CALL_S) -> None:
        self.address = address
        self._access = PeerAccess(address, token_file)
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
            return cls(api_address(typed), token_file)
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
            except NeedsToken:
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
                    raise self._access.stranger()
                if lines:
                    yield lines
            # A chunked answer that was cut looks like its end to read1; only the last chunk says which it was.
            if rest or (response.chunked and response.chunk_left):
                raise http.client.IncompleteRead(rest)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._access.cut_short() from error
        finally:
            connection.close()

    # -- inside -------------------------------------------------------------------------------

    def _begin_lines(self, connection: http.client.HTTPConnection, path: str) -> http.client.HTTPResponse:
        if not self._signs:
            try:
                return self._send(connection, "GET", path)
            except NeedsToken:
                self._signs = True
                connection.close()
        return self._send(connection, "GET", path, None, self._signed("GET", path))

    def _signed(self, method: str, target: str, body: bytes = b"") -> dict[str, str]:
        """Returns the headers of a call that is signed with the token."""
        return self._access.signed(self._call("GET", NONCE_PATH), method, target, body)

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
        if len(said) > ANSWER_MAX:
            raise self._access.stranger()
        return self._access.answer(said)

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
        raise self._access.refusal(response.status, response.read(PIECE), signed=bool(headers))

    def _unreachable(self, error: Exception) -> P2PCrawlError:
        if isinstance(error, TimeoutError):
            return self._access.silent(self._patience_s)
        return (
            self._access.no_http() if isinstance(error, http.client.HTTPException) else self._access.unreachable(error)
        )
