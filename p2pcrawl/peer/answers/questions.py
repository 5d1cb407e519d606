"""The questions that a master answers: how the cluster stands, how its jobs stand, who owns what."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from msgspec.json import Decoder

from p2pcrawl.core.ring.rendezvous import BUCKETS
from p2pcrawl.frontier.reading.job_items import pages_after
from p2pcrawl.master.carrying import Carrying
from p2pcrawl.master.cluster import Cluster
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.master.neighbours.absences import Absences
from p2pcrawl.master.steering import Steering
from p2pcrawl.model.cluster.epoch import epoch_turn
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.crawl.record import ShardKey
from p2pcrawl.model.crawl.url import canonical, host_of
from p2pcrawl.model.errors import ConfigurationError, NotNow, P2PCrawlError
from p2pcrawl.model.packing import in_text
from p2pcrawl.overlay.node import OverlayNode
from p2pcrawl.peer.answers.asking import ASK_S, ask_others
from p2pcrawl.peer.answers.called_jobs import job_called
from p2pcrawl.peer.answers.cluster_status import ClusterStatus
from p2pcrawl.peer.answers.counts import Counts
from p2pcrawl.peer.answers.explanation import Explanation
from p2pcrawl.peer.answers.results import Gathering
from p2pcrawl.spiders.page.typed_urls import checked_url

_FIGURES = Decoder(dict[str, int])
_PLAIN = Decoder(dict[str, Any])


class Questions:
    """Answers the questions of faces, and those by which masters answer them together."""

    def __init__(
        self,
        cluster: Cluster,
        node: OverlayNode,
        absences: Absences,
        steering: Steering,
        carrying: Carrying,
        folder: Path,
        name: str,
    ) -> None:
        """``name`` is the cluster's."""
        self._cluster = cluster
        self._master = cluster.master
        self._peers = cluster.peers
        self._directory = node.directory
        self._steering = steering
        self._folder = folder
        self._status = ClusterStatus(cluster, node, absences, name)
        self._carrying = carrying
        self.counts = Counts(cluster, absences, carrying)
        self._explanation = Explanation(cluster, node.address, folder)

    async def ask(self, what: str, arguments: dict[str, Any]) -> Any:
        """Raises ConfigurationError for a question that there is not, or that is about nothing."""
        match what:
            case "members":
                return {"members": self._status.members()}
            case "status":
                figures, _ = await ask_others(self._peers, "figures", {}, _FIGURES)
                return self._status.status([await self._figures(), *figures.values()])
            case "local":
                return self._status.local()
            case "figures":
                return await self._figures()
            case "jobs":
                return {"jobs": await self.counts.of_jobs(self._master.jobs.shown)}
            case "job":
                (counted,) = await self.counts.of_jobs([self.job_of(arguments)])
                return counted
            case "certificate":
                return self._certificate(self.job_of(arguments))
            case "known":
                job = self.job_of(arguments)
                return {"job": job.id, "name": job.spec.name, "label": job.spec.label, "state": job.state}
            case "counts":
                known = self._master.jobs.get(int(arguments["job"]))
                return await self.counts.here(known) if known is not None else None
            case "stamp":
                return self.counts.stamp()
            case "part":
                return self._steering.part(self.job_of(arguments))
            case "owner":
                return await self._owner(arguments)
            case "why":
                return await self._explanation.why(str(arguments.get("url", "")))
            case "why-here":
                return await self._explanation.here(str(arguments["url"]), list(arguments["jobs"]))
            case "why-texts":
                return await self._explanation.texts(str(arguments["url"]), list(arguments["jobs"]))
            case "pages":
                return await self._pages(int(arguments["job"]), int(arguments["after"]))
        raise ConfigurationError(f"there is no question {what!r}")

    def _certificate(self, job: Job) -> Any:
        if not job.signed:
            raise NotNow(f"job {job.id} is {job.state}: it has no certificate")
        return json.loads(job.signed)

    async def _figures(self) -> dict[str, int]:
        return {**self._status.figures(), "undelivered": await self._carrying.waiting()}

    def job_of(self, arguments: dict[str, Any]) -> Job:
        """Returns the job that is asked about, by its number or as people call it. Raises ConfigurationError when there
        is none, or several are meant.
        """
        asked = arguments.get("job")
        if isinstance(asked, bool) or not isinstance(asked, int | str):
            raise ConfigurationError(f"{asked!r:.60} is not the number of a job, nor its name")
        return job_called(self._master.jobs.values(), str(asked))

    def gathering(self, called: int | str) -> Gathering[NodeId]:
        """Begins to gather the items of a job from all masters."""
        job = self.job_of({"job": called}).id

        async def members() -> list[NodeId]:
            return [member.id for member in self._peers.members()]

        async def ask(node: NodeId, arguments: dict[str, Any]) -> dict[str, Any]:
            if node == self._peers.me:
                return await self._pages(arguments["job"], arguments["after"])
            return await self._peers.query(node, "ask:pages", arguments, _PLAIN)

        return Gathering(job, members, ask)

    async def _pages(self, job: int, after: int) -> dict[str, Any]:
        """Answers a gathering: the next pages with items that this master has."""
        cluster = self._cluster
        mark = f"{cluster.ownership.view:016x} {cluster.takeover.handovers}"
        settled = not cluster.ownership.syncing and cluster.ownership.complete
        rows = await asyncio.to_thread(pages_after, self._folder, job, after)
        pages = [(r.fingerprint.hex(), r.place, in_text(r.data), r.url, r.visit, r.fetched_at) for r in rows]
        return {"pages": pages, "mark": mark, "settled": settled}

    # -- owners -------------------------------------------------------------------------------

    async def _owner(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Asks the owner itself about a URL, so that the answer is the same from everybody; tells what is known here if
        it is silent.
        """
        answer = self._owner_seen(str(arguments.get("url", "")), str(arguments.get("key", "host")))
        if answer["owner"] == self._peers.me or arguments.get("forwarded"):
            return answer
        try:
            asked = {**arguments, "forwarded": True}
            told = await self._peers.query(answer["owner"], "ask:owner", asked, _PLAIN, ASK_S)
        except P2PCrawlError as error:
            note = f"the owner did not answer ({error}); this is how {self._peers.me[:8]} sees it"
            return {**answer, "note": note, "directory": await self._owner_heard(answer["bucket"])}
        if told["owner"] != answer["owner"]:
            told["note"] = "the masters do not agree at the moment; ask again in some seconds"
            told["directory"] = await self._owner_heard(answer["bucket"])
        return told

    async def _owner_heard(self, bucket: int) -> dict[str, Any] | None:
        """Looks up in the directory who was last heard to serve a bucket."""
        hint = await self._directory.owner(bucket)
        if hint is None:
            return None
        return {
            "owner": hint.owner,
            "epoch": [epoch_turn(hint.counter), hint.owner],
            "address": hint.address,
            "age_s": round(hint.age_s, 1),
        }

    def _owner_seen(self, url: str, key: str) -> dict[str, Any]:
        text = canonical(checked_url(url))
        if key not in {k.value for k in ShardKey}:
            raise ConfigurationError(f"a job spreads its URLs by host, domain or url, not by {key!r}")
        bucket = self._master.bucket_of_url(text, key)
        ownership = self._cluster.ownership
        owner = ownership.owner_id(bucket)
        member = self._peers.known(owner)
        holders = ownership.holders(bucket)
        answer = {
            "url": text,
            "host": host_of(text),
            "key": key,
            "bucket": bucket,
            "owner": owner,
            "address": member.address if member is not None else "",
            "copies": list(holders),
            "view": f"{ownership.view:016x}",
            "why": f"bucket {bucket} of {BUCKETS}: the {ownership.ring} ring over {len(self._peers.members())} masters "
            f"puts {owner[:8]} first",
        }
        if owner == self._peers.me:
            answer["epoch"] = [epoch_turn(ownership.counters[bucket]), owner]
            answer["serving"] = ownership.serves(bucket)
            answer["slave"] = self._master.granting.slave_for(host_of(text))
        return answer
