"""The sinks of a job on their way from master to master, and their passwords, which nobody else learns."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from p2pcrawl.master.company.ground import Ground
from p2pcrawl.master.jobs.job import Job, job_of, mirror_of, pack_job, pack_spec, spec_of_mirror, unpack_spec
from p2pcrawl.master.jobs.sink_secrets import SinkSecrets, unsealed_sinks
from p2pcrawl.model.crawl.job import JobId, JobSpec, SpiderRef
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.crawl.sink_spec import SINKS_MAX, SinkSpec
from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.wire.messages.codec import FrameReader, encode
from p2pcrawl.wire.messages.slave_messages import OpenJob
from p2pcrawl.wire.sealed.at_rest import RestSeal
from p2pcrawl.wire.sealed.keys import KeyRing

PASSWORD = "corr-ect-h0rse"
SINKS = (
    SinkSpec("mongodb://ada@db.example/shop.books", {"mode": "history"}, secret=PASSWORD),
    SinkSpec("s3://bucket/books.parquet"),
)
OLD, NEW = os.urandom(32), os.urandom(32)


def secrets_with(folder: Path, *keys: bytes) -> tuple[SinkSecrets, Ground]:
    ground = Ground(folder, Settings())
    return SinkSecrets(RestSeal(KeyRing(keys), "c"), ground.jobs, ground.lifecycle), ground


def job_with_sinks(secrets: SinkSecrets) -> Job:
    shown = tuple(SinkSpec(sink.url, sink.options) for sink in SINKS)
    spec = JobSpec(JobId(7), "shop", SpiderRef(urls=("http://a.example/",)), sinks=shown)
    return job_of(secrets.sealed_into(spec, SINKS))


async def test_master_that_is_told_of_a_job_reads_the_passwords_of_its_sinks(tmp_path: Path) -> None:
    here, _ = secrets_with(tmp_path, OLD)
    job = job_with_sinks(here)

    (told,) = FrameReader().feed(encode(mirror_of(job)))

    assert unsealed_sinks(RestSeal(KeyRing((OLD,)), "c"), spec_of_mirror(told)) == SINKS


async def test_slave_is_told_of_no_sink(tmp_path: Path) -> None:
    secrets, _ = secrets_with(tmp_path, OLD)

    told = encode(OpenJob(job_with_sinks(secrets).wire()))

    assert b"db.example" not in told
    assert PASSWORD.encode() not in told


async def test_password_is_nowhere_in_what_is_stored_said_or_shown(tmp_path: Path) -> None:
    secrets, _ = secrets_with(tmp_path, OLD)
    job = job_with_sinks(secrets)

    everything = [pack_job(job), encode(mirror_of(job)), repr(job).encode(), repr(SINKS).encode()]

    assert not any(PASSWORD.encode() in each for each in everything)
    assert unpack_spec(pack_job(job)) == job.spec


def test_specification_of_an_older_version_has_no_sinks() -> None:
    spec = JobSpec(JobId(7), "shop", SpiderRef(urls=("http://a.example/",)))
    stored = msgspec.msgpack.decode(pack_spec(spec))
    del stored["sinks"], stored["secrets"]

    assert unpack_spec(msgspec.msgpack.encode(stored)) == spec


async def test_passwords_outlive_a_change_of_keys(tmp_path: Path) -> None:
    before, _ = secrets_with(tmp_path, OLD)
    during, ground = secrets_with(tmp_path, NEW, OLD)
    job = ground.jobs[7] = job_with_sinks(before)

    during.renew()

    assert unsealed_sinks(RestSeal(KeyRing((NEW,)), "c"), job.spec) == SINKS
    assert 7 in ground.lifecycle.take_changes()[1]


async def test_whoever_lacks_the_key_differs_from_those_who_have_it(tmp_path: Path) -> None:
    before, _ = secrets_with(tmp_path, OLD)
    after, ground = secrets_with(tmp_path, NEW)
    job = ground.jobs[7] = job_with_sinks(before)
    mark = job.mark

    after.renew()

    assert job.mark != mark
    with pytest.raises(ConfigurationError, match="which is not known here"):
        unsealed_sinks(RestSeal(KeyRing((NEW,)), "c"), job.spec)


@pytest.mark.parametrize(
    "sinks",
    [
        tuple(SinkSpec(f"s3://bucket/{n}.jsonl") for n in range(SINKS_MAX + 1)),
        (SinkSpec("s3://bucket/a.jsonl"), SinkSpec("s3://bucket/a.jsonl")),
    ],
)
def test_too_many_sinks_or_one_named_twice_are_refused(sinks: tuple[SinkSpec, ...]) -> None:
    with pytest.raises(ConfigurationError):
        JobSpec(JobId(7), "shop", SpiderRef(), sinks=sinks)


def test_job_cannot_hold_a_password_that_is_not_sealed() -> None:
    with pytest.raises(ValueError, match="sealed"):
        JobSpec(JobId(7), "shop", SpiderRef(), sinks=SINKS)
