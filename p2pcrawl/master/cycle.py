"""One turn of a master's loop: gather, commit, apply.

What has arrived is gathered into a batch together with the leases that can be granted now; the batch is committed; what
follows from it is applied. While the storage thread commits, the loop collects what arrives for the next turn. There is
no other writer and no other order, so nothing needs a lock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic

from p2pcrawl.core.bench.candidate import Candidate
from p2pcrawl.core.bench.workbench import Workbench
from p2pcrawl.frontier.records.batch import Batch, Committed
from p2pcrawl.frontier.records.recorder import Recorder
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.master.buckets.handover import Handover
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.master.jobs.lifecycle import Lifecycle
from p2pcrawl.master.jobs.loading import Loading
from p2pcrawl.master.jobs.openings import Openings
from p2pcrawl.master.jobs.outputs import Outputs
from p2pcrawl.master.links.exchange import Exchange
from p2pcrawl.master.requeue import Aside
from p2pcrawl.master.slaves.granting import Granting
from p2pcrawl.master.slaves.inbox import LOOK_AGAIN_S, Reports
from p2pcrawl.master.slaves.outcomes import Intake

IDLE_S = 1.0
"""A turn is made at least this often."""


@dataclass(slots=True, kw_only=True)
class Cycle:
    """What takes part in a turn, each for one idea; see their modules."""

    jobs: Mapping[int, Job]
    workbench: Workbench
    recorder: Recorder
    reports: Reports
    """What slaves sent,"""
    intake: Intake
    """what it means,"""
    exchange: Exchange
    """what other masters sent,"""
    granting: Granting
    """what slaves are to do next,"""
    loading: Loading
    """what the bench needs from the store,"""
    lifecycle: Lifecycle
    """what has become of jobs,"""
    openings: Openings
    """what they have opened,"""
    handover: Handover
    """which buckets leave,"""
    aside: Aside
    """what is put aside, or taken up again,"""
    outputs: Outputs
    """and which items go out."""
    draining: bool = False
    """Nothing more is granted."""

    async def turn(self) -> None:
        await self.handover.begin()
        batch, now = Batch(orders=self.lifecycle.orders), monotonic()
        self.reports.gather(batch, now)
        self.exchange.gather(batch)
        if not self.draining and not self.exchange.full:
            self.granting.grant(batch, now)
        batch.wants = await self.loading.wants()
        batch.delivered = self.outputs.take_delivered()
        self.lifecycle.put_into(batch)
        self.openings.put_into(batch)
        retries, self.intake.retries = self.intake.retries, []
        forgotten, self.intake.forgotten = self.intake.forgotten, []
        items = bool(batch.items) or any(ending.staged for ending in batch.endings)
        committed = Committed()
        if batch.writes or batch.wants:
            committed = await self.recorder.run(Store.commit, batch)
            for number, counter in batch.tallies.items():
                self.jobs[number].counts.update(counter)
            self._apply(committed, retries, forgotten)
        await self.aside.run()
        self.handover.answer()
        self.exchange.settle(committed)
        if self.exchange.dispatch is not None:
            self.exchange.dispatch.flush()
        self.reports.acknowledge()
        self.granting.send()
        await self.outputs.tend(now, items)

    def _apply(self, committed: Committed, retries: list[tuple[Candidate, float]], forgotten: list[int]) -> None:
        """The bench follows what is durable now."""
        bench = self.workbench
        for record in forgotten:
            bench.forget(record)
        for candidate, until in retries:
            bench.delay(candidate, until)
        bench.add(committed.fresh)
        self.loading.take(committed)
        if committed.ended:
            bench.withdraw(committed.ended)

    def due_at(self, now: float) -> float:
        """When the next turn is to be made, unless something arrives before that."""
        self.loading.seat_more(now)
        if self.reports.waiting or self.exchange.waiting or self.handover.waiting or self.aside.waiting:
            return now
        due = [now + (LOOK_AGAIN_S if self.reports.holding else IDLE_S)]
        due += [at for at in (self.loading.due_at(now), self.outputs.due_at) if at is not None]
        at = self.workbench.next_at(now)
        if at is not None and not self.draining and any(s.room > 0 for s in self.reports.sessions.values()):
            due.append(at)
        return min(due)
