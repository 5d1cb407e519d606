"""The shapes of answers: what is promised of each, as types. An answer may gain fields, and loses none in version 1.

Numbers of buckets, jobs and masters are whole; times are seconds since 1970; ids of masters are hexadecimal.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict


class RefusedCall(TypedDict):
    """The reason why a call was refused, in one line for people."""

    error: str


class FreshNonce(TypedDict):
    """A nonce, good for one signed call within a minute; and where the peer says that its token is."""

    p2pcrawl: int
    token_file: str
    nonce: str


class KnownMember(TypedDict):
    """A master, as the asked one knows it."""

    id: str
    address: str
    api: str
    state: str
    incarnation: int
    weight: int
    drained: bool
    slaves: int
    load: dict[str, int]
    share: float
    view: str


class MembersAnswer(TypedDict):
    """The masters that count."""

    members: list[KnownMember]


class SlaveHere(TypedDict):
    """A slave process of a master. ``at``: the machine that it runs on, or ``here``."""

    session: int
    pid: int
    leases: int
    rss_mb: int
    at: str
    cpu: NotRequired[float]


class MasterHere(TypedDict):
    """The asked master alone."""

    id: str
    view: str
    owned: int
    syncing: int
    handed_over: int
    links_under_way: int
    slaves: list[SlaveHere]
    counters: dict[str, dict[str, int]]


class PeerHere(TypedDict):
    """The peer that was asked; a slave passes questions on to its master."""

    role: str
    api: str
    address: str
    connections: dict[str, int]


class MajorityHere(TypedDict):
    """The consent of the voters, in a cluster where a majority decides."""

    voters: list[str]
    version: int
    agreeing: int
    needed: int
    silent: list[str]
    granting: bool
    reason: str


class StatusAnswer(TypedDict):
    """The cluster, as one master sees it and as the others tell of themselves."""

    cluster: str
    view: str
    directory: str
    members: list[KnownMember]
    copies: dict[str, int]
    jobs: dict[str, int]
    undelivered: int
    missing: dict[str, float]
    majority: MajorityHere | None
    warnings: list[str]
    here: MasterHere
    peer: PeerHere


class SinkOverAll(TypedDict):
    """A sink of a job, over all masters."""

    sink: str
    delivered: int
    waiting: int
    refused: int
    away_since: float | None
    why: str
    away_at: list[str]


class JobAnswer(TypedDict):
    """A job, counted over all masters. ``conserved``: everything that was discovered is somewhere; null while rows may
    be counted twice, or not at all, which ``settled`` says."""

    job: int
    name: str
    label: str
    state: str
    reason: str
    discovered: int
    done: int
    failed: int
    dropped: int
    queued: int
    leased: int
    conserved: bool | None
    settled: bool
    pages: int
    redirects: int
    again: int
    revisits: int
    revisits_late: int
    revisits_by_result: dict[str, int]
    page_types: dict[str, int]
    overdue: int
    oldest_due: int
    items: int
    items_dropped: int
    fetches: int
    bytes: int
    interrupted: int
    slave_losses: int
    failed_by_reason: dict[str, int]
    dropped_by_reason: dict[str, int]
    retries_by_reason: dict[str, int]
    marked_by_reason: dict[str, int]
    filtered_links: dict[str, int]
    statuses: dict[str, int]
    stats: dict[str, float]
    stats_max: dict[str, float]
    stats_min: dict[str, float]
    stats_last: dict[str, Any]
    sinks: list[SinkOverAll]
    masters: dict[str, int]
    missing: list[str]
    away: dict[str, float]
    not_whole: list[int]
    moving: int
    certificate: dict[str, Any] | None


class JobsAnswer(TypedDict):
    """All jobs."""

    jobs: list[JobAnswer]


class IdentifiedJob(TypedDict):
    """The job that is called so, as this master knows it."""

    job: int
    name: str
    label: str
    state: str


class SignedPart(TypedDict):
    """The statement of one master: JSON as text, its key, and its signature of the text."""

    body: str
    key: str
    signature: str


class CertificateAnswer(TypedDict):
    """The certificate of a job's end. What it says can be added up again from its parts, which are signed."""

    job: int
    counts: dict[str, Any]
    conserved: bool
    view: str
    members: list[str]
    missing: list[str]
    since: NotRequired[dict[str, float]]
    copies: dict[str, int]
    incomplete: list[int]
    final: bool
    parts: list[SignedPart]


class HealthAnswer(TypedDict):
    """The process lives, and answers."""

    status: str


