"""The company of a master: what being alone, or among other masters, means for it.

The parts of a master ask its company, and need not know which it is: :class:`Alone` owns everything, waits for nobody
and is through when its jobs are; :class:`p2pcrawl.master.company.neighbours.Neighbours` shares all that with others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Protocol

from p2pcrawl.core.bench.seat import Seat
from p2pcrawl.core.bench.workbench import Terms, Unshared
from p2pcrawl.core.buckets import ownership
from p2pcrawl.core.buckets.ownership import Router
from p2pcrawl.core.control import PAUSED, RUNNING, Control
from p2pcrawl.frontier.records.batch import Committed, Ending
from p2pcrawl.master.company.ground import Ground
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.master.links.dispatch import Parcel
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import ConfigurationError, LinkError
from p2pcrawl.wire.messages.slave_messages import Bye, Orphans


class Company(Terms, Protocol):
    """The masters among whom a master is, as its own parts see them."""

    ground: Ground
    router: Router
    """Says whom a bucket's links go to."""
    others_bring_jobs: bool
    """A master goes on when its jobs are finished."""
    sessions_end_by_time: bool
    """Another master may take over: a slave works no longer than it hears from its own."""

    # -- jobs ---------------------------------------------------------------------------------

    def begins_with(self, control: Control) -> Control:
        """Returns the state in which a job of an earlier run begins."""

    def is_over(self, job: Job) -> bool:
        """Tells whether a job is finished, as far as can be told here."""

    def slave_left(self, bye: Bye) -> None:
        """Takes note that a slave cannot go on."""

    async def adopt(self, pid: int, orphans: Orphans) -> None:
        """Makes safe what the slave of this process has found out for another master. Raises P2PCrawlError when that
        cannot be now."""

    # -- hosts --------------------------------------------------------------------------------

    def ended(self, seat: Seat, *, pause_s: float = 0.0, slow_down: bool = False) -> None:
        """Takes note that a request of this host ended here."""

    def withdraw(self, buckets: Collection[int]) -> None:
        """Begins nothing more of hosts in these buckets that others have lent to us."""

    def lent(self) -> Iterable[int]:
        """Returns the hosts that are lent to others, by their keys."""

    # -- links --------------------------------------------------------------------------------

    @property
    def full(self) -> bool:
        """Tells whether so much is under way to others that no new work should be begun."""

    @property
    def strained(self) -> bool:
        """Tells whether it soon will be, if what can wait does not."""

    def send(self, job: int, owner: NodeId, parcel: Parcel) -> None:
        """Takes a link that another master owns; it leaves with the next :meth:`flush`."""

    def flush(self) -> None:
        """Sends what waits."""

    def pending(self, job: int) -> int:
        """Counts the links of a job that are on their way to others."""

    @property
    def under_way(self) -> int:
        """The links of all jobs that are on their way to others."""

    # -- copies -------------------------------------------------------------------------------

    def replicate(self, ended: list[Ending], committed: Committed) -> None:
        """Sends to those that hold copies what has changed in a turn, and is durable here."""

    @property
    def copied(self) -> int:
        """Returns the record up to which all links are with others, too; 0 where that is not known, or wanted."""

    def when_safe(self, then: Callable[[], None]) -> None:
        """Calls ``then`` when all links up to now have as many copies as can be had."""

    def when_copied(self, then: Callable[[], None]) -> None:
        """Calls ``then`` when all pages that have ended up to now, and are ours, have as many copies as can be had."""

    def when_abreast(self, then: Callable[[], None]) -> None:
        """Calls ``then`` when all that is here has: what was here before and what came from others, too."""

    def provisional(self, bucket: int, known: int) -> bool:
        """Tells whether links in a bucket have fewer copies than they should; another master says how many ``known``
        masters there are at least.
        """

    def doubt(self, buckets: Collection[int]) -> None:
        """Has the copies of these buckets compared: they have not heard of all that changed."""


def failure_of(bye: Bye) -> Exception:
    """Returns the error that a slave has left with."""
    return ConfigurationError(bye.reason) if bye.usage else LinkError(bye.reason)


class Alone(Unshared):
    """One master on one machine, with a data folder of its own."""

    others_bring_jobs = False
    sessions_end_by_time = False
    full = False
    strained = False
    under_way = 0
    copied = 0

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.ground = Ground(folder, settings)
        self.router: Router = ownership.SoleOwner()

    def begins_with(self, control: Control) -> Control:
        """Returns it paused: it runs when it is resumed; till then it has no part in this crawl."""
        return control._replace(state=PAUSED) if control.state == RUNNING else control

    def is_over(self, job: Job) -> bool:
        """Tells whether nothing of it is left."""
        if job.leased or (job.unsettled and not job.closing):
            return False
        return bool(job.closing or not (job.counts["queued"] or job.counts["again"]))

    def slave_left(self, bye: Bye) -> None:
        """Ends the crawl: other slaves would leave for the same reason."""
        self.ground.fate.fail(failure_of(bye))

    async def adopt(self, pid: int, orphans: Orphans) -> None:
        """Forgets it, to be fetched again."""

    def ended(self, seat: Seat, *, pause_s: float = 0.0, slow_down: bool = False) -> None:
        """Does nothing: nothing is lent."""

    def withdraw(self, buckets: Collection[int]) -> None:
        """Does nothing: nothing is borrowed."""

    def lent(self) -> Iterable[int]:
        """Returns none."""
        return ()

    def send(self, job: int, owner: NodeId, parcel: Parcel) -> None:
        """Raises LookupError: no link is another's."""
        raise LookupError(f"there is no master {owner[:8]}")

    def flush(self) -> None:
        """Does nothing: no link waits."""

    def pending(self, job: int) -> int:
        """Returns 0."""
        return 0

    def replicate(self, ended: list[Ending], committed: Committed) -> None:
        """Does nothing: nobody holds copies."""

    def when_safe(self, then: Callable[[], None]) -> None:
        """Calls it at once: one copy is all that can be had."""
        then()

    def when_copied(self, then: Callable[[], None]) -> None:
        """Calls it at once, too."""
        then()

    def when_abreast(self, then: Callable[[], None]) -> None:
        """Calls it at once, likewise."""
        then()

    def provisional(self, bucket: int, known: int) -> bool:
        """Says no: no more copies are wanted."""
        return False

    def doubt(self, buckets: Collection[int]) -> None:
        """Does nothing: nobody holds copies."""
