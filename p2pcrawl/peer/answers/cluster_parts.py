"""The parts of the cluster: which master has which buckets, and which slaves it leads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypedDict

from msgspec.json import Decoder

from p2pcrawl.core.ring.rendezvous import BUCKETS
from p2pcrawl.master.cluster import Cluster
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.peer.answers.asking import ask_others


class BucketsAnswer(TypedDict):
    """The ring in short: ``owner_of`` has a pair for each run of buckets with one owner, its place in ``owners`` and
    the length of the run; ``copies_of`` the same with the places of all holders, the owner first. ``moving``: buckets
    that nobody serves at the moment, or that somebody still has to give away, as far as masters answer."""

    buckets: int
    view: str
    owners: list[str]
    owner_of: list[list[int]]
    copies_of: list[list[Any]]
    moving: list[int]
    missing: list[str]


class GroupedSlave(TypedDict):
    """A slave process. ``at``: the machine that it runs on, or ``here``; ``cpu_s``: what it has computed so far."""

    session: int
    pid: int
    leases: int
    rss_mb: int
    cpu_s: float
    at: str


class GroupLine(TypedDict):
    """A master with the slaves that it leads."""

    master: str
    slaves: list[GroupedSlave]


class GroupsAnswer(TypedDict):
    """All groups; those of masters that did not answer are ``missing``."""

    groups: list[GroupLine]
    missing: list[str]


_MOVING = Decoder(list[int])
_GROUP = Decoder(GroupLine)


class ClusterParts:
    """Answers ``buckets`` and ``groups``, together with the other masters."""

    WORDS: Final = frozenset({"buckets", "moving-here", "groups", "group-here"})
    """The questions that are answered here."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._peers = cluster.peers

    async def ask(self, what: str, arguments: dict[str, Any]) -> Any:
        """Raises ConfigurationError for a question that there is not."""
        match what:
            case "buckets":
                return await self._buckets()
            case "moving-here":
                return self._moving()
            case "groups":
                told, missing = await ask_others(self._peers, "group-here", {}, _GROUP)
                groups = sorted([self._group(), *told.values()], key=lambda group: group["master"])
                return GroupsAnswer(groups=groups, missing=list(missing))
            case "group-here":
                return self._group()
        raise ConfigurationError(f"there is no question {what!r}")

    async def _buckets(self) -> BucketsAnswer:
        told, missing = await ask_others(self._peers, "moving-here", {}, _MOVING)
        ownership = self._cluster.ownership
        holders = [ownership.holders(bucket) for bucket in range(BUCKETS)]
        owners = sorted({node for each in holders for node in each})
        place = {node: number for number, node in enumerate(owners)}
        return BucketsAnswer(
            buckets=BUCKETS,
            view=f"{ownership.view:016x}",
            owners=list(owners),
            owner_of=runs(place[each[0]] for each in holders),
            copies_of=runs([place[node] for node in each] for each in holders),
            moving=sorted({bucket for each in (self._moving(), *told.values()) for bucket in each}),
            missing=list(missing),
        )

    def _moving(self) -> list[int]:
        ownership, me = self._cluster.ownership, self._peers.me
        waiting = {b for b in range(BUCKETS) if ownership.owner_id(b) == me and not ownership.in_service(b)}
        return sorted(waiting | self._cluster.takeover.left_over)

    def _group(self) -> GroupLine:
        slaves = [
            GroupedSlave(
                session=each.id,
                pid=each.pid,
                leases=len(each.leases),
                rss_mb=each.rss_bytes >> 20,
                cpu_s=round(each.cpu_s, 1),
                at=each.link.remote_host or "here",
            )
            for each in self._cluster.master.sessions.values()
        ]
        return GroupLine(master=self._peers.me, slaves=slaves)


def runs(values: Iterable[Any]) -> list[list[Any]]:
    """Writes a sequence as its values with the number of times that each stands there in a row."""
    found: list[list[Any]] = []
    for value in values:
        if found and found[-1][0] == value:
            found[-1][1] += 1
        else:
            found.append([value, 1])
    return found
