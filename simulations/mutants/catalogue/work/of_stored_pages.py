"""Mistakes in how stored pages are found among the machines, and read in place of the web."""

from __future__ import annotations

from ...making.mutant import Mutant, Slip

_SEARCH = "p2pcrawl.peer.stored.page_search:PageSearch."
_LINKS = "p2pcrawl.peer.stored.crawled_links:CrawledLinks."

MUTANTS = (
    Mutant(
        name="stored-pages-of-the-away-given-up",
        kind=Slip.CHECK,
        where=_SEARCH + "_nowhere",
        old="        if missing:\n",
        new="        if len(missing) > 1:\n",
        harm="Pages whose answers are on a machine that comes back have failed for good.",
    ),
    Mutant(
        name="unanswered-search-given-up",
        kind=Slip.RETRY,
        where=_SEARCH + "page",
        old="return PageTold(question.number, trouble=str(error), away=True)",
        new="return PageTold(question.number, trouble=str(error))",
        harm="A page that is looked for as a machine dies has failed for good.",
    ),
    Mutant(
        name="first-stored-answer-counts",
        kind=Slip.MERGE,
        where=_SEARCH + "_last",
        old="if last := max(dates):",
        new="if last := next(filter(None, dates), None):",
        harm="A page that failed on one machine and was had on another is read as it failed.",
    ),
    Mutant(
        name="links-told-while-moving",
        kind=Slip.RACE,
        where=_LINKS + "here",
        old="settled = not self._ownership.syncing and self._ownership.complete",
        new="settled = True",
        harm="Pages of buckets that change hands as the links are gathered are never read.",
    ),
    Mutant(
        name="links-go-on-where-another-stopped",
        kind=Slip.FENCE,
        where=_LINKS + "next",
        old="if question.again:",
        new="if question.again and job not in self._told:",
        harm="A start that is begun anew, since its slave has died, leaves out what that one was told.",
    ),
    Mutant(
        name="links-over-at-the-first-trouble",
        kind=Slip.EARLY,
        where="p2pcrawl.slave.stored.link_seeding:LinkSeeding.run",
        old="return Outcome(Phase.QUEUED, UNTOLD, str(error), retry_in_s=AGAIN_S)",
        new="return Outcome(Phase.DONE, NoPage.START)",
        harm="A master that dies as the links are gathered takes its pages out of the job.",
    ),
    Mutant(
        name="stored-pages-followed",
        kind=Slip.CHECK,
        where="p2pcrawl.slave.work.jobs:Jobs._make_run",
        old="way, close, follows=False, stored_links=links)",
        new="way, close, follows=True, stored_links=links)",
        harm="Links of stored pages become pages that nobody has stored, and fail.",
    ),
    Mutant(
        name="seekers-not-told-of-the-end",
        kind=Slip.CLEANUP,
        where="p2pcrawl.slave.stored.page_seeking:PageSeeking.over",
        old="            if not waiting.done():\n",
        new="            if waiting.cancelled():\n",
        harm="Who waits for a page when the session ends waits for ever.",
    ),
)
