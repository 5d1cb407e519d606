"""Sealed streams: a handshake (:mod:`p2pcrawl.wire.sealed.handshake`), then encrypted records.

    kind 1 | length 2 | ciphertext | tag 16

Each direction has its own key and counts its records; the count is the nonce, so a record that is
changed, dropped, repeated, moved, or sent back does not open, and that ends the stream. The last record
of a direction says that it is the last: without it a stream that ends was cut.

No socket is touched here. The shell writes what :meth:`StreamSeal.begin`, :meth:`~StreamSeal.send`
and :meth:`~StreamSeal.take_output` give, feeds what arrives to :meth:`~StreamSeal.receive`, writes what
is left in ``take_output`` also after an error (a refusal, for the other end's user), then closes. It
must close a connection that is not established within seconds: time is its business.
"""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.errors import CopiedIdentity, LinkError
from p2pcrawl.wire.sealed import handshake
from p2pcrawl.wire.sealed.handshake import HandshakeKind, RemotePeer
from p2pcrawl.wire.sealed.identity import Identity
from p2pcrawl.wire.sealed.keys import DEFAULT_CLUSTER, KeyRing, cluster_bytes

_HEAD: Final = 3
_TAG: Final = 16
RECORD_MAX: Final = 0xFFFF - _TAG
"""Bytes of plaintext in one record; longer data is cut up."""


class _StreamState(Enum):
    GREETING = "greeting"
    PROVING = "proving"
    OPEN = "open"
    ENDED = "ended"
    FAILED = "failed"


class _RecordKind(IntEnum):
    PROOF = 1
    DATA = 2
    END = 3