class SubmittedJob(TypedDict):
    """The number of a new job, which is durable in the cluster."""

    job: int


class SteeredJob(TypedDict):
    """The state of a job before and after. ``missing``: masters that will learn of it when they are back."""

    job: int
    name: str
    was: str
    state: str
    missing: list[str]


class SentSink(TypedDict):
    """A sink to which dead letters were sent again."""

    sink: str
    delivered: int
    left: int
    why: str
    away: bool


class RetriedJob(TypedDict):
    """The number of failed pages that are queued anew; or, of dead letters, what became of them at each sink."""

    job: int
    name: str
    missing: list[str]
    was: NotRequired[str]
    state: NotRequired[str]
    retried: NotRequired[int]
    sinks: NotRequired[list[SentSink]]


class ClearedJob(TypedDict):
    """The number of pages that were dropped from a queue of a job, and of entries that are visited again."""

    job: int
    name: str
    was: str
    state: str
    missing: list[str]
    queue: str
    cleared: int
    restarted: int


class ChangedJob(TypedDict):
    """The settings of a job that were changed, and what they were."""

    job: int
    name: str
    state: str
    missing: list[str]
    was: dict[str, Any]
    set: dict[str, Any]


class FedJob(TypedDict):
    """The number of URLs that a job has taken; they are safe in the cluster."""

    job: int
    name: str
    injected: int
    was: str
    state: str


class ForgottenMaster(TypedDict):
    """A master that nobody misses any more. ``not_whole``: buckets of which something may be lost with it."""

    peer: str
    address: str
    missing_since: float | None
    not_whole: list[int]


class LeavingPeer(TypedDict):
    """The peer leaves the cluster."""

    drain: bool


class ReadKeys(TypedDict):
    """The ids of the cluster's keys as they were read again, the one in use first."""

    keys: list[str]


class HeardOwner(TypedDict):
    """The owner of a bucket that was heard last, by the directory."""

    owner: str
    epoch: list[Any]
    address: str
    age_s: float


class OwnerAnswer(TypedDict):
    """The owner of a URL, by its own word if it answers; else ``note`` says whose word it is."""

    url: str
    host: str
    key: str
    bucket: int
    owner: str
    address: str
    copies: list[str]
    view: str
    why: str
    epoch: NotRequired[list[Any]]
    serving: NotRequired[bool]
    slave: NotRequired[int | None]
    note: NotRequired[str]
    directory: NotRequired[HeardOwner | None]


class FailedAttempt(TypedDict):
    """A fetch that went wrong."""

    number: int
    ended: float
    reason: str
    status: int
    latency_s: float
    detail: str


class LeasedUrl(TypedDict):
    """The slave that has the URL in hand."""

    session: int
    pid: int
    at: str
    attempt: int
    since_s: float


class NextRequest(TypedDict):
    """The next request to the URL's host: what it waits for, and for how long."""

    waits_for: str
    seconds: float


class CopyHeld(TypedDict):
    """A copy of the URL's record at another master."""

    holder: str
    agrees: bool
    state: str


class UrlRecord(TypedDict):
    """A URL in one job: where it stands, where it was found, what went wrong, and who has copies."""

    job: int
    name: str
    job_state: str
    url: str
    phase: str
    leased: bool
    reason: str
    status: int
    bytes: int
    items: int
    depth: int
    priority: int
    kind: str
    callback: str
    start_url: bool
    found: float
    ended: float
    found_on: list[str]
    visit: int
    due: int
    next_at: int
    page_type: str
    past: dict[str, Any] | None
    attempts: int
    losses: int
    troubles: list[FailedAttempt]
    queue: dict[str, int] | None
    host: dict[str, Any]
    owner: str
    address: str
    bucket: int
    epoch: list[Any]
    serving: bool
    whole: bool
    lease: LeasedUrl | None
    next: NextRequest | None
    copies: list[CopyHeld]


class PageText(TypedDict):
    """The verdict on a page's text by one band of its signature: whether it was met before, where, and how far off."""

    job: int
    visit: int
    band: int
    bands: int
    phase: str
    reason: str
    first: str
    distance: int
    items: int


class WhyAnswer(TypedDict):
    """The history of a URL in all jobs. ``hints``: why it may be unknown."""

    url: str
    canonical: str
    fingerprint: str
    seen: bool
    crawled_by: int
    records: list[UrlRecord]
    texts: list[PageText]
    hints: list[Any]
    notes: list[str]
