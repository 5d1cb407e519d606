"""TCP as two machines keep it: ends, and a pipe for each direction.

Bytes arrive in order and once. Loss costs a retransmission; a path that is cut is tried again, less and
less often, and the sender gives up after its patience. A sender has at most a window of bytes on their way
or unread; what more its program writes stays with the program, whose transport then pauses it.
"""

from __future__ import annotations

import errno
import os
from collections import deque
from typing import TYPE_CHECKING, Final, Protocol

from .life import Life
from .paths import Path

if TYPE_CHECKING:
    from .network import Network
    from .node import Node

WINDOW: Final = 256 * 1024
_RETRY_MIN_S: Final = 0.2
_RETRY_MAX_S: Final = 120.0
_HEADER: Final = 40


def os_error(code: int) -> OSError:
    """Makes the exception that the operating system would give; Python picks the subclass."""
    return OSError(code, os.strerror(code))


class Reader(Protocol):
    """The transport on top of an end. Called by the world, so it must turn to its program's context itself."""

    def arrived(self) -> None: ...

    def room(self) -> None: ...

    def broken(self, error: OSError) -> None: ...

    def silence(self) -> None:
        """Counts as closed from now on, and does nothing: the world ended."""


class End:
    """One end of a connection: what the kernel of its machine knows."""

    def __init__(self, network: Network, life: Life, local: tuple[str, int], remote: tuple[str, int]) -> None:
        self._network = network
        self.life = life
        self.node: Node = life.node
        self.local = local
        self.remote = remote
        self.out: Pipe
        """The direction away from here; set when both ends exist."""
        self.into: Pipe
        self.arrived: deque[bytes] = deque()
        """Bytes to read; an empty one is the end of the stream."""
        self.reader: Reader | None = None
        self.error: OSError | None = None
        self.closed = False
        """The program has no more to do with it."""
        life.node.ends[id(self)] = self

    def receive(self, data: bytes) -> None:
        """Takes in bytes from the pipe, in order."""
        if self.closed or self.error is not None:
            if data:
                self.out.reset()
            return
        self.arrived.append(data)
        if self.reader is not None:
            self.reader.arrived()

    def fail(self, error: OSError) -> None:
        """Ends the connection with an error: the peer said so, or it was silent for too long."""
        if self.closed or self.error is not None:
            return
        self.error = error
        self.arrived.clear()
        self._forget()
        if self.reader is not None:
            self.reader.broken(error)

    def close(self, *, polite: bool = True) -> None:
        """Ends reading and writing here. What was written still arrives; impolite ends say so at once."""
        if self.closed:
            return
        self.closed = True
        self._forget()
        if self.error is None:
            if polite:
                self.out.send(b"")
            else:
                self.out.reset()
                self.out.give_up()

    def close_unused(self) -> None:
        """Closes unless a transport owns it."""
        if self.reader is None:
            self.close()

    def vanish(self) -> None:
        """Goes with its machine, which lost its power: nobody hears anything, and nothing is sent again."""
        self.closed = True
        self._forget()
        self.out.give_up()

    def _forget(self) -> None:
        self.node.ends.pop(id(self), None)


