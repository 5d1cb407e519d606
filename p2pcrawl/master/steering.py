"""The steering of jobs as a whole: pause, resume, cancel, retry; and their end, which all masters sign.

A change is durable here before anybody else hears of it; then all living masters are told, and those that are away
when they come back (:mod:`p2pcrawl.core.control` says whose change counts).

A job that was finished runs again when a master comes back with work that nobody knew of.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Awaitable, Mapping
from typing import Any, TypedDict

from msgspec.json import Decoder

from p2pcrawl.core.control import CANCELLED, FINISHED, INCOMPLETE, OVER, RETRY, RUNNING, refusal, steered
from p2pcrawl.core.retuning import read_changes, retuned
from p2pcrawl.master.cluster import Cluster
from p2pcrawl.master.jobs.certificate import Part, certificate_of, members_digest, signed_body, signed_part
from p2pcrawl.master.jobs.job import Job, plain_account
from p2pcrawl.master.neighbours.absences import Absences
from p2pcrawl.model.cluster.node import Member
from p2pcrawl.model.cluster.notable import Notable
from p2pcrawl.model.errors import NotNow, P2PCrawlError
from p2pcrawl.model.reason_choice import pages_named
from p2pcrawl.overlay.tasks import end
from p2pcrawl.wire.sealed.identity import Identity

log = logging.getLogger(__name__)

LOOK_S = 1.0
NEWS_LOOKS = 5
"""Looks in a row that find work for a finished job before it runs again: what others have done long ago may come back,
too, and is known as such when its bucket is where it belongs."""
ASK_S = 10.0
RETRY_S = 45.0
STORE_S = 15.0


class Retried(TypedDict):
    """The number of failed pages that a master has queued anew."""

    retried: int


_RETRIED = Decoder(Retried)
_PART = Decoder(Part)


class Steering:
    """Steers jobs for people, and ends them. ``start`` and ``close`` with the cluster."""

    def __init__(self, cluster: Cluster, absences: Absences, identity: Identity) -> None:
        self._cluster = cluster
        self._master = cluster.master
        self._peers = cluster.peers
        self._absences = absences
        self._identity = identity
        self._journal = cluster.neighbours.ground.journal
        self._task: asyncio.Task[None] | None = None
        self._news: Counter[int] = Counter()
        self._final: dict[int, tuple[bytes, bool]] = {}
        """Whether the certificate that a job has is final."""

    def start(self) -> None:
        self._task = asyncio.create_task(self._look_after())

    async def close(self) -> None:
        if self._task is not None:
            await end([self._task])

    # -- what a person asks for ---------------------------------------------------------------

    async def steer(self, job: Job, verb: str, reason: str = "") -> dict[str, Any]:
        """Does it in the whole cluster; a retry of the pages that ended for a reason alone, where one is named. Raises
        ConfigurationError when the job is not in a state for it.
        """
        was = job.state
        if steered(job.control, verb) is None:
            raise NotNow(f"cannot {verb} job {job.id}: {refusal(job.control, verb)}")
        answer: dict[str, Any] = {"job": job.id, "name": job.spec.name, "was": was}
        pages_named(reason)
        idle = False
        if verb == RETRY:
            counts = await asyncio.gather(*(self._retry_at(member, job, reason) for member in self._peers.members()))
            answer["retried"] = sum(counts)
            idle = not answer["retried"]
        after = steered(job.control, verb)
        if after is not None and after != job.control and not idle:
            self._master.lifecycle.steer(job, after)
        await self._stored(job)
        await self._cluster.spread(job)
        # Somebody else may have changed it while others were told.
        await self._stored(job)
        away = sorted(m.id for m in self._peers.missing())
        return {**answer, "state": job.state, "missing": away}

    async def tune(self, job: Job, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Changes settings of a job in the whole cluster, while it runs. Raises ConfigurationError for those that
        cannot be changed, and for a job that is over for good.
        """
        check_can_be_set(job)
        values = read_changes(changes)
        was = {name: getattr(job.settings, name) for name in values}
        await _in_time(self._master.admission.tune(job, retuned(job.spec.tuned, values)))
        await self._cluster.spread(job)
        await self._stored(job)
        away = sorted(m.id for m in self._peers.missing())
        told = {"job": job.id, "name": job.spec.name, "state": job.state, "missing": away}
        return {**told, "was": _named(was), "set": _named(values)}

    async def _stored(self, job: Job) -> None:
        """Returns when a job is on disk as it stands, whoever has changed it: what a person is told of it holds."""
        await _in_time(self._master.admission.write(job))

    async def retry_here(self, job: Job, reason: str = "") -> int:
        """Queues anew what has failed at this master, for a reason or for any; returns how many pages. Raises
        ConfigurationError for what is no reason.
        """
        return await self._master.aside.retry(job, pages_named(reason))

    async def _retry_at(self, member: Member, job: Job, reason: str) -> int:
        if member.id == self._peers.me:
            return await self.retry_here(job, reason)
        asked = {"job": job.id, **({"reason": reason} if reason else {})}
        try:
            answer = await self._peers.query(member.id, "tell:retry-here", asked, _RETRIED, RETRY_S)
        except P2PCrawlError as error:
            name = member.id[:8]
            raise P2PCrawlError(f"{name} did not queue its failed pages anew ({error}); ask again") from error
        return answer["retried"]

    # -- the end ------------------------------------------------------------------------------

    async def conclude(self, job: Job, view: int) -> None:
        """Ends a job of which nothing was left in this view: with what all masters sign, unless one knows better, or it
        was cancelled or paused since somebody looked.
        """
        before = job.control
        if job.state not in (RUNNING, *OVER):
            return
        certificate = await self._certificate(job, view)
        if certificate is None or job.control != before:
            return
        state = INCOMPLETE if certificate["incomplete"] else FINISHED
        if state == job.state and job.signed and _same_end(certificate, json.loads(job.signed)):
            return
        if state == INCOMPLETE:
            log.warning("job %d is quiet, but %d buckets are not whole", job.id, len(certificate["incomplete"]))
        signed = json.dumps(certificate, sort_keys=True, separators=(",", ":")).encode()
        reason = job.closing if job.state == RUNNING else job.reason
        self._master.lifecycle.steer(job, job.control.then(state, reason, signed))
        told = self._journal.note(Notable.JOB_CERTIFIED, job=job.id, state=state, final=certificate["final"])
        log.info("job %d is certified%s", job.id, "" if certificate["final"] else ", not as final", extra=told)
        await self._master.handover.stored()
        await self._cluster.spread(job)

    async def _certificate(self, job: Job, view: int) -> dict[str, Any] | None:
        """Collects the certificate; None when somebody does not answer, has something left to do, or acts in another
        view, in which rows may be on their way and be counted at both ends.
        """
        try:
            answers = await asyncio.gather(
                *(self._peers.query(m.id, "ask:part", {"job": job.id}, _PART, ASK_S) for m in self._peers.others())
            )
            parts: list[Part] = [self.part(job), *answers]
        except P2PCrawlError as error:
            log.debug("no certificate for job %d yet: %s", job.id, error)
            return None
        certificate = certificate_of(parts, [m.id for m in self._peers.members()])
        if certificate is None or certificate["view"] != f"{view:016x}":
            return None
        counts = certificate["counts"]
        left = counts["leased"] + (0 if job.closed_early else counts["queued"])
        names = {body["master"] for part in parts if (body := signed_body(part)) is not None}
        return certificate if not left and names == set(certificate["members"]) else None

    def part(self, job: Job) -> Part:
        """Signs what this master states of a job."""
        ownership, members = self._cluster.ownership, self._peers.members()
        missing = self._absences.missing()
        body = {
            "master": self._peers.me,
            "job": job.id,
            "view": f"{ownership.view:016x}",
            "members": members_digest([m.id for m in members]),
            "missing": sorted(missing),
            "since": {node: int(at) for node, at in missing.items()},
            "copies": ownership.copies,
            "unsynced": self._cluster.copying.lacking(),
            "incomplete": ownership.broken(),
            "counts": job.certificate(),
            "life": self._cluster.accounts.life,
            "accounts": [plain_account(account) for account in self._cluster.accounts.of_gone(job.id)],
        }
        return signed_part(self._identity, body)

    # -- what comes back ----------------------------------------------------------------------

    async def _look_after(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            for job in [j for j in self._master.jobs.values() if j.state in OVER]:
                try:
                    if job.state not in OVER:
                        # While another one was looked at, somebody has cancelled or deleted it, or lets it run again.
                        continue
                    if self._has_news(job):
                        await self._open_again(job)
                    elif self._may_be_final(job):
                        view = await self._cluster.completion.finished_in(job)
                        if view is not None:
                            await self.conclude(job, view)
                except P2PCrawlError as error:
                    log.debug("looking after job %d: %s", job.id, error)
                except Exception:
                    log.exception("looking after job %d failed", job.id)

    def _has_news(self, job: Job) -> bool:
        """Tells whether there is work here that cannot be somebody's old news any more."""
        ownership = self._cluster.ownership
        here = job.counts["queued"] > 0 and not job.closed_early and not ownership.syncing and ownership.complete
        self._news[job.id] = self._news[job.id] + 1 if here else 0
        return self._news[job.id] >= NEWS_LOOKS

    async def _open_again(self, job: Job) -> None:
        log.info("job %d runs again: %d pages have come that nobody knew of", job.id, job.counts["queued"])
        del self._news[job.id]
        self._master.lifecycle.steer(job, job.control.then(RUNNING))
        await self._master.handover.stored()
        await self._cluster.spread(job)

    def _may_be_final(self, job: Job) -> bool:
        """Tells whether a job's certificate was not final, and who was missing is here again or forgotten."""
        if job.state != FINISHED or not self._cluster.completion.falls_to_us() or self._peers.missing():
            return False
        known, final = self._final.get(job.id, (b"", False))
        if known != job.signed:
            final = bool(job.signed) and bool(json.loads(job.signed)["final"])
            self._final[job.id] = (job.signed, final)
        return bool(job.signed) and not final


async def _in_time(storing: Awaitable[object]) -> None:
    """Waits till something is stored. Raises P2PCrawlError when that takes too long."""
    try:
        async with asyncio.timeout(STORE_S):
            await storing
    except TimeoutError:
        raise P2PCrawlError(f"this master could not store it in {STORE_S:g} s; see `p2pcrawl jobs`") from None


def check_can_be_set(job: Job) -> None:
    """Raises ConfigurationError for a job that no setting can change anything of, and says why."""
    if job.state == CANCELLED:
        why = "it is cancelled, which is final"
    elif job.state == FINISHED:
        why = "it is finished; `p2pcrawl retry` or `inject` lets it run again, and settings can be changed then"
    else:
        return
    raise NotNow(f"cannot set anything of job {job.id}: {why}")


def _named(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name.upper(): value for name, value in values.items()}


def _same_end(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Tells whether a new certificate would tell nothing new."""
    return all(one[name] == other.get(name) for name in ("incomplete", "missing", "final"))
