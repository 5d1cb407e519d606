"""From hosts that are due to leases in slaves' hands: who gets what, and how it is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from p2pcrawl.core.bench.candidate import Candidate
from p2pcrawl.core.bench.seat import Seat
from p2pcrawl.core.bench.workbench import Pick
from p2pcrawl.core.control import ENDS
from p2pcrawl.core.ring.rendezvous import preference
from p2pcrawl.frontier.records.batch import LeaseRow
from p2pcrawl.master.company.company import Company
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.master.slaves.placing import Placing
from p2pcrawl.master.slaves.session import Lease, RobotsLease, Session
from p2pcrawl.model.crawl.url import origin_of
from p2pcrawl.model.texts.imprint_url import is_imprint
from p2pcrawl.wire.messages.slave_messages import (
    Grant,
    JobClosing,
    JobOver,
    OpenJob,
    Returned,
    Robots,
    RobotsTask,
    Task,
)

GRANTS_MAX = 512
REASON_MAX = 1_000
"""Characters of the reason of a job's end that slaves are told."""
PARKED_MAX = 1_000
"""How many hosts are parked per turn at most, so that a turn stays short when all of many belong to one slave."""


class Granting:
    """``grant`` decides, and writes the leases into the batch; ``send`` tells the slaves when it is durable.

    Each host has its slave (``placing``). While that one has no room the host is parked, and others are granted. But
    where a slave has idle workers and no host of its own is due, it is lent pages of those that are parked: nothing
    waits for a busy slave beside an idle one. A host that is lent out keeps its place.
    """

    def __init__(self, company: Company, sessions: Mapping[int, Session], placing: Placing) -> None:
        self._company = company
        self._jobs = company.ground.jobs
        self._workbench = company.ground.workbench
        self._sessions = sessions
        self._placing = placing
        self._lending = False
        self._may_park = 0
        self._lease_last = 0
        self._leases: list[tuple[int, Lease | RobotsLease]] = []
        """Those of the last ``grant``, with their sessions' numbers."""
        self.imprints: list[Candidate] = []
        """Those of them on which a verdict is to be given."""
        self._promised: Counter[int] = Counter()
        self._suspected: set[int] = set()

    def grant(self, leases: list[LeaseRow], now: float) -> None:
        """Leases what is due, as far as the slaves have room; ``leases`` is to be written before they hear of it."""
        self.imprints = []
        for session in self._sessions.values():
            session.called_in = False
        self._follow()
        room = sum(s.room for s in self._sessions.values())
        if room > 0:
            self._lease(leases, now, room)
        # What they have in hand now they have until the next turn.
        self._placing.measure(now, self._sessions)

    def _lease(self, leases: list[LeaseRow], now: float, room: int) -> None:
        self._promised.clear()
        self._suspected.clear()
        self._leases = []
        for pick in self._take(now, min(room, GRANTS_MAX)):
            self._lease_last += 1
            number, candidate, seat = self._lease_last, pick.candidate, pick.seat
            session, job = self._sessions[pick.session], self._jobs[candidate.job]
            lease: Lease | RobotsLease
            if pick.robots_origin:
                lease = RobotsLease(number, job.id, pick.robots_origin, job.pace.agent, seat, job.version)
                session.robots[number] = lease
            else:
                candidate.attempts += 1
                job.leased += 1
                session.granted += 1
                lease = session.leases[candidate.record] = Lease(number, candidate, seat, version=job.version)
                leases.append((candidate.record, job.id, number, candidate.attempts))
                if is_imprint(candidate.link.url):
                    self.imprints.append(candidate)
            self._leases.append((session.id, lease))

    def _follow(self) -> None:
        """Keeps the hosts' places in step with the slaves that there are, and with the hosts that have work."""
        lines = self._workbench.lines
        self._placing.follow([number for number, session in self._sessions.items() if session.takes_work])
        for number, hosts in lines.parked.items():
            session = self._sessions.get(number)
            # Who waits for a slave that has left is placed anew.
            lines.unpark(number, session.room if session is not None and session.takes_work else hosts)
        for seat in lines.drained():
            self._placing.drained(seat)

    def _take(self, now: float, limit: int) -> list[Pick]:
        bench = self._workbench
        slots = sum(s.slots for s in self._sessions.values())
        self._may_park, self._lending = PARKED_MAX, False
        turns = bench.take(now, self.choose, limit, slots, self._company)
        self._lending = True
        while len(turns) < limit and (idle := self._idle_workers()) and (parked := bench.lines.parked):
            # Not all of these can be lent: a delay may have begun since they were parked.
            bench.lines.unpark(max(parked, key=parked.__getitem__), idle)
            turns += bench.take(now, self.choose, limit - len(turns), slots, self._company)
        return turns

    def choose(self, seat: Seat, suspect: bool) -> int:
        """Returns the session for a host: its own, with a minus if that has no room and no idle one borrows the page.

        What was promised in this turn counts, too: the leases are made when all turns are known.
        """
        if suspect:
            return self._for_suspect(seat)
        number = self._placing.place(seat)
        if number and self._room(self._sessions[number]) <= 0:
            number = self._borrower(seat) or self._parks(number)
        if number > 0:
            self._promised[number] += 1
        return number

    def _for_suspect(self, seat: Seat) -> int:
        """Returns a slave that has no other suspect: should it die, it is clear of what."""
        for number in preference(seat.host.key, self._sessions):
            session = self._sessions[number]
            if self._room(session) > 0 and number not in self._suspected and not session.has_suspect:
                self._suspected.add(number)
                self._promised[number] += 1
                return number
        return 0

    def _borrower(self, seat: Seat) -> int:
        if not self._lending:
            return 0
        order = preference(seat.host.key, self._sessions)
        return next((number for number in order if self._idle(self._sessions[number])), 0)

    def _parks(self, number: int) -> int:
        self._may_park -= 1
        return -number if self._may_park >= 0 else 0

    def _room(self, session: Session) -> int:
        return session.room - self._promised[session.id]

    def _idle_workers(self) -> int:
        return sum(self._idle(session) for session in self._sessions.values())

    def _idle(self, session: Session) -> int:
        return max(0, session.idle - self._promised[session.id])

    def slave_for(self, host: str) -> int | None:
        """Returns the session that a host belongs to, or would if it came now."""
        return self._placing.slave_for(host)

    def send(self) -> None:
        """Sends the pages of the last ``grant`` to the slaves, now that their leases are durable. What was called in
        meanwhile comes back as if the slave had given it back.
        """
        leases, self._leases = self._leases, []
        grants: dict[int, Grant] = {}
        for number, lease in leases:
            session = self._sessions.get(number)
            if session is None or session.gone:
                continue
            if session.called_in:
                session.inbox.append(_given_back(lease))
                continue
            grant = grants.get(session.id)
            if grant is None:
                grant = grants[session.id] = Grant([], [], [])
            job = self._jobs[lease.job]
            if (told := session.jobs.get(job.id)) != job.version:
                session.jobs[job.id] = job.version
                session.closing.discard(job.id)
                session.link.send(OpenJob(job.slaves_wire(whole=told is None)))
            if isinstance(lease, RobotsLease):
                delay = lease.seat.host.delay_s(job.pace)
                grant.robots_tasks.append(RobotsTask(lease.number, job.id, lease.origin, delay))
            else:
                self._add_task(grant, session, lease, job)
        for number, grant in grants.items():
            self._sessions[number].link.send(grant)
        self._tell_ends()

    def _tell_ends(self) -> None:
        """Tells slaves of jobs that are closing, and of those that have ended, once they have nothing more of them in
        hand.
        """
        for session in self._sessions.values():
            for number in list(session.jobs):
                job = self._jobs.get(number)
                if not (job is None or job.state in ENDS or job.closing):
                    continue
                if session.holds_of(number):
                    if number not in session.closing:
                        session.closing.add(number)
                        session.link.send(JobClosing(number))
                elif job is None or job.state in ENDS:
                    del session.jobs[number]
                    session.closing.discard(number)
                    reason = "shutdown" if job is None else job.reason or job.state
                    session.link.send(JobOver(number, reason[:REASON_MAX]))

    def _add_task(self, grant: Grant, session: Session, lease: Lease, job: Job) -> None:
        candidate, link = lease.candidate, lease.candidate.link
        if job.pace.obey_robots and not candidate.asks_nobody:
            self._add_rules(grant, session, lease.seat, job, origin_of(link.url))
        if link.referer and not job.settings.referer_enabled:
            link = link._replace(referer="")
        delay_s = lease.seat.host.delay_s(job.pace)
        facts = lease.number, candidate.record, job.id, link, candidate.attempts, delay_s
        grant.tasks.append(Task(*facts, candidate.visit, candidate.past))

    def _add_rules(self, grant: Grant, session: Session, seat: Seat, job: Job, origin: str) -> None:
        agent = job.pace.agent
        if agent in session.rules.get(origin, ()):
            return
        entry = (seat.host.robots or {}).get((origin, agent))
        if entry is not None:
            session.knows_rules(origin, agent)
            grant.robots.append(Robots(origin, entry.verdict, entry.body, entry.reason, agent))


def _given_back(lease: Lease | RobotsLease) -> Returned:
    if isinstance(lease, RobotsLease):
        return Returned([], robots=[lease.number])
    return Returned([lease.candidate.record])
