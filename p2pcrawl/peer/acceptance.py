"""The acceptance of jobs by a master: a submission is tried, made durable and begun, or refused in one line."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Sequence
from dataclasses import replace

from p2pcrawl.core.control import CANCELLED, DELETED, ENDS
from p2pcrawl.master.cluster import Cluster
from p2pcrawl.master.jobs.job import Job, job_of
from p2pcrawl.master.jobs.sink_secrets import SinkSecrets, unsealed_sinks
from p2pcrawl.model.cluster.notable import Notable
from p2pcrawl.model.crawl.job import JobId, JobSpec
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.crawl.sink_spec import SinkSpec
from p2pcrawl.model.errors import ConfigurationError, P2PCrawlError
from p2pcrawl.peer.answers.submission import Submission, check_code, module_digest
from p2pcrawl.stores.kinds import SinkPlace, address_of, make_sink
from p2pcrawl.stores.sink_trial import empty_sinks, try_sinks
from p2pcrawl.wire.sealed.at_rest import RestSeal

log = logging.getLogger(__name__)

SUBMIT_S = 15.0


class Acceptance:
    """Takes submissions. ``copies``: on how many masters a job is durable before it begins."""

    def __init__(self, cluster: Cluster, secrets: SinkSecrets, copies: int) -> None:
        self._cluster = cluster
        self._secrets = secrets
        self._copies = copies
        self._outputs = cluster.master.outputs
        self._journal = cluster.master.ground.journal

    async def take(self, submission: Submission) -> int:
        """Makes a job durable here and on as many others as the copies ask for, and begins it at the owner of its
        start. Raises ConfigurationError for one that cannot be run, or has a sink that cannot be used: then there is no
        job; P2PCrawlError where too few masters answer.
        """
        self._check_label(submission.label)
        await check_code(submission)
        submission = self._placed(submission)
        number = JobId(random.SystemRandom().randrange(1, 1 << 52))
        spec = replace(submission.spec(), id=number, submitted=int(time.time() * 1000))
        if refusal := refusal_of(spec):
            raise ConfigurationError(refusal)
        await self._try(job_of(spec), submission.sinks)
        starting = self._cluster.own_standing.starting
        starting.add(spec.id)
        try:
            job = await self._cluster.master.admission.add(self._secrets.sealed_into(spec, submission.sinks))
            await self._spread(job)
            await self._empty(job, [sink for sink in submission.sinks if sink.replace])
            await self._begin(job)
            self._tell(job)
        finally:
            starting.discard(spec.id)
        return job.id

    async def try_out(self, submission: Submission) -> None:
        """Raises ConfigurationError for a submission that could not be taken now. Begins nothing, and empties no
        sink.
        """
        await check_code(submission)
        spec = replace(submission.spec(), id=JobId(1))
        if refusal := refusal_of(spec):
            raise ConfigurationError(refusal)
        await self._try(job_of(spec), submission.sinks)

    async def begin_numbered(self, submission: Submission, number: int, at_ms: int) -> Job:
        """Begins a job of a number that is made of what it is for, so that whoever else begins it begins the same one:
        what was done of that already is done once. Raises ConfigurationError for one that cannot be run, P2PCrawlError
        where too few masters answer; then it may be begun again, also by others.
        """
        jobs, spec = self._cluster.master.jobs, replace(submission.spec(), id=JobId(number), submitted=at_ms)
        starting, known = self._cluster.own_standing.starting, jobs.get(number)
        if known is not None and known.state in (CANCELLED, DELETED):
            return known
        if known is None and (refusal := refusal_of(spec)):
            raise ConfigurationError(refusal)
        starting.add(spec.id)
        try:
            job = known or await self._cluster.master.admission.add(self._secrets.sealed_into(spec, submission.sinks))
            if (refusals := await self._told(job)) and known is None:
                self._cluster.withdraw(job, refusals[0])
                raise ConfigurationError(refusals[0])
            # Also if it is known to have ended: whoever began it may have died before its start was anywhere.
            await self._begin(job)
            if known is None:
                self._tell(job)
        finally:
            starting.discard(spec.id)
        return job

    def _tell(self, job: Job) -> None:
        noted = self._journal.note(Notable.JOB_SUBMITTED, job=job.id, name=job.spec.name, label=job.spec.label)
        log.info("job %d, %s, was submitted", job.id, job.spec.label or job.spec.name, extra=noted)

    def _placed(self, submission: Submission) -> Submission:
        """Has a job that reads stored pages share them out as the job does that has stored them: so each is read where
        it is, or by whoever took that place over. Raises ConfigurationError where there is no such job.
        """
        of = Settings().updated(submission.settings).stored_pages_of
        if not of:
            return submission
        stored = self._cluster.master.jobs.get(of)
        if stored is None or stored.is_deleted:
            raise ConfigurationError(f"there is no job {of} whose stored pages could be read")
        rest = {name: value for name, value in submission.settings.items() if name.lower() != "shard_key"}
        return replace(submission, settings={**rest, "shard_key": stored.settings.shard_key.value})

    def _check_label(self, label: str) -> None:
        """Refuses a name that a job has which is not over: whoever calls it so would mean the other one."""
        for job in self._cluster.master.jobs.shown if label else ():
            if job.spec.label == label and job.state not in ENDS:
                raise ConfigurationError(f"job {job.id} is called {label} and is {job.state}: choose another --name")

    async def _try(self, job: Job, sinks: Sequence[SinkSpec]) -> None:
        """Opens these sinks, and takes nothing out of any; one that cannot be emptied is refused all the same."""
        for sink in sinks:
            make_sink(address_of(sink), self._outputs.place(job, replace=sink.replace))
        await try_sinks(sinks, self._outputs.place(job))

    async def _spread(self, job: Job) -> None:
        """Tells the others, or ends the job where one cannot run it, or too few answer."""
        try:
            refusals = await self._told(job)
        except P2PCrawlError as error:
            self._cluster.withdraw(job, str(error))
            raise
        if refusals:
            self._cluster.withdraw(job, refusals[0])
            raise ConfigurationError(refusals[0])

    async def _told(self, job: Job) -> list[str]:
        """Tells the others; returns why some cannot run it. Raises P2PCrawlError where too few answer."""
        try:
            async with asyncio.timeout(SUBMIT_S):
                return await self._cluster.spread(job, self._copies - 1)
        except TimeoutError:
            text = f"too few of the other masters answered in {SUBMIT_S:g} s; the job was not begun"
            raise P2PCrawlError(text) from None

    async def _empty(self, job: Job, sinks: Sequence[SinkSpec]) -> None:
        """Takes out of these destinations what earlier jobs left there. It is done here and now, and by no other
        master: one that comes later would take what later jobs have brought.
        """
        try:
            await empty_sinks(sinks, self._outputs.place(job, replace=True))
        except ConfigurationError as error:
            self._cluster.withdraw(job, str(error))
            raise

    async def _begin(self, job: Job) -> None:
        try:
            async with asyncio.timeout(SUBMIT_S):
                await self._cluster.begin(job)
        except TimeoutError:
            raise P2PCrawlError(
                f"job {job.id} is known to all, but nobody has taken its start yet; see `p2pcrawl jobs`"
            ) from None


def told_refusal(seal: RestSeal, spec: JobSpec) -> str:
    """Returns why a job that another master sent cannot be run here, for its spider or for want of a package that a
    sink needs; "" when it can.
    """
    if refusal := refusal_of(spec):
        return refusal
    try:
        for sink in unsealed_sinks(seal, spec):
            make_sink(address_of(sink), SinkPlace(spec.name))
    except ConfigurationError as error:
        return str(error)
    return ""


def refusal_of(spec: JobSpec) -> str:
    """Returns why this peer cannot run the spider of the job; "" when it can."""
    ref = spec.spider
    if ref.module and spec.module_digest and module_digest(ref.module) != spec.module_digest:
        found = module_digest(ref.module)
        return (
            f"module {ref.module} is another one on a peer of the cluster"
            if found
            else f"module {ref.module} is missing on a peer of the cluster"
        ) + "; install the same on all, or submit the spider as a file"
    return ""
