"""A whole cluster on a virtual clock: peers that run their own code, a web that is known, faults, and a verdict.

    report = Simulation(Options(scenario="churn", seed=7)).run()
    assert not report.violations

First the masters meet and are given a job. Then the scenario does its worst while they crawl. When it is through,
everything that is not gone is healed, and the job must be finished; what is left is given to the checkers.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack, chdir, suppress
from math import inf
from pathlib import Path
from typing import Any, TextIO

from p2pcrawl.core.bench.candidate import host_key
from p2pcrawl.core.control import RUNNING
from p2pcrawl.core.ring.rendezvous import bucket_of_hash
from p2pcrawl.master.links.shard_keys import Keys
from p2pcrawl.model.cluster.placement import GroupPlacement, RingName
from p2pcrawl.model.crawl.fingerprint import fingerprint
from p2pcrawl.model.crawl.record import ShardKey
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.peer.answers.submission import Submission, submission_of
from p2pcrawl.peer.config import Partition

from ..checkers import Evidence, Violation, violations
from ..draws.limits import limited
from ..kernel.clockwork import Deadlock, Livelock, OutOfTime
from ..kernel.life import current_life
from ..model.waiting import FEW_SLOTS_S, IN_LINE_S, WAIT_S, Bounds
from ..observe.alarms import listening
from ..observe.answering import answering
from ..observe.contents import read_contents
from ..observe.folders import letters_in, print_of, read_folder, read_rows
from ..observe.raw_pages import FOLDER
from ..play import people
from ..play.aims import Aim
from ..play.evidence import NotSettled, Remains, SinkFound
from ..play.eyewitness import Eyewitness
from ..play.faults import Fault
from ..play.options import Options
from ..play.series import Sampler
from ..play.spiders import OF_EACH_PAGE, ONE_EACH, PERIOD_S, THOROUGH, Returner
from ..play.stage import Stage
from ..record.heard.hosts_asked import hosts_overheard
from ..record.heard.session_ends import sessions_overheard
from ..record.history import History
from ..record.mandates import consents_overheard
from ..record.overheard import overheard
from ..record.views import views_overheard
from ..scenarios import SCENARIOS
from ..world.disks import folder_for_disks
from ..world.fetcher import RawFolder, fetchers
from ..world.machines import Machine
from ..world.pins import real_clock
from ..world.sinks import Bucket, Destination, Place, contents, destinations, lines, specs_of
from ..world.slaves import SlaveMachine
from ..world.taps import tapped
from ..world.web import DELAY_S, Web, WebPlan
from ..world.world import World
from .mistakes import check_mistakes, mistakes_put_in
from .others import violations_of_others
from .outcome import Progress, Report, figures
from .plan import Plan, names_of
from .plan_file import fault_and_aim

LOOK_S = 1.0
"""How often in virtual time is looked whether somebody should hear how far the run is."""
LEDGERS_S = 2.0
"""How often what masters count on is held against their disks."""
PROGRESS_S = 2.0
"""Real seconds between two words of progress."""

LIMIT_S = 3600.0
LIMIT_TIMES = 3.0
"""For who sets no limit: an hour, and so many times as long as the web takes at least."""
SINKS_PATIENCE_S = 900.0
"""A sink is tried every half minute at last, and two of five answers may get lost."""
PATIENCE_S = 120.0
"""How long the masters have, after all is over, to find that nothing is missing any more."""
TAKES_FILES = frozenset({"wipe", "restore-snapshot"})
"""The deeds with which files are gone that masters have written."""
SETTLE_S = 10.0
"""How long the masters have, after all is over, to tidy up."""

OF_THE_THOROUGH = frozenset({"coverage", "children", "items", "statements"})
"""The checkers that know what a crawl finds: they hold for the spider that follows every link."""

Tell = Callable[[Progress], None]


class Simulation:
    """One run of a plan, from the first node to the verdict. Runs once."""

    def __init__(
        self,
        what: Options | Plan,
        tell: Tell | None = None,
        narrate_to: TextIO | None = None,
        *,
        hasty: bool = False,
        judge: str = "",
    ) -> None:
        """``tell`` is called with each word of progress; ``narrate_to`` gets all that happens, for a person to read.
        ``hasty``: the run is over as soon as anything is amiss that is judged while it goes on, and that is all that
        the report tells of; ``judge`` names the one checker of which that holds, if it is not all.

        Raises ConfigurationError for a scenario, and ValueError for a control or a mutant, that there is not.
        """
        plan = Plan(what) if isinstance(what, Options) else what
        self.plan = plan.completed()
        self.options = options = self.plan.options
        self._command = plan.command
        self._majority = self.plan.partition is Partition.MAJORITY
        check_mistakes(options)
        self._tell = tell or (lambda progress: None)
        self._narrate_to = narrate_to
        self._complaints: list[str] = []
        self._items: list[dict[str, Any]] = []
        self._others: dict[str, list[dict[str, Any]]] = {}
        """The items of the other jobs, by their labels."""
        self._states: dict[str, str] = {}
        self._remains: list[Remains] = []
        self._hasty = hasty
        self._judge = judge
        self._told_early: list[Violation] = []
        self._began_s = real_clock()

    def run(self) -> Report:
        """Plays the scenario and judges what it left. Raises what a user's own faults raise."""
        options, plan = self.options, self.plan
        self._began_s = real_clock()
        web = Web(options.seed, plan.web or WebPlan())
        # A spider's file may be named from where we are: it is read before we go elsewhere.
        start = {} if plan.spider.start_urls else {"start_urls": " ".join(web.starts)}
        # What a spider of one's own says holds, unless another key is asked for.
        given: dict[str, Any] = {"shard_key": options.key} if options.key != ShardKey.HOST else {}
        given |= {"download_delay": options.delay_s} if options.delay_s != DELAY_S else {}
        given |= plan.settings or {}
        with ExitStack() as stack:
            sinks = stack.enter_context(destinations(options.sinks, options.seed, options.buckets))
            submission = submission_of(plan.spider, Settings(), given, start, specs_of(sinks))
            # Errors name files, and travel: so the disks lie where their names are the same in every run.
            stack.enter_context(chdir(stack.enter_context(folder_for_disks("p2pcrawl-sim-"))))
            world = stack.enter_context(World(options.seed, law=plan.law))
            self._alarms = stack.enter_context(listening(world.loop))
            stack.enter_context(tapped(world))
            stack.enter_context(mistakes_put_in(options))
            stack.enter_context(limited(plan.limits or {}))
            if self._narrate_to is not None:
                world.narrate(self._narrate_to, loggers=("p2pcrawl",))
            raw_folders = {name: self._raw_folder(name) for name in names_of(options.masters)}
            machines = [
                Machine(
                    world,
                    name,
                    Path(),
                    options.replicas,
                    fetchers(web, world.loop, raw_pages=raw),
                    plan.weight(n),
                    plan.partition,
                    RingName(options.ring),
                    GroupPlacement(options.placement),
                    raw,
                )
                for n, (name, raw) in enumerate(raw_folders.items())
            ]
            slaves = [SlaveMachine(world, f"s{n}", web, machines) for n in range(options.masters * options.slaves)]
            stage = Stage(options, world, web, machines, slaves, sinks)
            world.log.name({word: m.name for m in (*machines, *slaves) for word in (m.id[:8], m.address)})
            plan.fit(stage)
            self._witness = Eyewitness(stage)
            folders = {machine.name: machine.folder for machine in machines}
            ids = {machine.name: machine.id for machine in machines}
            self._history = History(
                world.moments, self._witness, options.replicas, folders.__getitem__, ids, cramped=bool(plan.limits)
            )
            history, called = self._history, {of: name for name, of in ids.items()}
            stack.enter_context(overheard(history.rumours, history.known, history.duties, history.doubts, ids))
            stack.enter_context(views_overheard(history.acts, history.serves, called))
            stack.enter_context(sessions_overheard(history.sessions))
            stack.enter_context(hosts_overheard(history.hosts_left))
            if self._majority:
                stack.enter_context(consents_overheard(history.consents, called))
            self._listen(stage, sinks)
            self._note_drawn(stage)
            sampler = Sampler(stage)
            self._play(stage, sampler, submission)
            sampler.sample()
            found = self._told_early or self._judged(stage)
            series = sampler.series
            return Report(
                options, world.trace, world.now, real_clock() - self._began_s, figures(stage, len(self._items), series),
                found, self._command, series, stage.incidents, self._items,
                stage.deeds, bool(self._told_early), stage.came, frozenset(visit.url for visit in web.visits),
            )  # fmt: skip

    def _note_drawn(self, stage: Stage) -> None:
        """Notes which limits of the peers are small, and what the job is set to."""
        limits, settings = self.plan.limits or {}, self.plan.settings or {}
        stage.tries_again_s = settings.get("retry_failed_after", 0.0) * settings.get("retry_failed_times", 0)
        if limits:
            stage.figures["limits"] = dict(limits)
        if settings:
            stage.figures["settings"] = dict(settings)

    def _listen(self, stage: Stage, sinks: Mapping[str, Place]) -> None:
        """Lets the history hear of what sinks are brought, and know the buckets of hosts."""
        for url, sink in sinks.items():
            if isinstance(sink, Destination):
                sink.tried = lambda waited_s, url=url: self._history.sinks_away.tried(
                    current_life().node.name, url, waited_s
                )
                sink.heard = lambda pages, sink=sink: self._history.brought(
                    current_life().node.name,
                    stage.job,
                    [(page.fingerprint, page.visit, sink.has_refused(page)) for page in pages],
                )
        hosts = [host for host in stage.web.hosts.values() if host.pages]
        self._history.hosts = {host.name: host_key(host.pages[0].url) for host in hosts}
        self._history.permissions.buckets = {name: bucket_of_hash(key) for name, key in self._history.hosts.items()}
        keys, wanted = Keys(), {ShardKey.HOST, ShardKey(self.options.key)}
        self._history.takeovers.watched |= {
            keys.bucket(key, url, fingerprint(url)) for url in stage.web.pages for key in wanted
        }

    def _raw_folder(self, name: str) -> RawFolder | None:
        """Returns where a machine keeps the answers that it gets, if the scenario is of these."""
        scenario = SCENARIOS.get(self.options.scenario)
        return RawFolder(Path(name) / FOLDER) if scenario is not None and scenario.keeps_raw_pages else None

    # -- the play -----------------------------------------------------------------------------

    def _play(self, stage: Stage, sampler: Sampler, submission: Submission) -> None:
        try:
            stage.world.run(self._scenes(stage, sampler, submission), self._limit_s(stage.web))
        except asyncio.CancelledError:
            if not self._told_early:
                raise
        except (OutOfTime, Deadlock, Livelock, NotSettled) as error:
            said, _, waiting = f"{type(error).__name__}: {error}".partition("\n")
            self._complaints.append(said)
            stage.world.note(f"{said}\n{waiting}")

    def _limit_s(self, web: Web) -> float:
        limit_s = self.options.limit_s
        return max(LIMIT_S, LIMIT_TIMES * web.least_s) if limit_s is None else limit_s

    async def _scenes(self, stage: Stage, sampler: Sampler, submission: Submission) -> None:
        def milestone(what: str) -> None:
            sampler.mark(what)
            stage.world.note(f"-- {what}: {stage.share():.1%} of the pages")
            self._say(stage, what)

        watches = [stage.watch(), sampler.run(), self._tell_progress(stage), self._look_at_ledgers(stage)]
        if self._majority:
            watches.append(stage.observer.watch_parts(self._history.consents.look))
        if self._hasty and (main := asyncio.current_task()) is not None:
            watches.append(self._end_at_first(stage, main))
        aside = [asyncio.create_task(each) for each in watches]
        try:
            await self._meet(stage)
            await self._submit(stage, submission)
            milestone("the job begins")
            trouble = asyncio.create_task(stage.trouble_sinks())
            aside.append(trouble)
            await self._trouble(stage)
            trouble.cancel()
            stage.heal()
            aside.append(asyncio.create_task(people.let_go_on(stage)))
            if any(asked.error for asked in stage.asked):
                # What nobody has answered may be obeyed when those who were asked can be reached again.
                await asyncio.sleep(people.LATE_S)
            milestone("healed")
            tidy = False
            while not tidy:
                # What one that was away brings back may open the job again.
                await stage.until(lambda: stage.all_ended)
                milestone("nothing is left to do")
                await stage.agree()
                with suppress(TimeoutError):
                    # What was incomplete while some were out of reach is judged anew, and what was kept for them told.
                    async with asyncio.timeout(PATIENCE_S):
                        await stage.until(lambda: stage.finished and stage.unspooled)
                await asyncio.sleep(SETTLE_S)
                if not stage.whole():
                    with suppress(TimeoutError):
                        # Where the way is long, copies of what one that was away missed take their time.
                        async with asyncio.timeout(PATIENCE_S):
                            await stage.until(stage.whole)
                    await asyncio.sleep(SETTLE_S)
                tidy = stage.all_ended
            if stage.sinks:
                with suppress(TimeoutError):
                    async with asyncio.timeout(SINKS_PATIENCE_S):
                        await self._bring(stage)
                if "letters" in self.options.draws:
                    with suppress(TimeoutError):
                        async with asyncio.timeout(PATIENCE_S):
                            await people.send_all_letters(stage)
            self._states = {machine.name: stage.state(machine) for machine in stage.up}
            self._remains = [
                Remains(job, m.name, stage.state(m, job), read_rows(m.folder, job))
                for job in stage.deleted
                for m in stage.up
            ]
            await stage.observer.interview()
            # As a person would ask for them, of any master.
            self._items = await stage.random.choice(stage.up).results(stage.job)
            for job in stage.others.values():
                if job.is_to_be_judged:
                    self._others[job.label] = await stage.up[0].results(job.number)
        finally:
            for task in aside:
                task.cancel()
            await asyncio.gather(*aside, return_exceptions=True)

    async def _trouble(self, stage: Stage) -> None:
        """Lets everything happen that is to happen while they crawl."""
        beside = self.plan.beside or ()
        faults = [each for each in beside if isinstance(each, Fault)]
        aims = [each for each in beside if isinstance(each, Aim)]
        if beside:
            stage.figures["beside"] = [str(each) for each in beside]
        # What a user's own faults raise is raised as it is.
        besides = asyncio.create_task(fault_and_aim(stage, faults, aims))
        try:
            if self.plan.faults is not None:
                await self.plan.faults(stage)
            await besides
        finally:
            besides.cancel()

    async def _bring(self, stage: Stage) -> None:
        """Waits until the masters say, all of them, that nothing waits for a sink any more."""
        waiting = True
        while waiting:
            await asyncio.sleep(LOOK_S)
            told = await stage.up[0].ask("job", {"job": stage.job})
            unheard = {machine.id for machine in stage.up}.intersection(told["missing"])
            waiting = bool(unheard) or any(sink["waiting"] for sink in told["sinks"])

    async def _meet(self, stage: Stage) -> None:
        first, *others = stage.machines
        first.start([])
        for machine in others:
            machine.start([first.address])
        await stage.agree()
        for slave in stage.slaves:
            stage.start(slave)

    async def _submit(self, stage: Stage, submission: Submission) -> None:
        """Gives the job to one of the masters."""
        stage.job = (await stage.random.choice(stage.up).tell("submit", submission.plain()))["job"]
        self._history.marks.sinks[stage.job] = [
            sink.has_page if isinstance(sink, Destination) else None for sink in stage.sinks.values()
        ]
        if self.plan.spider in THOROUGH:
            links = {print_of(url): [print_of(link) for link in page.links] for url, page in stage.web.pages.items()}
            self._history.knows(stage.job, links, [print_of(url) for url in stage.web.starts])

    def _judged(self, stage: Stage) -> list[Violation]:
        """Has all checkers look at what there is when all is over."""
        evidence = self._evidence(stage)
        found = [each for each in violations(evidence) if self._is_judge(each.checker)]
        return [*found, *violations_of_others(stage, evidence, self._others)]

    def _evidence(self, stage: Stage) -> Evidence:
        complaints = [
            *self._complaints,
            *(f"{m.name} gave up: {failure}" for m in stage.machines for failure in m.failures),
            *(f"{m.node} at {m.moment:.2f} s: {m.message}: {m.exception!r}" for m in stage.world.mishaps),
        ]
        # One that was never brought back has no disk perhaps: why it was not is among the complaints.
        there = [m for m in stage.staying if m.node.up or not self._complaints]
        folders = {m.name: read_folder(m.folder, stage.job) for m in there}
        results = Counter(str(item.get("url")) for item in self._items)
        unmarked = Counter(str(item.get("url")) for item in self._items if not item.get("duplicate_of"))
        seen = stage.observer
        seen.take_stock()
        self._history.judge(stage.web.visits, self._witness)
        seen.healing.end(stage)
        return Evidence(
            self.options, stage.web, folders, results, stage.incidents, seen.claims, seen.doubles, complaints,
            self._states, seen.stock.inventories, seen.tables, seen.sightings.sightings, seen.sightings.presences,
            seen.loads.peaks, {m.id: m.name for m in stage.machines}, stage.world.now,
            seen.answers, list(seen.told), seen.overlooked, self._majority, seen.parts.found,
            {url: self._found(stage, url, sink) for url, sink in stage.sinks.items()},
            seen.ledgers, stage.injections, frozenset(stage.asides), self._remains, frozenset(stage.forgotten),
            stage.changes, self._history.found, self._alarms.heard, seen.healing.ailments,
            seen.reckoning.tellings, seen.reckoning.destroyed(), seen.reckoning.losses.buckets,
            asked=stage.asked, rounds=Returner.rounds if self.plan.spider is Returner else 1, period_s=PERIOD_S,
            unmarked=unmarked, kept=stage.kept, boards=stage.boards, rereadings=stage.rereadings, results=self._items,
            held={m.name: read_contents(m.folder, stage.job) for m in there},
            one_each=self.plan.spider in ONE_EACH, certified=self._history.certified, lapses=stage.lapses,
            limits=self.plan.limits or {}, settings=self.plan.settings or {}, stalls=stage.stalls,
        )  # fmt: skip

    def _found(self, stage: Stage, url: str, sink: Place) -> SinkFound:
        waiting = [told["waiting"] for answer in stage.observer.answers.values() for told in answer.get("sinks", ())
                   if told["sink"] == url]  # fmt: skip
        parts = isinstance(sink, Bucket)
        letters = None
        if not any(deed.do in TAKES_FILES for deed in stage.deeds):
            letters = frozenset(told for machine in stage.machines for told in letters_in(machine.folder, url))
        waits = max(waiting, default=0)
        return SinkFound(contents(sink), sink.refused, sink.strangers, waits, parts, lines(sink), letters)

    def _is_judge(self, checker: str) -> bool:
        if checker == "items":
            return self.plan.spider in OF_EACH_PAGE
        if checker == "contents":
            return self.plan.spider in THOROUGH | OF_EACH_PAGE
        return self.plan.spider in THOROUGH or checker not in OF_THE_THOROUGH

    async def _look_at_ledgers(self, stage: Stage) -> None:
        """Has judged again and again what masters count on, while nothing keeps them from each other."""
        before: tuple[Any, ...] = ()
        calm_s = 0.0
        while True:
            await asyncio.sleep(LEDGERS_S)
            quiet = not stage.observer.healing.is_troubled(stage)
            self._history.watch(calm=quiet)
            calm = quiet and stage.agreed()
            if calm:
                self._history.look({machine.name: machine.counted(stage.machines) for machine in stage.up})
            standing = (stage.observer.healing.standing(stage), len(stage.asked))
            # Of whom most are away, nothing may be granted.
            calm = calm and not (self._majority and len(stage.up) < len(stage.machines))
            if not calm or standing != before or any(stage.state(machine) != RUNNING for machine in stage.up):
                before, calm_s = standing, stage.world.now
            self._look_at_hosts(stage, calm_s)

    def _look_at_hosts(self, stage: Stage, calm_s: float) -> None:
        """Has judged for how long hosts have waited in a calm."""
        borrowed, limits = self.options.key != ShardKey.HOST, self.plan.limits or {}
        bounds = Bounds(IN_LINE_S if borrowed or limits else WAIT_S, limits.get("seats", inf), borrowed)
        if "slots" in limits:
            # Who has one of the few is not to be foreseen.
            bounds = bounds._replace(wait_s=FEW_SLOTS_S)
        throttled_s = (self.plan.settings or {}).get("autothrottle_max_delay", 0.0)
        hosts = answering(stage.web, max(self.options.delay_s, throttled_s), stage.world.now)
        # What people say of a host may be obeyed late.
        ordered = {str(asked.arguments["host"]) for asked in stage.asked if asked.verb == "set-host"}
        ordered |= {change.host for change in stage.changes}
        free = {host: at_s for host, at_s in hosts.items() if host not in ordered}
        self._history.waiting.look(stage.job, [m.name for m in stage.up], free, calm_s, bounds)

    async def _end_at_first(self, stage: Stage, main: asyncio.Task[Any]) -> None:
        """Ends the run as soon as anything is amiss that shows before all is over."""
        while not self._told_early:
            await asyncio.sleep(LOOK_S)
            seen = stage.observer
            early = {**self._history.told, "ownership": seen.doubles, "finish": seen.overlooked}
            if self._majority:
                early["parts"] = seen.parts.found
            first = (Violation(checker, what) for checker, found in early.items() for what in found[:1])
            self._told_early = [told for told in first if self._judge in ("", told.checker)]
        main.cancel()

    # -- telling ------------------------------------------------------------------------------

    async def _tell_progress(self, stage: Stage) -> None:
        told_s, known = real_clock(), 0
        while True:
            await asyncio.sleep(LOOK_S)
            for incident in stage.incidents[known:]:
                self._say(stage, f"{incident.what} of {', '.join(sorted(incident.nodes))}")
            if known < len(stage.incidents) or real_clock() >= told_s + PROGRESS_S:
                if known == len(stage.incidents):
                    self._say(stage, "")
                known, told_s = len(stage.incidents), real_clock()

    def _say(self, stage: Stage, what: str) -> None:
        real_s = real_clock() - self._began_s
        self._tell(Progress(stage.world.now, real_s, stage.share(), len(stage.web.visits), len(stage.up), what))
