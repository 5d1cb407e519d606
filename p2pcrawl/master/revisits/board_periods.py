"""The periods of a board, as they hold for pages that wait for their next visit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from p2pcrawl.core.revisits.periods import Periods, as_seconds
from p2pcrawl.frontier.records.due_visits import WaitingPage
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.master.revisits.visit_ends import is_visited_again, with_kind_shown
from p2pcrawl.spiders.boards.board import Revisit
from p2pcrawl.wire.messages.past_form import past_in

_PAGES = 1 << 64


def due_by(job: Job, revisit: Revisit, now: int) -> Callable[[WaitingPage], int] | None:
    """Returns what tells when a page of a board is due, 0 for no change; None where its periods bring nothing forward:
    they are none, or others were typed, which go over them.
    """
    index, detail = as_seconds(revisit.navigation), as_seconds(revisit.articles)
    if job.settings.revisit_index or job.settings.revisit_detail or not (index or detail):
        return None
    periods = replace(Periods.of(job.settings), index=index, detail=detail)

    def due_of(page: WaitingPage) -> int:
        if not page.due and not is_visited_again(page.url, page.reason):
            return 0
        past = with_kind_shown(past_in(page.past), page.page_type)
        return periods.sooner(page.kind, past, page.visit, page.due, page.ended, now, page.key % _PAGES / _PAGES)

    return due_of
