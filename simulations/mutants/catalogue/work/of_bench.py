"""Mistakes on the bench, where it is chosen what is granted next, and in the cycle that grants it."""

from __future__ import annotations

from ...making.mutant import Mutant, Slip

MUTANTS = (
    Mutant(
        name="withdrawn-asks-for-nothing",
        kind=Slip.RETRY,
        where="p2pcrawl.core.bench.workbench:Workbench.withdraw",
        old="if queue.more and not queue.hot and not queue.loading:",
        new="if False:",
        harm="A queue of which all that is in memory has ended elsewhere is never loaded again: the job hangs.",
    ),
    Mutant(
        name="full-and-turning",
        kind=Slip.CHECK,
        where="p2pcrawl.master.cycle:Cycle.due_at",
        old="due.append(max(at, now + LOOK_AGAIN_S) if self.company.full else at)",
        new="due.append(at)",
        harm="A master with too much under way takes turns that grant nothing, one after the other at once.",
    ),
)
