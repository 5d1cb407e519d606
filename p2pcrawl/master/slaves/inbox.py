"""The messages that slaves have sent since the last turn, and what those that are gone leave behind.

A page may lead to a million links, and come in as many thousand parts. All that is reported is taken at once but for
such parts: of these a turn takes a few thousand links, so that it stays short, and none while as much is on its way to
other masters as would soon make the granting pause. What is not taken is not acknowledged, and so the slave waits with
the next part.
"""

from __future__ import annotations

import logging
from collections import deque

from p2pcrawl.core.group.session_states import SessionState
from p2pcrawl.core.journal import Journal
from p2pcrawl.frontier.records.batch import Batch
from p2pcrawl.master.jobs.job import KnownJobs
from p2pcrawl.master.slaves.outcomes import Intake
from p2pcrawl.master.slaves.session import Session
from p2pcrawl.model.cluster.notable import Notable
from p2pcrawl.wire.messages.slave_messages import Report, ReportsDurable, Returned

log = logging.getLogger(__name__)

PART_LINKS_MAX = 4_000
"""Links in parts of pages that one turn takes, but for those of a single report."""
LOOK_AGAIN_S = 0.02


class Reports:
    """The cycle calls :meth:`gather` before its commit and :meth:`acknowledge` after it.

    ``gone``: sessions that have ended, and are still among ``sessions``.
    """

    def __init__(
        self, jobs: KnownJobs, sessions: dict[int, Session], gone: deque[Session], intake: Intake, journal: Journal
    ) -> None:
        self.sessions = sessions
        self._jobs = jobs
        self._gone = gone
        self._intake = intake
        self._journal = journal
        self._acks: list[tuple[Session, int]] = []
        self._parts_left = 0
        """Links in parts that this turn may still take."""

    @property
    def waiting(self) -> bool:
        """True if there is something to gather."""
        if self._gone:
            return True
        held = self._intake.strained
        return any(s.inbox and not (held and _ahead(s.inbox[0])) for s in self.sessions.values())

    @property
    def holding(self) -> bool:
        """True if there is something that must wait until less is on its way."""
        return any(session.inbox for session in self.sessions.values())

    def gather(self, batch: Batch, now: float) -> None:
        """Puts what has arrived into the batch."""
        self._parts_left = 0 if self._intake.strained else PART_LINKS_MAX
        for session in sorted(self.sessions.values(), key=lambda session: session.turned):
            if session.inbox and (sequence := self.take(session, batch, now)):
                self._acks.append((session, sequence))
        while self._gone:
            self.bury(self._gone.popleft(), batch, now)
        self._intake.release(batch, now)

    def acknowledge(self) -> None:
        """Tells slaves that they may forget what they reported: the batch is durable."""
        acks, self._acks = self._acks, []
        for session, sequence in acks:
            session.link.send(ReportsDurable(sequence))

    def take(self, session: Session, batch: Batch, now: float, *, all_of_it: bool = False) -> int:
        """Empties a session's inbox, as far as this turn goes. The sequence of the last report taken, or 0."""
        sequence = 0
        while session.inbox:
            message = session.inbox[0]
            if not all_of_it and (links := _ahead(message)):
                if self._parts_left <= 0:
                    break
                self._parts_left -= links
                session.turned = now
            session.inbox.popleft()
            if isinstance(message, Returned):
                session.forget_rules(message.missing_robots)
                for record in message.records:
                    self._intake.returned(session, record, batch, now)
                for number in message.robots:
                    self._intake.returned_robots(session, number, now)
                continue
            for result in message.robots:
                self._intake.robots(session, result, batch, now)
                self._spread_rules(session, result.origin)
            for page in message.pages:
                self._intake.page(session, page, batch, now)
            sequence = message.sequence
        return sequence

    def bury(self, session: Session, batch: Batch, now: float) -> None:
        """Ends a slave that is gone: what it reported counts, what it held comes back."""
        self.sessions.pop(session.id, None)
        self.take(session, batch, now, all_of_it=True)
        died = "died" if session.hung is None else "was ended"
        how = f"slave {session.pid} {died}" if session.blamed else f"the session of slave {session.pid} ended"
        if session.greeted and session.term.state is not SessionState.LEFT:
            pages = len(session.leases)
            noted = self._journal.note(Notable.SLAVE_LOST, slave=session.id, pid=session.pid, pages=pages)
            log.log(logging.WARNING if pages else logging.INFO, "%s with %d pages in hand", how, pages, extra=noted)
        for lease in session.leases.values():
            if session.hung is None:
                self._intake.lost(lease, batch, now, how, blamed=session.blamed)
            elif lease.number == session.hung:
                self._intake.too_slow(lease, batch, now)
            else:
                self._intake.spared(lease, batch, now)
        for robots in session.robots.values():
            blamed = session.blamed if session.hung is None else robots.number == session.hung
            self._intake.lost_robots(robots, now, blamed=blamed)
        session.held = list(session.leases.values())
        session.leases.clear()
        session.robots.clear()

    def _spread_rules(self, reader: Session, origin: str) -> None:
        """Notes that an origin has a new robots.txt: all but the slave that read it are to be told, when they next ask
        there.
        """
        for session in self.sessions.values():
            session.forget_rules([origin])
        # The reader told its rules to the spider that they were read for, not to others that it runs.
        if len(self._jobs) == 1:
            reader.knows_rules(origin, next(iter(self._jobs.values())).pace.agent)


def _ahead(message: Report | Returned) -> int:
    """Counts about how many links a message holds in pages that are not over."""
    if isinstance(message, Returned):
        return 0
    return sum(1 + sum(len(links.urls) for links in page.links) for page in message.pages if page.outcome is None)
