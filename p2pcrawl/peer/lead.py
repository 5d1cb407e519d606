"""A peer as a master: its frontier, its slaves and its place in the overlay, made one."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from p2pcrawl.core.control import DELETE, RETRY, VERBS
from p2pcrawl.core.membership.output import Event
from p2pcrawl.frontier.copies.set_aside import STORES, note_missing, set_aside
from p2pcrawl.master.board_changes.board_keeping import BoardKeeping
from p2pcrawl.master.carrying import Carrying
from p2pcrawl.master.cluster import Cluster
from p2pcrawl.master.company.neighbours import Neighbours
from p2pcrawl.master.deletion import Deletion
from p2pcrawl.master.injection import Injection
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.master.jobs.sink_secrets import SinkSecrets, unsealed_sinks
from p2pcrawl.master.majority.roll import FILE as ELECTORATE_FILE
from p2pcrawl.master.majority.roll import Roll
from p2pcrawl.master.master import Master
from p2pcrawl.master.neighbours.absences import Absences
from p2pcrawl.master.neighbours.notes import Notes
from p2pcrawl.master.queue_clearing import QueueClearing
from p2pcrawl.master.service import Service
from p2pcrawl.master.slaves.processes import RunHere
from p2pcrawl.master.steering import Steering
from p2pcrawl.model.cluster.node import INCARNATION_MAX, Address, NodeId, Status, format_address, parse_address
from p2pcrawl.model.cluster.notable import Notable
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.errors import ConfigurationError, DamagedError, DiskFullError, NotNow, P2PCrawlError, StorageError
from p2pcrawl.model.timings import TIMINGS
from p2pcrawl.overlay.door import Door
from p2pcrawl.overlay.node import Credentials, OverlayNode
from p2pcrawl.overlay.tasks import end
from p2pcrawl.peer.acceptance import Acceptance, told_refusal
from p2pcrawl.peer.acquaintances import AcquaintanceKeeping, Acquaintances
from p2pcrawl.peer.answers.board_calls import BoardCalls
from p2pcrawl.peer.answers.cluster_parts import ClusterParts
from p2pcrawl.peer.answers.letters import Letters
from p2pcrawl.peer.answers.questions import Questions
from p2pcrawl.peer.answers.results import GatheredPage
from p2pcrawl.peer.answers.submission import Submission, changes_of, flag_of, urls_of
from p2pcrawl.peer.config import Partition, PeerConfig
from p2pcrawl.peer.dismissal import Dismissal
from p2pcrawl.peer.figures.figure_questions import QUESTIONS, FigureQuestions
from p2pcrawl.peer.figures.host_changes import SET_HOST, HostChanges
from p2pcrawl.peer.news.events import Events
from p2pcrawl.peer.news.member_notes import MemberNotes
from p2pcrawl.peer.schedules.beginning import Beginning
from p2pcrawl.peer.schedules.firing import Firing
from p2pcrawl.peer.schedules.old_runs import OldRuns
from p2pcrawl.peer.schedules.schedule_calls import ScheduleCalls
from p2pcrawl.peer.stored.crawled_links import CrawledLinks
from p2pcrawl.peer.stored.page_search import PageSearch
from p2pcrawl.peer.stored.shelf import Shelf
from p2pcrawl.peer.stored.sought import sought
from p2pcrawl.peer.watching.readiness import Readiness, reasons_of_disk, reasons_of_master
from p2pcrawl.peer.watching.watch import Watch
from p2pcrawl.private.presence import addresses_here
from p2pcrawl.private.secrets import replace_secret
from p2pcrawl.slave.archiving import archiving
from p2pcrawl.slave.slave import Slave
from p2pcrawl.stores.warc.place import WarcPlace
from p2pcrawl.wire.sealed.at_rest import RestSeal

log = logging.getLogger(__name__)

LOAD_S = 1.0
DRAIN_S = 10.0
"""How long a master that leaves waits for the others to take its buckets; pages in hand must end first."""
PAGES_S = 5.0
"""How long pages in hand may take to end when nobody is there to take the buckets."""
INCARNATION_FILE = "incarnation"


class Lead:
    """One master. ``failed`` gets the error that made going on impossible. ``run_here`` runs the slave of a master
    without slave processes."""

    def __init__(
        self,
        config: PeerConfig,
        credentials: Credentials,
        folder: Path,
        api: Address,
        errors_to: int | None = None,
        run_here: RunHere | None = None,
    ) -> None:
        self._config = config
        self._api = api
        self._folder = folder
        self._seal = RestSeal(credentials.keys, credentials.cluster)
        self._make_master = partial(
            Master,
            slaves=config.slaves if config.slaves is not None else (os.cpu_count() or 1),
            run_here=run_here or partial(_run_here, config.warc),
            errors_to=errors_to,
            slave_options=config.warc.options() if config.warc is not None else (),
            check_spec=partial(told_refusal, self._seal),
        )
        self._door = Door(credentials.identity.node_id, credentials.client)
        self._search = PageSearch(self._door, Shelf(config.warc.folder if config.warc is not None else None, folder))
        self._majority = config.partition is Partition.MAJORITY
        self._credentials = credentials
        self._acquaintances = Acquaintances(folder)
        self.absences = Absences(self._door)
        self._acquaintance_keeping = AcquaintanceKeeping(self._acquaintances, self._door, self.absences)
        self._tasks: list[asyncio.Task[None]] = []
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def open(self, host: str, port: int) -> None:
        """Opens the data folder and the port. Raises ConfigurationError."""
        if not self._majority and (self._folder / ELECTORATE_FILE).exists():
            raise ConfigurationError(
                f"{self._folder} is of a cluster with --partition majority: start it with that; to go on without, stop "
                f"all masters and delete {ELECTORATE_FILE} in the folder of each"
            )
        await self._open_stores()
        self.bound = Address("")
        """Where it listens, which is not where others reach it if that is another address."""
        try:
            self.node = OverlayNode(
                self._credentials,
                bytes.fromhex(self.master.recorder.store_id),
                weight=self._config.weight,
                dice=random.Random(os.urandom(16)),
                door=self._door,
            )
            self.cluster = Cluster(
                self.master,
                self._neighbours,
                self.node.port,
                self._acquaintance_keeping.remember,
                roll=Roll(self._folder, self.node.me) if self._majority else None,
            )
            self._member_notes = MemberNotes(self._door, self.master.ground.journal)
            self._incarnation = read_incarnation(self._folder)
            await self.node.open(
                host,
                port,
                Service(self.cluster, self._answer).answers(),
                self.master.slaves.take,
                self._happened,
                advertise=self._config.reached_at(),
                api=str(self._api),
                incarnation=self._incarnation + 1,
            )
            self.bound = format_address(host, port or parse_address(self.node.address)[1])
        except BaseException:
            await self.holdings.close()
            await self.master.__aexit__()
            raise
        self.notes = Notes(
            self.node.directory,
            self.cluster.ownership,
            self.master.workbench,
            self._neighbours.remarks,
            self._neighbours.recalls,
            self.node.address,
            self._crawling,
        )
        ground = self._neighbours.ground
        self.secrets = SinkSecrets(self._seal, ground.jobs, ground.lifecycle)
        self.carrying = Carrying(self._neighbours, self.master.outputs, partial(unsealed_sinks, self._seal))
        self.letters = Letters(self._door, self.carrying)
        self.acceptance = Acceptance(self.cluster, self.secrets, self._config.copies)
        self.steering = Steering(self.cluster, self.absences, self._credentials.identity)
        self.injection = Injection(self.cluster)
        self.clearing = QueueClearing(self.cluster)
        self.board_keeping = BoardKeeping(
            self._neighbours,
            self.master.admission,
            self.master.aside.drop_board,
            self.master.turns.hasten,
            leads=self.cluster.completion.falls_to_us,
            view=lambda: self.cluster.ownership.view if self.cluster.ownership.complete else 0,
            brought=self._brought,
            spread=partial(self.cluster.spread, enough=1),
        )
        beginning = Beginning(self.cluster, self.acceptance, self.injection, self._seal)
        self.schedules = ScheduleCalls(self.cluster, self.acceptance, beginning, self._seal)
        self.deletion = Deletion(self.cluster)
        self.dismissal = Dismissal(self.cluster, self.node, self.absences)
        self.questions = Questions(
            self.cluster,
            self.node,
            self.absences,
            self.steering,
            self.carrying,
            self._folder,
            self._credentials.cluster,
        )
        old_runs = OldRuns(self.master.jobs, self.questions.counts.of_jobs, partial(self.steering.steer, verb=DELETE))
        self.firing = Firing(self.cluster, beginning, old_runs)
        self.boards = BoardCalls(self.cluster, self.questions.counts, self.board_keeping)
        self.host_changes = HostChanges(self.cluster)
        self.parts = ClusterParts(self.cluster)
        self.readiness = Readiness(
            partial(reasons_of_master, self.cluster, self._unmet), partial(reasons_of_disk, self._folder)
        )
        self.figures = FigureQuestions(self.cluster, self.questions, self._folder)
        self.watch = Watch(
            self.cluster,
            self.node.membership,
            self.absences,
            self.questions.counts,
            Events(self._door, self.master.ground.journal, self._credentials.boot),
            self._folder,
            self._credentials.cluster,
        )

    def _happened(self, event: Event) -> None:
        self.cluster.happened(event)
        self._member_notes.happened(event)

    async def _open_stores(self) -> None:
        """Opens them. One that is damaged is set aside before, if there may be others with copies of what was in it."""
        missing = await asyncio.to_thread(note_missing, self._folder)
        if missing and self._acquaintances.load():
            log.warning(
                "%s is not there any more: this master begins with a new one, and gets from the others what they have",
                self._folder / missing,
            )
        for _ in STORES:
            try:
                return await self._open_these()
            except DamagedError as error:
                if not await self._set_aside(error):
                    raise
        await self._open_these()

    async def _open_these(self) -> None:
        config, settings = self._config, Settings(group_placement=self._config.placement)
        self._neighbours = Neighbours(self._folder, settings, self._door, config.copies, config.ring)
        self.holdings = self._neighbours.holdings
        self.crawled = CrawledLinks(self._door, self._folder, self._neighbours.ownership)
        self.master = self._make_master(self._neighbours, seek=partial(sought, self.crawled, self._search))
        await self.master.__aenter__()
        try:
            await self.holdings.open()
        except BaseException:
            await self.master.__aexit__()
            raise

    async def _set_aside(self, error: DamagedError) -> bool:
        """Puts a damaged store, which nobody has open, aside for a new one if other masters may have what it held.
        Tells whether it did.
        """
        known = self._acquaintances.load()
        if error.file not in STORES or not (self._config.join or any(e.status is not Status.LEFT for e, _ in known)):
            return False
        kept = await asyncio.to_thread(set_aside, self._folder, error.file)
        log.warning(
            "%s is damaged (%s): it is kept as %s, and this master gets from the others what they have of it",
            self._folder / error.file,
            error.how,
            kept.name,
        )
        return True

    @property
    def address(self) -> Address:
        return self.node.address

    def join(self, contacts: Sequence[Address]) -> None:
        known = self._acquaintances.load()
        self.absences.recall(known)
        everybody = [*contacts, *(entry.member.address for entry, _ in known if entry.status is not Status.LEFT)]
        self.node.join([c for c in dict.fromkeys(everybody) if c != self.node.address])
        self.cluster.start(looking=bool(contacts), founds=not contacts, conclude=self.steering.conclude)
        self.secrets.renew()
        self.notes.start()
        self.steering.start()
        self.deletion.start()
        self.board_keeping.start()
        self.firing.start()
        self.watch.start()
        self._member_notes.came(self.node.membership.me)
        self._close_ports()
        runs = self._run(), self._gossip_load(), self.carrying.run()
        self._tasks = [asyncio.create_task(run) for run in runs]

    async def close(self) -> None:
        """Hands the buckets over, as far as others are there to take them, and leaves. Where they have not confirmed
        that they have everything, this master is missing from then on, till it is back."""
        works = bool(self._tasks) and not self.failed.done()
        handed_over = works and await self.cluster.drain(DRAIN_S, self.node.say_leaving)
        if works and not handed_over and not self.cluster.heirs():
            await self._end_pages()
        # Once the others know that we have left they ask our hosts.
        self.master.slaves.abort()
        # Pages that were still in hand are nobody's now: what waited for them can go.
        if works and not handed_over and self._takes_turns():
            handed_over = await self.cluster.drain(TIMINGS.drain_on_s, self.node.say_leaving)
        if works:
            await self.cluster.part()
            # Others may have come or gone while those that stay did without our consent.
            handed_over = handed_over and await self.cluster.drain(TIMINGS.drain_on_s, self.node.say_leaving)
            if not handed_over and self.cluster.heirs():
                log.warning(
                    "not everything could be handed over: what is left here is missing till this master is back"
                )
            await self.cluster.note_parting()
        await self.node.leave(handed_over=handed_over)
        await self.watch.close()
        await self.firing.close()
        await self.notes.close()
        await self.steering.close()
        await self.board_keeping.close()
        await self.deletion.close()
        await self.cluster.close()
        await end(self._tasks)
        await self.carrying.close()
        await self._search.close()
        await self._acquaintance_keeping.note()
        await self.node.close()
        await self._close_stores()

    async def _close_stores(self) -> None:
        """Closes the stores. One that is damaged gives way to a new one: the next start need not come across it once
        more.
        """
        failure = self.failed.exception() if self.failed.done() else None
        for close in (self.master.__aexit__, self.holdings.close):
            try:
                await close()
            except StorageError as error:
                failure = failure or error
        if isinstance(failure, DamagedError):
            await self._set_aside(failure)
        if not self.failed.done():
            self.failed.cancel()
            if failure is not None:
                raise failure

    async def _run(self) -> None:
        try:
            await self.master.run()
        except asyncio.CancelledError:
            raise
        except P2PCrawlError as error:
            full = isinstance(error, DiskFullError)
            noted = self.master.ground.journal.note(Notable.DISK_FULL, why=str(error)) if full else None
            log.error("the master failed: %s", error, exc_info=log.isEnabledFor(logging.DEBUG), extra=noted)
            self.failed.set_exception(error)
        except BaseException as error:
            log.exception("the master failed")
            if not self.failed.done():
                self.failed.set_exception(error)

    async def _end_pages(self) -> None:
        """Ends the pages in hand, so that they need not be fetched again. What is queued waits here till we come
        back.
        """
        self.master.drain()
        await asyncio.wait(self._tasks[:1], timeout=PAGES_S)

    def _takes_turns(self) -> bool:
        """Tells whether what is asked of the master is still done. Else nothing can be handed over any more, also to
        one that has come while the last pages ended."""
        return not self._tasks[0].done()

    async def _gossip_load(self) -> None:
        while True:
            sessions = sum(1 for s in self.master.sessions.values() if s.greeted)
            pages = sum(j.counts["pages"] for j in self.master.jobs.values())
            leased = sum(j.leased for j in self.master.jobs.values())
            self.node.membership.load = json.dumps({"slaves": sessions, "pages": pages, "leased": leased}).encode()
            await self._note_incarnation()
            self._close_ports()
            self.secrets.renew()
            await self._acquaintance_keeping.note()
            await asyncio.sleep(LOAD_S)

    def _close_ports(self) -> None:
        """Closes to all crawls the places where peers listen, as far as they are known: those that are away come
        back.
        """
        members = self.node.membership.members.values()
        known = [each for member in members for each in (member.address, member.api) if each]
        self.master.slaves.close_ports([*known, self.node.address, self.bound, self._api])

    def _unmet(self) -> Sequence[str]:
        return self._config.join if len(self.node.membership.members) < 2 else ()

    def _crawling(self) -> bool:
        return bool(self.master.jobs.running)

    async def _note_incarnation(self) -> None:
        """Writes the incarnation down, for the next start must exceed it, also when nobody who remembers it is there to
        tell.
        """
        now = self.node.membership.me.incarnation
        if now != self._incarnation:
            try:
                await asyncio.to_thread(write_incarnation, self._folder, now)
            except OSError as error:
                log.warning("cannot note how often this peer has been suspected: %s", error)
                return
            self._incarnation = now

    # -- what reaches it ----------------------------------------------------------------------

    async def _answer(self, what: str, arguments: bytes) -> bytes:
        """Answers what other peers ask for their faces."""
        verb, _, name = what.partition(":")
        try:
            decoded = json.loads(arguments)
        except ValueError as error:
            raise P2PCrawlError(f"the arguments of {what} are not JSON") from error
        if verb == "ask":
            answer = await self.ask(name, decoded)
        elif verb == "tell":
            answer = await self.tell(name, decoded)
        else:
            raise P2PCrawlError(f"this master does not know the question {what!r}")
        return json.dumps(answer).encode()

    async def _brought(self, job: Job) -> Mapping[str, Counter[str]]:
        return await self.boards.brought(job)

    # -- questions ----------------------------------------------------------------------------

    async def ask(self, what: str, arguments: dict[str, Any]) -> Any:
        """Answers what faces and other peers ask. Raises P2PCrawlError."""
        if what in QUESTIONS:
            return await self.figures.ask(what, arguments)
        if what in ClusterParts.WORDS:
            return await self.parts.ask(what, arguments)
        if what in Watch.WORDS:
            return await self.watch.ask(what, arguments)
        if what == "crawled":
            return await self.crawled.here(arguments)
        if what in PageSearch.WORDS:
            return await self._search.here(what, arguments)
        if what in ScheduleCalls.ASKED:
            return self.schedules.ask(what, arguments)
        if what == "boards":
            return await self.boards.ask(self.questions.job_of(arguments))
        return await self.questions.ask(what, arguments)

    async def tell(self, what: str, arguments: dict[str, Any]) -> Any:
        """Does what faces and other peers ask for. Raises P2PCrawlError."""
        if what == "submit":
            return {"job": await self.acceptance.take(Submission.read(arguments))}
        if what == "hung":
            return {"known": self.master.slaves.hung(int(arguments["pid"]), int(arguments["lease"]))}
        if what in ("forget", "peer-seen"):
            return await self._of_peer(what, str(arguments.get("peer", "")))
        if what == SET_HOST:
            return await self.host_changes.change(arguments)
        if what in ScheduleCalls.TOLD:
            return await self.schedules.tell(what, arguments)
        job = self.questions.job_of(arguments)
        if what == "retry-here":
            return {"retried": await self.steering.retry_here(job, str(arguments.get("reason", "")))}
        if what == "clear-here":
            queue, again = str(arguments.get("queue", "")), flag_of(arguments, "restart")
            return await self.clearing.here(job, queue, restart=again)
        if what == "clear":
            queue, again = str(arguments.get("queue", "")), flag_of(arguments, "restart")
            return await self.clearing.clear(job, queue, restart=again)
        if what in BoardCalls.TOLD:
            return await self.boards.tell(what, job, arguments)
        if what == "letters-here":
            return await self.letters.here(job)
        if what == RETRY and flag_of(arguments, "dead_letters"):
            return await self.letters.everywhere(job)
        if what == "inject":
            return await self.injection.inject(job, urls_of(arguments))
        if what == "set":
            return await self.steering.tune(job, changes_of(arguments))
        if what == DELETE and not flag_of(arguments, "force"):
            await self._check_delivered(job)
        if what in VERBS:
            return await self.steering.steer(job, what, str(arguments.get("reason", "")) if what == RETRY else "")
        raise ConfigurationError(f"there is no call {what!r}")

    async def _of_peer(self, what: str, called: str) -> Any:
        return self.dismissal.seen(NodeId(called)) if what == "peer-seen" else await self.dismissal.dismiss(called)

    async def _check_delivered(self, job: Job) -> None:
        """Refuses to delete a job of which items wait for a sink: they are nowhere else."""
        told = await self.questions.ask("job", {"job": job.id})
        waiting = {sink["sink"]: sink["waiting"] for sink in told["sinks"] if sink["waiting"]}
        if waiting:
            sink, count = next(iter(waiting.items()))
            raise NotNow(
                f"{count:,} items of job {job.id} wait for {sink}, and would go with it: --force deletes them, too"
            )

    async def metrics(self, version: str) -> bytes:
        """Returns its metrics, as Prometheus reads them."""
        # Loaded when somebody asks for them.
        from p2pcrawl.peer.watching.metering import figures_of
        from p2pcrawl.peer.watching.metrics import rendered

        figures = await figures_of(self.cluster, self.node.membership, self.carrying, self._folder)
        return rendered("master", version, figures)

    def results(self, job: int | str) -> AsyncIterator[bytes]:
        """Gathers the items of a job, from all masters, in pieces of whole lines."""
        return self.questions.gathering(job).pieces()

    def pages(self, job: int | str) -> AsyncIterator[list[GatheredPage]]:
        """Gathers the same by pages, with what is told of each."""
        return self.questions.gathering(job).pages()

    def read(self, job: int | str) -> AsyncIterator[bytes]:
        """Gathers the pages of a job that its callbacks got, from all masters, in pieces of whole lines."""
        return self.crawled.gathering(self.questions.job_of({"job": job}).id).pieces()

    def outside(self, job: int | str, reason: str) -> AsyncIterator[bytes]:
        """Gathers the pages of a job that failed or were dropped for a reason, from all masters, in pieces of whole
        lines.
        """
        return self.figures.reasons.gathering(self.questions.job_of({"job": job}), reason).pieces()


def read_incarnation(folder: Path) -> int:
    """Reads the last incarnation that was noted here; 0 at first, and where the file makes no sense, which is told."""
    path = folder / INCARNATION_FILE
    try:
        text = path.read_text()
        if text and 0 <= (incarnation := int(text)) < INCARNATION_MAX:
            return incarnation
        raise ValueError(f"it holds {text!r:.40}")
    except FileNotFoundError:
        return 0
    except ValueError as error:
        # Without it the cluster still tells what it knows, and that is exceeded.
        log.warning("%s is damaged (%s): what the others know is taken for it", path, error)
        return 0


def write_incarnation(folder: Path, incarnation: int) -> None:
    """Notes an incarnation here, durably. Raises OSError."""
    replace_secret(folder / INCARNATION_FILE, str(incarnation).encode())


async def _run_here(warc: WarcPlace | None, stream: Any) -> None:
    async with archiving(warc) as open_fetcher:
        await Slave(None, open_fetcher, peers_here=addresses_here).run(stream)
