"""From hosts that are due to leases in slaves' hands: who gets what, and how it is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from p2pcrawl.core.ring import key_hash, preference
from p2pcrawl.core.workbench import Seat, Turn, Workbench
from p2pcrawl.frontier.batch import Batch
from p2pcrawl.master.job import Job
from p2pcrawl.master.session import Lease, RobotsLease, Session
from p2pcrawl.model.job import START_URL
from p2pcrawl.model.url import origin_of
from p2pcrawl.wire.messages import Grant, OpenJob, Robots, RobotsTask, Task

GRANTS_MAX = 512


class Granting:
    """``grant`` decides, and writes the leases into the batch; ``send`` tells the slaves when it is durable."""

    def __init__(self, jobs: Mapping[int, Job], workbench: Workbench, sessions: Mapping[int, Session]) -> None:
        self._jobs = jobs
        self._workbench = workbench
        self._sessions = sessions
        self._lease_last = 0
        self._turns: list[Turn] = []
        self._promised: Counter[int] = Counter()
        self._suspected: set[int] = set()

    def grant(self, batch: Batch, now: float) -> None:
        """Leases for what is due, as far as the slaves have room."""
        room = sum(s.room for s in self._sessions.values())
        if room <= 0:
            return
        self._promised.clear()
        self._suspected.clear()
        slots = sum(s.slots for s in self._sessions.values())
        self._turns = self._workbench.take(now, self.choose, min(room, GRANTS_MAX), slots)
        for turn in self._turns:
            self._lease_last += 1
            session, job = self._sessions[turn.session], self._jobs[turn.candidate.job]
            if turn.robots_origin:
                session.robots[self._lease_last] = RobotsLease(
                    self._lease_last, job.id, turn.robots_origin, job.pace.agent, turn.seat
                )
                continue
            candidate = turn.candidate
            candidate.attempts += 1
            job.leased += 1
            session.leases[candidate.record] = Lease(self._lease_last, candidate, turn.seat)
            batch.leases.append((candidate.record, job.id, self._lease_last, candidate.attempts))

    def choose(self, seat: Seat, suspect: bool) -> int:
        """The session for a host: the one its key prefers, or the next with room.

        What was promised in this turn counts, too: the leases are made when all turns are known.
        """
        if seat.host.open and seat.session in self._sessions and not suspect:
            held = self._sessions[seat.session]
            if held.room > self._promised[held.id]:
                self._promised[held.id] += 1
                return held.id
        for number in preference(seat.host.key, self._sessions):
            session = self._sessions[number]
            if session.room <= self._promised[number]:
                continue
            if suspect:
                if number in self._suspected or session.has_suspect:
                    continue
                self._suspected.add(number)
            self._promised[number] += 1
            return number
        return 0

    def slave_for(self, host: str) -> int | None:
        """The session that a host would be granted to."""
        order = preference(key_hash(host), [n for n, s in self._sessions.items() if s.ready])
        return order[0] if order else None

    def send(self) -> None:
        """The leases of the last ``grant`` are durable: the slaves may begin."""
        turns, self._turns = self._turns, []
        grants: dict[int, Grant] = {}
        for turn in turns:
            session = self._sessions.get(turn.session)
            if session is None or session.lost:
                continue
            grant = grants.get(session.id)
            if grant is None:
                grant = grants[session.id] = Grant([], [], [])
            job = self._jobs[turn.candidate.job]
            if session.jobs.get(job.id) != job.version:
                session.jobs[job.id] = job.version
                session.link.send(OpenJob(job.wire()))
            if turn.robots_origin:
                self._add_robots_task(grant, session, turn, job)
            else:
                self._add_task(grant, session, turn, job)
        for number, grant in grants.items():
            self._sessions[number].link.send(grant)

    def _add_robots_task(self, grant: Grant, session: Session, turn: Turn, job: Job) -> None:
        for lease in session.robots.values():
            if lease.seat is turn.seat and lease.origin == turn.robots_origin:
                delay = turn.seat.host.delay_s(job.pace)
                grant.robots_tasks.append(
                    RobotsTask(lease.number, job.id, lease.origin, lease.agent, delay, turn.candidate.seed)
                )

    def _add_task(self, grant: Grant, session: Session, turn: Turn, job: Job) -> None:
        c = turn.candidate
        if job.pace.obey_robots and not c.url.startswith(START_URL):
            self._add_rules(grant, session, turn.seat, job, c.url)
        lease = session.leases[c.record]
        grant.tasks.append(
            Task(
                lease.number,
                c.record,
                c.job,
                c.url,
                c.fingerprint,
                c.depth,
                c.priority,
                c.kind,
                c.callback,
                c.attempts,
                c.seed,
                c.referer if job.settings.referer_enabled else "",
                c.extra,
            )
        )

    def _add_rules(self, grant: Grant, session: Session, seat: Seat, job: Job, url: str) -> None:
        origin = origin_of(url)
        if origin in session.rules:
            return
        entry = (seat.host.robots or {}).get((origin, job.pace.agent))
        if entry is not None:
            session.knows_rules(origin)
            grant.robots.append(Robots(origin, entry.verdict, entry.body, entry.reason))
