"""The openings of jobs: what their start URLs open, settled before anything that needs it is granted.

Which host a start URL opens is read from the URL alone (``fetch.guard.opened_by``). So every master that takes in a
start URL's link knows what it opens, and notes it in the transaction that makes the link durable: a part of a page sent
ahead, links that came from others or came back, a record that moves with its bucket, all the same. Besides, what a
master knows goes to others ahead of whatever may need it: with each batch of links and of copies, before the rows of a
bucket that changes hands, and with the job itself; it is durable there before those are. A slave is told before it is
granted a page of the job.

The facts only grow, in any order, to the same set everywhere: of more hosts than can travel, the first in the order of
their names. A page that was dropped before a start URL opened its host is queued again when that is known, so the end
does not depend on who came first: see :attr:`Openings.reopened`.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping

from p2pcrawl.fetch.connection.guard import opened_by
from p2pcrawl.master.jobs.job import Job, KnownJobs, pack_job
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.outcome import Drop
from p2pcrawl.wire.messages.bounds import OPENED_MAX
from p2pcrawl.wire.messages.peer_messages import Row

log = logging.getLogger(__name__)


class Openings:
    """Keeps what the start URLs of jobs have opened. Each turn takes along :meth:`take_specs`, after all else."""

    def __init__(self, jobs: KnownJobs) -> None:
        self._jobs = jobs
        self._news: set[int] = set()
        self._told_of: set[int] = set()
        self.reopened: dict[int, set[str]] = {}
        """By job: hosts of which pages may have been dropped before it was known that they are open."""

    def note(self, job: Job, seeds: Iterable[str]) -> None:
        """Takes in these start URLs of the job with this turn."""
        self._learn(job, {host for url in seeds if (host := opened_by(url))})

    def learn(self, opened: Mapping[int, Collection[str]]) -> bool:
        """Takes in what others know, by job; tells whether any of it is news."""
        return any([self._learn(self._jobs[job], hosts) for job, hosts in opened.items() if job in self._jobs])

    def known(self, jobs: Collection[int]) -> dict[int, list[str]]:
        """Returns what those of these jobs have opened that have opened anything."""
        specs = [self._jobs[job].spec for job in jobs if job in self._jobs]
        return {spec.id: list(spec.opened) for spec in specs if spec.opened}

    def moved(self, job: Job, row: Row) -> None:
        """Notes a record that comes here: whoever dropped it may not have known what is open."""
        if row.phase == Phase.DROPPED and row.reason == Drop.PRIVATE_NETWORK:
            host = opened_by(row.link.url)
            if host in job.opened_in:
                self.reopened.setdefault(job.id, set()).add(host)

    def recovered(self, job: Job) -> None:
        """Opens again what a job has opened: a crash may have come between a fact and what follows from it."""
        if job.spec.opened:
            self.reopened.setdefault(job.id, set()).update(job.spec.opened)

    def drop(self, job: Job) -> None:
        """Forgets a job that is no more."""
        self.reopened.pop(job.id, None)
        self._news.discard(job.id)

    def take_specs(self) -> dict[int, bytes]:
        """Returns the specs of the jobs of which something has been learnt since the last turn."""
        news, self._news = self._news, set()
        return {number: pack_job(self._jobs[number]) for number in news}

    def _learn(self, job: Job, hosts: Collection[str]) -> bool:
        if job.is_deleted:
            return False
        news = job.learn_opened(hosts)
        if news:
            self._news.add(job.id)
            self.reopened.setdefault(job.id, set()).update(news)
        if (
            len(job.spec.opened) >= OPENED_MAX
            and not job.opened_in.keys() >= set(hosts)
            and job.id not in self._told_of
        ):
            self._told_of.add(job.id)
            log.warning(
                "job %s starts at more than %d private hosts: name their network in ALLOW_PRIVATE_NETWORKS, or their "
                "pages are dropped",
                job.spec.name,
                OPENED_MAX,
            )
        return bool(news)
