"""The ends of visits: when the page is due again, what is remembered of it, and whether its items stay."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from p2pcrawl.core.bench.candidate import Candidate
from p2pcrawl.core.journal import Journal
from p2pcrawl.core.revisits.budget import HostBudget
from p2pcrawl.core.revisits.likes import Likes
from p2pcrawl.core.revisits.periods import NEVER, Came, Periods, as_seconds, seen_changes
from p2pcrawl.frontier.records.batch import Ending
from p2pcrawl.frontier.records.retried import NEVER_AGAIN, FailedAgain
from p2pcrawl.master.boards.job_boards import boards_of
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.model.cluster.notable import Notable
from p2pcrawl.model.crawl.job import START_URL
from p2pcrawl.model.crawl.page_link import FILE_CALLBACK, Link
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.crawl.request import Kind
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.outcome import Drop, Failure, NoPage
from p2pcrawl.model.page_past import ADAPTIVE, PagePast
from p2pcrawl.model.page_type import PageType, type_told
from p2pcrawl.model.reason_choice import pages_named
from p2pcrawl.model.texts.imprint_url import IMPRINT_URL
from p2pcrawl.spiders.page_types.url_shape import pattern_of
from p2pcrawl.wire.messages.past_form import packed_past, past_in
from p2pcrawl.wire.messages.slave_messages import Outcome, Task

log = logging.getLogger(__name__)

ON_TIME_S = 60.0
ON_TIME_PART = 0.1
"""A visit is on time that is over within a minute, or a tenth of its period, after it was due."""
_NEVER = frozenset({NoPage.START, NoPage.STORED, NoPage.REQUEUED, NoPage.REQUEUED_UNANSWERED, Drop.INVALID})
_KINDS: Mapping[PageType | None, str] = {PageType.ARTICLE: Kind.DETAIL, PageType.NAVIGATION: Kind.INDEX}
_AS_BEFORE = frozenset({NoPage.UNCHANGED, NoPage.REDIRECT})


class VisitEnds:
    """Knows the rules and the budgets of jobs. ``clock`` tells the time of day."""

    def __init__(self, journal: Journal, clock: Callable[[], float] = time.time) -> None:
        self._journal = journal
        self._clock = clock
        self._periods: dict[int, tuple[int, Periods]] = {}
        self._budgets: dict[int, tuple[int, HostBudget]] = {}
        self._likes = Likes()

    def periods(self, job: Job) -> Periods:
        """Returns the rules of a job, as they are in force."""
        known = self._periods.get(job.id)
        if known is None or known[0] != job.version:
            known = self._periods[job.id] = job.version, Periods.of(job.settings)
        return known[1]

    def budget(self, job: Job) -> HostBudget:
        """Returns the budgets of a job's hosts."""
        per_hour = job.settings.revisit_host_budget
        known = self._budgets.get(job.id)
        if known is None or known[0] != per_hour:
            known = self._budgets[job.id] = per_hour, HostBudget(float(per_hour))
        return known[1]

    def due_at(self, job: Job) -> dict[str, int]:
        """Returns by kinds when pages of which nothing was learnt are due again."""
        periods, now = periods_by_kind(job, self.periods(job)), int(self._clock())
        return {kind: periods.after(kind, past_in(b""), Came.IN_VAIN, 0, now)[1] for kind in ("index", "detail")}

    def host_down_again(self, job: Job) -> FailedAgain:
        """Returns when pages of a host that is down are tried again, and how often."""
        settings = job.settings
        if not _is_retried(settings, Failure.HOST_DOWN, 0, 0):
            return NEVER_AGAIN
        return FailedAgain(int(self._clock()) + max(1, round(settings.retry_failed_after)), settings.retry_failed_times)

    def end(self, job: Job, ending: Ending, tally: dict[str, int]) -> Ending:
        """Completes the end of a page by what follows for its next visit, and counts it."""
        candidate, now = ending.candidate, int(self._clock())
        if ending.phase is Phase.QUEUED:
            if candidate.visit:
                self.budget(job).again(candidate.host)
            return ending
        came = _came_of(ending.phase, ending.reason)
        past, due = with_kind_shown(past_in(ending.past), ending.page_type), 0
        if not candidate.asks_nobody and _recurs(candidate.link, ending.reason):
            past, due = self._after(job, candidate, past, came, now)
            due = due or failed_due(job.settings, ending, candidate.visit, now)
        if due:
            tally["again"] += 1
        if candidate.visit:
            self._count(job, candidate, came, past.period, now, tally)
        if came is Came.GONE and past.gone == 1:
            noted = self._journal.note(Notable.PAGE_GONE, job=job.id, url=candidate.link.url, status=ending.status)
            log.info("%s is gone (status %d)", candidate.link.url, ending.status, extra=noted)
        brought = ending.items is not None or ending.staged
        keeps = candidate.visit > 0 and not brought and (came is not Came.CHANGED and ending.reason != NoPage.REDIRECT)
        return ending._replace(due=due, past=packed_past(past) if due else b"", keeps=keeps)

    def _after(self, job: Job, candidate: Candidate, past: PagePast, came: Came, now: int) -> tuple[PagePast, int]:
        periods, link = self.periods(job), candidate.link
        if periods.rule(link.kind, past) != ADAPTIVE:
            return periods.after(link.kind, past, came, candidate.visit, now)
        pattern = pattern_of(link.url)
        likely = self._likes.rate(candidate.host, pattern, periods.busiest)
        past, due = periods.after(link.kind, past, came, candidate.visit, now, likely)
        self._likes.learn(candidate.host, pattern, link.fingerprint, seen_changes(past), past.seconds)
        return past, due

    def _count(self, job: Job, candidate: Candidate, came: Came, period: int, now: int, tally: dict[str, int]) -> None:
        self.budget(job).over(candidate.host)
        tally["revisits"] += 1
        tally[f"revisits:{came.name.lower().replace('_', '-')}"] += 1
        if candidate.due and now - candidate.due > max(ON_TIME_S, ON_TIME_PART * period):
            tally["revisits_late"] += 1