class StreamSeal:
    """One end of one connection. Make it with :meth:`client` or :meth:`server`.

    Every LinkError is final: from then on nothing is opened any more. What is given to
    :meth:`send` on one end comes out of :meth:`receive` on the other in the same order, cut up anew.
    """

    def __init__(
        self, role: str, ring: KeyRing, identity: Identity, boot: bytes, cluster: str, expect: NodeId | None
    ) -> None:
        self._role = role
        self._other = "server" if role == "client" else "client"
        self._ring = ring
        self._identity = identity
        self._boot = boot
        self._cluster = cluster_bytes(cluster)
        self._expect = expect
        self._state = _StreamState.GREETING
        self._half: handshake.HalfKey | None = handshake.HalfKey() if role == "client" else None
        self._key = ring.in_use
        self._hello = b""
        self._transcript = b""
        self._buffer = bytearray()
        self._need = 1
        self._output = b""
        self._sealer: _Direction | None = None
        self._opener: _Direction | None = None
        self.key_id: bytes = ring.in_use_id
        """The id of the cluster key that the two ends met under; close the link when that key is removed."""
        self.peer: RemotePeer | None = None
        """The other end, once it is proven."""

    @classmethod
    def client(
        cls,
        ring: KeyRing,
        identity: Identity,
        boot: bytes,
        cluster: str = DEFAULT_CLUSTER,
        *,
        expect: NodeId | None = None,
    ) -> StreamSeal:
        """Makes the end that connected. With ``expect`` any other node at that address is refused."""
        return cls("client", ring, identity, boot, cluster, expect)

    @classmethod
    def server(cls, ring: KeyRing, identity: Identity, boot: bytes, cluster: str = DEFAULT_CLUSTER) -> StreamSeal:
        """Makes the end that accepted."""
        return cls("server", ring, identity, boot, cluster, None)

    @property
    def established(self) -> bool:
        """True once the other end is proven and data may be sent."""
        return self._state in (_StreamState.OPEN, _StreamState.ENDED)

    @property
    def ended(self) -> bool:
        """True once the other end said that nothing more will come."""
        return self._state is _StreamState.ENDED

    def begin(self) -> bytes:
        """Returns the client's hello; nothing for a server, which speaks only when spoken to."""
        if self._half is None or self._hello:
            return b""
        self._hello = handshake.hello(self._key, self.key_id, self._cluster, self._half)
        return self._hello

    def take_output(self) -> bytes:
        """Returns what the handshake has to say; write it after each :meth:`receive`, also one that raised."""
        output, self._output = self._output, b""
        return output

    def send(self, data: bytes) -> bytes:
        """Seals ``data`` into records. Raises LinkError unless :attr:`established`."""
        sealer = self._sealer
        if sealer is None or not self.established:
            raise LinkError("this stream is not open for sending")
        if len(data) <= RECORD_MAX:
            return sealer.seal(_RecordKind.DATA, data) if data else b""
        with memoryview(data) as view:
            pieces = [view[start : start + RECORD_MAX] for start in range(0, len(view), RECORD_MAX)]
            return b"".join([sealer.seal(_RecordKind.DATA, piece) for piece in pieces])

    def finish(self) -> bytes:
        """Makes the last record of this direction; nothing can be sent after it."""
        if self._sealer is None or not self.established:
            return b""
        last, self._sealer = self._sealer.seal(_RecordKind.END, b""), None
        return last

    def receive(self, data: bytes) -> list[bytes]:
        """Takes in bytes, and returns the plaintext that is complete now. Raises LinkError for anything that is not as
        it should be.
        """
        if self._state is _StreamState.FAILED:
            raise LinkError("this stream has failed before")
        if self._state is _StreamState.ENDED and data:
            raise self._failed(LinkError("the other end went on after its last record"))
        buffer = self._buffer
        buffer += data
        plain: list[bytes] = []
        start = 0
        try:
            while len(buffer) - start >= self._need:
                match self._state:
                    case _StreamState.GREETING:
                        start += self._greet(start)
                    case _StreamState.PROVING | _StreamState.OPEN:
                        start += self._record(start, plain)
                    case _:
                        raise LinkError("the other end went on after its last record")
        except LinkError as error:
            raise self._failed(error) from None
        del buffer[:start]
        return plain

    def eof(self) -> None:
        """Judges the end of the connection: raises LinkError unless the other end had finished."""
        match self._state:
            case _StreamState.ENDED | _StreamState.FAILED:
                return
            case _StreamState.OPEN:
                raise self._failed(LinkError("the link was cut"))
            case _ if self._role == "client" and not self._buffer and self._state is _StreamState.GREETING:
                raise self._failed(LinkError("the other end closed without an answer: is it a p2pcrawl peer?"))
            case _:
                raise self._failed(LinkError("the other end went away during the handshake"))

    def _failed(self, error: LinkError) -> LinkError:
        self._state = _StreamState.FAILED
        self._sealer = self._opener = None
        self._buffer = bytearray()
        return error

    def _greet(self, start: int) -> int:
        """Takes a readable message when it is whole; returns how many bytes are dealt with."""
        server = self._role == "server"
        wanted = (HandshakeKind.HELLO,) if server else (HandshakeKind.ANSWER, HandshakeKind.REFUSAL)
        head = self._buffer[start : start + handshake.PREFIX]
        try:
            kind = handshake.kind_of(head, wanted)
            size = handshake.PREFIX if kind is None else handshake.SIZES[kind]
            if kind is None or len(self._buffer) - start < size:
                # While the prefix is incomplete each byte is looked at, so that strangers are told apart early.
                self._need = len(head) + 1 if kind is None else size
                return 0
            message = bytes(self._buffer[start : start + size])
            if server:
                self._answer(message)
            elif kind is HandshakeKind.REFUSAL:
                raise handshake.refused(message, self.key_id, self._cluster)
            else:
                self._take_answer(message)
        except handshake.RefusedHello as error:
            if server:
                self._output = error.message
            raise
        self._state = _StreamState.PROVING
        self._need = _HEAD
        return size

    def _answer(self, message: bytes) -> None:
        """Answers a hello, as the server, and proves who we are."""
        name = handshake.named_key(message)
        key = self._ring.named(name)
        public = handshake.check_hello(message, key, self._cluster)
        assert key is not None
        self.key_id = name
        half = handshake.HalfKey()
        answer = handshake.answer(half)
        secrets = half.secrets(key, self._cluster, message, answer, public)
        self._sealer = _Direction(secrets.server_to_client)
        self._opener = _Direction(secrets.client_to_server)
        proof = handshake.proof(self._identity, "server", secrets.transcript, self._boot)
        self._transcript = handshake.after_server_proof(secrets.transcript, proof)
        self._output = answer + self._sealer.seal(_RecordKind.PROOF, proof)

    def _take_answer(self, message: bytes) -> None:
        """Takes the keys from the server's answer, as the client, and waits for the server's proof."""
        if self._half is None or not self._hello:
            raise LinkError("the other end answered before it was asked")
        secrets = self._half.secrets(self._key, self._cluster, self._hello, message, message[handshake.PREFIX :])
        self._half = None
        self._sealer = _Direction(secrets.client_to_server)
        self._opener = _Direction(secrets.server_to_client)
        self._transcript = secrets.transcript

    def _record(self, start: int, plain: list[bytes]) -> int:
        """Opens a record when it is whole; returns how many bytes are dealt with."""
        head = bytes(self._buffer[start : start + _HEAD])
        kind, size = head[0], int.from_bytes(head[1:], "big")
        self._check_head(kind, size - _TAG)
        if len(self._buffer) - start < _HEAD + size:
            self._need = _HEAD + size
            return 0
        assert self._opener is not None
        body = self._opener.open(head, self._buffer[start + _HEAD : start + _HEAD + size])
        self._need = _HEAD
        if kind == _RecordKind.DATA:
            plain.append(body)
        elif kind == _RecordKind.PROOF:
            self._take_proof(body)
        else:
            self._state = _StreamState.ENDED
            self._need = 1
        return _HEAD + size

    def _check_head(self, kind: int, size: int) -> None:
        """Refuses a record by its head, before waiting for its bytes."""
        if self._state is _StreamState.PROVING:
            right = kind == _RecordKind.PROOF and size == handshake.PROOF_BYTES
        else:
            right = (kind == _RecordKind.DATA and size > 0) or (kind == _RecordKind.END and size == 0)
        if not right:
            raise LinkError(f"the other end sent a record of kind {kind} and {size} bytes out of turn")

    def _take_proof(self, proof: bytes) -> None:
        peer = handshake.check_proof(proof, self._other, self._transcript)
        if peer.public_key == self._identity.public_key:
            if peer.boot == self._boot:
                raise handshake.OwnNode("this peer reached itself")
            raise CopiedIdentity(
                f"another process uses our identity, node {peer.node_id}: give each peer an identity of its own"
            )
        if self._role == "server" and self.key_id not in self._ring:
            # The key was taken away after our answer; half a handshake must not keep the door open for who has it.
            raise LinkError(f"the cluster key of this link ({self.key_id.hex()}) was removed meanwhile")
        if self._expect is not None and peer.node_id != self._expect:
            raise LinkError(f"the peer at this address is node {peer.node_id}, not {self._expect}")
        if self._role == "client":
            assert self._sealer is not None
            signed = handshake.after_server_proof(self._transcript, proof)
            own = handshake.proof(self._identity, "client", signed, self._boot)
            self._output = self._sealer.seal(_RecordKind.PROOF, own)
        self.peer = peer
        self._state = _StreamState.OPEN


class _Direction:
    """One direction's key and the number of its next record."""

    __slots__ = ("_count", "_key")

    def __init__(self, key: ChaCha20Poly1305) -> None:
        self._key = key
        self._count = 0

    def seal(self, kind: _RecordKind, data: bytes | memoryview) -> bytes:
        head = bytes((kind,)) + (len(data) + _TAG).to_bytes(2, "big")
        return head + self._key.encrypt(self._nonce(), data, head)

    def open(self, head: bytes, body: bytes | bytearray) -> bytes:
        """Raises LinkError unless this is the very next record of this direction."""
        try:
            return self._key.decrypt(self._nonce(), body, head)
        except InvalidTag:
            raise LinkError("a record was changed on the way, or is not of this stream") from None

    def _nonce(self) -> bytes:
        nonce = self._count.to_bytes(12, "big")
        self._count += 1
        return nonce
