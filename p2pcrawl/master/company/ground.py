"""The ground on which the parts of a master stand: what it knows in memory, its records, and what waits for its next
turn.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from p2pcrawl.core.bench.workbench import Workbench
from p2pcrawl.core.hosts.politeness import Host
from p2pcrawl.core.journal import Journal
from p2pcrawl.core.meters.meters import Meters
from p2pcrawl.core.slices import WorkSlices
from p2pcrawl.frontier.records.recorder import Recorder
from p2pcrawl.master.company.fate import Fate
from p2pcrawl.master.jobs.job import KnownJobs
from p2pcrawl.master.jobs.lifecycle import Lifecycle
from p2pcrawl.master.jobs.loading import Loading
from p2pcrawl.master.jobs.openings import Openings
from p2pcrawl.master.links.mailbox import Mailbox
from p2pcrawl.master.links.shard_keys import Keys
from p2pcrawl.model.crawl.settings import Settings


class Ground:
    """Makes the parts that all others stand on, for one data folder."""

    def __init__(
        self,
        folder: Path,
        settings: Settings,
        *,
        clustered: bool = False,
        remark: Callable[[int], None] = lambda key: None,
        seated: Callable[[Host], None] = lambda host: None,
    ) -> None:
        """``clustered``: buckets move from and to the folder. ``remark``, ``seated``: see
        :class:`~p2pcrawl.core.bench.workbench.Workbench`."""
        self.folder = folder
        self.settings = settings
        self.wake = asyncio.Event()
        """Set when something waits for the next turn."""
        self.fate = Fate(self.wake.set)
        self.jobs = KnownJobs()
        self.meters = Meters()
        self.journal = Journal(time.time)
        self.slices = WorkSlices()
        self.workbench = Workbench(settings.frontier_memory, remark=remark, seated=seated)
        self.keys = Keys()
        self.mailbox = Mailbox(self.wake.set)
        self.recorder = Recorder(folder, clustered=clustered)
        self.openings = Openings(self.jobs)
        self.loading = Loading(self.jobs, self.workbench, self.recorder, self.wake.set)
        self.lifecycle = Lifecycle(self.jobs, self.workbench, self.loading, self.journal, self.wake.set)
