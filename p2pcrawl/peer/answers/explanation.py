"""``why`` in a cluster: what the owner of a URL knows of it, and whether the copies agree.

The owner answers from its own store, read beside the crawl, and adds what it only has in memory: in whose hands the
page is, and when its host may be asked next. Whoever is asked first knows which owner that is, for each job by the
job's own key.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from msgspec.json import Decoder

from p2pcrawl.core.bench.seat import host_state
from p2pcrawl.core.ring.rendezvous import key_hash
from p2pcrawl.frontier.reading.inquiry import Inquiry, RecordRow
from p2pcrawl.master.cluster import Cluster
from p2pcrawl.model.cluster.epoch import epoch_turn
from p2pcrawl.model.cluster.node import Address, NodeId
from p2pcrawl.model.crawl.record import Phase, ShardKey, phase_of, stamp_of, visit_of
from p2pcrawl.model.crawl.url import canonical, host_of
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.peer.answers.history import history, nothing_known_of
from p2pcrawl.peer.answers.page_texts import in_turn, page_texts_in
from p2pcrawl.spiders.page.typed_urls import checked_url
from p2pcrawl.wire.messages.peer_messages import ListKeys, WireRange

ASK_S = 10.0
_TOLD = Decoder(dict[str, Any])
_TEXTS = Decoder(list[dict[str, Any]])
COPY_S = 3.0
_DEPTH = 15
"""Hexadecimal digits of a fingerprint that name a single row, but for chance."""


class Explanation:
    """Answers ``why`` from what this master's folder holds, and from what the other holders of the bucket say."""

    def __init__(self, cluster: Cluster, address: Address, folder: Path) -> None:
        """``address``: of this master."""
        self._cluster = cluster
        self._master = cluster.master
        self._peers = cluster.peers
        self._address = address
        self._folder = folder

    async def why(self, text: str) -> dict[str, Any]:
        """Asks the owners of a URL, of which each job has one, and puts their answers together."""
        url = checked_url(text)
        answers, silent = [], []
        for owner, jobs in sorted(self._owners(url).items()):
            try:
                answers.append(await self._of_owner(owner, url, jobs))
            except P2PCrawlError as error:
                silent.append(f"{owner[:8]}, which owns it, did not answer: {error}")
        found: dict[str, Any] = nothing_known_of(url)
        found["notes"] = silent
        for answer in answers:
            found["seen"] = found["seen"] or answer["seen"]
            found["crawled_by"] = found["crawled_by"] or answer["crawled_by"]
            found["records"] += answer["records"]
            found["hints"] += [hint for hint in answer["hints"] if hint not in found["hints"]]
            found["texts"] += answer["texts"]
        if found["records"]:
            found["hints"] = []
            await self._add_texts(found, url)
        return found

    async def texts(self, text: str, jobs: list[int]) -> list[dict[str, Any]]:
        """Tells what this master knows of the text of a page in these jobs."""
        return await asyncio.to_thread(page_texts_in, self._folder, checked_url(text), set(jobs))

    async def _add_texts(self, found: dict[str, Any], url: str) -> None:
        """Adds what other masters know of the page's text, where jobs ask for that: it is theirs whose the text is."""
        jobs = [job for job in {r["job"] for r in found["records"]} if self._master.jobs[job].settings.duplicates]
        asked = {record["owner"] for record in found["records"]}
        for member in self._peers.members() if jobs else ():
            if member.id in asked:
                continue
            try:
                found["texts"] += await self._texts_at(member.id, url, jobs)
            except P2PCrawlError as error:
                found["notes"].append(f"{member.id[:8]}, which may know the text, did not answer: {error}")
        found["texts"] = in_turn(found["texts"])

    async def _texts_at(self, node: NodeId, url: str, jobs: list[int]) -> list[dict[str, Any]]:
        if node == self._peers.me:
            return await self.texts(url, jobs)
        return await self._peers.query(node, "ask:why-texts", {"url": url, "jobs": jobs}, _TEXTS, ASK_S)

    async def here(self, text: str, jobs: list[int]) -> dict[str, Any]:
        """Tells what this master knows of a URL in these jobs."""
        url = checked_url(text)
        found, records = await asyncio.to_thread(self._read, url, jobs)
        copies = await asyncio.gather(*(self._copies(record) for record in records))
        for told, record, held in zip(found["records"], records, copies, strict=True):
            told |= self._live(record)
            told["copies"] = held
        return found

    def _owners(self, url: str) -> dict[NodeId, list[int]]:
        text, owners = canonical(url), dict[NodeId, list[int]]()
        for job in self._master.jobs.values():
            bucket = self._master.bucket_of_url(text, job.settings.shard_key)
            owners.setdefault(self._cluster.ownership.owner_id(bucket), []).append(job.id)
        return owners or {self._cluster.ownership.owner_id(self._master.bucket_of_url(text, ShardKey.HOST)): []}

    async def _of_owner(self, owner: NodeId, url: str, jobs: list[int]) -> dict[str, Any]:
        if owner == self._peers.me:
            return await self.here(url, jobs)
        return await self._peers.query(owner, "ask:why-here", {"url": url, "jobs": jobs}, _TOLD, ASK_S)

    def _read(self, url: str, jobs: list[int]) -> tuple[dict[str, Any], list[RecordRow]]:
        with Inquiry(self._folder) as inquiry:
            return history(inquiry, url, set(jobs))

    def _live(self, record: RecordRow) -> dict[str, Any]:
        ownership = self._cluster.ownership
        seat = standing = None
        if record.phase is Phase.QUEUED:
            seat = self._master.workbench.seats.get(key_hash(host_of(record.link.url)))
        if seat is not None:
            standing = host_state(seat, self._master.now)
        lease = None
        for session in self._master.sessions.values():
            if held := session.leases.get(record.id):
                lease = {
                    "session": session.id,
                    "pid": session.pid,
                    "at": session.link.remote_host or "here",
                    "attempt": held.candidate.attempts,
                    "since_s": round(max(0.0, self._master.now - held.since), 1),
                }
        return {
            "owner": self._peers.me,
            "address": self._address,
            "bucket": record.bucket,
            "epoch": [epoch_turn(ownership.counters[record.bucket]), self._peers.me],
            "serving": ownership.serves(record.bucket),
            "whole": not ownership.lacks[record.bucket],
            "lease": lease,
            "next": {"waits_for": standing.waits, "seconds": round(standing.seconds, 1)} if standing else None,
        }

    async def _copies(self, record: RecordRow) -> list[dict[str, Any]]:
        """Asks the other holders of a record's bucket whether they have it in the same state."""
        ours = stamp_of(record.visit, record.phase, record.attempts, record.losses, entry=record.link.seed)
        nodes = [node for node in self._cluster.ownership.holders(record.bucket) if node != self._peers.me]
        stamps = await asyncio.gather(*(self._stamp_at(node, record) for node in nodes))
        told = []
        for node, stamp in zip(nodes, stamps, strict=True):
            state = "did not answer" if stamp is None else _state(stamp) if stamp >= 0 else "does not have it"
            told.append({"holder": node, "agrees": stamp == ours, "state": state})
        return told

    async def _stamp_at(self, node: NodeId, record: RecordRow) -> int | None:
        """Asks a holder for its stamp of a record. -1: it has no such row. None: it did not answer."""
        prefix = int.from_bytes(record.link.fingerprint[:8], "big") >> 4
        request = ListKeys(0, [WireRange(record.bucket, _DEPTH, prefix)])
        try:
            listed = await self._peers.ask(node, request, COPY_S)
        except P2PCrawlError:
            return None
        for number, (job, stamp) in enumerate(zip(listed.jobs, listed.stamps, strict=False)):
            if job == record.job and listed.keys[16 * number : 16 * number + 16] == record.link.fingerprint:
                return stamp
        return -1


def _state(stamp: int) -> str:
    phase = phase_of(stamp)
    visit = f", visit {visit_of(stamp)}" if visit_of(stamp) else ""
    return f"{Phase(phase).name.lower()}{visit}"
