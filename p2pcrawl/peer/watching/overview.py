"""The overview: the whole cluster in one small answer, made to be asked for again and again by a page or a terminal.

One question goes to each other master, and what comes back is put together here. Several who ask within a second get
the same answer. Nothing of this is done, or known, while nobody asks. A master that is slow to answer does not hold up
the others: what it said last is shown for some seconds, and the age of its last sign of life says what that is worth.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NotRequired, TypedDict

from msgspec.json import Decoder

from p2pcrawl.core.control import ENDS, FINISHED, INCOMPLETE, RUNNING
from p2pcrawl.core.membership.swim import Membership
from p2pcrawl.core.ring.rendezvous import BUCKETS
from p2pcrawl.master.cluster import Cluster
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.master.neighbours.absences import Absences
from p2pcrawl.model.cluster.node import Member, NodeId, Status
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.overlay.tasks import end
from p2pcrawl.peer.answers.asking import whole_number
from p2pcrawl.peer.answers.cluster_status import warnings_of
from p2pcrawl.peer.answers.counts import SETTLING, Stamps, at_rest
from p2pcrawl.peer.news.events import EventLine, Events
from p2pcrawl.peer.watching.glance import HOSTS_MAX, JOBS_MAX, Glance, HostGlance, JobGlance
from p2pcrawl.peer.watching.glancing import Glancing
from p2pcrawl.peer.watching.rest_of_job import RestOfJob, estimate

FRESH_S: Final = 1.0
"""For so long an answer is given again."""
GLANCE_S: Final = 1.0
"""How long a master has to answer, so that one that does not is no reason to wait."""
KEPT_S: Final = 15.0
"""For so long what a master said last stands for what it does not say."""
JOBS_SHOWN: Final = 50
HOSTS_SHOWN: Final = 20
EVENTS_SHOWN: Final = 30
_GLANCE = Decoder(Glance)


class Health(TypedDict):
    """The state of the cluster in one line. ``missing``: the masters that are waited for, and since when. ``errors``
    are fetches that went wrong, also those that are tried again."""

    up: int
    suspect: int
    dead: int
    left: int
    pages_per_s: float
    items_per_s: float
    errors_per_s: float
    frontier: int
    in_flight: int
    jobs_running: int
    finished: bool
    missing: dict[str, float]


class MemberLine(TypedDict):
    """A master. What only it can tell is None when it does not. ``heartbeat_s``: since anybody asked last had a sign of
    life of it. ``cpu``: of a core, with its slaves. ``view``: the number of the view that it knows."""

    id: str
    address: str
    api: str
    state: str
    role: str
    heartbeat_s: float | None
    share: float
    weight: int
    drained: bool
    queued: int | None
    leased: int | None
    slaves: int | None
    cpu: float | None
    rss_mb: int | None
    disk_free_mb: int | None
    view: str


class JobLine(TypedDict):
    """A job over all masters. ``final``: what its certificate says; None while it has none. ``settled``: nothing was
    being moved between masters, so nothing is counted twice."""

    job: int
    label: str
    name: str
    state: str
    reason: str
    pages: int
    queued: int
    leased: int
    items: int
    failed: int
    dropped: int
    pages_per_s: float
    left: RestOfJob
    settled: bool
    final: bool | None


class HostLine(TypedDict):
    """A host, as its owner asks it: ``queued`` in memory, and ``more`` on disk. ``next_at``: when it may be asked
    again; None: now. ``why_slow``: what its next request waits for; empty: nothing."""

    host: str
    queued: int
    more: bool
    leased: int
    owner: str
    delay_s: float
    delay_from: str
    next_at: float | None
    why_slow: str


class AskedPeer(TypedDict):
    """The peer that was asked."""

    id: str
    role: str
    api: str


class OverviewAnswer(TypedDict):
    """The answer to ``overview``. ``views``: the numbers of the views that living masters know; they have ``agreed``
    when there is one."""

    at: float
    cluster: str
    view: str
    agreed: bool
    views: list[str]
    asked: NotRequired[AskedPeer]
    health: Health
    members: list[MemberLine]
    jobs: list[JobLine]
    jobs_total: int
    hosts: list[HostLine]
    hosts_total: int
    warnings: list[str]
    events: list[EventLine]
    """The last ones."""


class Overview:
    """Puts the glances of all masters together."""

    def __init__(
        self,
        cluster: Cluster,
        membership: Membership,
        absences: Absences,
        glancing: Glancing,
        events: Events,
        name: str,
    ) -> None:
        """``name`` is the cluster's."""
        self._cluster = cluster
        self._jobs = cluster.master.jobs
        self._peers = cluster.peers
        self._membership = membership
        self._absences = absences
        self._glancing = glancing
        self._events = events
        self._name = name
        self._said: dict[NodeId, tuple[float, Glance]] = {}
        """What each other master said last, and when."""
        self._answers: dict[tuple[int, int], tuple[float, asyncio.Task[OverviewAnswer]]] = {}
        self._finals: dict[int, tuple[bytes, bool]] = {}

    async def answer(self, arguments: Mapping[str, Any]) -> OverviewAnswer:
        """Answers, with as many ``jobs`` and ``hosts`` as are asked for. Raises ConfigurationError for what is no
        number.
        """
        asked = (
            whole_number(arguments, "jobs", JOBS_SHOWN, JOBS_MAX),
            whole_number(arguments, "hosts", HOSTS_SHOWN, HOSTS_MAX),
        )
        now = asyncio.get_running_loop().time()
        self._answers = {key: kept for key, kept in self._answers.items() if now - kept[0] < FRESH_S}
        if asked not in self._answers:
            self._answers[asked] = now, asyncio.create_task(self._make(*asked))
        # Whoever goes away does not take the answer with them that others wait for.
        made = await asyncio.shield(self._answers[asked][1])
        return made.copy()

    async def _make(self, jobs: int, hosts: int) -> OverviewAnswer:
        every = self._jobs.shown
        shown = sorted(every, key=lambda job: (job.state != RUNNING, -job.spec.submitted, job.id))[:jobs]
        glances = await self._glances([job.id for job in shown], hosts)
        stamps: Stamps = {node: glance.stamp for node, glance in glances.items()}
        settled, missing = at_rest(stamps), self._absences.missing()
        views = sorted({glance.view for glance in glances.values()})
        return OverviewAnswer(
            at=round(time.time(), 3),
            cluster=self._name,
            view=f"{self._membership.view_digest:016x}",
            agreed=len(views) == 1,
            views=views,
            health=self._health(glances.values(), every, missing),
            members=self._members(glances),
            jobs=[self._job(job, glances.values(), settled=settled, complete=not missing) for job in shown],
            jobs_total=len(every),
            hosts=host_lines(glances.values(), hosts, time.time()),
            hosts_total=sum(glance.hosts_total for glance in glances.values()),
            warnings=self._warnings(glances.values(), missing),
            events=(await self._events.answer({"limit": EVENTS_SHOWN}))["events"],
        )

    async def close(self) -> None:
        await end(task for _, task in self._answers.values())

    # -- glances ------------------------------------------------------------------------------

    async def _glances(self, jobs: list[int], hosts: int) -> dict[NodeId, Glance]:
        """Collects what all masters tell, those that were silent for a moment included."""
        others = [member.id for member in self._peers.others()]
        arguments = {"jobs": jobs, "hosts": hosts}
        own, *told = await asyncio.gather(
            self._glancing.glance(jobs, hosts), *(self._ask(node, arguments) for node in others)
        )
        assert own is not None
        now = asyncio.get_running_loop().time()
        self._said |= {node: (now, glance) for node, glance in zip(others, told, strict=True) if glance is not None}
        self._said = {node: kept for node, kept in self._said.items() if node in others and now - kept[0] < KEPT_S}
        return {self._peers.me: own, **{node: glance for node, (_, glance) in self._said.items()}}

    async def _ask(self, node: NodeId, arguments: Mapping[str, object]) -> Glance | None:
        try:
            return await self._peers.query(node, "ask:glance", arguments, _GLANCE, GLANCE_S)
        except P2PCrawlError:
            return None

    # -- what they come to --------------------------------------------------------------------

    def _health(self, glances: Iterable[Glance], jobs: Sequence[Job], missing: dict[NodeId, float]) -> Health:
        told = list(glances)
        states = Counter(member.status for member in self._membership.members.values())
        return Health(
            up=states[Status.ALIVE],
            suspect=states[Status.SUSPECT],
            dead=states[Status.DEAD],
            left=states[Status.LEFT],
            pages_per_s=round(sum(glance.pages_per_s for glance in told), 2),
            items_per_s=round(sum(glance.items_per_s for glance in told), 2),
            errors_per_s=round(sum(glance.errors_per_s for glance in told), 2),
            frontier=sum(glance.queued for glance in told),
            in_flight=sum(glance.leased for glance in told),
            jobs_running=sum(job.state == RUNNING for job in jobs),
            finished=all(job.state in ENDS for job in jobs),
            missing={str(node): since for node, since in missing.items()},
        )

    def _members(self, glances: Mapping[NodeId, Glance]) -> list[MemberLine]:
        owned = Counter(row[0] for row in self._cluster.ownership.table) or {self._peers.me: BUCKETS}
        members = sorted(self._membership.members.values(), key=lambda member: member.id)
        heard = self._heard(glances)
        return [
            self._member(member, glances.get(member.id), heard.get(member.id), owned.get(member.id, 0))
            for member in members
        ]

    def _heard(self, glances: Mapping[NodeId, Glance]) -> dict[NodeId, float]:
        """Returns how long ago anybody had a sign of life of each member; what was said a while ago is older by now."""
        now = asyncio.get_running_loop().time()
        signs: dict[NodeId, float] = {self._peers.me: 0.0}
        for teller, glance in glances.items():
            age_s = now - self._said[teller][0] if teller in self._said else 0.0
            for id, heard_s in [(teller, 0.0), *glance.heard.items()]:
                node = NodeId(id)
                signs[node] = min(signs.get(node, heard_s + age_s), heard_s + age_s)
        return signs

    def _member(self, member: Member, glance: Glance | None, heard_s: float | None, owned: int) -> MemberLine:
        view = self._membership.views.get(member.id)
        return MemberLine(
            id=member.id,
            address=member.address,
            api=member.api,
            state=member.status.name.lower(),
            role="master",
            heartbeat_s=None if heard_s is None else round(heard_s, 2),
            share=round(owned / BUCKETS, 4),
            weight=member.weight,
            drained=member.leaving,
            queued=glance.queued if glance else None,
            leased=glance.leased if glance else None,
            slaves=glance.slaves if glance else None,
            cpu=glance.cpu if glance else None,
            rss_mb=glance.rss_mb if glance else None,
            disk_free_mb=glance.disk_free_mb if glance else None,
            view=glance.view if glance else f"{view:016x}" if view is not None else "",
        )

    def _job(self, job: Job, glances: Iterable[Glance], *, settled: bool, complete: bool) -> JobLine:
        parts = [part for glance in glances for part in glance.jobs if part.job == job.id]
        queued, leased = sum(part.queued for part in parts), sum(part.leased for part in parts)
        pages_per_s, ended_per_s, found_per_s = _speeds_of(parts)
        state = SETTLING if job.state in (FINISHED, INCOMPLETE) and not settled else job.state
        return JobLine(
            job=job.id,
            label=job.spec.label,
            name=job.spec.name,
            state=state,
            reason=job.reason,
            pages=sum(part.pages for part in parts),
            queued=queued,
            leased=leased,
            items=sum(part.items for part in parts),
            failed=sum(part.failed for part in parts),
            dropped=sum(part.dropped for part in parts),
            pages_per_s=round(pages_per_s, 2),
            left=estimate(job.state, queued + leased, ended_per_s, found_per_s, settled=settled, complete=complete),
            settled=settled,
            final=self._final(job),
        )

    def _final(self, job: Job) -> bool | None:
        """Tells whether a job's certificate says that nobody is away who may know more; read once for each."""
        if not job.signed:
            return None
        known, final = self._finals.get(job.id, (b"", False))
        if known != job.signed:
            final = bool(json.loads(job.signed)["final"])
            self._finals[job.id] = job.signed, final
        return final

    def _warnings(self, glances: Iterable[Glance], missing: Mapping[NodeId, float]) -> list[str]:
        living = [member.id for member in self._peers.members()]
        not_whole = sum(glance.not_whole for glance in glances)
        standing = self._cluster.mandate.figures()
        told = warnings_of(self._cluster.ownership.copies, living, missing, not_whole, self._cluster.mirroring.refusals)
        return [*told, *([f"here {standing['reason']}"] if standing and standing["reason"] else [])]


def _speeds_of(parts: Sequence[JobGlance]) -> tuple[float, float, float]:
    return (
        sum(part.pages_per_s for part in parts),
        sum(part.ended_per_s for part in parts),
        max(0.0, sum(part.found_per_s for part in parts)),
    )


def host_lines(glances: Iterable[Glance], count: int, at: float) -> list[HostLine]:
    """Returns the busiest of the hosts that masters tell of: those with most waiting first. A host that several masters
    ask, as jobs that shard by URL let them, has a line for each.
    """
    rows = [(host, glance.master) for glance in glances for host in glance.hosts]
    rows.sort(key=lambda row: (-row[0].queued - row[0].leased, row[0].host))
    return [_host_line(host, owner, at) for host, owner in rows[:count]]


def _host_line(host: HostGlance, owner: str, at: float) -> HostLine:
    return HostLine(
        host=host.host,
        queued=host.queued,
        more=host.more,
        leased=host.leased,
        owner=owner,
        delay_s=host.delay_s,
        delay_from=host.delay_from,
        next_at=round(at + host.waits_s, 1) if host.waits_s else None,
        why_slow=host.why_slow,
    )
