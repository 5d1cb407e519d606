"""A job as its master sees it while it runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypedDict

import msgspec

from p2pcrawl.core.accounts import STATS, bereft, told_figures
from p2pcrawl.core.board_versions import check_boards, merged_boards
from p2pcrawl.core.control import CANCELLED, DELETED, FINISHED, INCOMPLETE, OVER, PAUSED, RUNNING, Control
from p2pcrawl.core.hosts.politeness import Host, Pace
from p2pcrawl.core.retuning import Tuned, check_tuned, merged_tuning, values_of
from p2pcrawl.master.jobs.job_stats import put_together
from p2pcrawl.model.boards.job_board import FROM_START, Boards
from p2pcrawl.model.cluster.account import Account, AccountKey
from p2pcrawl.model.crawl.job import JobId, JobSpec, SpiderRef
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.crawl.sink_spec import SinkSpec
from p2pcrawl.model.outcome import Failure
from p2pcrawl.spiders.boards.shared_settings import without_own
from p2pcrawl.wire.messages.board_form import boards_of_wire
from p2pcrawl.wire.messages.bounds import OPENED_MAX
from p2pcrawl.wire.messages.peer_messages import MirrorJob, WireSink
from p2pcrawl.wire.messages.slave_messages import WireBoard
from p2pcrawl.wire.messages.slave_messages import WireJob as WireSpec

Told = tuple[Control, tuple[str, ...], Tuned, bytes]
"""What masters tell each other of a job: its state, the hosts that its start URLs have opened, the settings that were
changed, and in short its boards."""


@dataclass(slots=True)
class Job:
    """A job's specification, its counters and its state.

    ``counts`` is what the store's counters are, as of the last commit.
    """

    spec: JobSpec
    settings: Settings
    pace: Pace
    state: str = RUNNING
    reason: str = ""
    counts: Counter[str] = field(default_factory=Counter)
    leased: int = 0
    version: int = 1
    """Raised whenever slaves must be told of a change."""
    closing: str = ""
    """Why it is being closed before its queue is empty."""
    control_version: int = 0
    """The version of its state, for the masters that mirror it: the greater one wins."""
    signed: bytes = b""
    """The certificate of its end; see master.certificate."""
    barren: tuple[int, int, float] = (0, 0, 0.0)
    """Its items when there was last one more, and the pages and seconds of the job by then."""
    since_s: float | None = None
    """How long this master had run when it first looked at the job since it runs; None while it does not."""
    locked: bool = False
    """The passwords of its sinks are sealed under a key that is not known here."""
    opened_in: dict[str, int] = field(default_factory=dict)
    """The hosts that its start URLs have opened, each with the version in which that was learnt here."""
    settled: dict[str, int] = field(default_factory=dict)
    """The version of each of its boards with which this master has done what it has to; see master.boards."""
    late: set[str] = field(default_factory=set)
    """The boards that are none any more of which links have come since this master dropped what was queued of them."""

    def __post_init__(self) -> None:
        self.opened_in = dict.fromkeys(self.spec.opened, 0)

    @property
    def id(self) -> int:
        return self.spec.id

    @property
    def queued(self) -> int:
        """Waiting, and not in a slave's hands."""
        return self.counts["queued"] - self.leased

    @property
    def errors(self) -> int:
        """Pages whose callback raised, or one of whose items failed."""
        return self.counts[f"failed:{Failure.CALLBACK}"] + self.counts[f"failed:{Failure.ITEM}"]

    @property
    def closed_early(self) -> str:
        """The reason for which it is closed before its queue is empty, or was; "" if it is not."""
        return self.closing or (self.reason if self.state in OVER else "")

    @property
    def told(self) -> Told:
        """Returns what other masters are told of the job when it changes."""
        return told_now(self.spec, self.control)

    @property
    def control(self) -> Control:
        """The state of the job as it travels between masters."""
        return Control(self.control_version, self.state, self.reason, self.signed)

    @control.setter
    def control(self, control: Control) -> None:
        self.control_version, self.state, self.reason, self.signed = control

    @property
    def is_deleted(self) -> bool:
        """Tells whether nothing of the job is kept any more but the word that it was deleted."""
        return self.state == DELETED

    def bury(self) -> None:
        """Leaves of a deleted job its number, its names, and how it was spread over masters."""
        key = {name: value for name, value in self.spec.settings.items() if name == "shard_key"}
        spec = self.spec
        self.spec = JobSpec(
            spec.id, spec.name, SpiderRef(qualname=spec.name), settings=key, label=spec.label, submitted=spec.submitted
        )
        self.opened_in, self.settled, self.late, self.signed, self.closing = {}, {}, set(), b"", ""
        self.settings = settings_of(self.spec)

    @property
    def mark(self) -> bytes:
        """A short value that is equal at all masters that know the same of the job's state and of what it has
        opened. Whoever cannot read the passwords of its sinks lacks something, too, and is told the job again.
        """
        *told, boards = self.told
        known = msgspec.msgpack.encode((*told, *([boards] if boards else []), *(["locked"] if self.locked else [])))
        return blake2b(known, digest_size=8).digest()

    @property
    def opened_mark(self) -> bytes:
        """A short value that is equal at all masters that know the same of what the job has opened."""
        return blake2b(msgspec.msgpack.encode(self.spec.opened), digest_size=8).digest()

    def learn_opened(self, hosts: Collection[str]) -> set[str]:
        """Takes in that its start URLs open these hosts; returns those that are news, which slaves must be told. Of too
        many the first in order count, so that all masters come to the same, whatever they learn first.
        """
        before = self.opened_in
        if before.keys() >= set(hosts):
            return set()
        after = tuple(sorted(before.keys() | set(hosts))[:OPENED_MAX])
        news = set(after).difference(before)
        if news:
            self.version += 1
            self.opened_in = {host: before.get(host, self.version) for host in after}
            self.spec = replace(self.spec, opened=after)
        return news

    def tune(self, tuned: Tuned) -> bool:
        """Takes in settings that were changed while it runs; tells whether any of that is news, which slaves must be
        told.
        """
        after = merged_tuning(self.spec.tuned, tuned)
        if after == self.spec.tuned:
            return False
        self.spec = replace(self.spec, tuned=after)
        self.settings = settings_of(self.spec)
        self.pace = Pace.of(self.settings)
        self.version += 1
        return True

    def take_boards(self, boards: Boards) -> bool:
        """Takes in boards that were added, changed or taken away; tells whether any of that is news, which slaves must
        be told.
        """
        after = merged_boards(self.spec.boards, boards)
        if after == self.spec.boards or self.is_deleted:
            return False
        self.spec = replace(self.spec, boards=after)
        self.settings = settings_of(self.spec)
        self.pace = Pace.of(self.settings)
        self.version += 1
        return True

    @property
    def unsettled(self) -> list[str]:
        """The boards of which this master has not done yet what follows from them as they are now."""
        settled = self.settled
        return [
            name
            for name, board in self.spec.boards.items()
            if name in self.late or (board.version > FROM_START and settled.get(name) != board.version)
        ]

    def slaves_wire(self, *, whole: bool) -> WireSpec:
        """Returns the job as slaves are told of it, in force; one that a slave knows already need not be ``whole``."""
        return msgspec.structs.replace(
            self.wire(whole=whole), settings={**job_settings(self.spec), **values_of(self.spec.tuned)}
        )

    def wire(self, *, whole: bool = True) -> WireSpec:
        """Returns the job as it travels, as it was submitted; without its code where that is not asked for."""
        spec, ref = self.spec, self.spec.spider
        return WireSpec(
            spec.id,
            spec.name,
            # Where code lies here is nobody else's business: it is written down anew where it comes to.
            Path(ref.file).name if spec.code else ref.file,
            ref.module,
            ref.qualname,
            list(ref.urls),
            spec.arguments,
            spec.settings,
            list(spec.opened),
            spec.code if whole else "",
            spec.module_digest,
            spec.label,
            spec.submitted,
            spec.project if whole else b"",
            {name: WireBoard(b.version, b.text, list(b.gone), b.closed) for name, b in spec.boards.items()},
        )

    def certificate(self) -> dict[str, Any]:
        """Returns the conservation count: everything discovered is somewhere."""
        counts = self.counts
        by = {
            group: {k.partition(":")[2]: n for k, n in sorted(counts.items()) if k.startswith(group + ":") and n}
            for group in ("failed", "dropped")
        }
        whole = counts["done"] + counts["failed"] + counts["dropped"] + counts["queued"]
        return {
            "job": self.id,
            "name": self.spec.name,
            "label": self.spec.label,
            "state": self.state,
            "reason": self.reason,
            "discovered": counts["discovered"],
            "done": counts["done"],
            "failed": counts["failed"],
            "dropped": counts["dropped"],
            "queued": self.queued,
            "leased": self.leased,
            "conserved": counts["discovered"] == whole,
            "pages": counts["pages"],
            "redirects": counts["redirects"],
            "again": max(0, counts["again"]),
            "items": counts["items"],
            "failed_by_reason": by["failed"],
            "dropped_by_reason": by["dropped"],
            **told_figures(counts),
        }


