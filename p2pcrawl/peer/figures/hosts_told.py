"""Hosts over all masters: the first of those that each tells of, merged.

A host belongs to one master, which knows how it is asked; but with SHARD_KEY=url its pages are at several. So when the
first of all are chosen, the others are asked what they have of these, and the owner's word on politeness counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final, NotRequired, TypedDict, cast

from msgspec.json import Decoder

from p2pcrawl.core.ring.rendezvous import bucket_of_hash, key_hash
from p2pcrawl.master.cluster import Cluster
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.crawl.record import ShardKey
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.peer.answers.asking import ask_others, whole_number
from p2pcrawl.peer.figures.standings_of_hosts import (
    FOUND_MAX,
    HostAsked,
    HostInDetail,
    HostsHere,
    HostShown,
    RobotsTold,
    StandingsOfHosts,
    first_hosts,
)

HOSTS = 20
SORTS: Final = ("depth", "late", "name")
NAME_MAX = 253


class HostsAnswer(TypedDict):
    """The first hosts, how many there are, and the masters that did not answer."""

    hosts: list[HostShown]
    total: int
    missing: list[NodeId]


class HostAnswer(TypedDict):
    """One host; of one that nobody has work for only who owns it. ``queued_by_job``: what is leased counted in."""

    host: str
    owner: NodeId
    known: bool
    queued_by_job: dict[str, int]
    robots: list[RobotsTold]
    missing: list[NodeId]
    queued: NotRequired[int]
    leased: NotRequired[int]
    done: NotRequired[int]
    failed: NotRequired[int]
    delay_s: NotRequired[float]
    delay_from: NotRequired[str]
    next_at: NotRequired[float | None]
    through_s: NotRequired[float | None]
    unanswered: NotRequired[int]
    silent_s: NotRequired[float]
    ordered_s: NotRequired[float | None]
    paused: NotRequired[bool]
    why_slow: NotRequired[str]


_HERE = Decoder(HostsHere)
_THESE = Decoder(list[HostAsked])
_ONE = Decoder(HostInDetail)


class HostsTold:
    """Answers ``hosts`` and ``host``."""

    def __init__(self, cluster: Cluster, standings: StandingsOfHosts) -> None:
        self._peers = cluster.peers
        self._jobs = cluster.master.jobs
        self._ownership = cluster.ownership
        self._standings = standings

    async def hosts(self, job: Job | None, arguments: Mapping[str, Any]) -> HostsAnswer:
        """Describes the first hosts of a job, or of all. Raises ConfigurationError for arguments that cannot be."""
        asked = _checked(arguments) | {"job": job.id if job is not None else None}
        told, missing = await ask_others(self._peers, "hosts-here", asked, _HERE)
        parts: dict[NodeId, HostsHere] = {self._peers.me: await self.here(asked), **told}
        first = first_hosts(
            merged_hosts({node: part["hosts"] for node, part in parts.items()}), asked["limit"], asked["sort"]
        )
        total = sum(part["total"] for part in parts.values())
        if self._shared(job):
            keys = [row["key"] for row in first]
            first = first_hosts(await self._everywhere(asked["job"], keys), asked["limit"], asked["sort"])
        return HostsAnswer(hosts=[_shown(row) for row in first], total=max(total, len(first)), missing=missing)

    async def host(self, name: str) -> HostAnswer:
        """Describes one host in detail. Raises ConfigurationError for what is no host's name."""
        if not name or len(name) > NAME_MAX or "/" in name:
            raise ConfigurationError(f"{name!r:.80} is not the name of a host, as example.org")
        key = key_hash(name.lower())
        told, missing = await ask_others(self._peers, "host-here", {"key": key}, _ONE)
        parts = {self._peers.me: await self._standings.one(key), **told}
        rows = merged_hosts({node: [part["asked"]] for node, part in parts.items() if part["asked"] is not None})
        owner = self._ownership.owner_id(bucket_of_hash(key))
        queued = Counter[str]()
        for part in parts.values():
            queued.update(part["queued"])
        answer = HostAnswer(
            host=name.lower(),
            owner=owner,
            known=bool(rows),
            queued_by_job=dict(queued),
            robots=parts[owner]["robots"] if owner in parts else [],
            missing=missing,
        )
        return {**answer, **_shown(rows[0])} if rows else answer

    async def here(self, arguments: Mapping[str, Any]) -> HostsHere:
        """Describes the first hosts of this master."""
        return await self._standings.here(arguments["job"], **_checked(arguments))

    async def these(self, arguments: Mapping[str, Any]) -> list[HostAsked]:
        """Describes the hosts with these keys, as far as this master knows of them."""
        keys = [key for key in arguments["keys"][:FOUND_MAX] if isinstance(key, int)]
        return await self._standings.these(arguments["job"], keys)

    async def _everywhere(self, job: int | None, keys: list[int]) -> list[HostAsked]:
        asked = {"job": job, "keys": keys}
        told, _ = await ask_others(self._peers, "hosts-these", asked, _THESE)
        return merged_hosts({self._peers.me: await self.these(asked), **told})

    def _shared(self, job: Job | None) -> bool:
        """Tells whether the pages of one host may be at several masters."""
        jobs = [job] if job is not None else self._jobs.running
        return len({ShardKey.HOST, *(each.settings.shard_key for each in jobs)}) > 1


def merged_hosts(parts: Mapping[NodeId, Iterable[HostAsked]]) -> list[HostAsked]:
    """Adds up what is queued and leased of each host; of the rest its owner's word counts."""
    rows: dict[int, HostAsked] = {}
    for node, part in parts.items():
        for row in part:
            known = rows.get(row["key"])
            if known is None:
                rows[row["key"]] = row
                continue
            base = row if node == row["owner"] else known
            rows[row["key"]] = {
                **base,
                "queued": row["queued"] + known["queued"],
                "leased": row["leased"] + known["leased"],
                "done": row["done"] + known["done"],
                "failed": row["failed"] + known["failed"],
            }
    return list(rows.values())


def _checked(arguments: Mapping[str, Any]) -> dict[str, Any]:
    sort, find = str(arguments.get("sort") or "depth"), str(arguments.get("find") or "").lower()
    if sort not in SORTS:
        raise ConfigurationError(f"hosts are sorted by {', '.join(SORTS)}, not by {sort!r:.40}")
    if len(find) > NAME_MAX:
        raise ConfigurationError(f"no host has a name of more than {NAME_MAX} characters")
    changed = arguments.get("changed") in (True, "true", "1")
    return {"limit": whole_number(arguments, "limit", HOSTS, FOUND_MAX), "sort": sort, "find": find, "changed": changed}


def _shown(row: HostAsked) -> HostShown:
    return cast(HostShown, {name: value for name, value in row.items() if name != "key"})