def periods_by_kind(job: Job, periods: Periods) -> Periods:
    """Returns the rules of a job for pages of which no more than their kind is at hand: where each board has periods of
    its own, the shortest one. A page that its board never asks again shows that at its next turn.
    """
    if not job.spec.boards or periods.index or periods.detail:
        return periods
    revisits = [known.board.revisit for known in boards_of(job).values() if not known.version.closed]
    own = (
        [seconds for each in revisits if (seconds := as_seconds(each.navigation))],
        [seconds for each in revisits if (seconds := as_seconds(each.articles))],
    )
    index, detail = (min(each, default=NEVER) for each in own)
    return replace(periods, index=index, detail=detail)


def failed_due(settings: Settings, end: Ending | Outcome, visit: int, now: int) -> int:
    """Returns when a page that has failed is to be tried again, in seconds since 1970, or 0: never."""
    failed = end.phase == Phase.FAILED and _is_retried(settings, end.reason, end.status, visit)
    return now + max(1, round(settings.retry_failed_after)) if failed else 0


def _is_retried(settings: Settings, reason: str, status: int, visit: int) -> bool:
    if not settings.retry_failed_after or visit >= settings.retry_failed_times:
        return False
    named = settings.retry_failed_reasons
    return not named or any(pages_named(each).covers(reason, status) for each in named)


def with_kind_shown(past: PagePast, page_type: str) -> PagePast:
    """Notes which kind a page showed to be, if anybody looked; a link may have been guessed wrong."""
    shown = _KINDS.get(type_told(page_type))
    return past if shown is None else replace(past, kind=shown)


def due_after(job: Job, task: Task, outcome: Outcome, now: float) -> tuple[bytes, int] | None:
    """Returns what is remembered of a page that was fetched for another master, and when it is due again. None: its
    record has items of an earlier visit, which are not known here; the page is to be visited again.
    """
    brings = outcome.phase == Phase.DONE and outcome.reason not in (NoPage.UNCHANGED, NoPage.GONE)
    if task.visit and not brings:
        return None
    past = with_kind_shown(past_in(outcome.past or task.past), outcome.page_type)
    if outcome.phase == Phase.QUEUED or not _recurs(task.link, outcome.reason):
        return packed_past(past), 0
    came = _came_of(Phase(outcome.phase), outcome.reason)
    past, due = Periods.of(job.settings).after(task.link.kind, past, came, task.visit, int(now))
    due = due or failed_due(job.settings, outcome, task.visit, int(now))
    return packed_past(past) if due else b"", due


def _recurs(link: Link, reason: str) -> bool:
    return link.callback != FILE_CALLBACK and is_visited_again(link.url, reason)


def is_visited_again(url: str, reason: str) -> bool:
    """Tells whether a page that ended so can be visited again at all."""
    return not url.startswith((START_URL, IMPRINT_URL)) and reason not in _NEVER


def _came_of(phase: Phase, reason: str) -> Came:
    if phase is not Phase.DONE:
        return Came.IN_VAIN
    if reason == NoPage.GONE:
        return Came.GONE
    return Came.UNCHANGED if reason in _AS_BEFORE else Came.CHANGED
