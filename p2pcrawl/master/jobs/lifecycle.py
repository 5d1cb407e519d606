"""The states of the jobs of a master: how they are opened, steered, closed at their limits and finished.

A change is in force at once, and on disk with the next turn of the master's cycle, which takes it along
(:meth:`Lifecycle.take_changes`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from p2pcrawl.core.bench.workbench import Workbench
from p2pcrawl.core.control import CANCELLED, FINISHED, RUNNING, Control
from p2pcrawl.core.journal import Journal
from p2pcrawl.master.jobs.job import Job, KnownJobs, pack_job
from p2pcrawl.master.jobs.loading import Loading
from p2pcrawl.model.cluster.notable import Notable
from p2pcrawl.model.crawl.record import Order
from p2pcrawl.model.crawl.settings import Settings

log = logging.getLogger(__name__)


class Lifecycle:
    """Knows all jobs of a master; ``wake`` is called when its next turn has a change to write."""

    def __init__(
        self,
        jobs: KnownJobs,
        workbench: Workbench,
        loading: Loading,
        journal: Journal,
        wake: Callable[[], None],
    ) -> None:
        self._jobs = jobs
        self._bench = workbench
        self._loading = loading
        self._journal = journal
        self._wake = wake
        self.orders: dict[int, Order] = {}
        """How each job's queues are ordered."""
        self._states: dict[int, tuple[str, str]] = {}
        self._specs: set[int] = set()

    @property
    def active(self) -> list[Job]:
        return self._jobs.running

    def open(self, job: Job) -> None:
        """Opens a job at the bench: it is this master's, or has other settings than it had."""
        was_here = job.id in self._jobs
        self._jobs[job.id] = job
        self.orders[job.id] = job.settings.queue_order
        self._bench.open_job(job.id, job.pace)
        if job.state != RUNNING:
            self._bench.halt_job(job.id)
        elif was_here:
            # It may have rested, and its hosts have given up their seats.
            self._loading.sweep_all()
        self._wake()

    def retune(self, job: Job) -> None:
        """Lets a job go on at the pace that it has by now: hosts follow with their next request."""
        self._bench.change_pace(job.id, job.pace)
        self.save_spec(job)

    def drop(self, job: Job) -> None:
        """Forgets a job, of which nothing is written any more."""
        self._jobs.pop(job.id, None)
        self._states.pop(job.id, None)
        self._specs.discard(job.id)
        self._bench.drop_job(job.id)

    # -- what is written ----------------------------------------------------------------------

    def save_state(self, job: Job) -> None:
        self._states[job.id] = (job.state, job.reason)

    def save_spec(self, job: Job) -> None:
        self._specs.add(job.id)
        self._wake()

    def take_changes(self) -> tuple[dict[int, tuple[str, str]], dict[int, bytes]]:
        """Returns the states and the specs of the jobs in which these have changed since the last turn."""
        states, self._states = self._states, {}
        specs, self._specs = self._specs, set()
        return states, {number: pack_job(self._jobs[number]) for number in specs}

    # -- states -------------------------------------------------------------------------------

    def steer(self, job: Job, control: Control, *, heard: bool = False) -> None:
        """Puts a job into another state: on disk after the next turn. ``heard``: another master has done that, and
        told it.
        """
        was, job.control = job.state, control
        if job.state != was and not heard:
            noted = self._journal.note(Notable.JOB_STATE, job=job.id, was=was, state=job.state, reason=job.reason)
            log.info("job %d: %s, was %s", job.id, job.state, was, extra=noted)
        if job.is_deleted:
            job.bury()
            self._bench.drop_job(job.id)
        self.save_state(job)
        self.save_spec(job)
        if job.state == RUNNING:
            was_halted, job.closing = was != RUNNING or bool(job.closing), ""
            self._bench.resume_job(job.id)
            if was_halted:
                # Sweeps have passed over what was on disk of it, also of queues that came to be known since.
                self._bench.reload_job(job.id)
            self._loading.sweep_all()
        else:
            job.since_s = None
            self._bench.halt_job(job.id)
        self._wake()

    def finish(self, job: Job, state: str, reason: str) -> None:
        self.steer(job, job.control.then(state, reason))

    def refuse(self, number: int, reason: str) -> None:
        """Cancels a job whose spider cannot be opened: that ends the job, not this master."""
        job = self._jobs.get(number)
        if job is not None and job.state == RUNNING:
            log.error("job %s cannot be run: %s", job.spec.name, reason)
            self.finish(job, CANCELLED, reason)

    def close(self, number: int, reason: str) -> None:
        """Closes a job early, if it runs here: nothing more of it is granted."""
        job = self._jobs.get(number)
        if job is not None and job.state == RUNNING and not job.closing:
            job.closing = reason
            self._bench.halt_job(number)

    def close_and_finish(self, ran_s: float, is_over: Callable[[Job], bool]) -> None:
        """Closes jobs that reached a limit, finishes those that have nothing left. ``ran_s``: for how long the master
        has run.
        """
        for job in self.active:
            if job.since_s is None:
                # A master may have been up for days when a job comes.
                job.since_s, job.barren = ran_s, (job.counts["items"], job.counts["pages"], 0.0)
            if not job.closing:
                job.closing = limit_reached(job, ran_s - job.since_s)
                if job.closing:
                    log.info("job %s is closing: %s", job.spec.name, job.closing)
            if job.closing:
                self._bench.halt_job(job.id)
            if is_over(job):
                self.finish(job, FINISHED, job.closing)


def limit_reached(job: Job, ran_s: float) -> str:
    """Returns the setting that says that the job is to be closed, which has run for so long here, or ""."""
    settings, counts = job.settings, job.counts
    if limit := count_reached(settings, counts["pages"], counts["items"], job.errors):
        return limit
    if settings.closespider_timeout and ran_s >= settings.closespider_timeout:
        return "closespider_timeout"
    return _barren(job, ran_s)


def count_reached(settings: Settings, pages: int, items: int, errors: int) -> str:
    """Returns the setting that says that a job with so many of these is to be closed, or ""."""
    if settings.closespider_pagecount and pages >= settings.closespider_pagecount:
        return "closespider_pagecount"
    if settings.closespider_itemcount and items >= settings.closespider_itemcount:
        return "closespider_itemcount"
    if settings.closespider_errorcount and errors >= settings.closespider_errorcount:
        return "closespider_errorcount"
    return ""


def has_count_limit(settings: Settings) -> bool:
    """Tells whether so many pages, items or errors close a job."""
    return bool(settings.closespider_pagecount or settings.closespider_itemcount or settings.closespider_errorcount)


def _barren(job: Job, ran_s: float) -> str:
    """Returns the setting that says that the job has had no item for too long, or ""."""
    settings, items, pages = job.settings, job.counts["items"], job.counts["pages"]
    if not settings.closespider_pagecount_no_item and not settings.closespider_timeout_no_item:
        return ""
    if items != job.barren[0]:
        job.barren = (items, pages, ran_s)
    _, pages_then, ran_then_s = job.barren
    if settings.closespider_pagecount_no_item and pages - pages_then >= settings.closespider_pagecount_no_item:
        return "closespider_pagecount_no_item"
    if settings.closespider_timeout_no_item and ran_s - ran_then_s >= settings.closespider_timeout_no_item:
        return "closespider_timeout_no_item"
    return ""