class KnownJobs(dict[int, Job]):
    """All jobs that a master knows, by their numbers."""

    def deleted(self, number: int) -> bool:
        """Tells whether a job is known to be deleted."""
        job = self.get(number)
        return job is not None and job.is_deleted

    @property
    def shown(self) -> list[Job]:
        """The jobs that people are told of."""
        return [job for job in self.values() if not job.is_deleted]

    @property
    def running(self) -> list[Job]:
        """The jobs of which something may be granted."""
        return [job for job in self.values() if job.state == RUNNING]


def mirror_of(job: Job) -> MirrorJob:
    """Makes what other masters are told of a job."""
    now, spec = job.control, job.spec
    sinks = [WireSink(sink.url, dict(sink.options)) for sink in spec.sinks]
    return MirrorJob(
        0, job.wire(), now.state, now.reason, now.version, now.certificate, sinks=sinks, secrets=spec.secrets,
        tuned=spec.tuned,
    )  # fmt: skip


def spec_of_mirror(mirror: MirrorJob) -> JobSpec:
    """Reads the specification that another master sent. Raises ConfigurationError for one that cannot be."""
    wire = mirror.job
    check_tuned(mirror.tuned)
    boards = boards_of_wire(wire)
    check_boards(boards)
    return JobSpec(
        JobId(wire.id),
        wire.name,
        SpiderRef(wire.file, wire.module, wire.qualname, tuple(wire.urls)),
        wire.arguments,
        wire.settings,
        tuple(wire.opened),
        wire.code,
        wire.module_digest,
        tuple(SinkSpec(sink.url, sink.options) for sink in mirror.sinks),
        mirror.secrets,
        wire.label,
        wire.project,
        tuned=dict(mirror.tuned),
        submitted=wire.submitted,
        boards=boards,
    )


