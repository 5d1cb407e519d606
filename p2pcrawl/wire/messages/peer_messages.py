"""The messages between masters, and the questions that anyone may ask a master.

Each request stands behind the reply that it names; see ``wire.ask``. Tags from 20 on; see ``wire.messages`` for the
rules.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from p2pcrawl.model.cluster.account import FIGURES_MAX, NAME_CHARS_MAX, SLICE_CHARS_MAX
from p2pcrawl.model.cluster.consent import SEAT_BYTES, VOTERS_MAX
from p2pcrawl.model.cluster.epoch import PIECES_MAX
from p2pcrawl.model.cluster.host_order import DELAY_MAX_S, HOST_CHARS_MAX, ORDER_VERSION_MAX, ORDERS_MAX
from p2pcrawl.model.crawl.record import VISIT_MAX, stamp_of
from p2pcrawl.model.crawl.sink_spec import SINK_OPTIONS_MAX, SINK_SECRET_MAX, SINK_TEXT_MAX, SINKS_MAX
from p2pcrawl.wire.messages.ask import Answered, PeerReply, PeerRequest
from p2pcrawl.wire.messages.bounds import (
    BucketNumber,
    Count,
    Fingerprint,
    HostHash,
    NodeName,
    Number,
    OpenedHosts,
    PackedPast,
    PageType,
    PhaseNumber,
    Seconds,
    WireLink,
)
from p2pcrawl.wire.messages.schedule_messages import (
    MirrorSchedule,
    ScheduleMarks,
    ScheduleMirrored,
    SchedulesDiffering,
)
from p2pcrawl.wire.messages.slave_messages import Record, WireJob

TUNED_MAX = 64
UNTOLD = -1
"""The visit of items is not known: they are of the last one that ended."""
ACCOUNTS_MAX = 256
"""In one message."""
Opened = dict[int, OpenedHosts]
"""The hosts that the start URLs of jobs have opened, by job: durable at a receiver before anything that needs it."""


Pieces = Annotated[list[tuple[Count, Count]], Meta(max_length=PIECES_MAX)]
"""Epochs of a bucket, in spans: behind the first number, up to the second one."""
Seat = Annotated[bytes, Meta(min_length=SEAT_BYTES, max_length=SEAT_BYTES)]
Electors = Annotated[dict[NodeName, Seat], Meta(max_length=VOTERS_MAX)]
"""Who is asked for consent, and from which seat each votes."""


class Introduce(Struct, array_like=True, tag=20):
    """First on a link between peers: requests follow, and no Hello of a slave."""


class Synced(PeerReply, tag=22):
    """The receiver's view of the membership, as it was before."""

    members: bytes


class Sync(PeerRequest[Synced], tag=21):
    """Push/pull of the membership: all that the sender knows, encoded by ``wire.gossip``."""

    members: bytes


class Settled(PeerReply, tag=24):
    """The links are durable, except those at ``refused`` (positions): these buckets are not the receiver's."""

    refused: list[int] = []
    unknown_job: bool = False
    provisional: list[int] = []
    """Positions of links that have fewer copies than they should: the sender is to keep them, and say them again."""


class Discover(PeerRequest[Settled], tag=23):
    """Links of one job for the owner of their buckets. Answered when they are durable there."""

    job: int
    links: list[WireLink]
    opened: OpenedHosts = []
    """The hosts that the job's start URLs have opened, as the sender knows."""
    known: Count = 0
    """The masters that the sender knows of, those that may come back too. The receiver may not have met them yet, and
    is not to take what it has alone for all the copies that there can be."""


SinkText = Annotated[str, Meta(max_length=SINK_TEXT_MAX)]


class WireSink(Record):
    """A destination of a job's items, for masters; slaves are told of none."""

    url: SinkText
    options: Annotated[dict[SinkText, SinkText], Meta(max_length=SINK_OPTIONS_MAX)] = {}


