"""The history of a run, judged while it is made: each acknowledgement is held against the model as it leaves.

Nobody who is simulated notices. What comes and leaves is told by moments, what lies on disks by their transactions;
what is found is kept in words, for a checker to tell.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from p2pcrawl.model.crawl.fingerprint import fingerprint, halves, pack_halves
from p2pcrawl.model.crawl.job import START_URL

from ..kernel.moments import COMES, LEAVES, TOLD, Moment, Moments
from ..model.acknowledged import Acknowledged
from ..model.counted import CRAMPED_S, UNDER_WAY_S, Accounts, Counted
from ..model.endings import Endings, JobRow, Presence
from ..model.epochs import Views
from ..model.handovers import Handovers
from ..model.loans import Distances, Loans
from ..model.members.ballots import Ballots
from ..model.members.brought import Brought
from ..model.members.claims import Claims
from ..model.members.claims import Sight as Claimers
from ..model.members.consents import Consents
from ..model.members.consents import Sight as Voters
from ..model.members.doubts import Doubts
from ..model.members.doubts import Sight as Doubters
from ..model.members.duties import Duties
from ..model.members.farewells import Farewells
from ..model.members.farewells import Sight as Leavers
from ..model.members.known import Known
from ..model.members.known import Sight as Comrades
from ..model.members.rumours import Rumours
from ..model.members.rumours import Sight as Members
from ..model.members.serving import Serving
from ..model.members.serving import Sight as Servers
from ..model.permissions import Asked, Permissions, Seen
from ..model.standings import standing_at
from ..model.stores import Key, StandingRow, Stores
from ..model.tables import Marks, Tables
from ..model.taking.sight import Sight as Neighbours
from ..model.taking.takeovers import Takeovers
from ..model.waiting import Waiting
from ..model.work.adopted import Adoptions
from ..model.work.borrowed import Borrowed
from ..model.work.borrowed import Sight as Borrowers
from ..model.work.hosts_left_alone import HostsLeftAlone
from ..model.work.imprints import Imprints
from ..model.work.kept import Kept
from ..model.work.known_ends import KnownEnds
from ..model.work.links_first import LinksFirst
from ..model.work.links_first import Sight as Finders
from ..model.work.marked import Marked
from ..model.work.meetings import Meetings
from ..model.work.meetings import Sight as Meeting
from ..model.work.order import Order
from ..model.work.order import Sight as Orderly
from ..model.work.reports import Reports
from ..model.work.reports import Sight as Hands
from ..model.work.rounds import Rounds
from ..model.work.rounds import Sight as Askers
from ..model.work.session_terms import SessionTerms
from ..model.work.sinks_away import SinksAway
from .askings import Askings
from .calls import Calls, Minds
from .disk_taps import DiskTaps
from .heard.ends_sought import EndsSought
from .heard.imprints_asked import ImprintsAsked
from .heard.requests import Requests, in_order, opened
from .heard.slave_reports import SlaveReports
from .heard.slaves_words import SlavesWords
from .mandates import Electorates
from .polls import Polls
from .takings import Takings
from .views import Acquaintances

FOUND_MAX: Final = 5
"""So many of one kind are told."""


ANSWERED: Final = {
    "Copied": ("Copy",),
    "Settled": ("Discover", "Merge"),
    "Released": ("Claim",),
    "Forgotten": ("Taken",),
    "Dropped": ("DropCopies",),
    "Noted": ("Whole",),
    "Mirrored": ("MirrorJob",),
}
"""The requests that are answered, by their answers."""
STEERING: Final = ("pause", "resume", "cancel", "retry", "set", "delete")
"""The verbs whose answer says how a job stands by then."""


class Witness(
    Presence, Members, Comrades, Distances, Doubters, Minds, Neighbours, Views, Voters, Hands, Askers, Orderly,
    Borrowers, Finders, Leavers, Meeting, Claimers, Servers, Protocol,
):  # fmt: skip
    """The harness's own knowledge of the machines, and of whom they count."""

    def view(self, master: str) -> int:
        """Returns the view in which a master acts at this moment."""

    def parts(self, master: str) -> None:
        """Takes in that a master says that it has left, with all handed over."""

    def is_safe(self, master: str, file: str) -> bool:
        """Tells whether a file on a disk outlives a loss of power at this moment. Raises FileNotFoundError."""

    def session_s(self, slave: str) -> float:
        """Returns how long a slave's session lasts at most after its last beat that was answered."""


