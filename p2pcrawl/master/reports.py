"""What slaves have sent since the last turn, and what those that are gone leave behind."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping

from p2pcrawl.frontier.batch import Batch
from p2pcrawl.master.intake import Intake
from p2pcrawl.master.job import Job
from p2pcrawl.master.session import Session
from p2pcrawl.wire.messages import Ack, Returned

log = logging.getLogger(__name__)


class Reports:
    """The cycle calls :meth:`gather` before its commit and :meth:`acknowledge` after it.

    ``gone``: sessions that have ended, and are still among ``sessions``.
    """

    def __init__(
        self, jobs: Mapping[int, Job], sessions: dict[int, Session], gone: deque[Session], intake: Intake
    ) -> None:
        self.sessions = sessions
        self._jobs = jobs
        self._gone = gone
        self._intake = intake
        self._acks: list[tuple[Session, int]] = []

    @property
    def waiting(self) -> bool:
        """There is something to gather."""
        return bool(self._gone) or any(session.inbox for session in self.sessions.values())

    def gather(self, batch: Batch, now: float) -> None:
        """Puts all that has arrived into the batch."""
        for session in list(self.sessions.values()):
            if session.inbox and (sequence := self.take(session, batch, now)):
                self._acks.append((session, sequence))
        while self._gone:
            self.bury(self._gone.popleft(), batch, now)
        self._intake.release(batch, now)

    def acknowledge(self) -> None:
        """The batch is durable: slaves may forget what they reported."""
        acks, self._acks = self._acks, []
        for session, sequence in acks:
            session.link.send(Ack(sequence))

    def take(self, session: Session, batch: Batch, now: float) -> int:
        """Empties a session's inbox. The sequence of the last report taken, or 0."""
        sequence = 0
        while session.inbox:
            message = session.inbox.popleft()
            if isinstance(message, Returned):
                session.rules.difference_update(message.missing_robots)
                for record in message.records:
                    self._intake.returned(session, record, batch, now)
                continue
            for result in message.robots:
                self._intake.robots(session, result, batch, now)
                self._spread_rules(session, result.origin)
            for page in message.pages:
                self._intake.page(session, page, batch, now)
            sequence = message.sequence
        return sequence

    def bury(self, session: Session, batch: Batch, now: float) -> None:
        """The slave is gone: what it reported counts, what it held comes back."""
        self.sessions.pop(session.id, None)
        self.take(session, batch, now)
        how = f"slave {session.pid} died" if session.blamed else f"the session of slave {session.pid} ended"
        if session.leases:
            log.warning("%s with %d pages in hand", how, len(session.leases))
        for lease in session.leases.values():
            self._intake.lost(lease, batch, now, how, blamed=session.blamed)
        for robots in session.robots.values():
            self._intake.lost_robots(robots, now, blamed=session.blamed)
        session.held = [lease.candidate for lease in session.leases.values()]
        session.leases.clear()
        session.robots.clear()

    def _spread_rules(self, reader: Session, origin: str) -> None:
        """An origin has a new robots.txt: all but the slave that read it are to be told, when they next ask there."""
        for session in self.sessions.values():
            session.rules.discard(origin)
        # That slave told it to the spider it was read for, not to others that it runs.
        if len(self._jobs) == 1:
            reader.knows_rules(origin)
