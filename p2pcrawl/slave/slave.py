"""A slave: its way from one session to the next.

A slave of this machine serves one link, that to the process which started it, and ends with it. A slave of another
machine outlives its masters: when a link or a session ends it stops fetching, keeps what was not acknowledged, and
reports it to the next master that it works for (see ``slave.following``).

A session that was not renewed in time is over although its link may be there: then the slave says Hello anew.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable
from itertools import count
from typing import Any

from p2pcrawl.fetch.connection.client import HttpClient
from p2pcrawl.fetch.connection.fetcher import OpenFetcher
from p2pcrawl.model.errors import FetchError, LinkError, StorageError
from p2pcrawl.model.outcome import Failure
from p2pcrawl.model.printable import LogLines
from p2pcrawl.overlay.link import OnClose
from p2pcrawl.overlay.tasks import end
from p2pcrawl.slave.link.orphans import Orphanage
from p2pcrawl.slave.link.post import Post, PostApart, PostThread
from p2pcrawl.slave.pages.traces import sendable
from p2pcrawl.slave.session import End, SlaveSession
from p2pcrawl.slave.stored.page_seeking import PageSeeking
from p2pcrawl.slave.work.doors import Doors, PeersHere
from p2pcrawl.slave.work.jobs import Jobs
from p2pcrawl.spiders.spider import Spider
from p2pcrawl.wire.messages.codec import AnyMessage
from p2pcrawl.wire.messages.desk import Desk
from p2pcrawl.wire.messages.slave_messages import (
    PROTOCOL,
    Bye,
    CloseJob,
    Hello,
    SeekLinks,
    SeekPage,
    Welcome,
)
from p2pcrawl.wire.sealed.tls import Seal

log = logging.getLogger(__name__)

WELCOME_S = 5.0
"""How long a master of another machine may take to answer a Hello before the slave looks for another."""
HANG_UP_S = 2.0
"""How long a slave that has said Bye waits for its master to close the link."""


class Slave:
    """Runs on the current loop. ``classes`` are spiders that this process has at hand, by job name; others are
    imported. ``open_fetcher`` is its way to the web. With ``new_loop`` its links are in a thread of their own, on a
    loop that this makes. ``peers_here`` tells where peers of this machine listen; on ``desk`` is shown
    that the thread has its turns."""

    def __init__(
        self,
        classes: dict[str, type[Spider]] | None = None,
        open_fetcher: OpenFetcher = HttpClient,
        new_loop: Callable[[], asyncio.AbstractEventLoop] | None = None,
        peers_here: PeersHere | None = None,
        desk: Desk | None = None,
        *,
        follows: bool = True,
    ) -> None:
        """``follows``: pages lead to others."""
        self._loop = asyncio.get_running_loop()
        self._thread = PostThread(new_loop, desk) if new_loop is not None else None
        self._jobs = Jobs(
            classes or {},
            open_fetcher,
            self._fail,
            Doors(peers_here),
            self._close_job,
            seeking=PageSeeking(self._seek),
            follows=follows,
        )
        self._orphanage = Orphanage()
        self._numbers = count(1)
        self._stragglers: list[asyncio.Task[None]] = []
        self._failure: Bye | None = None
        self._leaving = False
        self.parting: asyncio.Future[None] = self._loop.create_future()
        """Done when it is about to leave."""
        self._session: SlaveSession | None = None
        self._welcomed: asyncio.Future[SlaveSession | None] = self._loop.create_future()

    async def run(self, stream: socket.socket) -> None:
        """Serves one link until it is stopped or lost."""
        stream.setblocking(False)
        try:
            await self._serve(None, None, sock=stream)
        finally:
            await self.close()

    async def connect(self, host: str, port: int, seal: Seal) -> None:
        """Serves a master of another machine over a sealed link, until it is stopped, lost or does not answer.

        Raises LinkError when there is no such master. What was not acknowledged is kept for the next one;
        :meth:`close` comes last.
        """
        await self._serve(seal, WELCOME_S, host=host, port=port)

    def leave(self) -> None:
        """Finishes what is open and is not too slow, reports it, and ends."""
        if self._leaving:
            return
        self._leaving = True
        self._part()
        if self._session is not None:
            self._session.depart()
        elif not self._welcomed.done():
            self._welcomed.set_result(None)

    @property
    def leaving(self) -> bool:
        """True once it works for nobody any more."""
        return self._leaving or self._failure is not None

    async def close(self) -> None:
        """Gives up what still runs; closes the spiders."""
        self._orphanage.close()
        await self._close_jobs()
        if self._thread is not None:
            self._thread.close()

    # -- one link -----------------------------------------------------------------------------

    async def _serve(self, seal: Seal | None, patience_s: float | None, **where: Any) -> None:
        """Serves one master. ``patience_s``: how long it may take to answer; None: it is this slave's only one."""
        gone: asyncio.Future[Exception | None] = self._loop.create_future()

        def lost(error: Exception | None) -> None:
            gone.set_result(error)
            if self._session is not None:
                self._session.end(End.LOST)

        self._post = post = self._make_post(lost, seal, only=patience_s is None)
        self._expect_welcome()
        try:
            async with asyncio.timeout(patience_s):
                await post.connect(**where)
        except OSError as error:
            raise LinkError(f"cannot be reached: {error.strerror or error or 'no answer'}") from error
        session: SlaveSession | None = None
        parting: Bye | None = None
        try:
            while True:
                self._asked_at = self._loop.time()
                post.send(Hello(PROTOCOL, os.getpid()))
                answers: list[asyncio.Future[Any]] = [self._welcomed, gone]
                await asyncio.wait(answers, timeout=patience_s, return_when=asyncio.FIRST_COMPLETED)
                session = self._welcomed.result() if self._welcomed.done() else None
                if session is None:
                    if patience_s is not None and gone.done() and (ended_by := gone.result()) is not None:
                        raise LinkError(f"it hung up: {ended_by}") from ended_by
                    break
                how = await self._work(session)
                if how not in (End.FENCED, End.HALTED) or self.leaving:
                    break
                why = "its master gave it up" if how is End.HALTED else "it was not renewed in time"
                log.warning("the session is over, %s: what was open is given up", why)
                self._expect_welcome()
            parting = Bye()
        finally:
            self._session = None
            if patience_s is None or self.leaving:
                await self._close_jobs()
            # A slave that fails does not part: that something in its hands ended it has to count.
            parting = self._failure or parting
            if parting is not None and not gone.done():
                post.send(parting)
                if session is not None:
                    # What the master says meanwhile to a closed link would cost it our last words.
                    await asyncio.wait([gone], timeout=HANG_UP_S)
            post.close()

    def _make_post(self, lost: OnClose, seal: Seal | None, *, only: bool) -> Post:
        if self._thread is None:
            return Post(self._received, lost, seal)
        return PostApart(self._thread, self._received, lost, seal, only=only)

    def _expect_welcome(self) -> None:
        # The master of a socket pair says Welcome before it is asked, and counts from the Hello that is to come.
        self._asked_at = self._loop.time()
        self._welcomed = self._loop.create_future()

    async def _work(self, session: SlaveSession) -> End:
        try:
            how, still_running = await session.run()
        except StorageError as error:
            # No raw page can be kept any more, and the next one of another page could not either.
            log.warning("this slave ends: %s", error)
            self._fail(Bye(str(error)))
            return End.FAILED
        finally:
            self._session = None
        self._stragglers = [task for task in (*self._stragglers, *still_running) if not task.done()]
        return how

    def _received(self, message: AnyMessage) -> None:
        if not isinstance(message, Welcome):
            if self._session is not None:
                self._session.received(message)
            return
        if message.protocol != PROTOCOL:
            raise LinkError(f"the master speaks protocol {message.protocol}, this slave {PROTOCOL}")
        root = logging.getLogger()
        root.setLevel(message.log_level)
        for handler in root.handlers:
            if isinstance(handler.formatter, LogLines):
                handler.setFormatter(LogLines(message.log_format, message.log_dateformat))
        if not self._welcomed.done():
            # What was reported under another session may be lost with it.
            self._jobs.forget()
            # At once, for what follows the Welcome belongs to the session.
            self._session = SlaveSession(
                self._post, message, self._asked_at, self._jobs, self._orphanage, self._numbers
            )
            self._welcomed.set_result(self._session)

    def _part(self) -> None:
        if not self.parting.done():
            self.parting.set_result(None)

    def _close_job(self, job: int, reason: str) -> None:
        """Tells the master that a job's own code wants it to end."""
        if self._session is not None:
            self._post.send(CloseJob(job, sendable(reason)))

    def _seek(self, question: SeekLinks | SeekPage) -> None:
        """Asks the master for stored pages."""
        if self._session is None:
            raise FetchError(Failure.RAW_PAGE_AWAY, "there is no session with a master that could be asked")
        self._post.send(question)

    def _fail(self, reason: Bye) -> None:
        self._failure = reason
        self._part()
        if self._session is not None:
            self._session.end(End.FAILED)

    async def _close_jobs(self) -> None:
        await end(self._stragglers)
        await self._jobs.close()