class Pipe:
    """One direction of a connection."""

    def __init__(self, network: Network, source: End, target: End, path: Path, back: Path) -> None:
        self._network = network
        self._loop = network.loop
        self._source = source
        self._target = target
        self._path = path
        self._back = back
        self._unread = 0
        """Bytes that the target has not read, as far as the source knows."""
        self._acks: deque[tuple[float, int]] = deque()
        """What was read, and when the source hears of it."""
        self._held_acks = 0
        self._last_arrival = 0.0
        self._stuck: deque[bytes] = deque()
        self._flushing = False
        self._stalled_since: float | None = None
        self._held_until = 0.0
        self._wants_room = False
        self._gone = False
        self._ended = False

    def room(self) -> int:
        """Returns how many bytes may be sent now."""
        acks, now = self._acks, self._loop.now
        while acks and acks[0][0] <= now:
            self._unread -= acks.popleft()[1]
        return WINDOW - self._unread

    def hold_up(self, until: float) -> None:
        """Lets nothing arrive until a moment: neither what is on its way, nor what is sent behind it."""
        self._held_until = max(self._held_until, until)

    def want_room(self) -> None:
        """Tells the reader of the source when there is room again."""
        if not self._wants_room:
            self._wants_room = True
            if self._acks:
                self._loop.world_at(self._acks[0][0], self._offer_room)

    def send(self, data: bytes) -> None:
        """Puts bytes on their way; empty ones end the stream."""
        if self._ended or self._gone:
            return
        self._ended = not data
        self._unread += len(data)
        now, path = self._loop.now, self._path
        size = len(data) + _HEADER
        self._network.count_segment(path, data)
        when = path.turn(now, size) + path.delay()
        wait = max(_RETRY_MIN_S, 2 * path.law.latency_s)
        while path.loses():
            when += wait
            wait = min(2 * wait, _RETRY_MAX_S)
            self._network.traffic.retransmitted += 1
        if (hesitation := path.source.hesitation) is not None and path.source is not path.target:
            when += hesitation.of_segment_s()
        self._last_arrival = when = max(when, self._last_arrival)
        self._loop.world_at(when, self._arrive, data)

    def reset(self) -> None:
        """Tells the target that this connection is no more. It may get lost: nobody sends it again."""
        path = self._path
        if not path.source.off and not path.closed and not path.loses():
            self._loop.world_at(self._loop.now + path.delay(), self._reset_arrives)

    def read(self, size: int) -> None:
        """Acknowledges so many bytes, which the target's program has read."""
        if self._back.closed:
            self._held_acks += size
            self._stall()
            return
        when = self._loop.now + self._back.law.latency_s
        if self._acks:
            when = max(when, self._acks[-1][0])
        self._acks.append((when, size))
        if self._wants_room and len(self._acks) == 1:
            self._loop.world_at(when, self._offer_room)

    def give_up(self) -> None:
        """Sends nothing of the source any more, not even again."""
        self._gone = True
        self._stuck.clear()

    def _arrive(self, data: bytes) -> None:
        self._network.witness_segment(self._path, data)
        if self._stuck or self._flushing or self._path.closed:
            if not self._gone:
                self._stuck.append(data)
                self._stall()
            return
        if self._loop.now < self._held_until:
            if not self._gone:
                self._stuck.append(data)
                self._flush()
            return
        self._target.receive(data)

    def _reset_arrives(self) -> None:
        if not self._path.closed:
            self._target.fail(os_error(errno.ECONNRESET))

    def _offer_room(self) -> None:
        if not self._wants_room:
            return
        if self.room() <= 0:
            if self._acks:
                self._loop.world_at(self._acks[0][0], self._offer_room)
            return
        self._wants_room = False
        if self._source.reader is not None and not self._source.closed:
            self._source.reader.room()

    def _stall(self) -> None:
        if self._stalled_since is None:
            self._stalled_since = self._loop.now
            self._loop.world_at(self._loop.now + _RETRY_MIN_S, self._retry, _RETRY_MIN_S)

    def _retry(self, waited_s: float) -> None:
        since, now = self._stalled_since, self._loop.now
        if since is None or self._gone or (self._source.error is not None):
            self._stuck.clear()
            return
        if (self._stuck and self._path.closed) or self._back.closed:
            if now - since >= self._network.stream_patience_s:
                self.give_up()
                self._source.fail(os_error(errno.ETIMEDOUT))
                return
            wait_s = min(2 * waited_s, _RETRY_MAX_S, max(since + self._network.stream_patience_s - now, 0.001))
            self._loop.world_at(now + wait_s, self._retry, wait_s)
            return
        self._stalled_since = None
        if self._held_acks:
            size, self._held_acks = self._held_acks, 0
            self.read(size)
        if self._stuck:
            self._flushing = True
            self._loop.world_at(now + self._path.delay(), self._flush)

    def _flush(self) -> None:
        self._flushing = self._loop.now < self._held_until
        if self._flushing:
            self._loop.world_at(self._held_until, self._flush)
            return
        while self._stuck:
            if self._path.closed:
                self._stall()
                return
            self._target.receive(self._stuck.popleft())
