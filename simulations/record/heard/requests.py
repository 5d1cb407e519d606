"""Requests that wait for their answers: by whoever asked whom, and the number that the answer repeats."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import Any, Final

import msgspec

from p2pcrawl.core.buckets.bitmaps import buckets_of
from p2pcrawl.wire.messages.codec import AnyMessage

_HEAD: Final = 4
_decoder: msgspec.msgpack.Decoder[AnyMessage] = msgspec.msgpack.Decoder(AnyMessage)
_Asked = tuple[str, str, int]


@lru_cache(1)
def opened(frame: bytes) -> Any:
    """Returns the message in a frame. Several ask for it, one after the other."""
    return _decoder.decode(memoryview(frame)[_HEAD:])


@lru_cache(64)
def in_order(bitmap: bytes) -> tuple[int, ...]:
    """Returns the buckets of a bitmap, as what is told of each follows it in a message."""
    return tuple(sorted(buckets_of(bitmap)))


class Requests:
    """The requests that have come to somebody, until they are answered."""

    def __init__(self) -> None:
        self._open: dict[_Asked, tuple[float, Any]] = {}

    def came(self, node: str, peer: str, number: int, now_s: float, what: Any) -> None:
        """Takes down what somebody was asked for, and when."""
        self._open[peer, node, number] = now_s, what

    def answered(self, node: str, peer: str, number: int) -> tuple[float, Any] | None:
        """Returns when that came which is answered now, and what of it was taken down."""
        return self._open.pop((peer, node, number), None)

    def answered_as(self, node: str, peer: str, number: int, kinds: Collection[str]) -> tuple[float, Any] | None:
        """Returns the same of a request of one of these kinds, which is what was taken down of it first. What is
        answered to somebody as it was in its last life may have the number of another request of this one.
        """
        _, what = self._open.get((peer, node, number), (0.0, ("",)))
        return self.answered(node, peer, number) if what[0] in kinds else None