class Mirrored(PeerReply, tag=26):
    """``refusal``: why the receiver cannot run the job, if it cannot."""

    refusal: str = ""


class MirrorJob(PeerRequest[Mirrored], tag=25):
    """A job that every master keeps. Answered when it is durable."""

    job: WireJob
    state: str
    reason: str
    version: Number
    certificate: bytes = b""
    """How it ended; see master.certificate."""
    sinks: Annotated[list[WireSink], Meta(max_length=SINKS_MAX)] = []
    secrets: Annotated[bytes, Meta(max_length=5 * SINKS_MAX * SINK_SECRET_MAX)] = b""
    """The passwords of the sinks, sealed; see wire.sealed.at_rest."""
    tuned: Annotated[dict[str, tuple[Count, Any]], Meta(max_length=TUNED_MAX)] = {}
    """Settings that were changed while it runs; see core.retuning."""


class JobsDiffering(PeerReply, tag=58):
    """The jobs of which the receiver knows something else, or nothing."""

    jobs: list[int] = []


class JobMarks(PeerRequest[JobsDiffering], tag=57):
    """The sender's jobs and what it knows of each, in short. Answered with those of which the receiver knows something
    else.
    """

    jobs: list[int]
    marks: list[bytes]
    """As many as jobs; see master.job."""


class Released(PeerReply, tag=28):
    """``agreed`` False: the receiver's view differs or leases are still open; ask again."""

    agreed: bool
    counters: list[int] = []
    """The epochs of the claimed buckets, in their order."""
    lacks: list[int] = []
    """For each of them the epoch that is missing of it here, or 0."""
    opened: Opened = {}
    rows: list[int] = []
    """For each of them how much of it is here to be pulled: rows, copies and notes of hosts. Empty: nothing of any."""
    bases: list[int] = []
    """For each of them the epoch up to which nothing is missing of it here, where anything is."""
    pieces: dict[BucketNumber, Pieces] = {}
    """What is here between these two, of those of which anything is."""


class Claim(PeerRequest[Released], tag=27):
    """The sender owns these buckets in its view: the receiver is to let go of them."""

    view: int
    buckets: bytes
    """A bitmap."""


class Pulled(PeerReply, tag=30):
    """``last`` True: there is nothing after this."""

    rows: list[Row]
    after: int
    last: bool


class Pull(PeerRequest[Pulled], tag=29):
    """The next rows of released buckets after a cursor."""

    buckets: bytes
    after: int


class Row(Record):
    """One record as it moves to another master."""

    job: Number
    link: WireLink
    phase: PhaseNumber
    attempts: Number
    losses: Number
    status: Number
    reason: str
    size: Number
    items: Number = 0
    data: bytes = b""
    """The items of its page, joined by newlines, and packed if that is long."""
    visit: Number = 0
    """The number of its turn: a retry by hand begins a new one."""
    marks: Count = 0
    """Which sinks of the job have its items, a bit for each."""
    due: Count = 0
    """When it is to be visited again, in seconds since 1970; 0: never."""
    told: Annotated[int, Meta(ge=UNTOLD, le=VISIT_MAX)] = UNTOLD
    """The visit that its items are of."""
    past: PackedPast = b""
    page_type: PageType = ""

    @property
    def stamp(self) -> int:
        """Tells how far the record is; see ``model.record.stamp_of``."""
        return stamp_of(self.visit, self.phase, self.attempts, self.losses, entry=self.link.seed)


class Forgotten(PeerReply, tag=32):
    """An answer that what was let go of is a copy at the receiver, or gone."""

    empty: bool = False
    """The receiver holds nothing of those that it is not to hold."""


class Taken(PeerRequest[Forgotten], tag=31):
    """All rows of these buckets are durable with the sender: the receiver may forget them."""

    buckets: bytes
    counters: list[int] = []
    """The epochs under which the sender serves them, or will at least, in their order."""
    view: int = 0
    """The one in which they were claimed: in another the receiver refuses."""
    since: list[int] = []
    """For each of them the last epoch under which anything may have been acknowledged till now."""
    rivals: dict[BucketNumber, list[Number]] = {}
    """Of some of them: epochs that were begun beside others, of which who heard of these may know nothing."""


