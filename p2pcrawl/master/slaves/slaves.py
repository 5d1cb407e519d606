"""The slaves of a master: those of this machine and those that came over the network, from Hello to Bye.

In a cluster their sessions are leases of time, for another master may take over the hosts. A slave's session lasts T
from the sending of the last Beat that was answered; at T(1-e) by its own clock the slave stops (``slave.fence``). The
master goes by nothing but what it has itself *answered*: a session whose last answer (or whose Hello) was T(1+e) ago by
its own clock is void. The answer is later than the sending, and e bounds what either clock may be off, so

* when a master holds a session for void, its slave has stopped, whichever of them stood still, and whatever was lost
  between them;
* while a slave works under a session, its master has not given its leases to anybody else;
* in between, which is a fraction of a second, the slave is the first to know: it says Hello anew, and that ends the
  session here, too. A Beat that comes after T(1+e) is not answered: nothing brings back a session that was over.

A void session waits for that Hello; till then nothing that the slave says counts, for it will say it again as Orphans.
Its pages go back to their queues, and it counts as a loss of theirs only if its link ends in place of a Hello.
A master that stood still itself hears first what has arrived meanwhile, so that what was reported in time counts, and
the slave which has said Hello anew is not blamed. A remote slave whose link ends without a Bye may still be at work:
its leases come back when its session would have been void, too.

Beats come from a thread of the slave's process: they prove that the process and the way to it live, not that its loop
turns. That is no danger: a loop that stands still begins nothing, and when it goes on each step looks at the clock
first. A beat says for how long the loop has stood still; beyond ``SLAVE_SILENCE`` the slave is replaced.

On a single machine nobody takes over: there ``fenced`` is False, and sessions last as long as their links.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from time import monotonic

from p2pcrawl.core.group.session_states import SessionEvent, SessionOutput, SessionState, SessionTerm
from p2pcrawl.core.journal import Journal
from p2pcrawl.master.slaves.processes import Group, RunHere
from p2pcrawl.master.slaves.session import Session
from p2pcrawl.model.cluster.notable import Notable
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import LinkError, P2PCrawlError
from p2pcrawl.model.timings import TIMINGS
from p2pcrawl.overlay.link import PeerLink, open_link
from p2pcrawl.overlay.tasks import Tasks
from p2pcrawl.wire.messages.bounds import ENDPOINTS_MAX
from p2pcrawl.wire.messages.codec import AnyMessage
from p2pcrawl.wire.messages.slave_messages import (
    PROTOCOL,
    Adopted,
    Beat,
    Bye,
    Closed,
    CloseJob,
    Forget,
    GiveBack,
    Halt,
    Hello,
    Leaving,
    LinksTold,
    Orphans,
    PageTold,
    Renewed,
    Report,
    Returned,
    SeekLinks,
    SeekPage,
    Stop,
    Welcome,
)

log = logging.getLogger(__name__)

LATE_S = 0.5
"""A look that comes later than this by so much has found the loop standing still."""
HEAR_S = 0.1
"""What the loop then gets to hear what has arrived, before any session is judged."""
ADOPT_AGAIN_S = 1.0

Seek = Callable[[SeekLinks | SeekPage], Awaitable[LinksTold | PageTold]]
"""Answers what slaves ask of stored pages; whatever is in the way is in the answer."""
OnOrphans = Callable[[int, Orphans], Awaitable[None]]
"""Makes safe what the slave of this process found out for another master. P2PCrawlError: not now; it is asked again."""


class Slaves:
    """The slaves' sessions by number. What they report waits in the sessions' inboxes for the master's next turn;
    sessions that have ended wait in ``gone``. ``wake`` is called whenever there is something for that turn.
    """

    def __init__(
        self,
        settings: Settings,
        count: int,
        run_here: RunHere,
        wake: Callable[[], None],
        left: Callable[[Bye], None],
        close_job: Callable[[int, str], None] = lambda number, reason: None,
        *,
        output_to_stderr: bool = False,
        errors_to: int | None = None,
        slave_options: Sequence[str] = (),
        fenced: bool = False,
        on_orphans: OnOrphans | None = None,
        seek: Seek | None = None,
        ending: asyncio.Event | None = None,
        journal: Journal,
    ) -> None:
        """``left`` is called with the Bye of a slave that reports a fatal error, ``close_job`` with the job that a
        component of its spider wants to end, and why. Without ``on_orphans`` what slaves
        found out for others is acknowledged and forgotten, to be fetched again. Without ``seek`` no slave asks for
        stored pages. ``ending``, ``slave_options``: see
        :class:`~.processes.Group`.
        """
        self._settings = settings
        self._count = count
        self._wake = wake
        self._left = left
        self._close_job = close_job
        self._journal = journal
        self._fenced = fenced
        self.on_orphans = on_orphans
        self._seek = seek
        self._session_last = 0
        self._leaving = False
        self._loop = asyncio.get_running_loop()
        self._adoptions = Tasks()
        self._searches = Tasks()
        self.sessions: dict[int, Session] = {}
        self.void: dict[int, Session] = {}
        """Over, while their links wait for a Hello."""
        self._closed: list[str] = []
        self.gone: deque[Session] = deque()
        self.group = Group(
            count,
            self.connected,
            run_here,
            output_to_stderr=output_to_stderr,
            errors_to=errors_to,
            slave_options=slave_options,
            on_hung=self.hung,
            ending=ending,
        )

    async def connected(self, stream: socket.socket, pid: int) -> Callable[[], None]:
        """Takes in a slave of this machine, over a socket pair."""
        early: list[AnyMessage] = []
        link = await open_link(stream, early.append, lambda error: None)
        session = self._welcome(link)
        session.process = pid
        for message in early:
            self.received(session, message)
        if link.closed:
            self._lost(session, None)
        return link.abort

    def take(self, link: PeerLink, hello: Hello) -> None:
        """Takes in a slave of another machine, over a link that is sealed."""
        session = self._welcome(link)
        session.remote = True
        self.received(session, hello)

    def close_ports(self, addresses: Iterable[str]) -> None:
        """Peers listen at these, and at no others: slaves go there for no crawl."""
        closed = sorted(set(addresses))[:ENDPOINTS_MAX]
        if closed != self._closed:
            self._closed = closed
            for session in (*self.sessions.values(), *self.void.values()):
                session.link.send(Closed(closed))

    def stop(self) -> None:
        """Lets all of them finish what is open and leave."""
        self._leaving = True
        self.group.stop_replacing()
        for session in self.sessions.values():
            self._stop(session)

    def abort(self) -> None:
        """Cuts their links."""
        self.group.stop_replacing()
        for session in (*self.sessions.values(), *self.void.values()):
            session.link.abort()
        for task in (*self._adoptions, *self._searches):
            task.cancel()

    def forget(self) -> None:
        """Has them report again what they meet again: what they have reported may be lost."""
        for session in self.sessions.values():
            session.link.send(Forget())

    def halt(self) -> None:
        """Has them give up at once what they have open; they go on under new sessions."""
        for session in self.sessions.values():
            if session.takes_work:
                session.link.send(Halt())

    def call_in(self) -> None:
        """Has them give back what they have not begun: others may have asked its hosts since it was granted."""
        for session in self.sessions.values():
            if session.takes_work and session.in_hand:
                session.called_in = True
                session.link.send(GiveBack())

    async def watch(self) -> None:
        """Ends sessions that could not be renewed; replaces slaves that have fallen silent."""
        while True:
            before = monotonic()
            await asyncio.sleep(TIMINGS.watch_s)
            late_s = monotonic() - before - TIMINGS.watch_s
            if late_s > LATE_S:
                await asyncio.sleep(HEAR_S)
            for session in self.overdue(monotonic()):
                log.warning(
                    "slave %d: its session was not renewed for %.1f s and is over", _pid(session), TIMINGS.void_s
                )
                # The slave may live. Whether it died of what it held shows when it says Hello anew, or its link ends.
                session.blamed = False
                self._follow(session, session.term.take(SessionEvent.OVERDUE))
            now = monotonic()
            for session in self.silent(now, late_s):
                silence = now - session.heard_at
                log.warning("slave %d has been silent for %.0f s and is replaced", _pid(session), silence)
                session.heard_at = now
                self.group.kill(session.process)
                session.link.abort()

    def hung(self, pid: int, lease: int) -> bool:
        """Takes in that whoever started this slave ends it, for it does not come back from its own work on the answer
        of this lease. That page is to blame, and nothing else that the slave holds. Returns whether there is such a
        slave.
        """
        known = False
        for session in (*self.sessions.values(), *self.void.values()):
            if session.pid == pid and (not lease or session.holds(lease)):
                session.hung, known = lease, True
                if session.term.state is SessionState.SEVERED:
                    self._run_out(session)
        return known

    def overdue(self, now: float) -> list[Session]:
        """Returns the sessions that are void by now."""
        return [session for session in self.sessions.values() if session.term.overdue(now)]

    def silent(self, now: float, late_s: float) -> list[Session]:
        """Returns the slaves to be replaced. For the time in which this process itself stood still none is blamed."""
        here = (*self.sessions.values(), *self.void.values())
        for session in here:
            session.heard_at = min(now, session.heard_at + late_s)
        return [s for s in here if now - s.heard_at > self._settings.slave_silence]

    def received(self, session: Session, message: AnyMessage) -> None:
        """Raises LinkError for what a slave does not say."""
        session.heard_at = monotonic()
        match message:
            case Hello():
                self._greeted(session, message)
            case Bye():
                self._bye(session, message)
            case _ if session.gone:
                # It will say that again, as Orphans of the session that it begins.
                pass
            case Report() | Returned():
                session.inbox.append(message)
                self._wake()
            case Beat():
                session.rss_bytes, session.cpu_s = message.rss_bytes, message.cpu_s
                # The process lives; its loop was last seen to turn so long ago.
                session.heard_at -= message.held_up_s
                if self._fenced and message.session == session.id and session.term.renew(monotonic()):
                    session.link.send(Renewed(session.id, message.number))
            case CloseJob():
                self._close_job(message.job, message.reason)
            case Leaving():
                session.term.take(SessionEvent.STOPPED)
            case Orphans():
                self._adopt(session, message)
            case SeekLinks() | SeekPage() if self._seek is not None:
                self._searches.start(self._search(session, message, self._seek))
            case _:
                raise LinkError(f"a slave does not say {type(message).__name__}")

    async def _search(self, session: Session, question: SeekLinks | SeekPage, seek: Seek) -> None:
        told = await seek(question)
        if not session.link.closed:
            session.link.send(told)

    # -- sessions -----------------------------------------------------------------------------

    def _welcome(self, link: PeerLink) -> Session:
        self._session_last += 1
        number = self._session_last
        slots = max(1, -(-self._settings.concurrent_requests // max(1, self._count)))
        term = SessionTerm(TIMINGS.void_s if self._fenced else 0.0)
        session = self.sessions[number] = Session(number, link, slots + slots // 2, monotonic(), term)
        link.on_message = partial(self.received, session)
        link.on_close = partial(self._lost, session)
        fence_s = TIMINGS.fence_s if self._fenced else 0.0
        chosen = self._settings
        told = (chosen.log_level.upper(), fence_s, chosen.slave_silence, chosen.log_format, chosen.log_dateformat)
        link.send(Welcome(PROTOCOL, number, slots, *told))
        if self._closed:
            link.send(Closed(self._closed))
        if self._leaving:
            self._stop(session)
        return session

    def _greeted(self, session: Session, hello: Hello) -> None:
        if hello.protocol != PROTOCOL:
            raise LinkError(f"the slave speaks protocol {hello.protocol}, this master {PROTOCOL}")
        outputs = session.term.greet(monotonic())
        self._follow(session, outputs)
        if SessionOutput.RENEW in outputs:
            session.blamed = False
            old, session = session, self._welcome(session.link)
            session.process, session.remote = old.process, old.remote
            session.term.greet(monotonic())
        elif session.gone or session.term.state is SessionState.PARTED:
            return
        session.pid = hello.pid
        where = session.link.remote_host or "here"
        noted = self._journal.note(Notable.SLAVE_ATTACHED, slave=session.id, pid=hello.pid, at=where)
        # Of its own everybody knows, and each crawl has them.
        level = logging.INFO if session.link.remote_host else logging.DEBUG
        log.log(level, "slave %d is attached, from %s", hello.pid, where, extra=noted)
        self.group.greeted(hello.pid)
        self._wake()

    def _bye(self, session: Session, bye: Bye) -> None:
        self._follow(session, session.term.take(SessionEvent.SAID_BYE))
        # What it held when it could not go on for reasons of its own is no job's fault.
        session.blamed = bool(bye.job)
        if bye.reason and (bye.job or not session.remote):
            self._left(bye)
        elif bye.reason:
            log.warning("slave %d leaves: %s", session.pid, bye.reason)
        # The slave waits for this, so that nothing more is said to a link whose other end is closed.
        session.link.close()

    def _stop(self, session: Session) -> None:
        if session.term.state in (SessionState.OPENED, SessionState.AT_WORK):
            session.link.send(Stop())
        session.term.take(SessionEvent.STOPPED)

    def _lost(self, session: Session, error: Exception | None) -> None:
        if error is not None:
            log.warning("slave %d: %s", session.pid, error)
        elsewhere = session.remote and session.in_hand > 0 and session.hung is None
        self._follow(session, session.term.end(monotonic(), elsewhere=elsewhere))

    def _run_out(self, session: Session) -> None:
        self._follow(session, session.term.take(SessionEvent.RUN_OUT))

    def _follow(self, session: Session, outputs: Sequence[SessionOutput]) -> None:
        """Does what an event of a session leads to; another session over its link is begun by whoever has its Hello."""
        if session.term.state is SessionState.VOID:
            self.void[session.id] = session
        else:
            self.void.pop(session.id, None)
        if SessionOutput.RETURN in outputs:
            self.gone.append(session)
            self._wake()
        if SessionOutput.WAIT in outputs:
            self._loop.call_later(session.term.void_in_s(monotonic()), self._run_out, session)
        if SessionOutput.BLAME in outputs:
            for lease in session.held:
                lease.candidate.losses += session.hung in (None, lease.number)

    # -- what they found out for others -------------------------------------------------------

    def _adopt(self, session: Session, orphans: Orphans) -> None:
        if session.adopting:
            raise LinkError("a slave does not say more orphans before the last are adopted")
        session.adopting = True
        self._adoptions.start(self._make_safe(session, orphans))

    async def _make_safe(self, session: Session, orphans: Orphans) -> None:
        while self.on_orphans is not None:
            try:
                await self.on_orphans(session.pid, orphans)
                break
            except P2PCrawlError as error:
                log.info("%d pages of slave %d must wait: %s", len(orphans.pages), session.pid, error)
            except Exception:
                log.exception(
                    "%d pages of slave %d cannot be taken in: they will be fetched again",
                    len(orphans.pages),
                    session.pid,
                )
                break
            await asyncio.sleep(ADOPT_AGAIN_S)
            if session.gone:
                # The slave says them again in its next session, wherever that is.
                return
        session.adopting = False
        session.link.send(Adopted(orphans.sequence))


def _pid(session: Session) -> int:
    return session.pid or session.process
