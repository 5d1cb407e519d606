"""A sealed stream inside TLS, for clusters whose owners have certificates of their own.

TLS is the outer layer and proves that both ends have a certificate that the other trusts. The seal
(:mod:`p2pcrawl.wire.sealed.streams`) runs inside it unchanged: it alone knows about cluster keys and node ids. As
each node
proves its id in the seal, no host name is looked for in a certificate.

TLS runs in memory here and not in the event loop, for three reasons. The loop tells a protocol nothing of a
connection whose TLS handshake fails, so strangers that go away in it would never be forgotten; here a connection is a
link from its first byte, and one time-out bounds both handshakes. A peer that does not speak TLS can be told apart from
one with a wrong certificate. And all event loops, the simulated one included, do the same.
"""

from __future__ import annotations

import ssl
from contextlib import suppress
from typing import Final

from p2pcrawl.model.errors import LinkError, Mismatch
from p2pcrawl.wire.sealed.handshake import MAGIC, TLS_ALERT, TLS_HANDSHAKE, RemotePeer
from p2pcrawl.wire.sealed.streams import StreamSeal

_PROTOCOL_VERSION: Final = bytes((TLS_ALERT, 3, 3, 0, 2, 2, 70))
"""The fatal alert for a peer that begins in the open: by it that peer knows that TLS is spoken here."""
_NOT_OF_OUR_CA: Final = {2, 18, 19, 20, 21}
"""OpenSSL's verification codes for a chain that leads nowhere or to a certificate that is not trusted."""
_PIECE: Final = 1 << 16


class TlsStream:
    """One end of one connection, used like the StreamSeal inside it. Make it with :meth:`client` or :meth:`server`.

    Every LinkError is final; what :meth:`take_output` gives after it, an alert or a refusal, is still to be written.
    """

    def __init__(self, context: ssl.SSLContext, inside: StreamSeal, *, server: bool) -> None:
        self._server = server
        self._inside = inside
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=server)
        self._heard = self._shaken = self._closed = self._failed = False

    @classmethod
    def client(cls, context: ssl.SSLContext, inside: StreamSeal) -> TlsStream:
        """Makes the end that connected."""
        return cls(context, inside, server=False)

    @classmethod
    def server(cls, context: ssl.SSLContext, inside: StreamSeal) -> TlsStream:
        """Makes the end that accepted."""
        return cls(context, inside, server=True)

    @property
    def established(self) -> bool:
        """True once the other end is proven, by certificate and by seal, and data may be sent."""
        return self._inside.established

    @property
    def ended(self) -> bool:
        """True once the other end said that nothing more will come."""
        return self._inside.ended

    @property
    def peer(self) -> RemotePeer | None:
        """The other end, once it is proven."""
        return self._inside.peer

    def begin(self) -> bytes:
        """Returns the client's TLS hello; nothing for a server."""
        if not self._server:
            self._shake()
        return self.take_output()

    def take_output(self) -> bytes:
        """Returns what both handshakes have to say; write it after each :meth:`receive`, also one that raised."""
        return self._outgoing.read()

    def send(self, data: bytes) -> bytes:
        """Seals ``data`` into TLS records. Raises LinkError unless :attr:`established`."""
        self._write(self._inside.send(data))
        return self.take_output()

    def finish(self) -> bytes:
        """Makes the last record of this direction; nothing can be sent after it."""
        if not self._shaken or self._failed:
            return b""
        self._write(self._inside.finish())
        with suppress(ssl.SSLError):
            # Writes our good-bye; that of the other end is not waited for.
            self._tls.unwrap()
        return self.take_output()

    def receive(self, data: bytes) -> list[bytes]:
        """Takes in bytes, and returns the plaintext that is complete now. Raises LinkError for anything that is not as
        it should be.
        """
        if self._failed:
            raise LinkError("this stream has failed before")
        if not data:
            return []
        try:
            if self._closed:
                raise LinkError("the other end went on after its last record")
            if not self._heard:
                self._look_at(data)
            self._incoming.write(data)
            if not self._shaken and not self._shake():
                return []
            return self._inner(self._read())
        except LinkError:
            self._failed = True
            raise

    def eof(self) -> None:
        """Judges the end of the connection: raises LinkError unless the other end had finished."""
        if self._failed:
            return
        if self._shaken:
            self._inside.eof()
            return
        self._failed = True
        if self._heard or self._server:
            raise LinkError("the other end went away during the handshake")
        raise Mismatch("the other end closed at our TLS hello: it seems to run without TLS, and this peer with it")

    def _look_at(self, data: bytes) -> None:
        """Tells those that speak no TLS from the rest by their first byte."""
        self._heard = True
        if data[0] in (TLS_HANDSHAKE, TLS_ALERT):
            return
        if self._server and data.startswith(MAGIC):
            self._outgoing.write(_PROTOCOL_VERSION)
        raise Mismatch("the other end does not speak TLS, and this peer does: start both with it, or both without")

    def _shake(self) -> bool:
        """Takes a step of the TLS handshake; tells whether it is done. The seal's begins in the same breath."""
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        except ssl.SSLError as error:
            raise _as_link_error(error) from None
        self._shaken = True
        self._write(self._inside.begin())
        return True

    def _read(self) -> bytes:
        """Reads all that TLS can open now."""
        pieces = []
        try:
            while piece := self._tls.read(_PIECE):
                pieces.append(piece)
            self._closed = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError as error:
            raise _as_link_error(error) from None
        return b"".join(pieces)

    def _inner(self, data: bytes) -> list[bytes]:
        try:
            return self._inside.receive(data)
        finally:
            self._write(self._inside.take_output())

    def _write(self, data: bytes) -> None:
        try:
            with memoryview(data) as rest:
                done = 0
                while done < len(rest):
                    done += self._tls.write(rest[done:])
        except ssl.SSLError as error:
            raise _as_link_error(error) from None


Seal = StreamSeal | TlsStream
"""What a link across machines is protected by."""


def why_refused(error: ssl.SSLCertVerificationError) -> str:
    """Says for a person what is wrong with a certificate."""
    return "it does not come from our CA" if error.verify_code in _NOT_OF_OUR_CA else error.verify_message


def _as_link_error(error: ssl.SSLError) -> LinkError:
    """Puts the error in words for a person, who may have given a wrong file."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return Mismatch(f"the TLS certificate of the other end is refused: {why_refused(error)}")
    words = (error.reason or "unknown error").lower().replace("_", " ")
    _, alert, reason = words.partition(" alert ")
    if not alert:
        return Mismatch(f"the other end speaks broken TLS: {words}")
    if "certificate" in reason or "ca" in reason.split():
        return Mismatch(f"the other end refuses our TLS certificate: {reason}")
    return Mismatch(f"the other end refuses our TLS: {reason}")
