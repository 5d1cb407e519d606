"""The reasons why pages are not among a job's results, and the pages that ended for one, asked of all masters."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.json import Decoder

from p2pcrawl.frontier.reading.outside_pages import outside_after
from p2pcrawl.master.cluster import Cluster
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.crawl.record import ShardKey
from p2pcrawl.model.reason_choice import pages_named, reasons_named
from p2pcrawl.peer.answers.asking import ask_others, whole_number
from p2pcrawl.peer.answers.counts import Counts
from p2pcrawl.peer.answers.results import Gathering
from p2pcrawl.peer.figures.reasons_told import (
    EXAMPLES,
    ReasonsAnswer,
    ReasonsHere,
    ReasonTold,
    reasons_here,
    reasons_told,
    summed_reasons,
)
from p2pcrawl.peer.figures.troubles import EXAMPLES_MAX

_HERE = Decoder(ReasonsHere)
_PLAIN = Decoder(dict[str, Any])


class Reasons:
    """Answers ``reasons`` and ``outside``."""

    def __init__(self, cluster: Cluster, counts: Counts, folder: Path) -> None:
        self._cluster = cluster
        self._peers = cluster.peers
        self._jobs = cluster.master.jobs
        self._counts = counts
        self._folder = folder

    async def of(self, job: Job | None, arguments: Mapping[str, Any]) -> ReasonsAnswer:
        """Tells the reasons of a job, or of all. Raises ConfigurationError for arguments that cannot be."""
        examples = whole_number(arguments, "limit", EXAMPLES, EXAMPLES_MAX)
        reason = str(arguments.get("reason", ""))
        reasons_named(reason)
        told, missing = list[list[ReasonTold]](), set()
        for each in [job] if job is not None else list(self._jobs.shown):
            reasons, silent = await self._of_job(each, examples, reason)
            told.append(reasons)
            missing |= silent
        return ReasonsAnswer(
            job=job.id if job is not None else None,
            name=job.spec.name if job is not None else "",
            reasons=summed_reasons(told, examples),
            missing=sorted(missing),
        )

    async def _of_job(self, job: Job, examples: int, reason: str) -> tuple[list[ReasonTold], set[Any]]:
        asked = {"job": job.id, "limit": examples, "reason": reason}
        told, missing = await ask_others(self._peers, "reasons-here", asked, _HERE)
        (counted,) = await self._counts.of_jobs([job])
        parts = [await self.here(asked), *told.values()]
        apart = job.settings.shard_key is not ShardKey.URL
        filtered, choice = counted["filtered_links"], reasons_named(reason)
        reasons = reasons_told(parts, filtered, examples, choice, hosts_apart=apart)
        return reasons, {*missing, *counted["missing"]}

    async def here(self, arguments: Mapping[str, Any]) -> ReasonsHere:
        """Tells those of this master, in a thread: there may be a million pages."""
        examples = whole_number(arguments, "limit", EXAMPLES, EXAMPLES_MAX)
        choice = reasons_named(str(arguments.get("reason", "")))
        return await asyncio.to_thread(reasons_here, self._folder, int(arguments["job"]), examples, choice)

    def gathering(self, job: Job, reason: str) -> Gathering[NodeId]:
        """Begins to gather the pages of a job that ended for a reason, from all masters. Raises ConfigurationError for
        a reason that has none.
        """
        pages_named(reason)

        async def members() -> list[NodeId]:
            return [member.id for member in self._peers.members()]

        async def ask(node: NodeId, arguments: dict[str, Any]) -> dict[str, Any]:
            asked = {**arguments, "reason": reason}
            if node == self._peers.me:
                return await self.pages(asked)
            return await self._peers.query(node, "ask:outside-here", asked, _PLAIN)

        return Gathering(job.id, members, ask)

    async def pages(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Answers a gathering: the next pages of this master that failed or were dropped for a reason."""
        choice = reasons_named(str(arguments.get("reason", "")))
        after = arguments["after"] or ""
        rows = await asyncio.to_thread(outside_after, self._folder, int(arguments["job"]), choice, str(after))
        ownership, takeover = self._cluster.ownership, self._cluster.takeover
        return {
            "pages": [(row.fingerprint.hex(), row.place, row.line().decode()) for row in rows],
            "mark": f"{ownership.view:016x} {takeover.handovers}",
            "settled": not ownership.syncing and ownership.complete,
        }
