"""The state of a job at this master, for the decision that it is finished."""

from __future__ import annotations

from p2pcrawl.master.buckets.takeover import Takeover
from p2pcrawl.master.company.neighbours import Neighbours
from p2pcrawl.master.exchange import Exchange
from p2pcrawl.master.idle_pages import wants_idle
from p2pcrawl.wire.messages.peer_messages import JobAtMaster


class OwnStanding:
    """Counts what is left to do here, and what went to other masters and came from them."""

    def __init__(self, neighbours: Neighbours, exchange: Exchange, takeover: Takeover) -> None:
        self._jobs = neighbours.ground.jobs
        self._ownership = neighbours.ownership
        self._copying = neighbours.copying
        self._copier = neighbours.copier
        self._dispatch = neighbours.dispatch
        self._spool = neighbours.spool
        self._exchange = exchange
        self._takeover = takeover
        self.starting: set[int] = set()
        """Jobs whose first record is not at its owner yet: they are not finished, though nobody has any of them."""

    def of(self, number: int) -> JobAtMaster:
        """Returns how a job stands here, be it known or not. What alone keeps it from being finished is hastened."""
        job = self._jobs.get(number)
        ownership = self._ownership
        moving = ownership.syncing > 0 or not ownership.complete or self._takeover.unclaimed
        waits = moving or ownership.patient
        busy = int(waits or number in self.starting) + self._copier.under_way + self._copying.lacking()
        if self._spool.unsaid:
            # Its owner may have died with the only other store of it: a job is not finished before the next one has it.
            if not busy:
                self._spool.hasten()
            busy += 1
        if job is None:
            return JobAtMaster(0, False, busy, 0, 0, ownership.view)
        return JobAtMaster(
            0,
            True,
            busy + self._exchange.busy(job),
            self._dispatch.sent[number],
            self._exchange.received[number],
            ownership.view,
            job.closed_early,
            job.opened_mark,
            max(0, job.counts["discovered"]),
            wants_idle(job),
            max(0, job.counts["pages"]),
            max(0, job.counts["items"]),
            max(0, job.errors),
        )
