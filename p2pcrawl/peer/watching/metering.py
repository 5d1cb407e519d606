"""Takes the figures of a master from its parts, for its metrics."""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from pathlib import Path

from p2pcrawl.core.membership.swim import Membership
from p2pcrawl.master.carrying import Carrying
from p2pcrawl.master.cluster import Cluster
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.peer.watching.metrics import JobFigures, MasterFigures, SlaveFigures, told_apart

VIEW_MASK = (1 << 48) - 1
"""A float holds so much of the number of a view exactly."""


async def figures_of(cluster: Cluster, membership: Membership, carrying: Carrying, folder: Path) -> MasterFigures:
    """Returns how a master stands."""
    master, ownership = cluster.master, cluster.ownership
    meters, bench = master.ground.meters, master.workbench
    shown = sorted(master.jobs.shown, key=lambda job: (job.spec.submitted, job.id))
    jobs = [await _figures_of_job(job, carrying, meters.jobs.get(job.id, Counter())) for job in shown]
    told, gone = told_apart(jobs, meters.whole)
    standing = cluster.mandate.figures()
    usage = await asyncio.to_thread(shutil.disk_usage, folder)
    return MasterFigures(
        jobs=told,
        slaves=[SlaveFigures(s.id, s.cpu_s, s.rss_bytes, len(s.leases)) for s in master.sessions.values() if s.greeted],
        statuses={name[7:]: count for name, count in meters.whole.items() if name.startswith("status_")},
        answers_s=meters.answers_s,
        members=Counter(member.status.name.lower() for member in membership.members.values()),
        missing=len(membership.missing()),
        view=membership.view_digest & VIEW_MASK,
        buckets={
            "owned": ownership.owned,
            "moving": ownership.syncing,
            "not_whole": len(ownership.broken()),
        },
        copies={
            name: count for name, count in cluster.figures().items() if name in ("unsynced", "uncopied", "spooled")
        },
        hosts=len(bench.seats),
        events=master.ground.journal.last,
        disk_free_bytes=usage.free,
        granting=bool(standing["granting"]) if standing is not None else True,
        gone=gone,
    )


async def _figures_of_job(job: Job, carrying: Carrying, work: Counter[str]) -> JobFigures:
    sinks = await carrying.states(job)
    return JobFigures(
        job.id,
        job.spec.label,
        job.spec.name,
        job.state,
        job.queued,
        job.leased,
        dict(work),
        sum(sink.waiting for sink in sinks),
        sum(sink.away_since is not None for sink in sinks),
    )
