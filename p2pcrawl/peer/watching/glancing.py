"""Makes a master's own glance, from what it has in memory, when somebody asks for one."""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from p2pcrawl.core.bench.seat import Seat, host_state
from p2pcrawl.core.bench.slowness import delay_in_force
from p2pcrawl.core.control import RUNNING
from p2pcrawl.core.hosts.politeness import Pace
from p2pcrawl.core.membership.swim import Membership
from p2pcrawl.core.meters.meters import ENDED, ERRORS
from p2pcrawl.master.cluster import Cluster
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.peer.answers.counts import Counts
from p2pcrawl.peer.watching.busy_hosts import BusyHosts
from p2pcrawl.peer.watching.glance import HOSTS_MAX, JOBS_MAX, Glance, HostGlance, JobGlance
from p2pcrawl.peer.watching.pace_record import (
    LATELY_S,
    MINUTES_S,
    STEP_S,
    JobWork,
    PaceRecord,
    PaceSample,
    cpu_shares,
    job_speeds,
    speeds,
)

DISK_S = 10.0
"""How old what is known of the disk may be."""
_MIB = 1 << 20


class Glancing:
    """Looks at one master. :meth:`run` notes its pace in the background; it is all that happens while nobody looks."""

    def __init__(self, cluster: Cluster, membership: Membership, counts: Counts, folder: Path) -> None:
        self._cluster = cluster
        self._master = cluster.master
        self._meters = cluster.master.ground.meters
        self._membership = membership
        self._counts = counts
        self._folder = folder
        self._record = PaceRecord()
        self._busy = BusyHosts(cluster.master.workbench)
        self._disk = 0, float("-inf")
        """Free bytes, and when that was looked up."""

    async def run(self) -> None:
        """Takes a sample from time to time, for ever."""
        while True:
            shown = self._master.jobs.shown
            self._meters.keep(job.id for job in shown)
            self._record.add(
                self._sample([job for job in shown if job.state == RUNNING or job.id in self._meters.jobs])
            )
            await asyncio.sleep(STEP_S)

    async def glance(self, jobs: Sequence[int], hosts: int) -> Glance:
        """Returns how this master stands, its part of these jobs, and so many of its busiest hosts."""
        known = [job for number in jobs[:JOBS_MAX] if (job := self._master.jobs.get(number)) is not None]
        seats = await self._busy.first(min(hosts, HOSTS_MAX))
        free = await self._free_bytes()
        now = self._sample(known)
        lately = self._record.before(now.at, LATELY_S)
        pages, items, *errors = speeds(lately, now, "pages", "items", *ERRORS)
        jobs_here = self._master.jobs.shown
        return Glance(
            master=self._counts.me,
            view=f"{self._membership.view_digest:016x}",
            stamp=self._counts.stamp(),
            queued=sum(job.queued for job in jobs_here),
            leased=sum(job.leased for job in jobs_here),
            slaves=sum(1 for session in self._master.sessions.values() if session.greeted),
            cpu=round(sum(cpu_shares(lately, now).values()), 3),
            rss_mb=(own_rss_bytes() + sum(s.rss_bytes for s in self._master.sessions.values())) // _MIB,
            disk_free_mb=free // _MIB,
            not_whole=len(self._cluster.ownership.broken()),
            pages_per_s=round(pages, 2),
            items_per_s=round(items, 2),
            errors_per_s=round(sum(errors), 2),
            hosts_total=len(self._master.workbench.seats),
            heard=self._heard(),
            jobs=[self._job(job, lately, self._record.before(now.at, MINUTES_S), now) for job in known],
            hosts=[self._host(seat) for seat in seats],
        )

    def _sample(self, jobs: Iterable[Job]) -> PaceSample:
        return PaceSample(
            asyncio.get_running_loop().time(),
            dict(self._meters.whole),
            {job.id: self._work(job) for job in jobs},
            {0: time.process_time(), **{s.id: s.cpu_s for s in self._master.sessions.values()}},
        )

    def _work(self, job: Job) -> JobWork:
        work: Mapping[str, int] = self._meters.jobs.get(job.id, {})
        return JobWork(work.get("pages", 0), sum(work.get(name, 0) for name in ENDED), job.counts["discovered"])

    def _heard(self) -> dict[str, float]:
        now = asyncio.get_running_loop().time()
        return {id: round(max(0.0, now - at), 2) for id, at in self._membership.heard.items()}

    async def _free_bytes(self) -> int:
        free, at = self._disk
        now = asyncio.get_running_loop().time()
        if now - at >= DISK_S:
            free = (await asyncio.to_thread(shutil.disk_usage, self._folder)).free
            self._disk = free, now
        return free

    def _job(self, job: Job, lately: PaceSample | None, minutes: PaceSample | None, now: PaceSample) -> JobGlance:
        counts = job.counts
        pages_per_s, *_ = job_speeds(lately, now, job.id)
        _, ended_per_s, found_per_s = job_speeds(minutes, now, job.id)
        return JobGlance(
            job.id,
            job.state,
            pages=counts["pages"],
            queued=job.queued,
            leased=job.leased,
            items=counts["items"],
            failed=counts["failed"],
            dropped=counts["dropped"],
            pages_per_s=round(pages_per_s, 3),
            ended_per_s=ended_per_s,
            found_per_s=found_per_s,
        )

    def _host(self, seat: Seat) -> HostGlance:
        now, host = self._master.now, seat.host
        standing = host_state(seat, now)
        delay = delay_in_force(host, self._paces(seat))
        return HostGlance(
            host.name,
            standing.waiting,
            standing.more,
            standing.open,
            round(delay.seconds, 3),
            str(delay.source),
            round(standing.seconds, 1),
            standing.waits,
        )

    def _paces(self, seat: Seat) -> list[Pace]:
        """Returns the paces of the jobs that have something for a host."""
        return [job.pace for queue in seat.queues if (job := self._master.jobs.get(queue.job)) is not None]


def own_rss_bytes() -> int:
    """Returns how much memory this process has at the moment; the most that it had, where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024
