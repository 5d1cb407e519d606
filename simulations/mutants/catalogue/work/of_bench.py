"""Mistakes on the bench, where it is chosen what is granted next, in the cycle that grants it, and in loans."""

from __future__ import annotations

from ...making.mutant import Mutant, Slip

MUTANTS = (
    Mutant(
        name="resting-keep-their-seats",
        kind=Slip.CLEANUP,
        where="p2pcrawl.core.bench.seating:Seating._retire",
        old="seat.rests(self._halted)",
        new="seat.drained",
        harm="Hosts of a job that rests, or was closed early, hold all seats: nothing of other jobs is asked for.",
    ),
    Mutant(
        name="withdrawn-asks-for-nothing",
        kind=Slip.RETRY,
        where="p2pcrawl.core.bench.workbench:Workbench.withdraw",
        old="if queue.more and not queue.hot and not queue.loading:",
        new="if False:",
        harm="A queue of which all that is in memory has ended elsewhere is never loaded again: the job hangs.",
    ),
    Mutant(
        name="rest-asks-for-nothing",
        kind=Slip.RETRY,
        where="p2pcrawl.core.bench.workbench:Workbench.remove",
        old="self.hot.reload(seat, queue)",
        new="pass",
        harm="A queue of which all that was in memory has gone with its bucket is never loaded again: the job hangs.",
    ),
    Mutant(
        name="retry-goes-with-its-bucket",
        kind=Slip.RETRY,
        where="p2pcrawl.core.bench.hot_queues:HotQueues.take_off",
        old="elif (queue.job, seat.host.key, queue.kind) not in dropped:",
        new="else:",
        harm="A page that waits for its next try is never asked for again when its bucket goes and comes back.",
    ),
    Mutant(
        name="late-load-counts",
        kind=Slip.FENCE,
        where="p2pcrawl.core.bench.hot_queues:HotQueues.load",
        old="after > (queue.horizon or LOWEST)",
        new="queue.horizon is not None and after > queue.horizon",
        harm="What was read of a queue before it was to be read anew counts as all of it: the beginning is lost.",
    ),
    Mutant(
        name="trimmed-where-it-ends",
        kind=Slip.FENCE,
        where="p2pcrawl.core.bench.hot_queues:HotQueues.trim",
        old="if not queue.more or queue.horizon is not None:",
        new="if queue.hot:",
        harm="New pages fill memory before a queue was read anew: what lies before them is never asked for.",
    ),
    Mutant(
        name="resumed-as-it-was",
        kind=Slip.RETRY,
        where="p2pcrawl.master.jobs.lifecycle:Lifecycle.steer",
        old="self._bench.reload_job(job.id)",
        new="pass",
        harm="What lay on disk of a job that rested when its master began is never asked for: the job hangs.",
    ),
    Mutant(
        name="full-and-turning",
        kind=Slip.CHECK,
        where="p2pcrawl.master.cycle:Cycle.due_at",
        old="due.append(max(at, now + LOOK_AGAIN_S) if self.company.full else at)",
        new="due.append(at)",
        harm="A master with too much under way takes turns that grant nothing, one after the other at once.",
    ),
    Mutant(
        name="delay-lent-on",
        kind=Slip.SIDE,
        where="p2pcrawl.master.loans.lending:Lending._serve_line",
        old="asked = asked_delay_s(",
        new="asked = lasting_delay_s(",
        harm="What one job keeps to at a host is told as the host's own wish, and kept to by all jobs for good.",
    ),
    Mutant(
        name="delay-repaid-as-wish",
        kind=Slip.SIDE,
        where="p2pcrawl.master.loans.borrowing:Borrowing._repay",
        old="lasting_delay_s(host, jobs), asked_delay_s(host, jobs)",
        new="lasting_delay_s(host, jobs), lasting_delay_s(host, jobs)",
        harm="A lender takes what a borrower's jobs keep to at a host for what the host asks for.",
    ),
)
