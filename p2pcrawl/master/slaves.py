"""The slaves of a master: those of this machine and those that came over the network, from Hello to Bye."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import deque
from collections.abc import Callable
from time import monotonic

from p2pcrawl.master.group import Group, RunHere
from p2pcrawl.master.session import Session
from p2pcrawl.model.errors import LinkError
from p2pcrawl.model.settings import Settings
from p2pcrawl.overlay.link import Link, open_link
from p2pcrawl.wire.codec import AnyMessage
from p2pcrawl.wire.messages import PROTOCOL, Beat, Bye, Hello, Report, Returned, Stop, Welcome

log = logging.getLogger(__name__)

WATCH_S = 1.0


class Slaves:
    """Their sessions by number. What they report waits in the sessions' inboxes for the master's next turn; sessions
    that have ended wait in ``gone``. ``wake`` is called whenever there is something for that turn."""

    def __init__(
        self,
        settings: Settings,
        count: int,
        run_here: RunHere,
        wake: Callable[[], None],
        left: Callable[[Bye], None],
        *,
        output_to_stderr: bool = False,
        errors_to: int | None = None,
    ) -> None:
        """``left`` hears of slaves that leave in anger."""
        self._settings = settings
        self._count = count
        self._wake = wake
        self._left = left
        self._session_last = 0
        self._leaving = False
        self.sessions: dict[int, Session] = {}
        self.gone: deque[Session] = deque()
        self.group = Group(count, self.connected, run_here, output_to_stderr=output_to_stderr, errors_to=errors_to)

    async def connected(self, stream: socket.socket, pid: int) -> Callable[[], None]:
        """A slave of this machine, over a socket pair."""

        def received(message: AnyMessage) -> None:
            self.received(session, message)

        def lost(error: Exception | None) -> None:
            self._lost(session, error)

        link = await open_link(stream, received, lost)
        session = self._welcome(link)
        session.process = pid
        return link.abort

    def take(self, link: Link, hello: Hello) -> None:
        """A slave of another machine, over a link that is sealed."""
        session = self._welcome(link)
        link.on_message = lambda message: self.received(session, message)
        link.on_close = lambda error: self._lost(session, error)
        self.received(session, hello)

    def stop(self) -> None:
        """Lets all of them finish what is open and leave."""
        self._leaving = True
        self.group.stop_replacing()
        for session in self.sessions.values():
            self._stop(session)

    def abort(self) -> None:
        """Cuts their links."""
        self.group.stop_replacing()
        for session in list(self.sessions.values()):
            session.link.abort()

    async def watch(self) -> None:
        """Replaces slaves that have fallen silent."""
        while True:
            before = monotonic()
            await asyncio.sleep(WATCH_S)
            now = monotonic()
            for session in self.silent(now, now - before - WATCH_S):
                silence = now - session.heard_at
                who = session.pid or session.process
                log.warning("slave %d has been silent for %.0f s and is replaced", who, silence)
                session.heard_at = now
                self.group.kill(session.process)
                session.link.abort()
            self._wake()

    def silent(self, now: float, late_s: float) -> list[Session]:
        """The slaves to be replaced. For the time in which this process itself stood still none is blamed."""
        for session in self.sessions.values():
            session.heard_at = min(now, session.heard_at + late_s)
        return [s for s in self.sessions.values() if now - s.heard_at > self._settings.slave_silence]

    def received(self, session: Session, message: AnyMessage) -> None:
        """Raises LinkError for what a slave does not say."""
        session.heard_at = monotonic()
        match message:
            case Report() | Returned():
                session.inbox.append(message)
                self._wake()
            case Beat():
                session.rss_bytes = message.rss_bytes
            case Hello():
                if message.protocol != PROTOCOL:
                    raise LinkError(f"the slave speaks protocol {message.protocol}, this master {PROTOCOL}")
                session.pid, session.ready = message.pid, True
                self.group.greeted(message.pid)
                self._wake()
            case Bye():
                session.stopping = True
                if message.reason:
                    self._left(message)
                # It waits for this, so that nothing more is said to a link whose other end is closed.
                session.link.close()
            case _:
                raise LinkError(f"a slave does not say {type(message).__name__}")

    def _welcome(self, link: Link) -> Session:
        self._session_last += 1
        number = self._session_last
        slots = max(1, -(-self._settings.concurrent_requests // max(1, self._count)))
        session = self.sessions[number] = Session(number, link, slots + slots // 2, monotonic())
        link.send(Welcome(PROTOCOL, number, slots, self._settings.log_level.upper()))
        if self._leaving:
            self._stop(session)
        return session

    def _stop(self, session: Session) -> None:
        if not session.stopping:
            session.stopping = True
            session.link.send(Stop())

    def _lost(self, session: Session, error: Exception | None) -> None:
        session.lost = True
        if error is not None:
            log.warning("slave %d: %s", session.pid, error)
        self.gone.append(session)
        self._wake()
