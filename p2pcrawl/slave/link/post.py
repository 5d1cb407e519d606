"""A slave's end of its link, and the beats that keep its session.

The theory. Callbacks run on the slave's loop, and one that blocks or computes stops it. A session is renewed every
second by a beat and its answer; if these needed the loop's turn, each long callback would cost the session, and with it
the pages that are open beside it. So in a slave process the link lives in a thread of its own, with a loop that runs
nothing else: it reads, opens what is sealed, sends the beats and takes their answers (:class:`PostApart`). All else
that is said goes through it in order, from and to the slave's loop. Where the slave shares its process with its
master, or the clock is a simulation's, there is one loop and no thread (:class:`Post`).

A beat says that the process lives, and for how long its loop has stood still. Who stands still for longer than its
master has patience (``SLAVE_SILENCE``) is ended: by its own thread, or, if code in C does not let go of the interpreter
so that not even a thread gets its turn, by whoever started it. Nobody may be left who could; then the system does, by a
timer of what the process computes, which the thread sets anew with each sign. It counts no time in which the process,
or all of the machine, stood still; it is no child's.
"""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import signal
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from time import monotonic
from typing import Any

from p2pcrawl.model.errors import LinkError
from p2pcrawl.model.timings import TIMINGS
from p2pcrawl.overlay.link import OnClose, OnMessage, PeerLink
from p2pcrawl.slave.link.fence import Fence
from p2pcrawl.wire.messages.codec import AnyMessage, encode
from p2pcrawl.wire.messages.desk import Desk
from p2pcrawl.wire.messages.slave_messages import Beat, Renewed
from p2pcrawl.wire.sealed.tls import Seal

log = logging.getLogger(__name__)

CLOSE_S = 2.0
"""How long the thread may take to end."""
ORPHANED_S = 10.0
"""How long a callback, or a pipeline that closes, may go on when the only master that its process has is gone. And
how much longer than its master has patience a process may compute that lets no thread have its turn."""


class Pulse:
    """The beats of one session, and what their answers mean. Belongs to the loop of the link."""

    def __init__(self, session: int, fence: Fence, silence_s: float) -> None:
        """``silence_s``: for how long the loop may stand still."""
        self._session = session
        self._fence = fence
        self._number = 0
        self.silence_s = silence_s

    def beat(self, held_up_s: float) -> Beat:
        """Makes the next Beat, which is about to be sent."""
        self._number += 1
        self._fence.sent(self._number)
        used = resource.getrusage(resource.RUSAGE_SELF)
        cpu_s = used.ru_utime + used.ru_stime
        return Beat(used.ru_maxrss * 1024, self._session, self._number, held_up_s, cpu_s)

    def answered(self, message: Renewed) -> None:
        if message.session == self._session:
            self._fence.renewed(message.beat)


class Post:
    """On the slave's own loop. Make it there; ``on_message`` and ``on_close`` are as a link's."""

    def __init__(self, on_message: OnMessage, on_close: OnClose, seal: Seal | None = None) -> None:
        self._on_message = on_message
        self._link = PeerLink(self._heard, on_close, seal)
        self.send: Callable[[AnyMessage], int] = self._link.send
        """Queues one message and returns its size. Raises LinkError for one that can never be sent."""
        self._pulse: Pulse | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def connect(self, **where: Any) -> None:
        """Raises OSError when nobody is there. ``where`` is as for a loop's create_connection."""
        await asyncio.get_running_loop().create_connection(lambda: self._link, **where)

    def close(self) -> None:
        """Sends what is queued, then closes."""
        self._link.close()

    def abort(self, error: Exception | None = None) -> None:
        """Closes at once."""
        self._link.abort(error)

    def begin(self, pulse: Pulse) -> None:
        """Begins the beats of a session."""
        self._pulse = pulse
        self._timer = asyncio.get_running_loop().call_later(TIMINGS.beat_s, self._beat)

    def end(self) -> None:
        """Ends the beats: the session is over."""
        self._pulse = None
        if self._timer is not None:
            self._timer.cancel()

    # -- on the loop of the link --------------------------------------------------------------

    def _heard(self, message: AnyMessage) -> None:
        if not isinstance(message, Renewed):
            self._on_message(message)
        elif (pulse := self._pulse) is not None:
            pulse.answered(message)

    def _beat(self) -> None:
        if (pulse := self._pulse) is not None:
            self._link.send(pulse.beat(0.0))
            self._timer = asyncio.get_running_loop().call_later(TIMINGS.beat_s, self._beat)


class _Gone(Exception):
    """The link is, with this error or none. Comes after all that was heard on it."""


