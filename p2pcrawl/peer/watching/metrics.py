"""The metrics of one peer, in the form that Prometheus reads.

Each peer tells its own and nobody else's: Prometheus asks all of them and adds up. They are made when they are asked
for, from what is counted anyhow. No label is a host or a URL, so there are never more series than jobs, slaves and
states; of very many jobs the newest are told one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from p2pcrawl.core.meters.histogram import Histogram

JOBS_MAX: Final = 100
"""Jobs that are told one by one."""
_WORK: Final = (
    ("pages", "pages", "Pages that came and were parsed."),
    ("items", "items", "Items that spiders brought."),
    ("received_bytes", "bytes", "Bytes of the bodies of answers."),
    ("fetches", "fetches", "Requests that hosts were sent."),
    ("failed_pages", "failed", "Pages that failed for good."),
    ("dropped_pages", "dropped", "URLs that were dropped, by robots.txt among others."),
    ("retries", "retries", "Fetches that went wrong and are made again."),
    ("lost_pages", "losses", "Pages that slaves had in hand when they were lost."),
)
"""Counters by job: the metric, the figure, and what it counts."""


@dataclass(frozen=True, slots=True)
class JobFigures:
    """A job as its metrics tell it."""

    number: int
    label: str
    name: str
    state: str
    queued: int
    leased: int
    work: Mapping[str, int]
    sink_waiting: int
    sinks_away: int


@dataclass(frozen=True, slots=True)
class SlaveFigures:
    """A slave as its metrics tell it."""

    session: int
    cpu_s: float
    rss_bytes: int
    leases: int


@dataclass(frozen=True, slots=True)
class MasterFigures:
    """A master at one moment."""

    jobs: list[JobFigures]
    slaves: list[SlaveFigures]
    statuses: Mapping[str, int]
    answers_s: Histogram
    members: Mapping[str, int]
    missing: int
    view: int
    buckets: Mapping[str, int]
    copies: Mapping[str, int]
    hosts: int
    events: int
    disk_free_bytes: int
    granting: bool = True
    gone: Mapping[str, int] = field(default_factory=dict)
    """The work on jobs that are not told one by one."""


class MasterCollector(Collector):
    """Makes the metrics of a master from its figures."""

    def __init__(self, figures: MasterFigures) -> None:
        self._figures = figures

    def collect(self) -> Iterator[Metric]:
        """Yields all metrics."""
        yield from self._work()
        yield from self._of_jobs()
        yield from self._of_cluster()
        yield from self._of_slaves()

    def _work(self) -> Iterator[Metric]:
        figures = self._figures
        for name, figure, what in _WORK:
            counter = CounterMetricFamily(f"p2pcrawl_{name}", what, labels=["job"])
            for job in figures.jobs:
                counter.add_metric([str(job.number)], job.work.get(figure, 0))
            counter.add_metric(["other"], figures.gone.get(figure, 0))
            yield counter
        answers = CounterMetricFamily(
            "p2pcrawl_answers", "Answers of hosts, by the class of their status.", labels=["status"]
        )
        for name, count in sorted(figures.statuses.items()):
            answers.add_metric([name], count)
        yield answers
        yield _histogram("p2pcrawl_fetch_seconds", "How long hosts took to answer.", figures.answers_s)

    def _of_jobs(self) -> Iterator[Metric]:
        jobs = self._figures.jobs
        info = GaugeMetricFamily("p2pcrawl_job_info", "Jobs, with their names and states.", labels=_JOB_INFO)
        for job in jobs:
            info.add_metric([str(job.number), job.label, job.name, job.state], 1)
        yield info
        yield _by_job("p2pcrawl_frontier_urls", "URLs that wait to be fetched.", {j.number: j.queued for j in jobs})
        yield _by_job("p2pcrawl_leased_urls", "URLs in slaves' hands.", {j.number: j.leased for j in jobs})
        waiting = {j.number: j.sink_waiting for j in jobs}
        yield _by_job("p2pcrawl_sink_waiting_items", "Items that wait for a sink.", waiting)
        yield _by_job("p2pcrawl_sinks_away", "Sinks that do not answer.", {j.number: j.sinks_away for j in jobs})

    def _of_cluster(self) -> Iterator[Metric]:
        figures = self._figures
        yield _by_label("p2pcrawl_members", "Masters that are known here, by state.", "state", figures.members)
        yield _by_label("p2pcrawl_buckets", "Buckets of this master, by how they stand.", "state", figures.buckets)
        yield _by_label(
            "p2pcrawl_copies_lag", "What of this master has fewer copies than it should.", "what", figures.copies
        )
        yield _gauge("p2pcrawl_missing_members", "Masters that are waited for.", figures.missing)
        yield _gauge("p2pcrawl_view", "The number of the view; where masters differ, they do not agree.", figures.view)
        yield _gauge("p2pcrawl_granting", "1 while pages may be granted here.", int(figures.granting))
        yield _gauge("p2pcrawl_hosts", "Hosts that have a seat at the workbench.", figures.hosts)
        yield _gauge("p2pcrawl_disk_free_bytes", "Free room on the disk of the data folder.", figures.disk_free_bytes)
        events = CounterMetricFamily("p2pcrawl_events", "Events that this master noted.")
        events.add_metric([], figures.events)
        yield events

    def _of_slaves(self) -> Iterator[Metric]:
        slaves = self._figures.slaves
        cpu = CounterMetricFamily("p2pcrawl_slave_cpu_seconds", "What slaves have computed.", labels=["slave"])
        for slave in slaves:
            cpu.add_metric([str(slave.session)], slave.cpu_s)
        yield cpu
        memory = {str(s.session): s.rss_bytes for s in slaves}
        yield _by_label("p2pcrawl_slave_memory_max_bytes", "The most memory that slaves had.", "slave", memory)
        leases = {str(s.session): s.leases for s in slaves}
        yield _by_label("p2pcrawl_slave_leases", "Pages in the hands of each slave.", "slave", leases)


_JOB_INFO: Final = ["job", "label", "name", "state"]


def rendered(role: str, version: str, figures: MasterFigures | None) -> bytes:
    """Returns the metrics of a peer: of its process, and as a master if it is one."""
    registry = CollectorRegistry()
    registry.register(_PeerInfo(role, version))
    ProcessCollector(registry=registry)
    if figures is not None:
        registry.register(MasterCollector(figures))
    return generate_latest(registry)


class _PeerInfo(Collector):
    """The peer that tells."""

    def __init__(self, role: str, version: str) -> None:
        self._labels = [role, version]

    def collect(self) -> Iterable[Metric]:
        """Yields the one metric of any peer."""
        info = GaugeMetricFamily("p2pcrawl_peer_info", "The peer: its role and version.", labels=["role", "version"])
        info.add_metric(self._labels, 1)
        yield info


def told_apart(jobs: list[JobFigures], whole: Mapping[str, int]) -> tuple[list[JobFigures], dict[str, int]]:
    """Returns the jobs that are told one by one, the newest, and the work that is on none of them."""
    told = jobs[-JOBS_MAX:]
    theirs: Counter[str] = Counter()
    for job in told:
        theirs.update(job.work)
    return told, {name: count - theirs[name] for name, count in whole.items()}


def _gauge(name: str, what: str, value: float) -> Metric:
    return GaugeMetricFamily(name, what, value=value)


def _by_job(name: str, what: str, values: Mapping[int, int]) -> Metric:
    return _by_label(name, what, "job", {str(job): value for job, value in values.items()})


def _by_label(name: str, what: str, label: str, values: Mapping[str, int]) -> Metric:
    family = GaugeMetricFamily(name, what, labels=[label])
    for text, value in values.items():
        family.add_metric([text], value)
    return family


def _histogram(name: str, what: str, histogram: Histogram) -> Metric:
    family = HistogramMetricFamily(name, what)
    so_far, buckets = 0, []
    for bound, count in zip([*map(str, histogram.bounds), "+Inf"], histogram.counts, strict=True):
        so_far += count
        buckets.append((bound, so_far))
    family.add_metric([], buckets, histogram.total)
    return family
