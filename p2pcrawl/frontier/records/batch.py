"""Batches: what one commit holds, and what comes back from it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from p2pcrawl.core.bench.candidate import Candidate, Want
from p2pcrawl.frontier.database.left_out_rows import LeftOutRow
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.crawl.record import Order, Phase
from p2pcrawl.wire.messages.peer_messages import Row


class NewLink(NamedTuple):
    """A discovered link; the store decides whether it is new."""

    link: Link
    job: int
    host: int
    bucket: int
    parent: int = 0
    foreign: bool = False
    """Found on a page of another master, so that its parent is not here."""
    changed: int = 0
    """When its page was changed, as it is said, in seconds since 1970."""


class MovedRow(NamedTuple):
    """A record that comes from another master with its bucket, and its place here."""

    new: NewLink
    row: Row


class EnteredRow(NamedTuple):
    """A record that was a link and is an entry now, as it was when it was found."""

    record: int
    bucket: int
    row: Row


class ItemRow(NamedTuple):
    """The items of one page (or a part of it), joined by newlines."""

    record: int
    job: int
    number: int
    data: bytes
    marks: int | None = None
    """Of what came from another master: the sinks that had it there, a bit for each."""


class Ending(NamedTuple):
    """The end of a lease. ``phase`` QUEUED: back into the queue."""

    candidate: Candidate
    phase: Phase
    attempts: int
    losses: int
    """The candidate's, when its lease ended."""
    reason: str
    status: int = 0
    size: int = 0
    digest: bytes = b""
    detail: str = ""
    latency_s: float = 0.0
    staged: bool = False
    """Items of its page came ahead of the end."""
    items: ItemRow | None = None
    """Those that came with it."""
    due: int = 0
    """When the page is to be visited again, in seconds since 1970; 0: never."""
    past: bytes = b""
    page_type: str = ""
    keeps: bool = False
    """The items of the visit before stay what they are."""


class HostRow(NamedTuple):
    """A host's robots.txt, as it is kept."""

    key: int
    origin: str
    agent: str
    verdict: str
    body: bytes
    reason: str
    crawl_delay_s: float


class KeptItems(NamedTuple):
    """The items of an earlier visit, which stay while later ones come and go."""

    told: int
    """The visit that they are of."""
    number: int
    data: bytes
    """As they travel."""
    marks: int


LeaseRow = tuple[int, int, int, int]
"""(record, job, lease, attempt)"""


@dataclass(slots=True)
class Batch:
    """The things that are to be written at once."""

    links: list[NewLink] = field(default_factory=list)
    endings: list[Ending] = field(default_factory=list)
    items: list[ItemRow] = field(default_factory=list)
    staged: list[ItemRow] = field(default_factory=list)
    unstage: list[int] = field(default_factory=list)
    moved: list[MovedRow] = field(default_factory=list)
    leases: list[LeaseRow] = field(default_factory=list)
    imprints: list[Candidate] = field(default_factory=list)
    """Those of the leases that are given a verdict, which the commit puts into their links."""
    returned: list[int] = field(default_factory=list)
    """Leases given back unused."""
    hosts: list[HostRow] = field(default_factory=list)
    pauses: list[tuple[int, float]] = field(default_factory=list)
    tallies: dict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    specs: dict[int, bytes] = field(default_factory=dict)
    states: dict[int, tuple[str, str]] = field(default_factory=dict)
    delivered: list[tuple[int, str, int, str]] = field(default_factory=list)
    """(job, path, last item, position)"""
    left_out: list[LeftOutRow] = field(default_factory=list)
    wants: list[Want] = field(default_factory=list)
    cleared: Collection[int] = ()
    """The jobs of which records were cleared: links to these are news."""
    orders: Mapping[int, Order] = field(default_factory=dict)
    copied: int = 0
    """The last record up to which all links are with others, too; 0 where nobody is to have them."""

    @property
    def writes(self) -> bool:
        return bool(
            self.links
            or self.moved
            or self.endings
            or self.items
            or self.staged
            or self.unstage
            or self.leases
            or self.returned
            or self.hosts
            or self.pauses
            or self.tallies
            or self.specs
            or self.states
            or self.delivered
            or self.left_out
        )


@dataclass(slots=True)
class Committed:
    """The results of a commit, for the caller."""

    fresh: list[Candidate] = field(default_factory=list)
    ended: set[int] = field(default_factory=set)
    """Records that were not in the queue any more when that was thought."""
    loaded: list[tuple[Want, list[Candidate]]] = field(default_factory=list)
    hosts: dict[int, list[HostRow]] = field(default_factory=dict)
    """Rows of ``host`` for the loaded queues."""
    staged: dict[int, tuple[int, bytes]] = field(default_factory=dict)
    """For pages that ended and whose items came in parts: how many items, and all of them as they travel."""
    kept: dict[int, KeptItems] = field(default_factory=dict)
    """For pages whose items are still those of an earlier visit."""
    touched: set[int] = field(default_factory=set)
    """Buckets in which a record that came from another master changed something."""
    came: set[int] = field(default_factory=set)
    """Of the fresh: those that came from other masters."""
    entered: list[EnteredRow] = field(default_factory=list)
    """Records that were known, and have become entries."""
    last_item: int = 0
    """The number of the last items, if there are new ones."""
    last_record: int = 0
    """The number of the last record."""