class PostApart(Post):
    """In a thread of its own. ``only``: with this link the process has nothing left to live for."""

    def __init__(
        self, thread: PostThread, on_message: OnMessage, on_close: OnClose, seal: Seal | None, *, only: bool
    ) -> None:
        super().__init__(on_message, self._lost, seal)
        self._said = on_message
        self._closed = on_close
        self._thread = thread
        self._only = only
        self._outgoing: deque[bytes | Callable[[], None]] = deque()
        self._incoming: deque[AnyMessage | _Gone] = deque()
        self._fetching = self._delivering = False
        """It is on its way already."""
        self._on_message, self.send = self._deliver, self._hand_in

    async def connect(self, **where: Any) -> None:
        async def open_link() -> None:
            await self._thread.loop.create_connection(lambda: self._link, **where)

        await asyncio.wrap_future(self._thread.run(open_link()))

    def _hand_in(self, message: AnyMessage) -> int:
        frame = encode(message)
        self._put(frame)
        return len(frame)

    def close(self) -> None:
        self._put(self._link.close)

    def abort(self, error: Exception | None = None) -> None:
        self._put(lambda: self._link.abort(error))

    def begin(self, pulse: Pulse) -> None:
        self._pulse = pulse
        self._thread.expect(pulse.silence_s)
        self._thread.loop_runs()
        self._put(self._start_beats)

    def end(self) -> None:
        self._pulse = None

    # -- between the two loops ----------------------------------------------------------------

    def _put(self, what: bytes | Callable[[], None]) -> None:
        self._outgoing.append(what)
        if not self._fetching:
            self._fetching = True
            self._thread.call(self._fetch)

    def _deliver(self, message: AnyMessage | _Gone) -> None:
        self._incoming.append(message)
        if not self._delivering:
            self._delivering = True
            self._thread.call_back(self._hand_over)

    def _hand_over(self) -> None:
        """Hands messages over, on the slave's loop."""
        self._delivering = False
        while self._incoming:
            message = self._incoming.popleft()
            if isinstance(message, _Gone):
                self._only = False
                self._closed(message.args[0])
                continue
            try:
                self._said(message)
            except LinkError as error:
                self.abort(error)

    # -- in the thread ------------------------------------------------------------------------

    def _fetch(self) -> None:
        self._fetching = False
        while self._outgoing:
            what = self._outgoing.popleft()
            if isinstance(what, bytes):
                self._link.send_frame(what)
            else:
                what()

    def _start_beats(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._thread.loop.call_later(TIMINGS.beat_s, self._beat)

    def _beat(self) -> None:
        pulse = self._pulse
        if pulse is None:
            return
        held_up_s = self._thread.held_up_s()
        if held_up_s > pulse.silence_s:
            log.warning("a callback has held up this slave for %.0f s: it ends", held_up_s)
            os._exit(1)
        self._link.send(pulse.beat(held_up_s))
        self._timer = self._thread.loop.call_later(TIMINGS.beat_s, self._beat)

    def _lost(self, error: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._deliver(_Gone(error))
        if self._only:
            self._thread.loop.call_later(ORPHANED_S, self._leave)

    def _leave(self) -> None:
        """Ends the process if the slave has not even heard yet that its master is gone."""
        if self._only:
            log.warning("the master is gone, and a callback still runs: the slave ends without it")
            os._exit(1)


class PostThread:
    """The thread, for all the links that a slave has in its life. Make it on the slave's loop."""

    def __init__(self, new_loop: Callable[[], asyncio.AbstractEventLoop], desk: Desk | None = None) -> None:
        """``desk``: where it shows that it has its turns."""
        self._desk = desk
        self._silence_s = 0.0
        self._main = asyncio.get_running_loop()
        self.loop = new_loop()
        self._ran_at = monotonic()
        self._thread = threading.Thread(target=self._run, name="post", daemon=True)
        self._thread.start()
        self.call(self._sign)
        self._tick()

    def call(self, what: Callable[[], None]) -> None:
        """Calls in the thread, soon."""
        with suppress(RuntimeError):  # it is closed
            self.loop.call_soon_threadsafe(what)

    def call_back(self, what: Callable[[], None]) -> None:
        """Calls on the slave's loop, soon."""
        with suppress(RuntimeError):
            self._main.call_soon_threadsafe(what)

    def run(self, work: Any) -> Future[None]:
        """Runs work in the thread, to its end."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def loop_runs(self) -> None:
        """Notes that the slave's loop is not held up."""
        self._ran_at = monotonic()

    def held_up_s(self) -> float:
        """Returns for how long the slave's loop has been held up."""
        held_up_s = monotonic() - self._ran_at
        return held_up_s if held_up_s > 2 * TIMINGS.beat_s else 0.0

    def close(self) -> None:
        """Closes the links that are open with the thread. Only what was sent by then is."""
        self._ticking.cancel()
        # What was queued goes out in the turn that is begun here.
        self.call(self._stop_soon)
        self._thread.join(CLOSE_S)

    def _tick(self) -> None:
        self.loop_runs()
        self._ticking = self._main.call_later(TIMINGS.beat_s / 2, self._tick)

    def expect(self, silence_s: float) -> None:
        """Sets for how long the process may be without a sign."""
        self._silence_s = silence_s
        if self._desk is not None:
            self._desk.expect(silence_s)

    def _sign(self) -> None:
        if self._desk is not None:
            self._desk.sign()
            if self._silence_s and hasattr(signal, "setitimer"):
                signal.setitimer(signal.ITIMER_VIRTUAL, self._silence_s + ORPHANED_S)
            self.loop.call_later(TIMINGS.beat_s, self._sign)

    def _stop_soon(self) -> None:
        self._desk = None
        self.loop.call_soon(self.loop.stop)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        finally:
            self.loop.close()
