"""The messages between a master and a slave.

Structs are arrays on the wire, tagged by number. A field is only ever added at the end, with a
default; anything else raises ``PROTOCOL``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from msgspec import Meta, Struct

from p2pcrawl.model.boards.job_board import BOARDS_MAX, CLOSED_MAX, ENTRIES_MAX, TEXT_MAX, VERSION_MAX
from p2pcrawl.model.crawl.fingerprint import SIZE
from p2pcrawl.model.crawl.job import LABEL_MAX, PROJECT_MAX
from p2pcrawl.wire.messages.bounds import (
    LEFT_OUT_CHARS,
    LEFT_OUT_MAX,
    SOUGHT_LINKS_MAX,
    BoardName,
    Count,
    Endpoints,
    Fingerprint,
    NodeName,
    Number,
    OpenedHosts,
    PackedPast,
    PageType,
    PhaseNumber,
    Seconds,
    StatsNews,
    WireLink,
)

PROTOCOL = 3


class Record(Struct, array_like=True, gc=False):
    """Base of the rows inside messages."""


class WireBoard(Struct, array_like=True, frozen=True):
    """A board of a job; see :class:`p2pcrawl.model.boards.job_board.JobBoard`."""

    version: Annotated[int, Meta(ge=1, le=VERSION_MAX)]
    text: Annotated[str, Meta(max_length=TEXT_MAX)]
    gone: Annotated[list[str], Meta(max_length=ENTRIES_MAX)] = []
    closed: Annotated[str, Meta(max_length=CLOSED_MAX)] = ""


class WireJob(Struct, array_like=True):
    """A job as a slave needs it; see :class:`p2pcrawl.model.crawl.job.WireJob`."""

    id: int
    name: str
    file: str
    module: str
    qualname: str
    urls: list[str]
    arguments: dict[str, Any]
    settings: dict[str, Any]
    opened: OpenedHosts
    code: str = ""
    """The text of the spider's file, where the receiver may not have it."""
    module_digest: str = ""
    label: Annotated[str, Meta(max_length=LABEL_MAX)] = ""
    submitted: Count = 0
    project: Annotated[bytes, Meta(max_length=PROJECT_MAX)] = b""
    """The files of its project, where the receiver may not have them."""
    boards: Annotated[dict[BoardName, WireBoard], Meta(max_length=BOARDS_MAX)] = {}
    """Its boards, where it has several, or one was changed while it runs."""


class Task(Record):
    """One granted page. ``lease`` comes back in its report."""

    lease: Number
    record: Number
    job: Number
    link: WireLink
    attempt: Number
    """1 for the first."""
    delay_s: Seconds = 0.0
    """What its host is left alone for after each answer: for fetches in the middle of its callback."""
    visit: Count = 0
    """0 for the first."""
    past: PackedPast = b""
    """What the visits before learnt."""


class RobotsTask(Record):
    """One granted robots.txt."""

    lease: int
    job: int
    origin: str
    delay_s: float = 0.0
    """What to wait before each redirect within the host."""


class Robots(Record):
    """The robots.txt of an origin, as its host's owner knows it."""

    origin: str
    verdict: str
    body: str
    reason: str
    agent: str = ""
    """The jobs that it is for, by :attr:`Settings.robots_key`; "": all."""


class LinkColumns(Struct, array_like=True):
    """New links that share everything but their URL."""

    shared: WireLink
    """A link as they all are; its URL is empty and its fingerprint says nothing."""
    urls: list[str]
    fingerprints: bytes
    """16 bytes for each URL."""
    changed: list[Count] = []
    """When each page was changed as a sitemap says, in seconds since 1970; or nothing is known of any."""

    def __post_init__(self) -> None:
        """Raises ValueError, which is a LinkError where a message is read."""
        if len(self.fingerprints) != SIZE * len(self.urls):
            raise ValueError(f"{len(self.urls)} links with {len(self.fingerprints)} bytes of fingerprints")
        if self.changed and len(self.changed) != len(self.urls):
            raise ValueError(f"{len(self.urls)} links with {len(self.changed)} times of change")

    def each(self) -> Iterator[WireLink]:
        """Yields them one by one."""
        prints, shared = self.fingerprints, self.shared[2:]
        for number, url in enumerate(self.urls):
            yield WireLink(url, prints[number * SIZE : number * SIZE + SIZE], *shared)


class LeftOutLink(Struct, array_like=True, frozen=True):
    """An example of the links of a page that its slave did not follow."""

    reason: Annotated[str, Meta(max_length=40)]
    url: Annotated[str, Meta(max_length=LEFT_OUT_CHARS)]
    """Its beginning, where it is long."""