class JobAtMaster(PeerReply, tag=34):
    """The state of a job at one master."""

    known: bool
    busy: int
    """Records queued or leased, pages held until their links are settled, links in flight."""
    sent: int
    received: int
    view: int
    closing: str = ""
    opened: bytes = b""
    """The same at all masters that know of the same hosts that the job has opened."""
    discovered: Count = 0
    listens: bool = False
    """Whether a component in one of its slaves wants to hear when the job is idle."""
    pages: Count = 0
    items: Count = 0
    errors: Count = 0


class Quiet(PeerRequest[JobAtMaster], tag=33):
    """Asks how a job stands, for the decision that it is finished."""

    job: int
    closing: str = ""
    """Why it is being closed before its queue is empty, if it is."""


class Query(PeerRequest[Answered], tag=35):
    """A question for a face: ``what`` with JSON arguments."""

    what: str
    arguments: bytes = b"{}"


class Lent(PeerReply, tag=38):
    """An answer to a request for a loan: ``count`` requests, at most ``slots`` at once, the first after ``wait_s``,
    none begun after ``term_s``.
    """

    granted: bool
    count: int = 0
    slots: int = 0
    wait_s: float = 0.0
    term_s: float = 0.0
    delay_s: float = 0.0
    waited_s: float = 0.0
    """How long the question waited for this answer: the term counts from the loan, not from when one hears of it."""
    order: Count = 0
    """The version of the order under which ``delay_s`` is kept; see core.hosts.orders."""
    asked_s: Seconds = 0.0
    """The delay that the host itself asks for, as far as the sender knows; ``delay_s`` is what jobs keep there."""


class Borrow(PeerRequest[Lent], tag=37):
    """Asks the owner of a host for the right to fetch from it. Answered when its turn has come, or in vain."""

    host: str
    job: int
    asked_s: Seconds
    """As in :class:`Lent`."""
    number: int = 0
    """Of the loan that may come of it. The sender counts them: an earlier one that comes later has been given up."""


class Repaid(PeerReply, tag=40):
    """The loan is over at the owner, too."""


class Repay(PeerRequest[Repaid], tag=39):
    """A loan is over, or was not heard of; what was learnt of the host."""

    host: str
    delay_s: float
    wait_s: float
    pause_s: float
    slow_downs: int
    number: int = 0
    """Of the question."""
    order: Count = 0
    """As in :class:`Lent`."""
    asked_s: Seconds = 0.0
    """As in :class:`Lent`."""


class WireHostOrder(Record):
    """The word of a person on a host; see core.hosts.orders."""

    host: Annotated[str, Meta(min_length=1, max_length=HOST_CHARS_MAX)]
    delay_version: Annotated[int, Meta(ge=0, le=ORDER_VERSION_MAX)]
    delay_s: Annotated[float, Meta(ge=0.0, le=DELAY_MAX_S)] | None
    pause_version: Annotated[int, Meta(ge=0, le=ORDER_VERSION_MAX)]
    paused: bool


class HostsOrdered(PeerReply, tag=68):
    """The orders are durable, and in force."""

    mark: bytes
    """Of all that are known there: see core.hosts.orders."""


class OrderHosts(PeerRequest[HostsOrdered], tag=67):
    """Orders about hosts, for every master to obey."""

    orders: Annotated[list[WireHostOrder], Meta(max_length=ORDERS_MAX)]


class CalledIn(PeerReply, tag=66):
    """The borrower begins nothing more under the loan."""


class CallIn(PeerRequest[CalledIn], tag=65):
    """Asks a borrower to begin nothing more under a loan, and to repay it: somebody else has something open there."""

    host: str
    number: int
    """Of the question that the loan came of."""


