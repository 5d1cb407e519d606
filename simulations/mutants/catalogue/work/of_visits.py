"""Mistakes with pages that are visited again: when they are due, who visits them, and what stays of earlier visits."""

from __future__ import annotations

from ...making.mutant import Mutant, Slip

_RECORDS = "p2pcrawl.frontier.records."

MUTANTS = (
    Mutant(
        name="unchanged-items-thrown-away",
        kind=Slip.CLEANUP,
        where=_RECORDS + "endings:_write_items",
        old="over = [e for e in over if not e.keeps]",
        new="over = list(over)",
        harm="A page that says nothing new loses the items of the visit that brought them.",
    ),
    Mutant(
        name="copies-of-visits-without-items",
        kind=Slip.CLEANUP,
        where="p2pcrawl.master.copies.row_forms:copy_of_ending",
        old="if kept is None:",
        new="if True:",
        harm="What takes the place of a copy has none of its items: they are lost with the owner.",
    ),
    Mutant(
        name="due-not-taken-over",
        kind=Slip.MERGE,
        where=_RECORDS + "merging:merge",
        old="*(row.due, row.due if row.phase != Phase.QUEUED else 0),",
        new="*(row.due, 0),",
        harm="Pages that came over from another master are never visited again.",
    ),
    Mutant(
        name="again-is-no-reason-to-go-on",
        kind=Slip.EARLY,
        where="p2pcrawl.master.exchange:Exchange.busy",
        old='+ max(0, job.counts["again"])',
        new="",
        harm="A job is finished though pages are to be visited again.",
    ),
    Mutant(
        name="again-not-counted-when-it-comes-over",
        kind=Slip.CHECK,
        where=_RECORDS + "merging:_move_in_queue",
        old='tally["again"] += (row.due > 0 and row.phase != Phase.QUEUED) - (here["turn"] > 0)',
        new="pass",
        harm="A job ends, or never does, for the counter of what is to be visited again is wrong.",
    ),
    Mutant(
        name="visit-without-its-number",
        kind=Slip.MERGE,
        where=_RECORDS + "due_visits:begin",
        old="visit = min(visit + 1, {VISIT_MAX}), turn = 0",
        new="visit = min(visit, {VISIT_MAX}), turn = 0",
        harm="The end of a later visit has no greater stamp than that of the one before: copies do not learn of it.",
    ),
)
