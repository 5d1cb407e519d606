"""One turn of a master's loop: gather, commit, apply.

What has arrived is gathered into a batch together with the leases that can be granted now; the batch is committed; what
follows from it is applied. While the storage thread commits, the loop collects what arrives for the next turn. There is
no other writer and no other order, so nothing needs a lock.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Protocol

from p2pcrawl.frontier.records.batch import Batch, Committed
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.master.boards.job_boards import note_late
from p2pcrawl.master.buckets.handover import Handover
from p2pcrawl.master.company.company import Company
from p2pcrawl.master.exchange import Exchange
from p2pcrawl.master.jobs.outputs import Outputs
from p2pcrawl.master.requeue import Aside
from p2pcrawl.master.revisiting import Turns
from p2pcrawl.master.slaves.granting import Granting
from p2pcrawl.master.slaves.inbox import LOOK_AGAIN_S, Reports
from p2pcrawl.master.slaves.outcomes import Aftermath, Intake
from p2pcrawl.model.outcome import Drop

_FOUND_AGAIN = f"dropped:{Drop.CLEARED}", f"dropped:{Drop.NO_BOARD}"
"""What is counted of pages that are queued once more where somebody finds them."""
IDLE_S = 1.0
"""A turn is made at least this often."""


class Waiting(Protocol):
    """A part that may wait for the next turn."""

    @property
    def waiting(self) -> bool:
        """Tells whether there is something for the next turn."""


@dataclass(slots=True, kw_only=True)
class Cycle:
    """One turn after the other. Each part stands for one idea; see their modules."""

    company: Company
    """Those among whom we are,"""
    reports: Reports
    """what slaves sent,"""
    intake: Intake
    """what it means,"""
    exchange: Exchange
    """what other masters sent,"""
    granting: Granting
    """what slaves are to do next,"""
    handover: Handover
    """which buckets leave,"""
    aside: Aside
    """what is put aside, or taken up again,"""
    turns: Turns
    """which pages are visited again,"""
    outputs: Outputs
    """and which items go out."""
    draining: bool = False
    """Nothing more is granted."""
    waiting: Sequence[Waiting] = field(init=False)
    """All for whose sake a turn is made at once."""

    def __post_init__(self) -> None:
        self.waiting = self.reports, self.company.ground.mailbox, self.handover, self.aside, self.turns

    async def turn(self) -> None:
        """Gathers what has arrived, commits it, and lets everything else follow."""
        ground = self.company.ground
        await self.handover.begin()
        batch, now = Batch(orders=ground.lifecycle.orders), monotonic()
        await self._gather(batch, now)
        ground.meters.count(batch.tallies)
        if self.company.others_bring_jobs:
            ground.slices.count_turn(batch.tallies, time.time())
        aftermath, self.intake.aftermath = self.intake.aftermath, Aftermath()
        grew = bool(batch.items) or any(ending.staged for ending in batch.endings)
        committed = Committed()
        if batch.writes or batch.wants:
            committed = await ground.recorder.run(Store.commit, batch)
            for number, counter in batch.tallies.items():
                ground.jobs[number].counts.update(counter)
            self._apply(committed, aftermath)
        await self._follow(committed, batch)
        self.outputs.tend(grew)

    async def _gather(self, batch: Batch, now: float) -> None:
        """Puts all that waits into the batch, and leases for what may be granted beside it."""
        ground = self.company.ground
        self.reports.gather(batch, now)
        self.exchange.gather(batch)
        if not self.draining and not self.company.full:
            self.granting.grant(batch.leases, now)
            batch.imprints = self.granting.imprints
        linked = {new.job for new in batch.links}
        for number in linked:
            if (job := ground.jobs[number]).spec.boards:
                note_late(job, {new.link.callback for new in batch.links if new.job == number})
        batch.cleared = {job for job in linked if any(ground.jobs[job].counts[reason] for reason in _FOUND_AGAIN)}
        batch.wants = await ground.loading.wants()
        batch.delivered = self.outputs.take_delivered()
        batch.copied = self.company.copied
        batch.states, batch.specs = ground.lifecycle.take_changes()
        # Last: all that is taken in before may open something.
        batch.specs |= ground.openings.take_specs()

    async def _follow(self, committed: Committed, batch: Batch) -> None:
        """Does what follows a commit; the order matters."""
        # Changes of many rows: before anybody is told how it stands.
        await self.aside.run()
        await self.turns.run(draining=self.draining)
        # Whoever asked whether buckets are free of us hears of it when that is durable.
        self.handover.answer()
        # The copies: links of this turn are on their way to them before anybody waits for that.
        self.company.replicate(batch.endings, committed)
        # Their items go out when the ends of their pages are copied: what a sink has seen is not forgotten.
        if committed.last_item:
            copied = self.company.when_copied if self._is_own(batch) else self.company.when_abreast
            copied(self.outputs.expect_copies(committed.last_item))
        # Other masters hear that their links are here when the copies are; pages here that waited for theirs go on.
        self.exchange.answer()
        # Links that others own leave.
        self.company.flush()
        # Slaves may forget what they reported,
        self.reports.acknowledge()
        # and begin with what they were granted: the leases are durable.
        self.granting.send()

    def _is_own(self, batch: Batch) -> bool:
        """Tells whether all pages that ended in a turn did so here, in buckets of ours: these are copied by themselves,
        others with their buckets.
        """
        owner = self.company.router.owner
        return not batch.moved and all(owner(ending.candidate.bucket) is None for ending in batch.endings)

    def _apply(self, committed: Committed, aftermath: Aftermath) -> None:
        """Lets the bench follow what is durable now."""
        bench = self.company.ground.workbench
        for record in aftermath.forgotten:
            bench.forget(record)
        for candidate, until in aftermath.retries:
            bench.delay(candidate, until)
        bench.add(committed.fresh)
        if committed.entered:
            bench.enter({each.record for each in committed.entered})
        self.company.ground.loading.take(committed.loaded, committed.hosts)
        if committed.ended:
            bench.withdraw(committed.ended)

    def due_at(self, now: float) -> float:
        """Returns when the next turn is to be made, unless something arrives before that."""
        loading = self.company.ground.loading
        loading.seat_more(now)
        if any(each.waiting for each in self.waiting):
            return now
        due = [now + (LOOK_AGAIN_S if self.reports.holding else IDLE_S)]
        if (loads_at := loading.due_at(now)) is not None:
            due.append(loads_at)
        at = self.company.ground.workbench.next_at(now)
        if at is not None and not self.draining and any(s.room > 0 for s in self.reports.sessions.values()):
            # While too much is under way nothing is granted, whatever is due: somebody has to have time to settle it.
            due.append(max(at, now + LOOK_AGAIN_S) if self.company.full else at)
        return min(due)