class History:
    """Takes down what is acknowledged, and has it judged. One for a run."""

    def __init__(
        self,
        moments: Moments,
        sight: Witness,
        replicas: int,
        folder: Callable[[str], Path],
        ids: Mapping[str, str],
        *,
        cramped: bool = False,
    ) -> None:
        """``folder`` returns where a master's disk is; ``ids`` has the masters' by their names; ``cramped``: limits of
        the peers are small.
        """
        self.stores = Stores()
        self.found: dict[str, list[str]] = defaultdict(list)
        """What was amiss, by the checker that tells of it."""
        self.links: dict[Key, Sequence[Key]] = {}
        self.parents: dict[Key, list[Key]] = defaultdict(list)
        self.hosts: dict[str, int] = {}
        """The keys of the hosts of the web."""
        self.judged = 0
        """How many acknowledgements there were."""
        self._sight = sight
        self._requests = Requests()
        self._slave_reports = SlaveReports(self.stores, sight.name)
        self._views = Requests()
        """The views in which something was asked for, and those in which whoever was asked acted then."""
        self._rules = Acknowledged(self.stores, sight, replicas, self.links, self.parents, self._teller("acknowledged"))
        self._buckets = Handovers(self.stores, sight, replicas, self._teller("handovers"))
        self.takeovers = Takeovers(self.stores, sight, self._teller("handovers"))
        self.doubts = Doubts(self.stores, sight, self.takeovers, self._teller("handovers"))
        acquainted = Acquaintances(folder, sight.is_safe, {of: name for name, of in ids.items()})
        self._farewells = Farewells(sight, self.takeovers.watched, self._teller("handovers"))
        Takings(moments, self.takeovers, self.doubts, self.stores, acquainted, self._farewells)
        self._order = Order(self.stores, sight, self.links, self._teller("acknowledged"))
        ImprintsAsked(moments, Imprints(self.stores, sight, self._teller("acknowledged")), self._order)
        # With one copy nobody else is to have anything.
        first = self.links if replicas > 1 else {}
        self._ends = KnownEnds(self.stores, sight, replicas, self._teller("acknowledged"))
        self._first = LinksFirst(self.stores, sight, first, self._teller("acknowledged"))
        self._marked = Marked(self.stores, sight, self._teller("acknowledged")) if replicas > 1 else None
        self._endings = Endings(self.stores, sight, self._buckets.settled, self._teller("endings"))
        self._rounds = Rounds(self.stores, sight, self._teller("endings"))
        EndsSought(moments, self._rounds)
        self._slaves = Reports(sight, self._teller("acknowledged"))
        adoptions = Adoptions(self.stores, sight, self._endings.jobs, self._teller("acknowledged"))
        SlavesWords(moments, self._slaves, adoptions)
        self.permissions = Permissions(lasts_s=sight.session_s)
        under_way_s = CRAMPED_S if cramped else UNDER_WAY_S
        self._counted = Counted(self.stores, sight, self._teller("counted"), under_way_s)
        self.rumours = Rumours(sight, self._teller("rumours"), self._leaves)
        self.known = Known(sight, self._teller("rumours"))
        self.duties = Duties(sight, self._teller("rumours"))
        self.sessions = SessionTerms(sight, self._teller("permissions"))
        self.hosts_left = HostsLeftAlone(sight, self._teller("permissions"))
        self._loans = Loans(self._teller("permissions"), sight)
        self._tables = Tables(self.stores, sight, self._teller("tables"))
        self.waiting = Waiting(self.stores, sight, self._teller("healing"))
        self.sinks_away = SinksAway(sight, self._teller("delivered"))
        self.marks = Marks(sight, self._teller("delivered"))
        self._accounts = Accounts(self.stores, sight, replicas, self._teller("counted"))
        self._kept = Kept(self.stores, sight, self._teller("acknowledged"))
        self._borrowed = Borrowed(sight, self.permissions, self._teller("permissions"))
        self._brought = Brought(self.stores, sight, self.takeovers.watched, self._teller("counted"))
        self.takeovers.joins = self._brought.joins
        self._meetings = Meetings(sight, self.permissions, self.doubts.missing, self._teller("permissions"))
        self._claims = Claims(sight, self._teller("handovers"))
        self._serving = Serving(sight, self.takeovers.watched, self._teller("handovers"))
        self.doubts.held_dead = self._serving.is_held_dead
        Askings(moments, self.permissions, self._loans, self._borrowed, self._meetings, self._claims)
        self.calls = Calls(moments, sight, self._endings.jobs)
        ballots = Ballots(self._teller("ballots"))
        polls = Polls(moments, ballots, folder, sight.is_safe, lambda: sight.now_s)
        electorates = Electorates(ballots, polls.electorate)
        self.consents = Consents(sight, self._teller("consents"), electorates, ids, self.doubts.lapsed)
        moments.disks = DiskTaps(self.stores, lambda: sight.now_s, self)
        for verb in STEERING:
            moments.record(self._steered, [(f"verb {verb}", TOLD)])
        for listener, kinds in {
            self._asked: ("Copy", "Discover", "Merge", "Claim", "Taken", "Whole", "MirrorJob"),
            self._reported: ("Report",),
        }.items():
            moments.record(listener, [(kind, COMES) for kind in kinds])
        for answer, kind in {
            self._copied: "Copied",
            self._settled: "Settled",
            self._welcomes: "Welcome",
            self._granted: "Grant",
            self._durable: "ReportsDurable",
            self._released: "Released",
            self._taken: "Taken",
            self._forgotten: "Forgotten",
            self._whole: "Whole",
            self._noted: "Noted",
            self._mirrors: "MirrorJob",
            self._mirrored: "Mirrored",
        }.items():
            moments.record(answer, [(kind, LEAVES)])
        moments.record(self._asked_in_a_view, [(kind, COMES) for kind in ("Claim", "Taken", "DropCopies")])
        moments.record(self._agrees, [(kind, LEAVES) for kind in ("Released", "Forgotten", "Dropped")])

    def knows(
        self, job: int, links: Mapping[tuple[int, int], Sequence[tuple[int, int]]], starts: Iterable[tuple[int, int]]
    ) -> None:
        """Takes in what the pages of a web lead to, for the crawl of it, and where that begins."""
        begins = (*halves(fingerprint(f"{START_URL}{job}", salt=f"job {job}")), job)
        for start in starts:
            # Whoever has told it as a start URL tells it by no page once more; nor has the start ended before.
            self.parents[(*start, job)].append(begins)
        for (hi, lo), children in links.items():
            page = (hi, lo, job)
            self.links[page] = list(dict.fromkeys((*child, job) for child in children))
            for child in self.links[page]:
                self.parents[child].append(page)

    def judge(self, requests: Iterable[Asked], seen: Seen) -> None:
        """Judges the requests that were made, when all is over."""
        tell = self._teller("permissions")
        for what in self.permissions.found:
            tell(what)
        for request in requests:
            for what in self.permissions.broken_by(request, seen):
                tell(what)
            if (late := self.consents.broken_by(request)) is not None:
                self._teller("consents")(late)
        self.calls.judge(self._teller("verbs"))

    @property
    def told(self) -> dict[str, list[str]]:
        """The words that each checker has to tell by now."""
        return {**self.found, "permissions": [*self.found["permissions"], *self.permissions.found]}

    def acts(self, master: str, mine: frozenset[int], others: Collection[str]) -> None:
        """Takes in that a master comes to a view: which buckets are its own in that, and who else takes part in it."""
        self.doubts.acts(master, mine, others)
        self._serving.acts(master, mine, others)
        self._farewells.acts(master)
        # A view may come back before its next transaction.
        self._order.looks(master)
        self._buckets.acts(master, mine)
        self._meetings.acts(master, mine, others)
        self._brought.acts(master)
        self._claims.acts(master)

    def serves(self, master: str, buckets: Collection[int], anew: bool) -> None:
        """Takes in that a master serves buckets from now on, maybe under new epochs."""
        self._serving.serves(master, buckets)
        if anew:
            self.takeovers.serves(master, buckets)
        else:
            self.doubts.resumes(master, sorted(self.takeovers.watched.intersection(buckets)))

    def watch(self, *, calm: bool) -> None:
        """Judges what was to be said by this moment, and was not; ``calm``: nothing is in anybody's way."""
        self.calls.look()
        self._serving.look()
        self._loans.look()
        self._claims.look(calm=calm)
        self._kept.look(calm=calm)

    def look(self, ledgers: Mapping[str, Mapping[str, Collection[int]]]) -> None:
        """Judges what each owner counts on at this moment, by holder the buckets of which it counts the copies, and who
        keeps what it has counted of its work.
        """
        self._order.look()
        self._accounts.look(ledgers.keys())
        for owner, holders in ledgers.items():
            for holder, buckets in holders.items():
                self._counted.look(owner, holder, buckets)
                self._brought.look(owner, holder, buckets)

    @property
    def certified(self) -> Mapping[bytes, float]:
        """Says when each certificate was first on any disk."""
        return self._endings.certified

    def brought(self, master: str, job: int, pages: Iterable[tuple[str, int, bool]]) -> None:
        """Takes in which pages' items a master gives to a sink: by their fingerprints in hex, of which visit, and
        whether the sink has refused any of them before.
        """
        given = [((*halves(bytes.fromhex(page)), job), visit, refused) for page, visit, refused in pages]
        visits = [(key, visit) for key, visit, _ in given]
        keys = [key for key, *_ in given]
        self._rules.brought(visits)
        self._order.brought(keys)
        self._ends.brought(master, keys, {key for key, _, refused in given if refused})

    # -- what comes ----------------------------------------------------------------------------

    def _asked(self, moment: Moment) -> None:
        message = moment.what
        taken: list[Any] = []
        match moment.kind:
            case "Copy":
                rows = [((*halves(row.fingerprint), row.job), row.stamp) for row in message.rows]
                taken = [rows, [(note.key, note.pause_s) for note in message.notes if note.pause_s]]
                self._first.copies(moment.peer, moment.node, rows)
                taken.append((self._sight.view(moment.node), self._own_rows(moment.node, rows)))
            case "Discover":
                taken = [((*halves(link.fingerprint), message.job), link.seed) for link in message.links]
            case "Merge":
                taken = [((*halves(row.link.fingerprint), row.job), row.stamp) for row in message.rows]
            case "MirrorJob":
                taken = [message.job.id, message.state, message.version]
            case "Claim":
                taken = list(in_order(message.buckets))
            case "Taken":
                taken = [dict(zip(in_order(message.buckets), message.counters, strict=True)), message.view]
            case "Whole":
                buckets = in_order(message.buckets)
                taken = [dict(zip(buckets, message.counters, strict=True)), self._buckets.own(moment.node, buckets)]
        self._requests.came(moment.node, moment.peer, message.id, moment.at, (moment.kind, taken))

    def _own_rows(self, node: str, rows: list[tuple[Key, int]]) -> list[tuple[Key, int]]:
        """Returns the rows that somebody is sent as copies, and that are its own by its view, in which others are."""
        if not self._sight.others(node):
            return []
        known = [(key, stamp) for key, stamp in rows if key in self.stores.bucket_of]
        own = self._buckets.own(node, {self.stores.bucket_of[key] for key, _ in known})
        return [(key, stamp) for key, stamp in known if self.stores.bucket_of[key] in own]

    def _reported(self, moment: Moment) -> None:
        self._slave_reports.came(moment.node, moment.peer, moment.what)

    # -- what leaves ---------------------------------------------------------------------------

    def _copied(self, moment: Moment) -> None:
        if (asked := self._answered(moment, opened(moment.what).id)) is not None:
            came_s, (_, (rows, notes, (view, own))) = asked
            self._rules.copied(moment.node, rows, came_s)
            if view == self._sight.view(moment.node):
                self._rules.took_in(moment.node, moment.peer, own)
            self._order.noted(moment.node, moment.peer, notes, came_s)

    def _settled(self, moment: Moment) -> None:
        message = opened(moment.what)
        if (asked := self._answered(moment, message.id)) is None or message.unknown_job:
            return
        kind, rows = asked[1]
        refused, doubtful = set(message.refused), set(message.provisional)
        taken = [row for n, row in enumerate(rows) if n not in refused]
        if kind == "Merge":
            self._rules.merged(moment.node, moment.peer, taken)
            return
        entries = {key for key, is_entry in taken if is_entry}
        self._rules.provisional(moment.node, moment.peer, [key for key, _ in taken], entries)
        safe = [key for n, (key, _) in enumerate(rows) if n not in refused and n not in doubtful]
        self._rules.settled(moment.node, moment.peer, safe, entries)
        self._order.followed(moment.node, moment.peer, [key for key, _ in taken], asked[0])
        self._buckets.acknowledged(moment.node, safe)

    def _granted(self, moment: Moment) -> None:
        tasks = opened(moment.what).tasks
        self.judged += 1
        self._rules.synced(moment.node, moment.peer, moment.kind)
        self._rules.granted(moment.node, moment.peer, [(task.record, task.lease) for task in tasks])

    def _welcomes(self, moment: Moment) -> None:
        self._slave_reports.began(moment.node, moment.peer)

    def _durable(self, moment: Moment) -> None:
        self.judged += 1
        self._rules.synced(moment.node, moment.peer, moment.kind)
        due = self._slave_reports.durable(moment.node, moment.peer, opened(moment.what).sequence)
        for pause in due.pauses:
            if pause.host in self.hosts and self._endings.runs(moment.node, pause.job):
                key = self.hosts[pause.host]
                self._rules.paused(moment.node, moment.peer, pause.host, key, pause.asked_s)
                if (bucket := self.permissions.buckets.get(pause.host)) is not None:
                    self._order.paused(moment.node, pause.host, key, bucket, pause.asked_s)
        self._rules.reported(moment.node, moment.peer, due.ended)

    # -- buckets that change hands ---------------------------------------------------------------

    def _released(self, moment: Moment) -> None:
        message = opened(moment.what)
        if (asked := self._answered(moment, message.id)) is None or not message.agreed:
            return
        buckets = asked[1][1]
        told = zip(buckets, message.counters, message.lacks, message.bases, strict=True)
        pieces = {bucket: tuple(map(tuple, those)) for bucket, those in message.pieces.items()}
        standings = {b: standing_at(epoch, lack, base, pieces.get(b, ())) for b, epoch, lack, base in told}
        self._borrowed.claimed(moment.node, frozenset(buckets), asked[0])
        self._first.lets_go(moment.node, moment.peer)
        self.permissions.let_go(moment.node, buckets, moment.at)
        hosts = [host for host, bucket in self.permissions.buckets.items() if bucket in standings]
        self._loans.lets_go(moment.node, moment.peer, hosts, moment.at)
        self._buckets.released(moment.node, moment.peer, standings, message.rows)

    def _asked_in_a_view(self, moment: Moment) -> None:
        if moment.kind == "DropCopies":
            self._buckets.drops(moment.node, in_order(moment.what.buckets))
        what = moment.kind, moment.what.view, self._sight.view(moment.node)
        self._views.came(moment.node, moment.peer, moment.what.id, moment.at, what)

    def _agrees(self, moment: Moment) -> None:
        message = opened(moment.what)
        asked = self._views.answered_as(moment.node, moment.peer, message.id, ANSWERED[moment.kind])
        if asked is not None and getattr(message, "agreed", True):
            _, (kind, view, before) = asked
            acted_in = [self._sight.view(moment.node)]
            # What is given up, or dropped, is so for good when the view changes in the middle of it.
            acted_in += [before] if kind != "Claim" else []
            self._buckets.agrees(moment.node, moment.peer, kind, view, acted_in)

    def _taken(self, moment: Moment) -> None:
        message = opened(moment.what)
        buckets = in_order(message.buckets)
        self.permissions.took(moment.node, frozenset(buckets), moment.at)
        self._buckets.taken(moment.node, moment.peer, dict(zip(buckets, message.counters, strict=True)))
        self._order.takes(moment.node, frozenset(buckets))

    def _forgotten(self, moment: Moment) -> None:
        if (asked := self._answered(moment, opened(moment.what).id)) is not None:
            epochs, view = asked[1][1]
            in_view = view == self._sight.view(moment.node)
            self._buckets.forgotten(moment.node, moment.peer, epochs, in_view=in_view)

    def _whole(self, moment: Moment) -> None:
        message = opened(moment.what)
        epochs = dict(zip(in_order(message.buckets), message.counters, strict=True))
        self._buckets.whole(moment.node, epochs)
        self._first.syncs(moment.node, moment.peer)

    def _noted(self, moment: Moment) -> None:
        if (asked := self._answered(moment, opened(moment.what).id)) is not None:
            self._buckets.noted(moment.node, moment.peer, *asked[1][1])
            self._order.whole(moment.node, moment.peer, asked[1][1][0])
            self._brought.notes(moment.node, moment.peer, asked[1][1][0])
            self._ends.notes(moment.peer, asked[1][1][0])

    def _answered(self, moment: Moment, number: int) -> tuple[float, Any] | None:
        self.judged += 1
        self._rules.synced(moment.node, moment.peer, moment.kind)
        return self._requests.answered_as(moment.node, moment.peer, number, ANSWERED[moment.kind])

    # -- jobs ----------------------------------------------------------------------------------

    def _mirrors(self, moment: Moment) -> None:
        message = opened(moment.what)
        self._endings.mirrored(moment.node, message.job.id, message.state, message.version)

    def _mirrored(self, moment: Moment) -> None:
        message = opened(moment.what)
        if (asked := self._answered(moment, message.id)) is not None and not message.refusal:
            self._endings.mirrored(moment.node, *asked[1][1])

    def _steered(self, moment: Moment) -> None:
        if isinstance(answer := moment.what, dict) and "state" in answer:
            self._endings.said(moment.node, answer["job"], answer["state"])

    # -- what disks say ------------------------------------------------------------------------

    def has_ended(self, node: str, key: Key, *, is_copy: bool) -> None:
        self._rules.ended(node, key, is_copy=is_copy)
        if is_copy:
            self._order.copied(node, key)

    def has_leased_twice(self, node: str, key: Key) -> None:
        self._rules.leased_twice(node, key)

    def goes_back(self, node: str, key: Key, before: int, after: int) -> None:
        self._rules.goes_back(node, key, before, after)

    def has_dropped(self, node: str, key: Key) -> None:
        self._buckets.dropped(node, key)

    def has_given_up(self, node: str, key: Key) -> None:
        self._buckets.gave_up(node, key)

    def has_stood(self, node: str, bucket: int, before: StandingRow | None, row: StandingRow) -> None:
        self._buckets.stood(node, bucket, before, row)
        if bucket in self.takeovers.watched:
            self.takeovers.stood(node, bucket, before, row)

    def has_stored_records(self, node: str, numbers: Collection[int], keys: Collection[Key]) -> None:
        self._order.looks(node)
        self._first.looks(node)
        self._ends.looks(node)
        self._tables.stored(node, numbers, keys)

    def has_marked_copied(self, node: str, entered: Collection[int]) -> None:
        if self._marked is not None:
            self._marked.stored(node, entered)

    def has_new_items(self, node: str, key: Key) -> None:
        self._tables.items_anew(node, key)

    def has_marked(self, node: str, key: Key, marks: int) -> None:
        self.marks.marked(node, key, pack_halves(*key[:2]).hex(), marks)

    def has_shortened(self, node: str, host: int, before_s: float, until_s: float) -> None:
        self._tables.shortened(node, before_s, until_s)

    def has_older_account(self, node: str, whose: tuple[Any, ...], before: int, after: int) -> None:
        self._tables.older_account(node, self._sight.called(whose[1]), before, after)

    def has_unspooled(self, node: str, key: Key) -> None:
        self._rules.unspooled(node, key)

    def has_jobs(self, node: str, jobs: dict[int, JobRow]) -> None:
        self.permissions.started(node, self._sight.now_s)
        self.consents.started(node)
        self.takeovers.started(node)
        self.doubts.started(node)
        self._serving.started(node)
        self._farewells.started(node)
        self._loans.ended(node)
        self._borrowed.started(node)
        self._meetings.started(node)
        self._brought.started(node)
        self._rounds.started(node)
        self._slaves.started(node)
        self._order.started(node)
        self._first.started(node)
        if self._marked is not None:
            self._marked.started(node)
        self._ends.started(node)
        self._endings.found(node, jobs)

    def has_stored(self, node: str, job: int, row: JobRow | None) -> None:
        self.calls.stored(node, job, row)
        self._endings.stored(node, job, row)

    def has_lost(self, node: str) -> None:
        self._endings.lost(node)
        self._buckets.lost(node)
        self._order.lost(node)
        self._first.lost()
        self.takeovers.started(node)
        self.calls.lost(node)

    def _leaves(self, node: str) -> None:
        self._sight.parts(node)
        self._buckets.leaves(node)
        self._farewells.leaves(node)
        self.takeovers.leaves(node)

    def _teller(self, checker: str) -> Any:
        found = self.found[checker]

        def tell(what: str) -> None:
            if len(found) < FOUND_MAX:
                found.append(what)

        return tell
