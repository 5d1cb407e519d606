"""The course of a run: samples in small arrays, when each master was away, and who noticed it when.

Watching changes nothing that the masters can see. However long a run is, it has at most ``SAMPLES_MAX`` samples: when
there are more, every other one is dropped and the step doubles.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, Any

from p2pcrawl.core.ring.rendezvous import BUCKETS
from p2pcrawl.master.jobs.job import RUNNING

if TYPE_CHECKING:
    from ..world.machines import Machine
    from ..world.web import Visit
    from .stage import Stage

LOOK_S = 0.5
"""How often is looked who is up, and who counts whom."""
STEP_S = 1.0
"""The time between two samples, at first."""
SAMPLES_MAX = 400
DOWN, PAUSED = "down", "paused"
AWAY = frozenset({DOWN, PAUSED})


@dataclass(frozen=True, slots=True)
class Sample:
    """One moment. All counts are since the beginning."""

    now_s: float
    share: float
    """Of the pages that can be reached: those that have answered."""
    up: int
    requests: int
    refetched: int
    datagrams: int
    bytes: int
    moved: int
    """Buckets that began to be served by another master than before."""
    pages: tuple[int, ...]
    """That each master brought home, in the order of the series."""


@dataclass(slots=True)
class Absence:
    """A master was not as it should be, or the network was not."""

    name: str
    """Of the master; "" for the network."""
    what: str
    """AWAY, or what else it was."""
    began_s: float
    ended_s: float = inf


@dataclass(slots=True)
class Detection:
    """The time in which others noticed that a master was away: the first and the last of them."""

    name: str
    began_s: float
    first_s: float = inf
    last_s: float = inf
    """inf: not all that were up had noticed when it was back, or at the end."""


@dataclass(slots=True)
class Series:
    """The samples, absences and detections of one run."""

    samples: list[Sample] = field(default_factory=list)
    step_s: float = STEP_S
    pages: dict[str, int] = field(default_factory=dict)
    """How many pages each master brought home, its slaves' and all its lives' together."""
    absences: list[Absence] = field(default_factory=list)
    detections: list[Detection] = field(default_factory=list)
    marks: list[tuple[float, str]] = field(default_factory=list)
    """Moments of the run as such: when all had met, when everything was healed, when nothing was left to do."""

    def rates(self, count: str) -> list[tuple[float, float]]:
        """Returns how much of a count came in each second, between each two samples; at the end of each step."""
        return [
            (later.now_s, (getattr(later, count) - getattr(one, count)) / (later.now_s - one.now_s))
            for one, later in pairwise(self.samples)
            if later.now_s > one.now_s
        ]

    def add(self, sample: Sample) -> None:
        """Takes a sample in, and thins out what there is when it gets too much."""
        self.samples.append(sample)
        if len(self.samples) > SAMPLES_MAX:
            self.samples = self.samples[::2]
            self.step_s *= 2

    def noticed(self) -> dict[str, Any]:
        """Returns in figures how long it took others to notice that a master was away."""
        last = sorted(each.last_s for each in self.detections if each.last_s != inf)
        return {
            "absences": sum(each.what in AWAY for each in self.absences),
            "noticed": len(last),
            "noticed_s_median": round(last[len(last) // 2], 2) if last else None,
            "noticed_s_max": round(last[-1], 2) if last else None,
        }


class Sampler:
    """Fills a series while a run goes on."""

    def __init__(self, stage: Stage) -> None:
        self.series = Series(pages={machine.name: 0 for machine in stage.machines})
        self._stage = stage
        self._looked = 0
        self._unanswered: list[Visit] = []
        self._answered: Counter[str] = Counter()
        self._cut = 0
        self._moved = 0
        self._serving: dict[Machine, frozenset[int]] = {}
        self._served_by: list[Machine | None] = [None] * BUCKETS
        """Who began to serve each bucket last. Beyond a partition another may go on to serve it."""
        self._usual_law = stage.world.network.law
        self._usual_disk_s = {machine: machine.node.executor_delay_s for machine in stage.machines}
        self._open: dict[Machine | None, Absence] = {}
        self._unnoticed: dict[Machine, Detection] = {}
        self._states: dict[Machine, str] = {}
        self._began = False

    async def run(self) -> None:
        """Looks and samples until it is cancelled."""
        due_s = 0.0
        while True:
            self._look()
            if self._stage.world.now >= due_s:
                self.sample()
                due_s = self._stage.world.now + self.series.step_s - LOOK_S / 2
            await asyncio.sleep(LOOK_S)

    def mark(self, what: str) -> None:
        """Remembers a moment of the run."""
        self.series.marks.append((self._stage.world.now, what))

    def sample(self) -> None:
        """Takes one sample now."""
        stage = self._stage
        self._count_visits()
        self._count_moves()
        traffic = stage.world.network.traffic
        refetched = self._answered.total() - len(self._answered) + self._cut
        self.series.add(
            Sample(
                now_s=stage.world.now,
                share=stage.share(),
                up=len(stage.up),
                requests=len(stage.web.visits),
                refetched=refetched,
                datagrams=traffic.datagrams,
                bytes=traffic.datagram_bytes + traffic.segment_bytes,
                moved=self._moved,
                pages=tuple(self.series.pages.values()),
            )
        )

    def _count_visits(self) -> None:
        """Counts the visits that have ended since the last time."""
        visits, now = self._stage.web.visits, self._stage.world.now
        begun = [*self._unanswered, *visits[self._looked :]]
        self._looked = len(visits)
        self._unanswered = [visit for visit in begun if visit.ended_s > now]
        for visit in begun:
            if visit.is_robots or visit.ended_s > now:
                continue
            self._cut += visit.failure == "cut"
            if visit.answered:
                self._answered[visit.url] += 1
                master = visit.master or visit.node
                self.series.pages[master] = self.series.pages.get(master, 0) + 1

    def _count_moves(self) -> None:
        for machine in self._stage.machines:
            serves = machine.served()[1]
            for bucket in serves - self._serving.get(machine, frozenset()):
                self._moved += self._served_by[bucket] not in (None, machine)
                self._served_by[bucket] = machine
            self._serving[machine] = serves

    def _look(self) -> None:
        stage, now = self._stage, self._stage.world.now
        self._see(None, "" if stage.world.network.law == self._usual_law else "bad network")
        for machine in stage.machines:
            self._see(machine, self._state_of(machine))
            self._hear(machine)
        self._began = self._began or bool(stage.job)
        for machine, detection in list(self._unnoticed.items()):
            others = [other for other in stage.up if other.lead is not None and other is not machine]
            know = sum(machine.id not in other.members() for other in others)
            if know and detection.first_s == inf:
                detection.first_s = now - detection.began_s
            if others and know == len(others):
                detection.last_s = now - detection.began_s
                del self._unnoticed[machine]

    def _hear(self, machine: Machine) -> None:
        """Notes in the log how the job stands at a machine, when that has changed."""
        before = self._states.get(machine, RUNNING)
        # One that has just begun again does not know yet.
        state = self._states[machine] = self._stage.state(machine) or before
        if state != before:
            self._stage.world.log.add(self._stage.world.now, machine.name, f"-- the job is {state}")

    def _state_of(self, machine: Machine) -> str:
        node = machine.node
        if not node.up:
            return DOWN
        if node.paused:
            return PAUSED
        if node.disk_full:
            return "with a full disk"
        return "with a slow disk" if node.executor_delay_s > self._usual_disk_s[machine] else ""

    def _see(self, machine: Machine | None, what: str) -> None:
        """Notes how a machine is now, or the network: begins or ends its absence."""
        now, absence = self._stage.world.now, self._open.get(machine)
        if absence is not None and absence.what != what:
            absence.ended_s = now
            del self._open[machine]
            if machine is not None:
                self._unnoticed.pop(machine, None)
        if what and machine not in self._open and self._began:
            name = machine.name if machine is not None else ""
            self._open[machine] = Absence(name, what, now)
            self.series.absences.append(self._open[machine])
            if machine is not None and what in AWAY:
                self._unnoticed[machine] = Detection(name, now)
                self.series.detections.append(self._unnoticed[machine])