class WireHostNote(Record):
    """The facts about a host that whoever asks it next must know."""

    key: HostHash
    """The hash of its name."""
    bucket: BucketNumber
    delay_s: Seconds
    penalty_s: Seconds
    pause_s: Seconds
    """As in core.politeness.HostNote."""


class Offered(PeerReply, tag=42):
    """An answer to an offer."""

    heard: bool = True
    """Not by whoever acts in another view."""


OPEN_MAX = 1 << 16


class Offer(PeerRequest[Offered], tag=41):
    """The sender had these buckets and thinks that they are the receiver's: it is to claim them, if so."""

    buckets: bytes
    open: Annotated[list[HostHash], Meta(max_length=OPEN_MAX)] = []
    """The hosts in them that the sender is asking still, or those that have borrowed them from it."""
    notes: list[WireHostNote] = []
    """What hosts in them have asked for, as far as the receiver was not told."""


class CopyRow(Record):
    """A record as its copies keep it."""

    bucket: BucketNumber
    fingerprint: Fingerprint
    job: Number
    stamp: Number
    row: bytes
    """The Row, encoded, without its items."""
    items: Number
    data: bytes
    """The items of its page, joined by newlines, and packed if that is long."""
    marks: Count = 0
    """As in Row."""

    @property
    def size(self) -> int:
        """About what it takes in a message, in bytes."""
        return len(self.row) + len(self.data) + 64


class WireAccount(Record):
    """The account of a master: its own counters of a job; see core.accounts."""

    master: Annotated[str, Meta(pattern="^[0-9a-f]{40}$")]
    life: Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]
    job: Number
    version: Count
    figures: Annotated[
        dict[Annotated[str, Meta(max_length=NAME_CHARS_MAX)], Number],
        Meta(max_length=FIGURES_MAX),
    ]
    slice: Annotated[str, Meta(max_length=SLICE_CHARS_MAX)] = ""


class Copied(PeerReply, tag=44):
    """The facts are durable."""


class Copy(PeerRequest[Copied], tag=43):
    """Facts for a holder of their buckets. Answered when they are durable there."""

    rows: list[CopyRow]
    notes: list[WireHostNote] = []
    opened: Opened = {}
    accounts: Annotated[list[WireAccount], Meta(max_length=ACCOUNTS_MAX)] = []
    """They are of masters, and of no bucket."""


class Marked(PeerReply, tag=64):
    """The marks were taken in; those that are not for what is here had no effect."""


class Delivered(PeerRequest[Marked], tag=63):
    """Marks for copies that the receiver holds: a sink of a job has the items of these pages. All lists are as long."""

    job: Number
    marks: Count
    """The bit of the sink."""
    buckets: list[BucketNumber]
    keys: bytes
    """The fingerprints, 16 bytes each."""
    stamps: list[Number]
    """A mark is for the visit that it names,"""
    items: list[Number]
    """and for so many items: two masters may have seen different pages in one visit."""


class WireRange(Record):
    """The fingerprints of a bucket that begin with these ``depth`` hexadecimal digits."""

    bucket: BucketNumber
    depth: Annotated[int, Meta(ge=0, le=16)]
    prefix: Annotated[int, Meta(ge=0)]


class Compared(PeerReply, tag=46):
    """The positions of the ranges that are not the same here, and how many rows they have here."""

    differing: list[int]
    counts: list[int]


class Compare(PeerRequest[Compared], tag=45):
    """A comparison of copies: how many rows the sender has in some ranges, and their sums under a key made for this
    question.
    """

    nonce: Annotated[bytes, Meta(min_length=16, max_length=16)]
    ranges: list[WireRange]
    counts: list[int]
    sums: list[int]


class Listed(PeerReply, tag=48):
    """For each row: its fingerprint (16 bytes in ``keys``), job and stamp."""

    keys: bytes
    jobs: list[int]
    stamps: list[int]