def certificate_sum(parts: Sequence[dict[str, Any]], gone: Iterable[Account] = ()) -> dict[str, Any]:
    """Sums one job's certificates of all masters, and the accounts of those that are ``gone``."""
    whole: dict[str, Any] = {}
    # The living last: their word is the last one.
    for part in [*(told_figures(account.figures) for account in gone), *parts]:
        for name, value in part.items():
            if name not in whole:
                whole[name] = value
            elif name in STATS[1:]:
                whole[name] = put_together(name, whole[name], value)
            elif isinstance(value, dict):
                merged = Counter(whole[name])
                merged.update(value)
                whole[name] = dict(sorted(merged.items()))
            elif name == "conserved":
                whole[name] = whole[name] and value
            elif name != "job" and not isinstance(value, str):
                whole[name] += value
    return {**parts[0], **whole}


class PlainAccount(TypedDict):
    """An account of a master that is gone, as another one states it in JSON."""

    master: str
    life: str
    version: int
    figures: dict[str, int]


def plain_account(account: Account) -> PlainAccount:
    """Writes an account for others to read."""
    key = account.key
    return PlainAccount(master=key.master, life=key.life, version=account.version, figures=dict(account.figures))


def gone_of(parts: Sequence[Mapping[str, Any]]) -> list[Account]:
    """Reads from what masters state of one job the accounts of those that do not speak for themselves."""
    told = [
        Account(AccountKey(each["master"], each["life"], 0), each["version"], each["figures"])
        for part in parts
        for each in part.get("accounts", ())
    ]
    return bereft(told, {part["master"]: part.get("life", "") for part in parts})


