"""From reports to a batch: what each page, robots.txt or lost lease means for frontier, hosts and counters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from p2pcrawl.core.politeness import (
    ROBOTS_TTL_S,
    ROBOTS_UNREACHABLE_TTL_S,
    RobotsEntry,
    pack_body,
)
from p2pcrawl.core.ring import key_hash
from p2pcrawl.core.workbench import Candidate, Workbench
from p2pcrawl.frontier.batch import Batch, Ending, HostRow, ItemRow, NewLink
from p2pcrawl.master.job import Job, pack_spec
from p2pcrawl.master.session import Lease, RobotsLease, Session
from p2pcrawl.model.fingerprint import SIZE
from p2pcrawl.model.job import START_URL
from p2pcrawl.model.outcome import Failure
from p2pcrawl.model.record import Phase
from p2pcrawl.model.url import host_of
from p2pcrawl.wire.messages import Links, Outcome, Page, RobotsResult

ROBOTS_TRIES = 3
ROBOTS_RETRY_S = 2.0
_HOSTS_KNOWN_MAX = 200_000


class Intake:
    """Fills a batch. What is to follow its commit gathers in ``retries`` and ``forgotten``."""

    def __init__(self, jobs: Mapping[int, Job], workbench: Workbench) -> None:
        self._jobs = jobs
        self._workbench = workbench
        self._hosts: dict[str, int] = {}
        self.retries: list[tuple[Candidate, float]] = []
        self.forgotten: list[int] = []

    # -- pages --------------------------------------------------------------------------------

    def page(self, session: Session, page: Page, batch: Batch, now: float) -> None:
        """One page report of a live session, or a part of one."""
        job = self._jobs[page.job]
        for links in page.links:
            self._links(job, page.record, links, batch)
        lease = session.leases.get(page.record)
        if lease is None or lease.number != page.lease:
            return
        items = ItemRow(page.record, page.job, len(page.items), b"\n".join(page.items)) if page.items else None
        if page.outcome is None:
            if items is not None:
                batch.staged.append(items)
                lease.staged += items.number
            return
        if items is not None:
            if lease.staged:
                batch.staged.append(items)
            else:
                batch.items.append(items)
        if count := len(page.items) + lease.staged:
            batch.tallies[job.id]["items"] += count
        del session.leases[page.record]
        job.leased -= 1
        self._outcome(job, lease, page.outcome, batch, now)

    def _links(self, job: Job, parent: int, links: Links, batch: Batch) -> None:
        prints, append = links.fingerprints, batch.links.append
        for number, url in enumerate(links.urls):
            append(
                NewLink(
                    job.id,
                    parent,
                    prints[number * SIZE : number * SIZE + SIZE],
                    self._host_key(url),
                    links.kind,
                    links.priority,
                    links.depth,
                    links.seed,
                    links.callback,
                    links.referer,
                    url,
                    links.extra,
                )
            )

    def _host_key(self, url: str) -> int:
        authority = url[: url.find("/", 8)]
        key = self._hosts.get(authority)
        if key is None:
            if len(self._hosts) >= _HOSTS_KNOWN_MAX:
                self._hosts.clear()
            key = self._hosts[authority] = key_hash(host_of(url))
        return key

    def _outcome(self, job: Job, lease: Lease, outcome: Outcome, batch: Batch, now: float) -> None:
        candidate, host = lease.candidate, lease.seat.host
        tally = batch.tallies[job.id]
        start = candidate.url.startswith(START_URL)
        fetched = not start and (outcome.answered or outcome.reason not in _UNFETCHED)
        if outcome.private:
            host.private = True
        if fetched:
            tally["fetches"] += 1
            host.end(
                now,
                job.pace,
                answered=outcome.answered,
                latency_s=outcome.latency_s,
                status=outcome.status,
                pause_s=outcome.host_pause_s,
                slow_down=outcome.slow_down,
            )
            if outcome.host_pause_s:
                batch.pauses.append((host.key, min(outcome.host_pause_s, job.pace.retry_after_max_s)))
        else:
            host.release(now, None)
        self._workbench.ended(lease.seat)
        self._tell(job, outcome, tally)
        if outcome.opened:
            self._open_networks(job, outcome.opened, batch)
        if outcome.close and not job.closing:
            job.closing = outcome.close
        phase = Phase(outcome.phase)
        if phase is Phase.QUEUED:
            self.retries.append((candidate, now + outcome.retry_in_s))
        else:
            self._leave(candidate, phase, outcome.reason, tally)
        batch.endings.append(
            Ending(
                candidate.record,
                job.id,
                phase,
                candidate.attempts,
                candidate.losses,
                outcome.status,
                outcome.reason,
                outcome.size,
                outcome.digest,
                outcome.detail,
                outcome.latency_s,
                candidate.kind,
                candidate.host,
                candidate.rank,
                lease.staged > 0,
            )
        )

    def _tell(self, job: Job, outcome: Outcome, tally: dict[str, int]) -> None:
        if outcome.status:
            tally[f"statuses:{outcome.status}"] += 1
        tally["bytes"] += outcome.size
        if outcome.dropped_items:
            tally["items_dropped"] += outcome.dropped_items
        for name, count in outcome.filtered.items():
            tally[f"filtered:{name}"] += count
        if outcome.phase == Phase.QUEUED:
            tally["retries"] += 1
            tally[f"retries:{outcome.reason}"] += 1
        elif outcome.phase == Phase.DONE and not outcome.reason:
            tally["pages"] += 1
        elif outcome.reason == "redirect":
            tally["redirects"] += 1

    def _leave(self, candidate: Candidate, phase: Phase, reason: str, tally: dict[str, int]) -> None:
        name = phase.name.lower()
        tally["queued"] -= 1
        tally[name] += 1
        if phase is not Phase.DONE:
            tally[f"{name}:{reason}"] += 1
        self.forgotten.append(candidate.record)

    def _open_networks(self, job: Job, networks: list[str], batch: Batch) -> None:
        known = set(job.spec.open_networks)
        if known.issuperset(networks):
            return
        job.spec = replace(job.spec, open_networks=tuple(sorted(known.union(networks))))
        job.version += 1
        batch.specs[job.id] = pack_spec(job.spec)

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
            result.verdict, pack_body(result.body), result.reason, result.crawl_delay_s, now + ROBOTS_TTL_S
        )
        if unreachable:
            again = tries < ROBOTS_TRIES
            entry.expires_at = now if again else now + ROBOTS_UNREACHABLE_TTL_S
            entry.tries = tries if again else 0
        self._workbench.robots_known(lease.seat, lease.origin, lease.agent, entry)
        host.end(now, pace, answered=not unreachable)
        if unreachable and entry.tries:
            host.next_at = max(host.next_at, now + ROBOTS_RETRY_S * 2 ** (tries - 1))
        self._workbench.ended(lease.seat)
        batch.tallies[lease.job]["robots"] += 1
        if not unreachable:
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

    # -- leases without a report --------------------------------------------------------------

    def lost(self, lease: Lease, batch: Batch, now: float, detail: str) -> None:
        """The slave died with the page in its hands."""
        candidate = lease.candidate
        job = self._jobs[candidate.job]
        candidate.losses += 1
        job.leased -= 1
        lease.seat.host.release(now, job.pace)
        self._workbench.ended(lease.seat)
        tally = batch.tallies[job.id]
        tally["losses"] += 1
        phase = Phase.QUEUED
        if candidate.losses >= job.pace.losses_max:
            phase = Phase.FAILED
            self._leave(candidate, phase, Failure.SLAVE_LOST, tally)
        else:
            self.retries.append((candidate, now))
        batch.endings.append(
            Ending(
                candidate.record,
                job.id,
                phase,
                candidate.attempts,
                candidate.losses,
                0,
                Failure.SLAVE_LOST,
                0,
                b"",
                detail,
                0.0,
                candidate.kind,
                candidate.host,
                candidate.rank,
                False,
            )
        )
        if lease.staged:
            batch.unstage.append(candidate.record)

    def lost_robots(self, lease: RobotsLease, now: float) -> None:
        """The slave died with the robots.txt in its hands; one that kills every slave is not asked for again."""
        host, pace = lease.seat.host, self._jobs[lease.job].pace
        before = host.robots.get((lease.origin, lease.agent)) if host.robots else None
        entry = RobotsEntry("disallow", b"", "the slave died each time it was read", 0.0, now, losses=1)
        if before is not None:
            entry.crawl_delay_s, entry.tries, entry.losses = before.crawl_delay_s, before.tries, before.losses + 1
        if entry.losses >= pace.losses_max:
            entry.expires_at, entry.losses = now + ROBOTS_UNREACHABLE_TTL_S, 0
        self._workbench.robots_known(lease.seat, lease.origin, lease.agent, entry)
        host.release(now, pace)
        self._workbench.ended(lease.seat)

    def returned(self, session: Session, record: int, batch: Batch, now: float) -> None:
        """The slave did not begin: the attempt did not happen."""
        lease = session.leases.pop(record, None)
        if lease is None:
            return
        lease.candidate.attempts -= 1
        self._jobs[lease.candidate.job].leased -= 1
        lease.seat.host.release(now, None)
        self._workbench.ended(lease.seat)
        batch.returned.append(record)
        self.retries.append((lease.candidate, now))


_UNFETCHED = frozenset({"robots", "robots-unreachable", "private-network", "ignored"})
"""Ends that came about without a request to the host."""