class Outcome(Struct, array_like=True):
    """The end of a page."""

    phase: PhaseNumber
    """QUEUED asks for a retry after ``retry_in_s``."""
    reason: str = ""
    detail: str = ""
    status: Number = 0
    size: Count = 0
    latency_s: Seconds = 0.0
    retry_in_s: Seconds = 0.0
    host_pause_s: Seconds = 0.0
    """The host's own wish (Retry-After), or 0."""
    slow_down: bool = False
    """The host said 429 or 503, or could not be reached."""
    answered: bool = False
    private: bool = False
    """The host is of this machine, or at a private address."""
    digest: bytes = b""
    filtered: dict[str, Count] = {}
    dropped_items: Count = 0
    close: str = ""
    """The callback asked to end the crawl, with this reason."""
    stats: StatsNews = {}
    """The counts of components in the slave since the last page's end, by marked names; see master.jobs.job_stats."""
    marked: str = ""
    """The kind of the statement by which the site forbids what the page was fetched for nevertheless."""
    unasked: bool = False
    """The answer is from a cache alone, and cost the host nothing."""
    past: PackedPast = b""
    """What the next visit is to know; empty if this one taught nothing."""
    page_type: PageType = ""
    left_out: Annotated[list[LeftOutLink], Meta(max_length=LEFT_OUT_MAX)] = []
    """Examples of what was ``filtered``."""


class Page(Struct, array_like=True):
    """The result of one task; without ``outcome`` it is a part, and more follows."""

    lease: Number
    record: Number
    job: Number
    links: list[LinkColumns] = []
    items: list[bytes] = []
    outcome: Outcome | None = None

    @property
    def size(self) -> int:
        """About what it takes in a message, in bytes."""
        return sum(map(len, self.items)) + 64 * sum(len(links.urls) for links in self.links) + 64


class RobotsResult(Record):
    """The result of one RobotsTask."""

    lease: Number
    origin: str
    verdict: str
    body: str
    reason: str
    crawl_delay_s: Seconds = 0.0
    unasked: bool = False
    """It is from a cache alone, and cost the host nothing."""


class Hello(Struct, array_like=True, tag=1):
    """Slave to master, first."""

    protocol: int
    pid: int


class Welcome(Struct, array_like=True, tag=2):
    """Master to slave, in answer."""

    protocol: int
    session: int
    slots: int
    """How many fetches the slave may have open."""
    log_level: str = "WARNING"
    fence_s: float = 0.0
    """How long the slave may go on without an answer to its Beats; 0: until its link ends."""
    silence_s: Seconds = 60.0
    """How long its loop may stand still before the slave ends itself."""
    log_format: str = ""
    log_dateformat: str = ""


class OpenJob(Struct, array_like=True, tag=3):
    """Master to slave: a job that tasks will name, or its changed form."""

    job: WireJob


class Grant(Struct, array_like=True, tag=4):
    """Master to slave: leases. Rules of the tasks' origins come with the first task that needs them."""

    tasks: list[Task]
    robots: list[Robots] = []
    robots_tasks: list[RobotsTask] = []


class Report(Struct, array_like=True, tag=5):
    """Slave to master: what came of tasks, in order."""

    sequence: int
    pages: list[Page]
    robots: list[RobotsResult] = []


class ReportsDurable(Struct, array_like=True, tag=6):
    """Master to slave: all reports up to this one are durable."""

    sequence: int


class Beat(Struct, array_like=True, tag=7):
    """Slave to master, every second: still here."""

    rss_bytes: int = 0
    session: int = 0
    """The session that is to go on."""
    number: int = 0
    """Counts a session's Beats from 1."""
    held_up_s: Seconds = 0.0
    """How long a callback has held up the slave's loop."""
    cpu_s: Annotated[float, Meta(ge=0.0, le=1e9)] = 0.0
    """How long its process has computed."""


class Stop(Struct, array_like=True, tag=8):
    """Master to slave: finish what is open, say Bye and leave."""


class Bye(Struct, array_like=True, tag=9):
    """Slave to master: nothing more will come; ``reason`` when it leaves for a fatal error."""

    reason: str = ""
    usage: bool = False
    """The reason is the user's to mend (a spider that cannot be loaded)."""
    job: int = 0
    """The job that could not be opened, if that is the reason."""