@dataclass(frozen=True, slots=True)
class _Stored(JobSpec):
    """A specification as the job table holds it, with what changes in one transaction with the job's state."""

    control: int = 0
    certificate: bytes = b""
    settled: dict[str, int] = field(default_factory=dict)


def pack_spec(
    spec: JobSpec,
    control: Control = Control(),  # noqa: B008 - it cannot be changed
    settled: Mapping[str, int] | None = None,
) -> bytes:
    """Packs a specification for the job table."""
    plain = {each.name: getattr(spec, each.name) for each in fields(JobSpec)}
    stored = _Stored(**plain, control=control.version, certificate=control.certificate, settled=dict(settled or {}))
    return msgspec.msgpack.encode(stored)


def pack_job(job: Job) -> bytes:
    """Packs a job that is under way for the job table."""
    return pack_spec(job.spec, job.control, job.settled)


def unpack_settled(data: bytes) -> dict[str, int]:
    """Reads with which versions of its boards this master has done what it has to. Raises as ``unpack_spec`` does."""
    return msgspec.msgpack.decode(data, type=_Stored).settled


def unpack_spec(data: bytes) -> JobSpec:
    """Raises msgspec.MsgspecError for what is none."""
    return msgspec.msgpack.decode(data, type=JobSpec)


def unpack_control(data: bytes, state: str, reason: str) -> Control:
    """Reads a job's control from what the job table has of it. Raises as ``unpack_spec`` does."""
    stored = msgspec.msgpack.decode(data, type=_Stored)
    return Control(stored.control, state, reason, stored.certificate)


def settings_of(spec: JobSpec) -> Settings:
    """Returns the settings in force. Raises ConfigurationError for what are none."""
    return Settings().updated({**job_settings(spec), **values_of(spec.tuned)})


def job_settings(spec: JobSpec) -> dict[str, Any]:
    """Returns the settings that a job was submitted with, but for those that each of its boards has for itself."""
    return without_own(spec.settings, spec.name, spec.spider.file, spec.code) if spec.boards else spec.settings


def told_now(spec: JobSpec, control: Control) -> Told:
    """Returns what a master knows of a job that others may not know yet."""
    packed = msgspec.msgpack.encode(sorted(spec.boards.items())) if spec.boards else b""
    boards = blake2b(packed, digest_size=16).digest() if packed else b""
    return control, spec.opened, spec.tuned, boards


def job_of(spec: JobSpec, control: Control = Control()) -> Job:  # noqa: B008 - it cannot be changed
    settings = settings_of(spec)
    job = Job(spec, settings, Pace.of(settings))
    job.control = control
    return job


def lasting_delay_s(host: Host, jobs: Iterable[Job], elsewhere: Container[int] = ()) -> float:
    """Returns the longest delay that a running one of these jobs keeps at a host, without what passes with its
    trouble. ``elsewhere``: those that run for others, who may have heard that they go on before we have.
    """
    return max((host.lasting_delay_s(job.pace) for job in _running(jobs, elsewhere)), default=0.0)


def asked_delay_s(host: Host, jobs: Iterable[Job], elsewhere: Container[int] = ()) -> float:
    """Returns the longest delay that a host asks of a running one of these jobs, whatever these keep by themselves."""
    return max((host.asked_delay_s(job.pace) for job in _running(jobs, elsewhere)), default=0.0)


def _running(jobs: Iterable[Job], elsewhere: Container[int]) -> Iterator[Job]:
    return (job for job in jobs if job.state == RUNNING or job.id in elsewhere)


__all__ = [
    "CANCELLED",
    "DELETED",
    "FINISHED",
    "INCOMPLETE",
    "PAUSED",
    "RUNNING",
    "Control",
    "Job",
    "JobId",
    "KnownJobs",
    "SpiderRef",
    "asked_delay_s",
    "certificate_sum",
    "job_of",
    "lasting_delay_s",
    "pack_job",
    "pack_spec",
    "unpack_control",
    "unpack_spec",
]
