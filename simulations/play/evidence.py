"""The evidence of a run: what is left of it for checkers to look at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..observe.alarms import Alarm
from ..observe.contents import Content
from ..observe.folders import PHASES, Folder, Print, Record
from ..observe.incidents import Incident, Stall
from ..observe.inventory import Inventory
from ..observe.ledgers import Ledgers
from ..observe.loads import Peak
from ..observe.losses import Telling
from ..observe.sightings import Presence, Sighting
from ..observe.tables import Table
from ..world.web import Crawl, Visit, Web
from .healing import Ailment
from .options import Options
from .wanted import BoardsKept, Rereading


class NotSettled(Exception):
    """The machines did not agree within the time that they were given."""


class Coming(NamedTuple):
    """The moment at which a part of a plan came: a fault began, or an aim struck."""

    part: object
    """The fault or the aim."""
    at_s: float
    node: str = ""
    """Where the moment was that an aim waited for,"""
    nth: int = 1
    """and the how many of its kind it was there in that instant."""


class SinkFound(NamedTuple):
    """The contents of a sink in the end."""

    items: Counter[str]
    """How often each URL's item is there."""
    refused: set[str]
    strangers: int
    """How often it was opened with a wrong password."""
    waiting: int
    """The items that the masters say are still to be brought."""
    parts: bool = False
    """It holds part files, in which nothing is known by its key."""
    lines: Sequence[bytes | str] = ()
    """The items as they are there."""
    letters: frozenset[str] | None = None
    """The URLs of the items that masters say it has refused, on their disks; None where some of these were lost."""


class Remains(NamedTuple):
    """The remains of a deleted job at one master, in the end."""

    job: int
    who: str
    state: str
    """By its own word; nothing if it does not know the job."""
    rows: dict[str, int]
    """How many each table on its disk has."""


class HostChange(NamedTuple):
    """The word of a person on a host: from when on it may hold, and from when on it must."""

    host: str
    began_s: float
    answered_s: float
    delay_s: float | None
    paused: bool


class ScheduleKept(NamedTuple):
    """The state of a schedule's runs in the end, by the word of one master."""

    who: str
    numbers: dict[int, int]
    """The job that there must be, by the moment of the run."""
    urls: list[str]
    """The pages of each run."""
    jobs: dict[int, str]
    """The states of all jobs that are called as the schedule is."""
    items: dict[int, Counter[str]]
    """How often the results of each have each URL's item."""
    outcomes: dict[int, tuple[str, int]]
    """What its history says of each moment."""
    fetched: Counter[str]
    """How often each page was answered."""


class Asked(NamedTuple):
    """A question or an order of a person, and what came of it."""

    began_s: float
    ended_s: float
    who: str
    """The master that was asked."""
    verb: str
    arguments: dict[str, Any]
    answer: Any
    """None without one."""
    error: str
    """Why there is none; "" where there is."""
    job: str = ""
    """The label of the job that it was about; nothing: that of the run."""