class Returned(Struct, array_like=True, tag=10):
    """Slave to master: tasks that it did not begin, and why."""

    records: list[Number]
    missing_robots: list[str] = []
    robots: list[Number] = []
    """The leases of those that are a host's robots.txt."""


class Forget(Struct, array_like=True, tag=11):
    """Master to slave: what was reported may be lost with its owner; report it again when it is met."""


class Renewed(Struct, array_like=True, tag=12):
    """Master to slave: the session goes on, counted from when this Beat was sent."""

    session: int
    beat: int


class OrphanPage(Struct, array_like=True):
    """The result of a task that another master granted, or an earlier session of this one.

    ``page`` names that lease and that record, which mean nothing here: ``task`` says what was fetched. Without
    ``page.outcome`` only its links are told, and the page is to be fetched again.
    """

    task: Task
    page: Page


class Orphans(Struct, array_like=True, tag=13):
    """Slave to master, after Welcome: what it could not report, in the order of the reports. These are facts, and some
    may be known already. The next Orphans are said when these are adopted."""

    sequence: int
    pages: list[OrphanPage]


class Adopted(Struct, array_like=True, tag=14):
    """Master to slave: the Orphans of this sequence are safe."""

    sequence: int


class Leaving(Struct, array_like=True, tag=15):
    """Slave to master: nothing more is to be granted; what is open will be reported, then comes Bye."""


class Closed(Struct, array_like=True, tag=16):
    """Master to slave, before the first Grant and at each change: where the peers that it knows of listen. No crawl may
    go there."""

    endpoints: Endpoints


class Halt(Struct, array_like=True, tag=17):
    """Master to slave: the session is over at once; others may be about to ask the hosts of what is open."""


class CloseJob(Struct, array_like=True, tag=18):
    """Slave to master: a component of a job's spider wants the job to end, for this reason."""

    job: Number
    reason: Annotated[str, Meta(max_length=8_000)]


class JobOver(Struct, array_like=True, tag=19):
    """Master to slave, which has nothing of the job in its hands any more: it has ended, for this reason."""

    job: Number
    reason: Annotated[str, Meta(max_length=8_000)] = "finished"


class JobClosing(Struct, array_like=True, tag=90):
    """Master to slave: nothing more of the job is granted, and its ``start()`` ends where it is."""

    job: Number


class SeekLinks(Struct, array_like=True, tag=91):
    """Slave to master: the next of the links whose pages a job has had, in the whole cluster."""

    number: Count
    """Of the question; it comes back with the answer."""
    job: Count
    """That of the slave."""
    of: Count
    """The one that had the pages."""
    again: bool
    """From the first one on."""


class LinksTold(Struct, array_like=True, tag=92):
    """Master to slave, in answer. They are over when there are none."""

    number: Count
    links: Annotated[list[WireLink], Meta(max_length=SOUGHT_LINKS_MAX)] = []
    trouble: Annotated[str, Meta(max_length=8_000)] = ""
    """Why it cannot be told now."""


class SeekPage(Struct, array_like=True, tag=93):
    """Slave to master: the last raw page that is an answer to a request, from wherever in the cluster it is stored."""

    number: Count
    job: Count
    """Whose slave asks: for each job machines look at once what they have stored by then."""
    key: Fingerprint
    """Of the request's method, URL and body."""
    limit: Count
    """Its body is no longer."""
    at: NodeName = ""
    """Where the beginning of it was found, by a slave that wants the next piece."""
    offset: Count = 0


class GiveBack(Struct, array_like=True, tag=95):
    """Master to slave: what it has not begun is to be returned; others may have asked those hosts meanwhile."""


class PageTold(Struct, array_like=True, tag=94):
    """Master to slave, in answer: a piece of a raw page, or why there is none."""

    number: Count
    at: NodeName = ""
    """The master whose machine has it; empty where none has."""
    url: str = ""
    status: Count = 0
    head: bytes = b""
    body: bytes = b""
    size: Count = 0
    """Of the whole body."""
    truncated: str = ""
    trouble: Annotated[str, Meta(max_length=8_000)] = ""
    away: bool = False
    """A machine is away that may have it."""


Message = (
    Hello
    | Welcome
    | OpenJob
    | Grant
    | Report
    | ReportsDurable
    | Beat
    | Stop
    | Bye
    | Returned
    | Forget
    | Renewed
    | Orphans
    | Adopted
    | Leaving
    | Closed
    | Halt
    | GiveBack
    | CloseJob
    | JobOver
    | JobClosing
    | SeekLinks
    | LinksTold
    | SeekPage
    | PageTold
)
