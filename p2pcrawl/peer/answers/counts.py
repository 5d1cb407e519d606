"""The counts of a job at all masters, added up; and whether the sum can be relied on.

A page whose bucket changes hands is in two frontiers for a while, or in none that answers: whoever takes it over has
its row already, and who gives it away has it still; after a partition both sides have what both fetched. A sum that was
taken meanwhile may be twice the truth. So each master says in which view it acts, how much it has taken and given, and
whether anything is on its way; all are asked that before and after they are asked for their counts. When both times all
act in one view, nothing is on its way anywhere, and nothing has moved in between, every row was counted once. Else the
sum is *not settled*: a job that has come to its end is ``settling`` until it can be said with what.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NotRequired, TypedDict

from msgspec.json import Decoder

from p2pcrawl.core.control import FINISHED, INCOMPLETE
from p2pcrawl.master.carrying import Carrying
from p2pcrawl.master.cluster import Cluster
from p2pcrawl.master.jobs.job import Job, PlainAccount, certificate_sum, gone_of, plain_account
from p2pcrawl.master.neighbours.absences import Absences
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.peer.answers.asking import ask_others

SETTLING = "settling"


class SinkHere(TypedDict):
    """The standing of a job's sink at one master."""

    sink: str
    waiting: int
    refused: int
    away_since: float | None
    why: str


class Here(TypedDict):
    """The part of a job that is at one master."""

    master: str
    counts: dict[str, Any]
    not_whole: list[int]
    moving: int
    sinks: list[SinkHere]
    life: NotRequired[str]
    overdue: NotRequired[int]
    oldest_due: NotRequired[int]
    """0: nothing is overdue there."""
    accounts: NotRequired[list[PlainAccount]]
    """What masters that are gone had counted, as it is kept there."""


class Stamp(TypedDict):
    """Values that stay the same as long as no row comes to a master from another one, or goes to one."""

    view: str
    turn: int
    taken: int
    given: int
    settled: bool


Stamps = dict[NodeId, Stamp]
_HERE: Decoder[Here | None] = Decoder(Here | None)
"""None: the job is not known there."""
_STAMP = Decoder(Stamp)


class Counts:
    """Asks all masters for their counts of jobs, and judges whether the sum is settled."""

    def __init__(self, cluster: Cluster, absences: Absences, carrying: Carrying) -> None:
        self._cluster = cluster
        self._absences = absences
        self._carrying = carrying
        self._peers = cluster.peers

    @property
    def me(self) -> NodeId:
        """The id of the master that asks."""
        return self._peers.me

    async def of_jobs(self, jobs: Sequence[Job]) -> list[dict[str, Any]]:
        """Counts each of these jobs over all masters."""
        before = await self._stamps()
        sums = [await self._of(job) for job in jobs]
        settled = at_rest(before) and before == await self._stamps()
        away = self._absences.missing()
        return [_judged(each, settled) | {"away": away} for each in sums]

    async def here(self, job: Job) -> Here:
        """Returns what this master has of a job."""
        states = await self._carrying.states(job)
        late = await self._cluster.master.turns.lateness(job)
        ownership = self._cluster.ownership
        return {
            "master": self._peers.me,
            "counts": job.certificate(),
            "not_whole": ownership.broken(),
            "moving": ownership.syncing,
            "overdue": late.overdue,
            "oldest_due": late.oldest,
            "life": self._cluster.accounts.life,
            "accounts": [plain_account(account) for account in self._cluster.accounts.of_gone(job.id)],
            "sinks": [
                SinkHere(sink=s.sink, waiting=s.waiting, refused=s.refused, away_since=s.away_since, why=s.why)
                for s in states
            ],
        }

    def stamp(self) -> Stamp:
        """Returns what this master says of rows that come and go."""
        ownership, takeover = self._cluster.ownership, self._cluster.takeover
        moving = ownership.syncing > 0 or not ownership.complete or takeover.unclaimed
        return {
            "view": f"{ownership.view:016x}",
            "turn": ownership.generation,
            "taken": takeover.handovers,
            "given": takeover.given,
            "settled": not moving and ownership.view == self._peers.view_digest,
        }

    async def _of(self, job: Job) -> dict[str, Any]:
        told, missing = await ask_others(self._peers, "counts", {"job": job.id}, _HERE)
        parts = [await self.here(job), *(here for here in told.values() if here is not None)]
        counts = certificate_sum([part["counts"] for part in parts], gone_of(parts))
        return {
            **counts,
            "sinks": [_sink_over_all(sink.url, counts["items"], parts) for sink in job.spec.sinks],
            "masters": {part["master"]: part["counts"]["pages"] for part in parts},
            "overdue": sum(part.get("overdue", 0) for part in parts),
            "oldest_due": min(filter(None, (part.get("oldest_due", 0) for part in parts)), default=0),
            "missing": missing,
            "not_whole": sorted({bucket for part in parts for bucket in part["not_whole"]}),
            "moving": sum(part["moving"] for part in parts),
            "certificate": json.loads(job.signed) if job.signed else None,
        }

    async def _stamps(self) -> Stamps:
        """Collects the stamps of all that answer; that others do not is told with the counts."""
        told, _ = await ask_others(self._peers, "stamp", {}, _STAMP)
        return {**told, self._peers.me: self.stamp()}


def _sink_over_all(url: str, items: int, parts: Sequence[Here]) -> dict[str, Any]:
    """Sums up how a sink stands at all masters: what is neither waiting nor refused has been delivered."""
    those = [(part["master"], sink) for part in parts for sink in part["sinks"] if sink["sink"] == url]
    waiting, refused = (sum(sink[name] for _, sink in those) for name in ("waiting", "refused"))
    away = {master: sink for master, sink in those if sink["away_since"] is not None}
    since = [sink["away_since"] for sink in away.values() if sink["away_since"] is not None]
    return {
        "sink": url,
        "delivered": max(0, items - waiting - refused),
        "waiting": waiting,
        "refused": refused,
        "away_since": min(since, default=None),
        "why": next((sink["why"] for sink in away.values()), ""),
        "away_at": sorted(away),
    }


def at_rest(stamps: Stamps) -> bool:
    """Tells whether no row is on its way anywhere: all act in one view, and nothing moves."""
    return all(stamp["settled"] for stamp in stamps.values()) and len({s["view"] for s in stamps.values()}) == 1


def _judged(counts: dict[str, Any], settled: bool) -> dict[str, Any]:
    """Marks counts as settled or not: ``conserved`` is unknown, and no end is told, while rows may be counted twice or
    not at all.
    """
    if settled:
        return {**counts, "settled": True}
    state = SETTLING if counts["state"] in (FINISHED, INCOMPLETE) else counts["state"]
    return {**counts, "settled": False, "state": state, "conserved": None}
