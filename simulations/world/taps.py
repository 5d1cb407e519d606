"""Taps: where the links of running peers tell of their moments.

For the length of a run both ends of each link are led past here; the peers' code has no switch for it. What a
listener does on the spot holds: a message of who dies before it leaves is not sent, one of who stands still waits till
it goes on, and what comes to the dead is looked at by nobody.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, get_args

from p2pcrawl.overlay.link import PeerLink
from p2pcrawl.wire.messages.codec import AnyMessage, FrameReader

from ..kernel.life import LIFE, Life
from ..kernel.moments import CAME, COMES, LEAVES, LEFT
from .world import World

_HEAD: Final = 4
_SHORT, _LONG = range(0x90, 0xA0), 0xDC
KINDS: Final[dict[int, str]] = {each.__struct_config__.tag: each.__name__ for each in get_args(AnyMessage)}
"""The names of messages, by the tags that they begin with."""


def kind_of(frame: bytes) -> str:
    """Returns the name of the message in a frame, from its first bytes."""
    at = _HEAD + 1 if frame[_HEAD] in _SHORT else _HEAD + 3 if frame[_HEAD] == _LONG else _HEAD
    return KINDS.get(frame[at], "")


@contextmanager
def tapped(world: World) -> Iterator[None]:
    """Lets all links tell the world's moments of their messages, for the block."""
    real: Any = (PeerLink.send_frame, PeerLink.data_received, FrameReader.feed)
    moments, links = world.moments, [None]

    def peer_of(link: Any) -> str:
        node = world.network.owner(link.remote_host) if link is not None else None
        return "" if node is None else node.name

    def send_frame(link: PeerLink, frame: bytes) -> None:
        kind = kind_of(frame)
        life = _life() if moments.matters(kind) and not link.closed else None
        if life is None:
            real[0](link, frame)
            return
        peer, end = peer_of(link), _end_of(link)
        moments.happen(life.node.name, kind, LEAVES, peer, frame, end)
        if life.dead:
            return
        if life.halted:
            world.loop.call_soon(real[0], link, frame)
        else:
            real[0](link, frame)
        moments.happen(life.node.name, kind, LEFT, peer, frame, end)

    def data_received(link: Any, data: bytes) -> None:
        links.append(link)
        try:
            real[1](link, data)
        finally:
            links.pop()

    def feed(reader: FrameReader, data: bytes) -> Iterator[AnyMessage]:
        life = _life()
        if life is None:
            yield from real[2](reader, data)
            return
        for message in real[2](reader, data):
            kind = type(message).__name__
            if not moments.matters(kind):
                yield message
                if _over(life):
                    return
                continue
            peer, end = peer_of(links[-1]), _end_of(links[-1])
            moments.happen(life.node.name, kind, COMES, peer, message, end)
            if not life.dead:
                yield message
            if _over(life):
                return
            moments.happen(life.node.name, kind, CAME, peer, message, end)

    _put(send_frame, data_received, feed)
    try:
        yield
    finally:
        _put(*real)


def _life() -> Life | None:
    """Returns the life of the calling code, if it still is one."""
    life = LIFE.get()
    return None if life is None or life.dead else life


def _end_of(link: Any) -> Any:
    """Returns the end of the connection that a link goes over."""
    return getattr(getattr(link, "_transport", None), "_end", None)


def _over(life: Life) -> bool:
    """Tells whether it has ended by now."""
    return life.dead


def _put(send_frame: Any, data_received: Any, feed: Any) -> None:
    link, reader = PeerLink, FrameReader
    setattr(link, "send_frame", send_frame)  # noqa: B010
    setattr(link, "data_received", data_received)  # noqa: B010
    setattr(reader, "feed", feed)  # noqa: B010
