"""The passwords of jobs' sinks at a master: sealed wherever they lie, read only to open a sink."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from p2pcrawl.master.jobs.job import KnownJobs
from p2pcrawl.master.jobs.lifecycle import Lifecycle
from p2pcrawl.model.crawl.job import JobSpec
from p2pcrawl.model.crawl.sink_spec import SinkSpec
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.wire.sealed.at_rest import RestSeal, SealedAway


def unsealed_sinks(seal: RestSeal, spec: JobSpec) -> tuple[SinkSpec, ...]:
    """Returns the sinks of a job with their passwords. Raises ConfigurationError where these cannot be read."""
    try:
        secrets = seal.open(spec.secrets, spec.sinks_told)
    except SealedAway as error:
        raise ConfigurationError(f"the passwords of the outputs of job {spec.id} cannot be read: {error}") from None
    if not secrets:
        return spec.sinks
    return tuple(replace(sink, secret=secret) for sink, secret in zip(spec.sinks, secrets, strict=False))


class SinkSecrets:
    """Seals the passwords of new jobs, and keeps those of known jobs under the key in use."""

    def __init__(self, seal: RestSeal, jobs: KnownJobs, lifecycle: Lifecycle) -> None:
        self._seal = seal
        self._jobs = jobs
        self._lifecycle = lifecycle

    def sealed_into(self, spec: JobSpec, sinks: Sequence[SinkSpec]) -> JobSpec:
        """Returns the job with the passwords of its sinks, which are those of ``sinks``, sealed."""
        return replace(spec, secrets=self._seal.seal([sink.secret for sink in sinks], spec.sinks_told))

    def renew(self) -> None:
        """Seals under the key in use by now whatever is under another: jobs of an earlier run, and of masters that have
        not heard of a change of keys yet. Notes which cannot be read here at all.
        """
        for job in self._jobs.values():
            spec = job.spec
            job.locked = not self._seal.knows(spec.secrets)
            if (secrets := self._seal.renewed(spec.secrets, spec.sinks_told)) != spec.secrets:
                job.spec = replace(spec, secrets=secrets)
                self._lifecycle.save_spec(job)
