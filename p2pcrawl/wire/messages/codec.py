"""Frames: four bytes of length, then one msgpack message.

The length is checked before memory is taken for it, and a message that is not of the agreed shape
raises LinkError; after that the stream has no meaning any more and is to be closed.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from p2pcrawl.model.errors import LinkError
from p2pcrawl.wire.messages.ask import PeerReply, PeerRequest
from p2pcrawl.wire.messages.peer_messages import ClusterMessage
from p2pcrawl.wire.messages.slave_messages import Message

FRAME_MAX = 64 * 1024 * 1024
_HEAD = 4

_encoder = msgspec.msgpack.Encoder()
AnyMessage = Message | ClusterMessage
"""What may arrive."""
Said = AnyMessage | PeerRequest[PeerReply] | PeerReply
"""What may be said: any of these; who carries requests and replies need not know which they are."""

_decoder: msgspec.msgpack.Decoder[AnyMessage] = msgspec.msgpack.Decoder(AnyMessage)


def encode(message: Said) -> bytes:
    """Encodes a message as one frame. Raises LinkError when the message is over the limit."""
    body = _encoder.encode(message)
    if len(body) > FRAME_MAX:
        raise LinkError(f"a message of {len(body)} bytes is over the limit of {FRAME_MAX}")
    return len(body).to_bytes(_HEAD, "big") + body


class FrameReader:
    """Bytes as they arrive in, whole messages out."""

    def __init__(self, frame_max: int = FRAME_MAX) -> None:
        self._buffer = bytearray()
        self._frame_max = frame_max

    def feed(self, data: bytes) -> Iterator[AnyMessage]:
        """Yields every message that is complete now. Raises LinkError on nonsense."""
        buffer = self._buffer
        buffer += data
        start = 0
        try:
            while len(buffer) - start >= _HEAD:
                size = int.from_bytes(buffer[start : start + _HEAD], "big")
                if size > self._frame_max:
                    raise LinkError(f"a frame of {size} bytes is over the limit of {self._frame_max}")
                end = start + _HEAD + size
                if len(buffer) < end:
                    break
                body = bytes(memoryview(buffer)[start + _HEAD : end])
                start = end
                try:
                    message = _decoder.decode(body)
                except (msgspec.MsgspecError, RecursionError, ValueError) as error:
                    raise LinkError(f"not a message: {error}") from error
                yield message
        finally:
            del buffer[:start]
