"""The TLS contexts of a peer: made from files, or ready-made by whoever embeds it.

A peer calls others and is called, so it needs both sides, and with files both ends of every link show a certificate.
No host name is checked. Peers are reached by whatever address the cluster knows of them, and who is at the other end is
proven by the seal inside; what TLS adds is that nobody without a certificate of the user's CA gets that far.
"""

from __future__ import annotations

import ssl
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.private.secrets import read_secret
from p2pcrawl.wire.sealed.tls import why_refused

_KEY_FILE_MAX = 256 * 1024
"""A key, with its certificate and the chain of that."""


@dataclass(frozen=True, slots=True)
class TlsContexts:
    """Both sides of a peer's links. Raises ConfigurationError for contexts that cannot serve as such."""

    server: ssl.SSLContext
    client: ssl.SSLContext

    def __post_init__(self) -> None:
        if self.server.protocol == ssl.PROTOCOL_TLS_CLIENT:
            raise ConfigurationError("the server's TLS context is one for clients: make it with PROTOCOL_TLS_SERVER")
        if self.client.protocol == ssl.PROTOCOL_TLS_SERVER:
            raise ConfigurationError("the client's TLS context is one for servers: make it with PROTOCOL_TLS_CLIENT")
        if self.client.check_hostname:
            raise ConfigurationError(
                "the client's TLS context checks host names, and peers are reached by address: set check_hostname to "
                "False (each peer proves its node id besides)"
            )


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """The PEM files of a peer. The certificate may be followed by its chain; the key may be in the same file."""

    cert: Path
    key: Path
    ca: Path
    """Certificates that others' have to lead to; the same on all peers."""

    def load(self) -> TlsContexts:
        """Contexts for TLS 1.3 with certificates on both sides.

        Raises ConfigurationError for files that are missing or not what they should be, that do not belong
        together, or that the other peers would not accept.
        """
        contexts = TlsContexts(self._context(ssl.PROTOCOL_TLS_SERVER), self._context(ssl.PROTOCOL_TLS_CLIENT))
        # Links last for hours: a ticket to resume one would never be used.
        contexts.server.num_tickets = 0
        self._try(contexts)
        return contexts

    def options(self) -> list[str]:
        """Writes these files as options for the command line of a slave process."""
        paths = {"--tls-cert": self.cert, "--tls-key": self.key, "--tls-ca": self.ca}
        return [text for option, path in paths.items() for text in (option, str(path.absolute()))]

    def _context(self, protocol: int) -> ssl.SSLContext:
        context = ssl.SSLContext(protocol)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False
        context.verify_mode = ssl.CERT_REQUIRED
        for what, path in (("certificate", self.cert), ("CA", self.ca)):
            _check_readable(f"TLS {what}", path)
        _check_private("TLS key", self.key)
        try:
            context.load_verify_locations(self.ca)
        except ssl.SSLError as error:
            raise ConfigurationError(f"the TLS CA {self.ca} holds no certificate in PEM form") from error
        try:
            context.load_cert_chain(self.cert, self.key, self._no_password)
        except ssl.SSLError as error:
            raise ConfigurationError(self._why_not(error)) from error
        return context

    def _no_password(self) -> NoReturn:
        # Without this OpenSSL would ask on the terminal.
        raise ConfigurationError(f"the TLS key {self.key} is locked with a password: give one that is not")

    def _why_not(self, error: ssl.SSLError) -> str:
        if error.reason == "KEY_VALUES_MISMATCH":
            return f"the TLS key {self.key} is not that of the certificate {self.cert}"
        try:
            # What holds a certificate at all can be loaded as if it were a CA.
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(self.cert)
        except ssl.SSLError:
            return f"the TLS certificate {self.cert} holds no certificate in PEM form"
        if error.reason and error.reason.endswith(("TOO_SMALL", "TOO_WEAK")):
            return f"the TLS certificate {self.cert} is refused: {error.reason.lower().replace('_', ' ')}"
        return f"the TLS key {self.key} holds no key in PEM form"

    def _try(self, contexts: TlsContexts) -> None:
        """Meets itself: what this peer would not accept, the others with the same CA would not either."""
        there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = contexts.client.wrap_bio(back, there)
        server = contexts.server.wrap_bio(there, back, server_side=True)
        try:
            for end in (client, server, client, server):
                with suppress(ssl.SSLWantReadError):
                    end.do_handshake()
        except ssl.SSLError as error:
            why = why_refused(error) if isinstance(error, ssl.SSLCertVerificationError) else error.reason
            raise ConfigurationError(
                f"the TLS certificate {self.cert} does not go with the CA {self.ca}: {why}"
            ) from error


def _check_private(what: str, path: Path) -> None:
    """Checks a key file before OpenSSL reads it by its name. Whoever may write in its folder could still exchange it in
    between.
    """
    try:
        read_secret(path, what, _KEY_FILE_MAX, named=True)
    except OSError as error:
        raise ConfigurationError(f"cannot read the {what} {path}: {error.strerror}") from error


def _check_readable(what: str, path: Path) -> None:
    try:
        with open(path, "rb") as file:
            file.read(1)
    except OSError as error:
        raise ConfigurationError(f"cannot read the {what} {path}: {error.strerror}") from error
