"""The stage of a scenario: machines, their network and the progress of their job, with faults said in words.

Every fault goes through here, so that it is known afterwards what was done to whom and when.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import combinations
from math import inf
from random import Random
from typing import Any

from p2pcrawl.core.bench.candidate import host_key
from p2pcrawl.core.control import PAUSED
from p2pcrawl.core.ring.rendezvous import bucket_of_hash
from p2pcrawl.master.jobs.job import FINISHED, RUNNING

from ..kernel.life import outside
from ..kernel.node import DISK_S
from ..kernel.paths import Hesitation, Law
from ..observe.folders import Print, disks_at_rest, furthest, phase_of, read_steps, through_at_each
from ..observe.incidents import FULL_DISK, IO_ERROR, LEAVE, PAUSE, SET_BACK, STALL, Deed, Incident, Stall
from ..world.caches import DRAWN
from ..world.damages import FILES
from ..world.disk_errors import DiskError
from ..world.machines import Machine, PeerMachine
from ..world.sinks import Place
from ..world.slaves import SlaveMachine
from ..world.web import Web
from ..world.world import World
from .evidence import Asked, Coming, HostChange, NotSettled, ScheduleKept
from .healing import HOPELESS_S
from .observer import Observer
from .options import Options
from .other_jobs import OtherJob
from .wanted import BoardsKept, Rereading

LOOK_S = 0.5
FELT_S = 1.5
"""A link that is held up for less costs no slave its session."""
PATIENCE_S = 300.0


class Stage:
    """The machines, network and job of one run, for a scenario to act on."""

    def __init__(
        self,
        options: Options,
        world: World,
        web: Web,
        machines: list[Machine],
        slaves: Sequence[SlaveMachine] = (),
        sinks: Mapping[str, Place] | None = None,
    ) -> None:
        self.options = options
        self.world = world
        self.web = web
        self.machines = machines
        self.slaves = slaves
        """Machines of their own that work for these masters; they all stay."""
        self.sinks = dict(sinks or {})
        """Where the items are brought, by their addresses."""
        self.gone: set[Machine] = set()
        """Those that never come back."""
        self.incidents: list[Incident] = []
        self.lapses: list[Incident] = []
        """When masters had no longer the consent of most: what they had in hand is given up."""
        self.stalls: list[Stall] = []
        """The messages and calls to disks that were held up."""
        self.deeds: list[Deed] = []
        """All that was done to the machines, in order."""
        self.job = 0
        self.observer = Observer(self)
        self.injections: list[tuple[float, float]] = []
        """From when until when somebody was putting URLs into the job: what was finished before that, or meanwhile, may
        go on."""
        self.asides: set[str] = set()
        """The URLs of other jobs."""
        self.deleted: list[int] = []
        """Other jobs of which somebody has said that they are deleted."""
        self.forgotten: set[str] = set()
        """The masters that are gone, and that nobody is to miss."""
        self.tries_again_s = 0.0
        """For so long pages of the run's own job that failed are visited again, which need not ask for anything: a
        robots.txt that could not be read is taken for that for a while."""
        self.others: dict[str, OtherJob] = {}
        """The jobs beside that of the run, by their labels."""
        self.asked: list[Asked] = []
        """What people asked masters for."""
        self.changes: list[HostChange] = []
        """What people have said of hosts, in its order."""
        self.kept: list[ScheduleKept] = []
        """What has become of the runs of a schedule."""
        self.boards: list[BoardsKept] = []
        """What has become of a job of boards."""
        self.rereadings: list[Rereading] = []
        """What has become of jobs that read stored pages."""
        self.came: list[Coming] = []
        """The faults and aims of a plan that have come, in order."""
        self.figures: dict[str, Any] = {}
        """What the scenario has to tell of itself."""
        self._keepers = {machine.name for machine in machines}
        """The masters that were up when everything was last whole."""
        self._struck: set[str] = set()
        """The masters that died, or stood still, since all copies were last whole."""
        self.whole_s = 0.0
        """When all copies were last seen to be whole."""
        self.behind: set[str] = set()
        """The masters with disks as they were at an earlier time, to which all was not copied anew yet."""
        self._snapshots: dict[str, float] = {}
        """When the last one was taken of each disk."""
        self.lonely = True
        """One at most was up at some time since all copies were last whole on several."""
        self.wiped_s = -1.0
        """When somebody last lost its disk."""
        self._usual_law: Law | None = None
        self._slowed: list[Machine] = []
        self._reachable = len(web.reachable())
        self._looked = 0
        self._answered: set[str] = set()

    @property
    def random(self) -> Random:
        """The scenario's dice."""
        return self.world.random

    # -- who is there -------------------------------------------------------------------------

    @property
    def staying(self) -> list[Machine]:
        """The machines that are to be there in the end."""
        return [m for m in self.machines if m not in self.gone]

    @property
    def up(self) -> list[Machine]:
        """The machines that run, paused ones left out."""
        return [m for m in self.machines if (life := m.node.life) is not None and not life.halted]

    def some(self, count: int) -> list[Machine]:
        """Draws that many of those that run."""
        return self.random.sample(self.up, min(count, len(self.up)))

    @property
    def up_slaves(self) -> list[SlaveMachine]:
        """The slave machines that run, paused ones left out."""
        return [s for s in self.slaves if s.node.up and not s.node.paused]

    def slaves_of(self, machine: Machine) -> list[SlaveMachine]:
        """Returns the slave machines that work for one master at this moment."""
        return [s for s in self.up_slaves if s.works_for == machine.name]

    def owners_of(self, url: str) -> list[Machine]:
        """Returns those that serve the host of this URL; one, when all agree."""
        bucket = bucket_of_hash(host_key(url))
        return [m for m in self.up if bucket in m.served()[1]]

    # -- waiting ------------------------------------------------------------------------------

    @property
    def ended(self) -> bool:
        """True if all that are up say that nothing of the job is left to do, be it finished or incomplete."""
        return bool(self.up) and all(self.state(m) not in ("", RUNNING, PAUSED) for m in self.up)

    @property
    def all_ended(self) -> bool:
        """True if nothing is left to do of the other jobs either."""
        return self.ended and all(job.is_over(self.up) for job in self.others.values())

    @property
    def finished(self) -> bool:
        """True if all that are up say that the job is finished."""
        return bool(self.up) and all(self.state(m) == FINISHED for m in self.up)

    @property
    def unspooled(self) -> bool:
        """True if nobody keeps links any more for want of copies."""
        return all(m.lead is not None and not m.lead.cluster.spool.size for m in self.up)

    def state(self, machine: Machine, number: int | None = None) -> str:
        """Returns how the job, or another one, stands at one master; "" when that does not know it."""
        lead = machine.lead
        job = lead.master.jobs.get(self.job if number is None else number) if lead is not None else None
        return job.state if job is not None else ""

    def job_called(self, label: str) -> int:
        """Returns the number of a job, nothing being the label of the run's own; 0 if it is not known."""
        return self.others[label].number if label in self.others else 0 if label else self.job

    def certificate(self, machine: Machine) -> bytes:
        """Returns what one master has signed at the job's end; nothing before that."""
        lead = machine.lead
        job = lead.master.jobs.get(self.job) if lead is not None else None
        return job.signed if job is not None else b""

    def share(self) -> float:
        """Returns how much of the web has answered."""
        visits = self.web.visits
        while self._looked < len(visits):
            visit = visits[self._looked]
            self._looked += 1
            if visit.answered and not visit.job and not visit.is_robots and visit.url not in self.asides:
                self._answered.add(visit.url)
        return len(self._answered) / self._reachable

    async def until(self, condition: Callable[[], bool], look_s: float = LOOK_S) -> None:
        """Looks again and again: virtual time costs nothing, and nobody who is simulated notices. Raises NotSettled
        when there is no hope any more.
        """
        while not condition():
            if self.observer.healing.is_hopeless(self):
                raise NotSettled(f"nothing was asked for in {HOPELESS_S:g} s, and the job has not ended")
            await asyncio.sleep(look_s)

    async def progress(self, share: float) -> None:
        """Waits until so much of the web has answered, or the job has ended."""
        await self.until(lambda: self.share() >= share or self.ended)

    async def pause(self, mean_s: float) -> None:
        """Waits a while of random length."""
        await asyncio.sleep(self.random.expovariate(1.0 / mean_s))

    async def agree(self, patience_s: float = PATIENCE_S) -> None:
        """Waits until all that are up count each other and have what is theirs. Raises NotSettled."""
        try:
            async with asyncio.timeout(patience_s):
                await self.until(self.agreed)
        except TimeoutError:
            raise NotSettled(f"no agreement after {patience_s:g} s: {self._disagreement()}") from None

    async def sync(self, patience_s: float = PATIENCE_S) -> None:
        """Waits until, besides, every copy that they are to have is whole. Raises NotSettled."""
        try:
            async with asyncio.timeout(patience_s):
                await self.until(self.whole)
        except TimeoutError:
            raise NotSettled(f"copies are not whole after {patience_s:g} s: {self._disagreement()}") from None

    def whole(self) -> bool:
        """Tells whether all that are up agree, nothing is missing, and there are as many copies as there should be."""
        return self.agreed() and all(_is_whole(m) for m in self.up)

    @property
    def spare(self) -> int:
        """The number of masters that may die now: R-1 between two moments at which everything was whole, fewer if few
        were up.

        With R = 1 it is one, which takes what it has away with it till it is back.
        """
        replicas = self.options.replicas
        # Who has left in order since then keeps nothing any more.
        keepers = self._keepers & ({m.name for m in self.up} | self._struck)
        return (1 if replicas == 1 else min(replicas, len(keepers)) - 1) - len(self._struck)

    @property
    def unharmed(self) -> bool:
        """True if nobody died, stood still or was out of touch since all copies were last whole, and they have been."""
        return (
            self.whole_s > 0.0
            and not self._struck
            and all(i.what == LEAVE or i.ended_s < self.whole_s for i in self.incidents)
        )

    # -- faults -------------------------------------------------------------------------------

    def crash(self, machines: Iterable[PeerMachine], *, power: bool = False, unsynced: str = DRAWN) -> None:
        """Kills these at the same moment; their disks keep what was committed. ``unsynced``: what becomes of the writes
        to the disks of those that lose power, one of ``caches.UNSYNCED``.
        """
        hit = [m for m in machines if m.node.up]
        if not hit:
            return
        names = frozenset(m.name for m in hit)
        now = self.world.now
        with disks_at_rest():
            self.observer.reckoning.settle()
            through = self._through(hit)
            alone = self._ended_at(hit) - through
        self.incidents.append(Incident("power loss" if power else "crash", names, now, now, through, alone))
        self._struck.update(m.name for m in hit if isinstance(m, Machine))
        self._did("power-loss" if power else "crash", hit)
        for machine in hit:
            if power:
                if isinstance(machine, Machine):
                    machine.disk.cache.unsynced = unsynced
                machine.lose_power()
            else:
                machine.node.crash()
        self._end_pauses()
        if names & {m.name for m in self.machines}:
            self.observer.take_stock()

    def wipe(self, machines: Iterable[Machine]) -> None:
        """Kills these and takes their disks away."""
        hit = list(machines)
        self.crash(hit, power=True)
        self._did("wipe", hit)
        self.wiped_s = self.world.now
        for machine in hit:
            machine.wipe()
            self.world.log.add(self.world.now, machine.name, "loses its disk")
        self.observer.reckoning.losses.keepers.lose([m.id for m in hit])
        self.observer.take_stock(lost=frozenset(m.name for m in hit))

    def damage(self, machines: Iterable[Machine], files: Iterable[str] = ("frontier.db", "copies.db")) -> None:
        """Kills these and damages files of theirs, so that nothing can be read in them."""
        hit, files = list(machines), tuple(files)
        self.crash(hit, power=True)
        for machine in hit:
            for file in files:
                machine.disk.damage(file)
            self.world.log.add(self.world.now, machine.name, f"finds {' and '.join(files)} damaged")
        self.observer.reckoning.losses.keepers.lose([m.id for m in hit])
        self.observer.take_stock(lost=frozenset(m.name for m in hit))

    def snapshot(self, machines: Iterable[Machine]) -> None:
        """Takes a snapshot of these machines' disks, in place of the one before."""
        for machine in machines:
            machine.disk.snapshot()
            self._snapshots[machine.name] = self.world.now
            self.world.log.add(self.world.now, machine.name, "a snapshot is taken of its disk")

    def set_back(self, machines: Iterable[Machine]) -> None:
        """Kills those of these of whose disks there is a snapshot, and makes their disks as they were then."""
        hit = [machine for machine in machines if machine.name in self._snapshots]
        known = len(self.incidents)
        self.crash(hit, power=True)
        for incident in self.incidents[known:]:
            incident.what = SET_BACK
        self._did("restore-snapshot", hit)
        for machine in hit:
            then_s = self._snapshots[machine.name]
            machine.disk.set_back()
            self.behind.add(machine.name)
            self.world.log.add(self.world.now, machine.name, f"its disk is as it was at {then_s:.2f} s")
            self.observer.reckoning.losses.keepers.lose([machine.id], then_s)
        self.observer.take_stock(lost=frozenset(m.name for m in hit))

    def spoil(self, machines: Iterable[Machine], how: str, files: Iterable[str] = FILES) -> None:
        """Cuts these off from power, and spoils one file of each, as far as anybody could notice: one of
        ``damages.WAYS``; or takes it away.
        """
        hit, names = list(machines), list(files)
        self.crash(hit, power=True)
        self._did(how, hit)
        lost: set[str] = set()
        for machine in hit:
            told = machine.disk.spoil(self.random.choice(names), how)
            self.world.log.add(self.world.now, machine.name, f"its disk is spoilt: {told or 'nowhere'}")
            if told:
                lost.add(machine.name)
        self.observer.take_stock(lost=frozenset(lost))

    def bury(self, machines: Iterable[Machine]) -> None:
        """Kills these for good."""
        hit = list(machines)
        self.wipe(hit)
        self._did("bury", hit)
        self.gone.update(hit)

    def forget(self, machine: Machine) -> None:
        """Takes note that masters were told to miss this one no more."""
        self.forgotten.add(machine.name)
        self.observer.left.add(machine.name)

    def start(self, machine: PeerMachine) -> None:
        """Begins a new life, joined through all other masters that there are; none for one that lives."""
        if machine.node.up:
            return
        self.forgotten.discard(machine.name)
        self.observer.parted.discard(machine.name)
        self._did("start", [machine])
        machine.start([m.address for m in self.staying if m is not machine])

    async def leave(self, machine: PeerMachine) -> None:
        """Lets one go in order, if it is there."""
        if not machine.node.up:
            return
        self._did("leave", [machine])
        going = Incident(LEAVE, frozenset({machine.name}), self.world.now, inf, frozenset())
        self.incidents.append(going)
        leaving = [i for i in self.incidents if i.what == LEAVE and i.open]
        if all(any(m.name in i.nodes for i in leaving) for m in self.up):
            for incident in leaving:
                incident.heirs = False
        handed_over = await machine.leave()
        # Others may have come back while it left.
        going.heirs = going.heirs or any(not any(m.name in i.nodes for i in leaving) for m in self.up)
        if handed_over and going.heirs:
            self.observer.left.add(machine.name)
        self._end(LEAVE, machine.name)

    def freeze(self, machines: Iterable[PeerMachine]) -> None:
        """Stops these in their tracks."""
        hit = [machine for machine in machines if machine.node.up and not machine.node.paused]
        self._did("freeze", hit)
        self._begin(PAUSE, hit, self._through(hit))
        self._struck.update(m.name for m in hit if isinstance(m, Machine))
        for machine in hit:
            machine.node.pause()

    def thaw(self, machines: Iterable[PeerMachine]) -> None:
        for machine in [machine for machine in machines if machine.node.paused]:
            self._did("thaw", [machine])
            machine.node.resume()
        self._end_pauses()

    def split(self, *groups: Iterable[Machine]) -> None:
        """Lets nothing through between these groups. A slave is in the group of its master."""
        sides = [list(group) for group in groups]
        self._did("split", (), tuple(tuple(m.name for m in side) for side in sides))
        # What only the disk of one knows that is down or stands still, its side does not know.
        through = through_at_each([self._steps_at([m for m in side if m in self.up] or side) for side in sides], {})
        self._begin("partition", [m for side in sides for m in side], through, everywhere=True)
        self.world.network.partition(*([m.node for m in self._with_slaves(side)] for side in sides))

    def silence(self, sources: Iterable[Machine], targets: Iterable[Machine]) -> None:
        """Lets nothing through from these sources to these targets; the other way it does."""
        ends = [list(sources), list(targets)]
        self._did("silence", (), tuple(tuple(m.name for m in end) for end in ends))
        through = through_at_each([self._steps_at([m]) for m in self.up], {})
        self._begin("partition", [m for end in ends for m in end], through, everywhere=True)
        for source in ends[0]:
            for target in ends[1]:
                self.world.network.cut(source.node, target.node)

    def ring(self, machines: Sequence[Machine]) -> None:
        """Leaves each of these in touch with its two neighbours only, in this order."""
        self._did("ring", ())
        through = through_at_each([self._steps_at([m]) for m in machines], {})
        self._begin("partition", machines, through, everywhere=True)
        for one, other in combinations(range(len(machines)), 2):
            if other - one not in (1, len(machines) - 1):
                self.world.network.cut(machines[one].node, machines[other].node, both_ways=True)

    def stumble(self, machine: PeerMachine, what: str) -> None:
        """Records an incident that a machine brought on itself, and that may have cost it what it had in hand."""
        with outside():
            names = frozenset({machine.name})
            now = self.world.now
            self.incidents.append(Incident(what, names, now, now, self._through([machine])))

    def lapse(self, names: Iterable[str]) -> None:
        """Records that consent has ended for these, which costs them what they have in hand."""
        now = self.world.now
        for machine in [m for m in self.up if m.name in names]:
            through = self._through([machine])
            self.lapses.append(Incident("lapse of consent", frozenset({machine.name}), now, now, through))

    def join(self) -> None:
        """Lets everything through again."""
        self._did("join", ())
        self.world.network.heal()
        self._end("partition", None)

    def fill(self, machines: Iterable[Machine]) -> None:
        """Fills these machines' disks, so that nothing more can be stored on them."""
        hit = list(machines)
        self._begin(FULL_DISK, hit, self._through(hit))
        for machine in hit:
            machine.node.disk_full = True
            self._struck.add(machine.name)
            self.world.log.add(self.world.now, machine.name, "has no room left on its disk")

    def free(self, machines: Iterable[Machine]) -> None:
        """Makes room again on these machines' disks."""
        for machine in machines:
            if machine.failing:
                # Room comes too late for it: whoever restarts it has to find that it has ended.
                machine.node.crash()
            machine.node.disk_full = False
            self.world.log.add(self.world.now, machine.name, "has room on its disk again")
            self._end(FULL_DISK, machine.name)

    def refuse(self, machines: Iterable[Machine], kind: str, nth: int) -> None:
        """Lets one call fail at the disk of each of these, once: the ``nth`` from now of a kind, one of
        ``disk_errors.KINDS``.
        """
        for machine in machines:
            machine.node.disk_error = DiskError(kind, nth, partial(self._refused, machine))

    def _refused(self, machine: Machine) -> None:
        with outside():
            self.world.log.add(self.world.now, machine.name, "its disk refuses a call")
            self._begin(IO_ERROR, [machine], self._through([machine]))
            self._struck.add(machine.name)

    def relent(self, machines: Iterable[Machine]) -> None:
        """Ends the errors of these machines' disks. Who has given up for them has ended."""
        for machine in machines:
            if machine.failing:
                machine.node.crash()
            machine.node.disk_error = None
            self._end(IO_ERROR, machine.name)

    def slow(self, machines: Iterable[Machine], disk_s: float) -> None:
        """Makes each access to these machines' disks take that long."""
        for machine in machines:
            machine.node.executor_delay_s = disk_s
            if machine not in self._slowed:
                self._slowed.append(machine)
            self.world.log.add(self.world.now, machine.name, f"its disk takes {disk_s:g} s for everything")

    def quicken(self, machines: Iterable[Machine]) -> None:
        """Makes these machines' disks as fast as any."""
        for machine in list(machines):
            machine.node.executor_delay_s = DISK_S
            if machine in self._slowed:
                self._slowed.remove(machine)

    def hesitate(self, machines: Iterable[PeerMachine], share: float, longest_s: float) -> None:
        """Lets some accesses to these machines' disks, and some of what they send, take longer."""
        for machine in machines:
            machine.node.hesitation = Hesitation(self.world.seed, machine.name, share, longest_s)
            self.world.log.add(self.world.now, machine.name, f"hesitates {share:.1%} of the time")

    def go_steadily(self, machines: Iterable[PeerMachine]) -> None:
        """Ends the hesitation of these machines."""
        for machine in machines:
            machine.node.hesitation = None

    def stall(self, what: str, machines: Sequence[PeerMachine], for_s: float) -> None:
        """Takes note that something between these, or at the disk of one, is held up from now on. A slave that hears
        nothing of its master for long gives up what it has in hand.
        """
        now_s, names = self.world.now, frozenset(machine.name for machine in machines)
        self.stalls.append(Stall(now_s, now_s + for_s, what, names))
        self.world.note(f"fault {what} is held up for {for_s:g} s at {' and '.join(sorted(names))}")
        slaves = [machine for machine in machines if not isinstance(machine, Machine)]
        if slaves and for_s >= FELT_S:
            self._begin(STALL, slaves, self._through(slaves))
            for slave in slaves:
                self.world.loop.world_at(now_s + for_s, self._end, STALL, slave.name)

    @property
    def stalls_now(self) -> bool:
        """True if anything is held up for longer than it takes anyhow."""
        return any(stall.ended_s > self.world.now for stall in self.stalls)

    def degrade(self, law: Law) -> None:
        """Makes the whole network worse."""
        self._usual_law = self._usual_law or self.world.network.law
        self.world.network.set_law(law)

    def restore(self) -> None:
        """Makes the network as good as it was."""
        if self._usual_law is not None:
            self.world.network.set_law(self._usual_law)
            self._usual_law = None

    def heal(self) -> None:
        """Brings everything that is not gone up, awake and in touch, as it was."""
        for sink in self.sinks.values():
            sink.away, sink.slow_s = False, 0.0
        self.join()
        self.restore()
        self.quicken(self._slowed)
        self.go_steadily([*self.staying, *self.slaves])
        self.free([m for m in self.staying if m.node.disk_full])
        self.relent([m for m in self.staying if m.node.disk_error is not None])
        everybody: list[PeerMachine] = [*self.staying, *self.slaves]
        self.thaw([m for m in everybody if m.node.paused])
        for machine in everybody:
            if not machine.node.up:
                self.start(machine)

    # -- sinks --------------------------------------------------------------------------------

    async def trouble_sinks(self) -> None:
        """Lets sinks be away and slow now and then, for as long as it runs. It has dice of its own, so that nothing
        else comes otherwise for it.
        """
        dice = Random(f"{self.world.seed}/sinks in trouble")
        while self.sinks:
            await asyncio.sleep(dice.uniform(2.0, 30.0))
            sink = self.sinks[dice.choice(sorted(self.sinks))]
            sink.away, sink.slow_s = dice.random() < 0.6, dice.choice((0.0, 0.3, 3.0))
            await asyncio.sleep(dice.choice((1.0, 5.0, 45.0)))
            sink.away, sink.slow_s = False, 0.0

    # -- watching -----------------------------------------------------------------------------

    async def watch(self) -> None:
        """Looks at what happens, for as long as it runs."""
        while True:
            await asyncio.sleep(LOOK_S)
            self.observer.look()
            whole = self.made_good()
            self.lonely = len(self.up) < 2 or (self.lonely and not whole)

    def made_good(self) -> bool:
        """Tells whether all copies are whole, and if so counts from now on what may be lost."""
        if not self.whole():
            return False
        # What died before has been made good, as far as there was anybody to make it good.
        self._struck.clear()
        self.behind.difference_update(m.name for m in self.up)
        self._keepers = {m.name for m in self.up}
        self.whole_s = self.world.now
        return True

    def untroubled(self) -> bool:
        """Tells whether all that are to stay are up, and have agreed since anything happened."""
        return all(m in self.up for m in self.staying) and not any(i.settled_s == inf for i in self.incidents)

    def agreed(self) -> bool:
        """Tells whether all that are up count each other, each in the life that it is in, have shared out the buckets
        by that, and have what is theirs.

        Who restarts within seconds counts all along; until the others have noticed, they believe that it has what its
        life before had, and say that copies are whole though its disk was lost.

        Who had been out of reach may still have pages, and know pauses of hosts, of buckets that another has served all
        along. That one does not know what to ask for, and is offered it.
        """
        lives = {frozenset(m.lead.cluster.views.boots.items()) for m in self.up if m.lead is not None}
        return self.in_one_view() and len(lives) == 1 and all(
            m.lead is not None and m.lead.cluster.ownership.complete and not m.lead.cluster.takeover.unclaimed
            for m in self.up
        )  # fmt: skip

    def in_one_view(self) -> bool:
        """Tells whether all that are up count each other, and have shared out the buckets by that."""
        ids = frozenset(m.id for m in self.up)
        views = {m.lead.cluster.ownership.view for m in self.up if m.lead is not None}
        return len(views) == 1 and all(
            m.lead is not None and m.members() == ids and len(m.lead.cluster.ownership.table) > 0 for m in self.up
        )

    def _disagreement(self) -> str:
        return "; ".join(
            f"{m.name} counts {len(m.members())}" + (f", {m.lead.cluster.ownership.syncing} to come" if m.lead else "")
            for m in self.up
        )

    # -- incidents ----------------------------------------------------------------------------

    def _through(self, hit: Iterable[PeerMachine]) -> frozenset[Print]:
        """Returns what others know that are there to take over from each of these: who is down, stands still, has given
        up or is out of its reach at that moment may know more, and cannot tell.
        """
        machines = list(hit)
        known = {m: self._steps_at([m]) for m in self.up if m not in machines and not m.failing}
        of_each = [furthest(steps for m, steps in known.items() if self._in_touch(machine, m)) for machine in machines]
        return through_at_each(of_each, self._steps_at(machines))

    def _in_touch(self, one: PeerMachine, other: PeerMachine) -> bool:
        path = self.world.network.path
        return not (path(one.node, other.node).cut or path(other.node, one.node).cut)

    def _ended_at(self, machines: Iterable[PeerMachine]) -> frozenset[Print]:
        """Returns the URLs that have ended by these machines' disks."""
        return frozenset(key for key, step in self._steps_at(machines).items() if phase_of(step))

    def _steps_at(self, machines: Iterable[PeerMachine]) -> dict[Print, int]:
        """Returns how far URLs are by these machines' disks. A slave has none."""
        if not self.job:
            return {}
        return furthest(read_steps(m.folder, self.job) for m in machines if isinstance(m, Machine))

    def _with_slaves(self, machines: list[Machine]) -> list[PeerMachine]:
        return [*machines, *(slave for m in machines for slave in self.slaves_of(m))]

    def _did(self, do: str, machines: Iterable[PeerMachine], groups: tuple[tuple[str, ...], ...] = ()) -> None:
        """Writes down what was done."""
        self.deeds.append(Deed(self.world.now, do, tuple(m.name for m in machines), groups))

    def _begin(
        self, what: str, machines: Iterable[PeerMachine], through: frozenset[Print], *, everywhere: bool = False
    ) -> None:
        names = frozenset(m.name for m in machines)
        alone = self._ended_at([m for m in self.machines if m.name in names]) - through
        self.incidents.append(Incident(what, names, self.world.now, inf, through, alone, everywhere))

    def _end(self, what: str, name: str | None) -> None:
        for incident in self.incidents:
            if incident.open and incident.what == what and (name is None or name in incident.nodes):
                incident.ended_s = self.world.now

    def _end_pauses(self) -> None:
        """Ends the pauses in which nobody stands still any more: who dies in one does not either."""
        still = {m.name for m in (*self.machines, *self.slaves) if m.node.paused}
        for incident in self.incidents:
            if incident.open and incident.what == PAUSE and incident.nodes.isdisjoint(still):
                incident.ended_s = self.world.now


def _is_whole(machine: Machine) -> bool:
    """Tells whether a master serves all that is its own, lacks nothing of it, and has all the copies of it."""
    if machine.lead is None or machine.node.disk_full:
        return False
    cluster = machine.lead.cluster
    ownership = cluster.ownership
    return not (ownership.syncing or ownership.broken() or cluster.copying.lacking())
