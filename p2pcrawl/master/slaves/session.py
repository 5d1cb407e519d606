"""A slave's standing with its master: what it holds, what it has been told."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from time import monotonic

from p2pcrawl.core.bench.candidate import Candidate
from p2pcrawl.core.bench.seat import Seat
from p2pcrawl.core.bench.workbench import LOSSES_SUSPECT
from p2pcrawl.core.group.session_states import GONE, SessionState, SessionTerm
from p2pcrawl.frontier.records.batch import Ending, ItemRow
from p2pcrawl.master.links.dispatch import Hold
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.overlay.link import PeerLink
from p2pcrawl.wire.messages.slave_messages import Outcome, Report, Returned

RULES_MAX = 20_000
"""Origins whose robots.txt a slave keeps."""


@dataclass(slots=True)
class Lease:
    """A page in a slave's hands. ``staged``: items that came in parts ahead of its end."""

    number: int
    candidate: Candidate
    seat: Seat
    staged: int = 0
    hold: Hold = field(default_factory=Hold)
    """What of its links is still on the way to other masters."""
    since: float = field(default_factory=monotonic)
    version: int = 0
    """Of its job, when it was made: what the slave knew of it at least."""

    @property
    def job(self) -> int:
        """The number of the job that its page is of."""
        return self.candidate.job

    def end(self, outcome: Outcome, items: ItemRow | None = None) -> Ending:
        """Returns what it came to."""
        return Ending(
            self.candidate,
            Phase(outcome.phase),
            self.candidate.attempts,
            self.candidate.losses,
            reason=outcome.reason,
            status=outcome.status,
            size=outcome.size,
            digest=outcome.digest,
            detail=outcome.detail,
            latency_s=outcome.latency_s,
            staged=self.staged > 0,
            items=items,
            past=outcome.past or self.candidate.past,
            page_type=outcome.page_type,
        )


@dataclass(slots=True)
class RobotsLease:
    """A robots.txt in a slave's hands."""

    number: int
    job: int
    origin: str
    agent: str
    seat: Seat
    version: int = 0
    """Of its job, when it was made."""


@dataclass(slots=True)
class Session:
    """One slave, from Hello to the end of its link, or till it was not renewed for too long."""

    id: int
    link: PeerLink
    window: int
    heard_at: float
    term: SessionTerm
    pid: int = 0
    process: int = 0
    """The process, if this master started it; known before the slave says Hello."""
    leases: dict[int, Lease] = field(default_factory=dict)
    """By record."""
    robots: dict[int, RobotsLease] = field(default_factory=dict)
    """By lease number."""
    inbox: deque[Report | Returned] = field(default_factory=deque)
    jobs: dict[int, int] = field(default_factory=dict)
    """The version of each job that it was told."""
    closing: set[int] = field(default_factory=set)
    """The jobs of which it was told that they are closing."""
    rules: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The origins whose robots.txt it was told, and the agents for which it was."""
    granted: int = 0
    """How many pages it was ever given."""
    blamed: bool = True
    """When it is over, the slave may have died of what it held."""
    held: list[Lease] = field(default_factory=list)
    """What was in its hands when it was over."""
    called_in: bool = False
    """What it was granted in this turn, and has not heard of, is to come back."""
    hung: int | None = None
    """It was ended, as it did not come back from its work on the answer of this lease; 0: of none."""
    remote: bool = False
    """Nothing but its link tells whether the slave lives."""
    adopting: bool = False
    """The slave's Orphans are being taken in."""
    rss_bytes: int = 0
    cpu_s: float = 0.0
    """How long its process has computed."""
    turned: float = 0.0
    """When parts of its pages were last taken."""

    def knows_rules(self, origin: str, agent: str) -> None:
        """Notes that the slave was told the origin's robots.txt, as it is known for an agent."""
        if len(self.rules) >= RULES_MAX:
            # The slave has dropped some by now; those that it misses it asks for.
            self.rules.clear()
        self.rules[origin] = (*self.rules.get(origin, ()), agent)

    def forget_rules(self, origins: Iterable[str]) -> None:
        """Notes that the slave is to be told these again, when it next asks there."""
        for origin in origins:
            self.rules.pop(origin, None)

    def holds(self, lease: int) -> bool:
        """Tells whether the session has this lease, or had it when it was over."""
        return lease in self.robots or any(each.number == lease for each in (*self.leases.values(), *self.held))

    def holds_of(self, job: int) -> bool:
        """Tells whether it has anything of a job in its hands."""
        return any(page.job == job for page in self.leases.values()) or any(
            robots.job == job for robots in self.robots.values()
        )

    @property
    def greeted(self) -> bool:
        """True from its slave's Hello on."""
        return self.term.renewed_at is not None

    @property
    def takes_work(self) -> bool:
        return self.term.state is SessionState.AT_WORK

    @property
    def gone(self) -> bool:
        """True when it is over; what it held comes back."""
        return self.term.state in GONE

    @property
    def ended(self) -> int:
        """The number of the pages that it was given and that are no longer in its hands."""
        return self.granted - len(self.leases)

    @property
    def in_hand(self) -> int:
        return len(self.leases) + len(self.robots)

    @property
    def room(self) -> int:
        return self.window - self.in_hand if self.takes_work else 0

    @property
    def idle(self) -> int:
        """The number of its workers that have nothing to do."""
        return max(0, self.slots - self.in_hand)

    @property
    def slots(self) -> int:
        """The part of its window that it works on at once; the rest waits there, so that it never runs dry."""
        return self.window - self.window // 3 if self.takes_work else 0

    @property
    def has_suspect(self) -> bool:
        return any(lease.candidate.losses >= LOSSES_SUSPECT for lease in self.leases.values())