class Violation(NamedTuple):
    """A promise that was broken."""

    checker: str
    what: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence of one run."""

    options: Options
    web: Web
    folders: dict[str, Folder]
    """Of the masters that were there in the end."""
    items: Counter[str]
    """How often the results have each URL's item."""
    incidents: list[Incident]
    claims: list[tuple[float, str, bool]]
    """Who said when that the job is finished, and whether that was the last word."""
    doubles: list[str]
    complaints: list[str]
    """What made masters give up, exceptions that nobody caught, and what did not come about in time."""
    states: dict[str, str]
    """How the job ended at each master that was there in the end; nothing when it did not."""
    inventories: list[Inventory] = field(default_factory=list)
    """What all disks held together, again and again, and after each loss."""
    tables: list[Table] = field(default_factory=list)
    """Who served which bucket, each time that all agreed on it anew."""
    sightings: list[Sighting] = field(default_factory=list)
    """Who counted whom, in changes. Members are named by their ids."""
    presences: list[Presence] = field(default_factory=list)
    """When each master was up and awake."""
    peaks: dict[str, Peak] = field(default_factory=dict)
    """The most that any master had in hand."""
    names: dict[str, str] = field(default_factory=dict)
    """Of the masters, by their ids."""
    looked_s: float = 0.0
    """When this was looked at for the last time."""
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What each master says of the job in the end, its certificate among it."""
    told: list[tuple[float, str, dict[str, Any], int]] = field(default_factory=list)
    """When each master was asked how the job stands while it went on, what it said, and how many URLs were on all disks
    together."""
    overlooked: list[str] = field(default_factory=list)
    """Final certificates that were made while somebody was away who may have known more."""

    majority: bool = False
    """Only the part with most of the masters goes on when the network falls apart."""
    parted: list[str] = field(default_factory=list)
    """When masters granted that must not, with ``majority``."""

    sinks: dict[str, SinkFound] = field(default_factory=dict)
    ledgers: Ledgers = field(default_factory=Ledgers)
    injections: list[tuple[float, float]] = field(default_factory=list)
    """From when until when somebody was putting URLs into the job."""
    asides: frozenset[str] = frozenset()
    """The URLs of other jobs."""
    remains: list[Remains] = field(default_factory=list)
    """Of each job that was deleted, at each master."""
    forgotten: frozenset[str] = frozenset()
    """The masters that are gone for good and were forgotten."""
    changes: list[HostChange] = field(default_factory=list)
    """The words of people on hosts, in their order."""
    found: dict[str, list[str]] = field(default_factory=dict)
    """What the model found amiss while the run went on, by the checker that tells of it."""
    alarms: list[Alarm] = field(default_factory=list)
    """What peers logged at ERROR or with a traceback."""
    ailments: list[Ailment] = field(default_factory=list)
    """What was amiss while nothing was done to anybody."""
    tellings: list[Telling] = field(default_factory=list)
    """What masters said of losses each time that they had come to rest."""
    destroyed: frozenset[int] = frozenset()
    """The buckets of which all disks that had something of some time are gone for good: what that was nobody can have
    any more."""
    bucket_of: Mapping[Print, int] = field(default_factory=dict)
    """Of all pages of the web."""

    rounds: int = 1
    """How often each page is to be visited, and after how many seconds again."""
    period_s: float = 0.0
    asked: list[Asked] = field(default_factory=list)
    """What people asked masters for, in the order of the answers."""
    unmarked: Counter[str] = field(default_factory=Counter)
    """How often the results have each URL's item, where it is not said to be another's duplicate."""
    kept: list[ScheduleKept] = field(default_factory=list)
    """What has become of the runs of a schedule, by the word of each master."""
    boards: list[BoardsKept] = field(default_factory=list)
    """What has become of a job of boards."""
    rereadings: list[Rereading] = field(default_factory=list)
    """What has become of jobs that read stored pages."""
    results: list[dict[str, Any]] = field(default_factory=list)
    """The items that the results have."""
    held: Mapping[str, Sequence[Content]] = field(default_factory=dict)
    """What each disk said of each URL in the end, value by value."""
    one_each: bool = False
    """Each page that is done has one item, on each disk that has the page."""
    certified: Mapping[bytes, float] = field(default_factory=dict)
    """When each certificate was first on any disk."""
    limits: Mapping[str, int] = field(default_factory=dict)
    """The peers' own limits that were small."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What the run's own job was set to besides."""
    label: str = ""
    """Of the job that this is about; nothing: that of the run."""
    crawl: Crawl | None = None
    """Of that job; None: all that the start URLs lead to."""
    closed_by: str = ""
    """What closes that job before its queue is empty, one of ``other_jobs.CLOSES``."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Why that job has ended, by the word of each master."""
    lapses: list[Incident] = field(default_factory=list)
    """When masters had no longer the consent of most, as the questions and answers have it that were overheard."""
    stalls: list[Stall] = field(default_factory=list)
    """The messages and calls to disks that were held up."""

    @property
    def ended(self) -> bool:
        return bool(self.states)

    @property
    def pages(self) -> list[Visit]:
        """All requests of the job but those for robots.txt."""
        label, asides = self.label, self.asides
        return [v for v in self.web.visits if v.job == label and not v.is_robots and v.url not in asides]

    @property
    def robots(self) -> list[Visit]:
        """All requests for robots.txt, whatever job they were made for."""
        return [visit for visit in self.web.visits if visit.is_robots]

    def asked_anew(self) -> list[tuple[float, float]]:
        """Returns from when until when people had the failed pages of the job fetched anew: who was not answered may
        have had it done all the same.
        """
        return [(a.began_s, a.ended_s) for a in self.asked if a.verb == "retry" and a.job == self.label]

    def begun_anew(self) -> list[tuple[float, float]]:
        """Returns from when until when people had the entries of the job begun anew, likewise."""
        return [(a.began_s, a.ended_s) for a in self.asked if a.verb == "clear" and a.job == self.label]

    def entries(self) -> set[str]:
        """Returns where the job begins: its start URLs, and what people put into it, whether they were answered or
        not."""
        starts = self.web.starts if self.crawl is None else self.crawl.starts
        put_in = [a.arguments["urls"] for a in self.asked if a.verb == "inject" and a.job == self.label]
        return {*starts, *(url for urls in put_in for url in urls)}

    def is_destroyed(self, key: Print) -> bool:
        """Tells whether something of a page's bucket is gone with all disks that had it, so that the page may be."""
        return self.bucket_of.get(key) in self.destroyed

    def records(self) -> dict[str, list[Record]]:
        """Returns the records of each URL, by the frontiers that have one."""
        found: dict[str, list[Record]] = {}
        for name in sorted(self.folders):
            for record in self.folders[name].records.values():
                found.setdefault(record.url, []).append(record)
        return found

    def phases(self) -> dict[str, Record]:
        """Returns the record of each URL that is furthest."""
        return {url: max(those, key=lambda record: record.phase) for url, those in self.records().items()}


def told(record: Record | None) -> str:
    """Puts a record's standing in words."""
    if record is None:
        return "unknown"
    return PHASES[record.phase] + (f" ({record.reason})" if record.reason else "")


def listed(urls: list[str], most: int = 3) -> str:
    """Writes some of these, and how many there are."""
    shown = ", ".join(urls[:most])
    return shown if len(urls) <= most else f"{shown} and {len(urls) - most} more"
