"""The clockwork of schedules: whoever owns the bucket of a schedule's name begins its runs when their moments come.

Ownership says who that is, and who follows when it dies; in between nobody does, and the runs of that time are late.
It does not make that a run is begun once: two parts of a divided cluster may both have an owner, and an owner may die
with a run begun that it has told nobody of. The number of its job does.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass

from p2pcrawl.core.ring.rendezvous import bucket_of_hash, key_hash
from p2pcrawl.core.scheduling.calendar import Calendar
from p2pcrawl.core.scheduling.due_runs import DueRuns, due_runs, turn_of, waiting_runs
from p2pcrawl.master.cluster import Cluster
from p2pcrawl.model.cluster.schedule import RunOutcome, Schedule, ScheduledRun, ScheduleState
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.overlay.tasks import end
from p2pcrawl.peer.schedules.beginning import Beginning, moment_words
from p2pcrawl.peer.schedules.old_runs import OldRuns

log = logging.getLogger(__name__)

LOOK_S = 0.5
AGAIN_S = 2.0
"""Before a run is tried again that could not be begun."""
TIDY_S = 10.0
"""Between two looks at jobs of runs that are older than what their schedules keep."""
RENEW_S = 60.0
"""Between two looks at the keys that passwords of schedules are sealed under."""


@dataclass(frozen=True, slots=True)
class _Outlook:
    """The next moment of a schedule as it was at some time, None for never."""

    schedule: Schedule
    seen: int
    next: int | None


class Firing:
    """Looks at all schedules again and again, until closed."""

    def __init__(self, cluster: Cluster, beginning: Beginning, old_runs: OldRuns) -> None:
        self._book = cluster.schedules
        self._ownership = cluster.ownership
        self._beginning = beginning
        self._old_runs = old_runs
        self._outlooks: dict[str, _Outlook] = {}
        self._at_work: dict[str, asyncio.Task[None]] = {}
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        await end([task for task in (self._task, *self._at_work.values()) if task is not None])

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watch())
            group.create_task(self._renew())
            group.create_task(self._tidy())

    async def _tidy(self) -> None:
        while True:
            await asyncio.sleep(TIDY_S)
            for schedule in [each for each in self._book.known if self._is_ours(each.name)]:
                try:
                    await self._old_runs.tidy(schedule)
                except P2PCrawlError as error:
                    log.debug("deleting the jobs of old runs of schedule %s: %s", schedule.name, error)
                except Exception:
                    log.exception("deleting the jobs of old runs of schedule %s failed", schedule.name)

    async def _renew(self) -> None:
        while True:
            try:
                for schedule in self._book.known:
                    await self._beginning.seal_anew(schedule)
            except P2PCrawlError as error:
                log.debug("sealing the passwords of schedules anew: %s", error)
            await asyncio.sleep(RENEW_S)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                self.look(_now())
            except Exception:
                log.exception("looking at schedules failed; it goes on")

    def look(self, now: int) -> None:
        """Begins to see to those that are ours and of which something is due."""
        self._at_work = {name: task for name, task in self._at_work.items() if not task.done()}
        for schedule in self._book.known:
            name = schedule.name
            if schedule.state is ScheduleState.ACTIVE and name not in self._at_work and self._is_ours(name):
                outlook = self._outlook(schedule, now)
                if waiting_runs(schedule) or (outlook.next is not None and outlook.next <= now):
                    self._at_work[name] = asyncio.create_task(self._see_to(schedule, now))

    def _is_ours(self, name: str) -> bool:
        bucket = bucket_of_hash(key_hash(name))
        return self._ownership.owner(bucket) is None and self._ownership.serves(bucket)

    def _outlook(self, schedule: Schedule, now: int) -> _Outlook:
        """Returns when to look closer. A clock that was set back makes it look anew: it may have been ahead."""
        known = self._outlooks.get(schedule.name)
        if known is None or known.schedule is not schedule or now < known.seen:
            due = self._due(schedule, now)
            upcoming = now if due.begin or due.passed else Calendar(schedule.cron, schedule.zone).after(now)
            known = self._outlooks[schedule.name] = _Outlook(schedule, now, upcoming)
        return known

    def _due(self, schedule: Schedule, now: int) -> DueRuns:
        return due_runs(schedule, Calendar(schedule.cron, schedule.zone), now)

    async def _see_to(self, schedule: Schedule, now: int) -> None:
        try:
            await self._begin_due(schedule, now)
            await self._begin_waiting(schedule.name, now)
        except P2PCrawlError as error:
            log.warning("schedule %s: a run could not be begun yet: %s", schedule.name, error)
            await asyncio.sleep(AGAIN_S)
        except Exception:
            log.exception("schedule %s: beginning a run failed; it is tried again", schedule.name)
            await asyncio.sleep(AGAIN_S)

    async def _begin_due(self, schedule: Schedule, now: int) -> None:
        due = self._due(schedule, now)
        if due.passed is not None:
            text = "schedule %s: nobody was there to begin the run of %s, nor those before it"
            log.warning(text, schedule.name, moment_words(due.passed.tick))
            await self._book.note(schedule, due.passed)
        for tick in due.begin:
            current = self._book.of(schedule.name)
            if current is None or current.state is not ScheduleState.ACTIVE or current.digest != schedule.digest:
                return
            turn = turn_of(current, busy=self._beginning.is_busy(current, now))
            if turn is RunOutcome.STARTED:
                await self._beginning.begin(current, tick)
            else:
                log.info("schedule %s: the run of %s is %s", schedule.name, moment_words(tick), turn)
                await self._book.note(current, ScheduledRun(tick, turn))
        # Also if nothing was due: it was settled meanwhile.
        self._outlooks.pop(schedule.name, None)

    async def _begin_waiting(self, name: str, now: int) -> None:
        current = self._book.of(name)
        if current is not None and (waiting := waiting_runs(current)) and not self._beginning.is_busy(current, now):
            await self._beginning.begin(current, waiting[0].tick)


def _now() -> int:
    return int(time.time() * 1_000)
