"""From reports to a batch: what each page, robots.txt or lost lease means for frontier, hosts and counters."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass, field
from itertools import repeat
from typing import NamedTuple

from p2pcrawl.core.accounts import ENDS
from p2pcrawl.core.bench.candidate import Candidate
from p2pcrawl.core.bench.seat import Seat
from p2pcrawl.core.hosts.hearing import OUTAGE_TIMES
from p2pcrawl.core.hosts.politeness import (
    RobotsEntry,
    pack_body,
)
from p2pcrawl.core.hosts.retry import (
    NO_NAME_TIMES,
    NOT_THE_HOSTS,
    OF_PROXIES,
    OURS,
    OURS_BACKOFF_MAX_S,
    OURS_TIMES,
    SILENCES,
)
from p2pcrawl.fetch.connection.guard import opened_by
from p2pcrawl.frontier.database.left_out_rows import LeftOutRow
from p2pcrawl.frontier.records.batch import Batch, HostRow, ItemRow, NewLink
from p2pcrawl.master.company.company import Company
from p2pcrawl.master.jobs import job_stats
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.master.links.dispatch import Hold, Parcel
from p2pcrawl.master.revisits.visit_ends import VisitEnds
from p2pcrawl.master.slaves.session import Lease, RobotsLease, Session
from p2pcrawl.model.cluster.notable import Notable
from p2pcrawl.model.crawl.job import CUT_SHORT, IDLE_END, START_URL
from p2pcrawl.model.crawl.page_link import FILE_CALLBACK
from p2pcrawl.model.crawl.record import GIVEN_UP, Phase
from p2pcrawl.model.outcome import GOING_ON, PAGES, Drop, Failure, Filter, NoPage
from p2pcrawl.model.page_type import type_told
from p2pcrawl.model.timings import TIMINGS
from p2pcrawl.wire.messages.slave_messages import LinkColumns, Outcome, Page, RobotsResult

log = logging.getLogger(__name__)

ROBOTS_TRIES = 3
ROBOTS_RETRY_S = 2.0
_ROBOTS_TRIES: dict[str, int] = {Failure.NO_NAME: 1 + NO_NAME_TIMES, **dict.fromkeys(OURS | OF_PROXIES, 1 + OURS_TIMES)}
"""By what kept it from being read, where that differs."""
_FILTERS = frozenset(Filter)


@dataclass(slots=True)
class Aftermath:
    """The consequences of a commit, when what led to them is durable."""

    retries: list[tuple[Candidate, float]] = field(default_factory=list)
    """Pages that go back to their queues, and when."""
    forgotten: list[int] = field(default_factory=list)
    """Records that have left their queues."""


class _Ended(NamedTuple):
    """A page that is over but for its links."""

    job: Job
    lease: Lease
    outcome: Outcome
    items: ItemRow | None
    fetched: bool


class _Onward(NamedTuple):
    """An imprint whose items go on to another one, as it was reported."""

    job: Job
    lease: Lease
    page: Page


class Intake:
    """Fills a batch. What is to follow its commit gathers in ``aftermath``.

    A page with links that other masters own ends later, when these are settled: till then it waits as its lease's
    hold, and comes back through ``_ready``. An imprint goes on to its next band when it has its copies itself: till
    then it waits among ``_onward``. So whoever inherits one that may have gone on knows it.
    """

    def __init__(self, company: Company, visits: VisitEnds) -> None:
        ground = company.ground
        self._company = company
        self._visits = visits
        self._jobs = ground.jobs
        self._workbench = ground.workbench
        self._keys = ground.keys
        self._openings = ground.openings
        self._wake = ground.wake.set
        self._answers_s = ground.meters.answers_s
        self._journal = ground.journal
        self._slices = ground.slices if company.others_bring_jobs else None
        self._ready: list[_Ended] = []
        self._onward: list[_Onward] = []
        self.held_in: Counter[int] = Counter()
        """Pages whose end waits for their links, by the bucket that they are in."""
        self.aftermath = Aftermath()
        self.down: dict[tuple[int, int], None] = {}
        """(job, host) of hosts that do not answer, whose queue is to be put aside."""

    @property
    def strained(self) -> bool:
        """True if so much is on its way to other masters that parts of pages are to wait."""
        return self._company.strained

    # -- pages --------------------------------------------------------------------------------

    def page(self, session: Session, page: Page, batch: Batch, now: float) -> None:
        """Takes in one page report of a live session, or a part of one."""
        job = self._jobs.get(page.job)
        if job is None:
            # Nobody granted it; what it led to is nobody's business here.
            return
        lease = session.leases.get(page.record)
        if lease is not None and (lease.number, lease.candidate.job) != (page.lease, page.job):
            lease = None
        if lease is not None and page.outcome is not None and page.outcome.reason in GOING_ON:
            del session.leases[page.record]
            self.held_in[lease.candidate.bucket] += 1
            self._company.when_safe(lambda: self._go_on(_Onward(job, lease, page)))
            return
        hold = Hold() if lease is None else lease.hold
        for links in page.links:
            self._links(job, page.record, links, batch, hold)
        if lease is None:
            return
        items = ItemRow(page.record, page.job, len(page.items), b"\n".join(page.items)) if page.items else None
        if page.outcome is None:
            if items is not None:
                batch.staged.append(items)
                lease.staged += items.number
            return
        del session.leases[page.record]
        self._over(job, lease, page.outcome, items, batch, now)

    def _over(self, job: Job, lease: Lease, outcome: Outcome, items: ItemRow | None, batch: Batch, now: float) -> None:
        """Ends a page, at once or when its links are settled."""
        fetched = self._asked(job, lease, outcome, batch, now)
        if outcome.reason == Drop.PRIVATE_NETWORK and _opened_meanwhile(job, lease):
            outcome.phase = Phase.QUEUED
        ended = _Ended(job, lease, outcome, items, fetched)
        if lease.hold.waiting:
            self.held_in[lease.candidate.bucket] += 1
            lease.hold.then = lambda: self._ready.append(ended)
        else:
            self._end(ended, batch, now)

    def release(self, batch: Batch, now: float) -> None:
        """Ends the pages whose links have all been settled since, and lets imprints go on that have their copies."""
        ready, self._ready = self._ready, []
        for ended in ready:
            self._no_longer_held(ended.lease)
            self._end(ended, batch, now)
        onward, self._onward = self._onward, []
        for job, lease, page in onward:
            self._no_longer_held(lease)
            if page.outcome is not None:
                for links in page.links:
                    self._links(job, page.record, links, batch, lease.hold)
                self._over(job, lease, page.outcome, None, batch, now)

    def _go_on(self, onward: _Onward) -> None:
        self._onward.append(onward)
        self._wake()

    def _no_longer_held(self, lease: Lease) -> None:
        bucket = lease.candidate.bucket
        self.held_in[bucket] -= 1
        if not self.held_in[bucket]:
            del self.held_in[bucket]

    def _links(self, job: Job, parent: int, links: LinkColumns, batch: Batch, hold: Hold) -> None:
        """Takes in links: its own into the batch; those of other masters leave, and the page waits for them."""
        place, router, shard_key = self._keys.place, self._company.router, job.settings.shard_key
        stored = job.settings.reads_stored_pages
        if links.shared.seed:
            self._openings.note(job, links.urls)
        for link, changed in zip(links.each(), links.changed or repeat(0), strict=False):
            host, bucket = place(shard_key, link.url, link.fingerprint, stored=stored)
            owner = router.owner(bucket)
            if owner is None:
                batch.links.append(NewLink(link, job.id, host, bucket, parent, changed=changed))
            else:
                self._company.send(job.id, owner, Parcel(link, bucket, hold))

    def _asked(self, job: Job, lease: Lease, outcome: Outcome, batch: Batch, now: float) -> bool:
        """Ends the request: its host may be asked again, in its time. Returns whether the host was asked at all."""
        candidate, host = lease.candidate, lease.seat.host
        start = candidate.asks_nobody
        fetched = not start and not outcome.unasked and (outcome.answered or outcome.reason not in _UNFETCHED)
        if outcome.private:
            host.private = True
        if fetched:
            self._note_hearing(answered=outcome.answered, reason=outcome.reason, now=now)
            if outcome.answered:
                self._answers_s.note(outcome.latency_s)
            was_down = host.down
            host.end(
                now,
                job.pace,
                answered=outcome.answered,
                latency_s=outcome.latency_s,
                status=outcome.status,
                pause_s=outcome.host_pause_s,
                slow_down=outcome.slow_down,
                ours=outcome.reason in NOT_THE_HOSTS,
                deaf_s=self._workbench.hearing.deaf_s(now),
            )
            if host.down:
                self.down[(job.id, candidate.host)] = None
            elif was_down:
                log.info("%s answers again", host.name, extra=self._journal.note(Notable.HOST_BACK, host=host.name))
            if outcome.host_pause_s:
                batch.pauses.append((host.key, min(outcome.host_pause_s, job.pace.retry_after_max_s)))
        else:
            host.release(now, None)
        self._ended(lease.seat, pause_s=outcome.host_pause_s, slow_down=outcome.slow_down)
        if outcome.close and not job.closing:
            job.closing = outcome.close
        return fetched

    def _note_hearing(self, *, answered: bool, reason: str, now: float) -> None:
        if answered or reason not in SILENCES:
            self._workbench.hearing.heard(now)

    def _was_deaf(self, job: Job, lease: Lease, outcome: Outcome, now: float) -> bool:
        """Tells whether nobody was heard while a host that used to answer left this page without an answer."""
        if outcome.reason not in SILENCES or not lease.seat.host.answered:
            return False
        return self._workbench.hearing.deaf_since(lease.since, now, OUTAGE_TIMES * job.pace.down_after_s)

    def _end(self, ended: _Ended, batch: Batch, now: float) -> None:
        """Puts a page's items and its end into the batch, together."""
        job, lease, outcome, items, fetched = ended
        candidate = lease.candidate
        tally = batch.tallies[job.id]
        if fetched:
            tally["fetches"] += 1
        if items is not None:
            (batch.staged if lease.staged else batch.items).append(items)
        if count := (items.number if items is not None else 0) + lease.staged:
            tally["items"] += count
        job.leased -= 1
        self._count_outcome(job, outcome, tally)
        phase = Phase(outcome.phase)
        if fetched and self._slices is not None:
            self._slices.count_page(
                job.id,
                candidate.host,
                lease.seat.host.name,
                page=phase is Phase.DONE and not outcome.reason,
                items=count,
                bytes_=outcome.size,
                failure=_FAILURES.get(phase, ""),
            )
        if phase is Phase.QUEUED:
            self.aftermath.retries.append((candidate, now + outcome.retry_in_s))
        else:
            self._leave(candidate.record, phase, outcome.reason, tally)
        batch.endings.append(self._visits.end(job, lease.end(outcome, items), tally))
        if outcome.left_out:
            self._note_left_out(job, candidate, outcome, batch)
        if phase is Phase.QUEUED and self._was_deaf(job, lease, outcome, now):
            # The network is away: the attempt shows nothing, and the page has it once more.
            candidate.attempts -= 1

    def _note_left_out(self, job: Job, candidate: Candidate, outcome: Outcome, batch: Batch) -> None:
        page = "" if candidate.link.url.startswith(START_URL) else candidate.link.url
        for told in outcome.left_out:
            if told.reason in _FILTERS:
                batch.left_out.append(LeftOutRow(job.id, told.reason, told.url, page))

    def _count_outcome(self, job: Job, outcome: Outcome, tally: dict[str, int]) -> None:
        tally[ENDS] += 1
        if outcome.status:
            tally[f"statuses:{outcome.status}"] += 1
        tally["bytes"] += outcome.size
        if outcome.dropped_items:
            tally["items_dropped"] += outcome.dropped_items
        if outcome.marked:
            tally["marked"] += 1
            tally[f"marked:{outcome.marked}"] += 1
        for name, count in outcome.filtered.items():
            tally[f"filtered:{name}"] += count
        if outcome.stats:
            job_stats.count_news(outcome.stats, tally, job.counts)
        if outcome.phase == Phase.QUEUED and outcome.reason not in (IDLE_END, CUT_SHORT):
            tally["retries"] += 1
            tally[f"retries:{outcome.reason}"] += 1
        elif outcome.phase == Phase.DONE and outcome.reason in PAGES:
            tally["pages"] += 1
            if (page_type := type_told(outcome.page_type)) is not None:
                tally[f"types:{page_type}"] += 1
        elif outcome.reason == NoPage.REDIRECT:
            tally["redirects"] += 1

    def _leave(self, record: int, phase: Phase, reason: str, tally: dict[str, int]) -> None:
        name = phase.name.lower()
        tally["queued"] -= 1
        tally[name] += 1
        if phase is not Phase.DONE:
            tally[f"{name}:{reason}"] += 1
        self.aftermath.forgotten.append(record)

    def _ended(self, seat: Seat, *, pause_s: float = 0.0, slow_down: bool = False) -> None:
        """Frees the host: a request of it is over, one way or another."""
        self._workbench.ended(seat)
        self._company.ended(seat, pause_s=pause_s, slow_down=slow_down)

    # -- robots.txt ---------------------------------------------------------------------------

    def robots(self, session: Session, result: RobotsResult, batch: Batch, now: float) -> None:
        lease = session.robots.pop(result.lease, None)
        if lease is None:
            return
        host = lease.seat.host
        pace = self._jobs[lease.job].pace
        before = host.robots.get((lease.origin, lease.agent)) if host.robots else None
        tries = (before.tries if before is not None else 0) + 1
        unreachable = result.verdict == "disallow"
        entry = RobotsEntry(
            result.verdict, pack_body(result.body), result.reason, result.crawl_delay_s, now + TIMINGS.robots_ttl_s
        )
        reason = result.reason.partition(":")[0] if unreachable else ""
        if unreachable:
            again = tries < _ROBOTS_TRIES.get(reason, ROBOTS_TRIES)
            entry.expires_at = now if again else now + TIMINGS.robots_unreachable_ttl_s
            entry.tries = tries if again else 0
        if self._jobs[lease.job].opened_in.get(opened_by(lease.origin), 0) > lease.version:
            # The slave may have held it for closed.
            entry.expires_at = now
        if self._is_closed(self._jobs[lease.job], lease.origin):
            entry.only_for = lease.job
        self._workbench.robots_known(lease.seat, lease.origin, lease.agent, entry)
        if result.unasked:
            host.release(now, None)
        else:
            self._note_hearing(answered=not unreachable, reason=reason, now=now)
            deaf_s = self._workbench.hearing.deaf_s(now)
            host.end(now, pace, answered=not unreachable, ours=reason in NOT_THE_HOSTS, deaf_s=deaf_s)
        if unreachable and entry.tries:
            host.next_at = max(host.next_at, now + min(OURS_BACKOFF_MAX_S, ROBOTS_RETRY_S * 2 ** (tries - 1)))
        self._ended(lease.seat)
        batch.tallies[lease.job]["robots"] += 1
        if not unreachable and not entry.only_for:
            batch.hosts.append(
                HostRow(
                    host.key,
                    lease.origin,
                    lease.agent,
                    result.verdict,
                    entry.packed,
                    result.reason[:500],
                    result.crawl_delay_s,
                )
            )

    @staticmethod
    def _is_closed(job: Job, origin: str) -> bool:
        """Tells whether nobody could ask for it: what was found out then is not to be believed when it is open."""
        host = opened_by(origin)
        return bool(host) and host not in job.opened_in and not job.settings.allow_private_networks

    # -- leases without a report --------------------------------------------------------------

    def lost(self, lease: Lease, batch: Batch, now: float, detail: str, *, blamed: bool = True) -> None:
        """Ends a lease that ended without a report. ``blamed``: the slave may have died of the page."""
        candidate = lease.candidate
        job = self._jobs[candidate.job]
        candidate.losses += blamed
        job.leased -= 1
        lease.seat.host.release(now, job.pace)
        self._ended(lease.seat)
        tally = batch.tallies[job.id]
        tally["losses"] += 1
        phase = Phase.QUEUED
        if candidate.losses < job.pace.losses_max:
            self.aftermath.retries.append((candidate, now))
        elif candidate.link.callback == FILE_CALLBACK and candidate.attempts < GIVEN_UP:
            # The item that waits for it is to go on, and need not die of the file.
            candidate.attempts = GIVEN_UP
            self.aftermath.retries.append((candidate, now))
        else:
            phase = Phase.FAILED
            self._leave(candidate.record, phase, Failure.SLAVE_LOST, tally)
            log.warning("%s failed: %s (%s)", candidate.link.url, Failure.SLAVE_LOST, detail)
        if lease.staged:
            batch.unstage.append(candidate.record)
            lease.staged = 0
        ending = lease.end(Outcome(phase, Failure.SLAVE_LOST, detail))
        batch.endings.append(self._visits.end(job, ending, tally))

    def too_slow(self, lease: Lease, batch: Batch, now: float) -> None:
        """Fails a page of which the slave did not come back from its own work on the answer. Nor would another one."""
        detail = "the slave did not come back from decoding or parsing the answer, or looking for links in it"
        outcome = Outcome(Phase.FAILED, Failure.TOO_SLOW, detail, answered=True)
        self._over(self._jobs[lease.candidate.job], lease, outcome, None, batch, now)

    def spared(self, lease: Lease, batch: Batch, now: float) -> None:
        """Takes a page back from a slave that ended, and not by this page: no loss and no attempt, and it is fetched as
        soon as its host may be asked.
        """
        candidate = lease.candidate
        candidate.attempts -= 1
        job = self._jobs[candidate.job]
        job.leased -= 1
        lease.seat.host.release(now, job.pace)
        self._ended(lease.seat)
        batch.returned.append(candidate.record)
        if lease.staged:
            batch.unstage.append(candidate.record)
        self.aftermath.retries.append((candidate, now))

    def lost_robots(self, lease: RobotsLease, now: float, *, blamed: bool = True) -> None:
        """Takes back a robots.txt that a slave ended with in its hands; one that kills every slave is not asked for
        again.
        """
        host, pace = lease.seat.host, self._jobs[lease.job].pace
        before = host.robots.get((lease.origin, lease.agent)) if host.robots else None
        entry = RobotsEntry("disallow", b"", "the slave died each time it was read", 0.0, now, losses=int(blamed))
        if before is not None:
            entry.crawl_delay_s, entry.tries, entry.losses = before.crawl_delay_s, before.tries, before.losses + blamed
        if entry.losses >= pace.losses_max:
            entry.expires_at, entry.losses = now + TIMINGS.robots_unreachable_ttl_s, 0
        self._workbench.robots_known(lease.seat, lease.origin, lease.agent, entry)
        host.release(now, pace)
        self._ended(lease.seat)

    def returned(self, session: Session, record: int, batch: Batch, now: float) -> None:
        """Takes back a page that the slave did not begin: the attempt did not happen."""
        lease = session.leases.pop(record, None)
        if lease is None:
            return
        lease.candidate.attempts -= 1
        self._jobs[lease.candidate.job].leased -= 1
        lease.seat.host.release(now, None)
        self._ended(lease.seat)
        batch.returned.append(record)
        self.aftermath.retries.append((lease.candidate, now))

    def returned_robots(self, session: Session, number: int, now: float) -> None:
        """Takes back a robots.txt that the slave did not begin to ask for."""
        lease = session.robots.pop(number, None)
        if lease is not None:
            self.lost_robots(lease, now, blamed=False)


_FAILURES = {Phase.FAILED: "failed", Phase.QUEUED: "retries"}
"""The figures of a host that the end of a fetch raises."""
_UNFETCHED: frozenset[str] = frozenset(
    {
        *(*Drop, Failure.MIDDLEWARE, Failure.GIVEN_UP, Failure.STORE, NoPage.REQUEUED, NoPage.STORED),
        *(Failure.NOT_STORED, Failure.RAW_PAGE_AWAY),
    }
)
"""Ends that came about without a request to the host, unless it has answered."""


def _opened_meanwhile(job: Job, lease: Lease) -> bool:
    """Tells whether a job has opened a page's host since the page was granted."""
    return job.opened_in.get(opened_by(lease.candidate.link.url), 0) > lease.version
