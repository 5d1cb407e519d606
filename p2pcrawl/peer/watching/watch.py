"""The watch that a master keeps of itself, and what it tells of it: to faces, and to other masters that put together
what all tell.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Final

from msgspec import to_builtins

from p2pcrawl.core.membership.swim import Membership
from p2pcrawl.master.cluster import Cluster
from p2pcrawl.master.neighbours.absences import Absences
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.overlay.tasks import end
from p2pcrawl.peer.answers.asking import whole_number
from p2pcrawl.peer.answers.counts import Counts
from p2pcrawl.peer.news.events import Events
from p2pcrawl.peer.news.own_looks import OwnLooks
from p2pcrawl.peer.watching.glance import HOSTS_MAX
from p2pcrawl.peer.watching.glancing import Glancing
from p2pcrawl.peer.watching.overview import HOSTS_SHOWN, Overview
from p2pcrawl.peer.watching.past import Past
from p2pcrawl.peer.watching.warning_lines import WarningLines


class Watch:
    """Answers the questions about how things go."""

    WORDS: Final = frozenset(
        {"overview", "glance", "events", "events-here", "history", "history-here", "warnings", "warnings-here"}
    )
    """The questions that are answered here."""

    def __init__(
        self,
        cluster: Cluster,
        membership: Membership,
        absences: Absences,
        counts: Counts,
        events: Events,
        folder: Path,
        name: str,
    ) -> None:
        """``name`` is the cluster's."""
        self._glancing = Glancing(cluster, membership, counts, folder)
        self._overview = Overview(cluster, membership, absences, self._glancing, events, name)
        self._events = events
        self._looks = OwnLooks(cluster.ownership, cluster.master.ground.journal)
        self._past = Past(cluster.peers, cluster.master.ground.meters, cluster.master.jobs)
        self._warnings = WarningLines(cluster.peers)
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._warnings.open()
        runs = self._glancing.run(), self._looks.run(), self._past.run()
        self._tasks = [asyncio.create_task(run) for run in runs]

    async def close(self) -> None:
        self._warnings.close()
        await end(self._tasks)
        await self._overview.close()

    async def ask(self, what: str, arguments: dict[str, Any]) -> Any:
        """Raises ConfigurationError for a question that there is not, or that cannot be answered."""
        match what:
            case "overview":
                return await self._overview.answer(arguments)
            case "glance":
                jobs = [int(job) for job in arguments["jobs"]]
                hosts = whole_number(arguments, "hosts", HOSTS_SHOWN, HOSTS_MAX)
                return to_builtins(await self._glancing.glance(jobs, hosts))
            case "events":
                return await self._events.answer(arguments)
            case "events-here":
                return to_builtins(self._events.here(arguments))
            case "history":
                return await self._past.answer(arguments)
            case "history-here":
                return to_builtins(self._past.here(arguments))
            case "warnings":
                return await self._warnings.answer(arguments)
            case "warnings-here":
                return to_builtins(self._warnings.here())
        raise ConfigurationError(f"there is no question {what!r}")