class ListKeys(PeerRequest[Listed], tag=47):
    """Asks for all keys in some ranges."""

    ranges: list[WireRange]


class PulledCopies(PeerReply, tag=56):
    """A piece of the copies that were pulled. No rows: there is nothing after that place. ``notes`` come with the first
    ones.
    """

    rows: list[CopyRow]
    place: bytes = b""
    notes: list[WireHostNote] = []


class PullKeys(PeerRequest[PulledCopies], tag=49):
    """Asks for the rows of a bucket with these keys. Answered with PulledCopies."""

    bucket: BucketNumber
    keys: bytes
    jobs: list[int]


class PullCopies(PeerRequest[PulledCopies], tag=50):
    """The next copies of released buckets after a place, which is empty at first."""

    buckets: bytes
    after: bytes


class Noted(PeerReply, tag=52):
    """The copies count, and the receiver knows it, durably."""


class Whole(PeerRequest[Noted], tag=51):
    """The sender owns these buckets, and the receiver's copies of them are synced."""

    buckets: bytes
    counters: list[int]
    """The epochs of the buckets, in their order."""


class Dropped(PeerReply, tag=54):
    """``agreed`` False: the receiver's view differs, or it has something that the owner may lack; ask again."""

    agreed: bool


class DropCopies(PeerRequest[Dropped], tag=53):
    """The sender owns these buckets, all their holders are synced, and the receiver is none of them."""

    view: int
    buckets: bytes
    few: bool = False
    """Fewer live than there should be copies, and all of them have these: the receiver leaves, and keeps its own."""
    counters: list[int] = []
    """The epochs under which the sender serves them, in their order."""


class Merge(PeerRequest[Settled], tag=55):
    """Facts for whoever owns their buckets. Answered with Settled, as links are."""

    rows: list[Row]
    notes: list[WireHostNote] = []
    """What hosts have just asked for."""
    opened: Opened = {}


class Voted(PeerReply, tag=60):
    """A voter's answer, which is durable there."""

    seat: Seat
    given: bool
    round: Count
    opener: NodeName
    """The greatest ballot that was prepared there, and that in which ``accepted`` was."""
    accepted_round: Count = 0
    accepted_opener: NodeName = ""
    accepted: Electors | None = None
    later: bool = False
    """The sender knows a later version than the one that was asked about."""


class Canvassed(PeerRequest[Voted], tag=59):
    """A ballot on who is asked for consent from now on: it is prepared; or, with ``voters``, to be accepted."""

    founded: Count
    number: Count
    """Of the version that it is to follow."""
    round: Count
    opener: NodeName
    voters: Electors | None = None


class Elected(PeerReply, tag=62):
    """The version that was decided last; without ``voters`` none is known."""

    founded: Count
    number: Count
    voters: Electors


class AskElectorate(PeerRequest[Elected], tag=61):
    """Asks for the version that was decided last, as the receiver knows it."""


ClusterMessage = (
    Introduce
    | Answered
    | Sync
    | Synced
    | Discover
    | Settled
    | MirrorJob
    | Mirrored
    | JobMarks
    | JobsDiffering
    | Claim
    | Released
    | Pull
    | Pulled
    | Taken
    | Forgotten
    | Quiet
    | JobAtMaster
    | Query
    | Borrow
    | Lent
    | Repay
    | Repaid
    | CallIn
    | OrderHosts
    | HostsOrdered
    | CalledIn
    | Offer
    | Offered
    | Copy
    | Copied
    | Compare
    | Compared
    | ListKeys
    | Listed
    | PullKeys
    | PullCopies
    | PulledCopies
    | Whole
    | Noted
    | DropCopies
    | Dropped
    | Merge
    | Canvassed
    | Voted
    | AskElectorate
    | Elected
    | Delivered
    | Marked
    | ScheduleMarks
    | SchedulesDiffering
    | MirrorSchedule
    | ScheduleMirrored
)
