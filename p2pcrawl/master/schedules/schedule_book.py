"""The schedules as a master knows them: durable here, and told to all other masters.

Who is asked for a change has it on disk before anybody else hears of it, and tells all living masters at once; those
that are away hear of it later. To ask what another knows costs a mark of each schedule; what a schedule does may be
long, and goes only to those that lack it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b

from p2pcrawl.core.scheduling.schedule_order import merged_schedule, schedules_marks, with_run
from p2pcrawl.frontier.copies.schedule_rows import ScheduleRow
from p2pcrawl.master.copies.holdings import Holdings
from p2pcrawl.master.jobs.mirroring import SPREAD_S
from p2pcrawl.master.neighbours.telling_late import TellingLate
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.model.cluster.schedule import SCHEDULES_MAX, Schedule, ScheduledRun
from p2pcrawl.model.errors import ConfigurationError, LinkError, P2PCrawlError
from p2pcrawl.overlay.peers import SOON_S, Peers
from p2pcrawl.wire.messages.schedule_messages import (
    MirrorSchedule,
    ScheduleMarks,
    ScheduleMirrored,
    SchedulesDiffering,
    WireRun,
    WireSchedule,
)

log = logging.getLogger(__name__)


class ScheduleBook:
    """Knows all schedules."""

    def __init__(self, peers: Peers, holdings: Holdings) -> None:
        self._peers = peers
        self._holdings = holdings
        self._known = {schedule.name: schedule for schedule in holdings.schedules}
        self._changing = asyncio.Lock()
        self.late: TellingLate[Mapping[str, bytes]] = TellingLate(
            peers, lambda: schedules_marks(self._known), lambda node: self._tell(node), "schedules"
        )

    @property
    def known(self) -> Sequence[Schedule]:
        """The schedules that are not removed, by name."""
        return [each for _, each in sorted(self._known.items()) if not each.removed]

    def of(self, name: str) -> Schedule | None:
        """Returns what is known of a schedule, also of one that was removed."""
        return self._known.get(name)

    async def task(self, schedule: Schedule) -> tuple[bytes, bytes]:
        """Returns what a schedule does, and the secrets of that. Raises P2PCrawlError where it has changed."""
        task, secrets = await self._holdings.schedule_task(schedule.name)
        if task_digest(task) != schedule.digest:
            raise P2PCrawlError(f"schedule {schedule.name} was changed meanwhile")
        return task, secrets

    async def put(self, schedule: Schedule, task: bytes | None = None, secrets: bytes = b"") -> list[NodeId]:
        """Makes or changes a schedule. Durable here when this returns, and at all that answer; returns those that did
        not. Raises ConfigurationError where there are too many.
        """
        if schedule.name not in self._known and len(self._known) >= SCHEDULES_MAX:
            raise ConfigurationError(f"there have been {SCHEDULES_MAX:,} schedules, and no more can be made")
        async with self._changing:
            known = self._known.get(schedule.name, schedule)
            await self._keep(merged_schedule(known, schedule), task, secrets)
        return await self._spread(schedule.name)

    async def seal_anew(self, schedule: Schedule, renewed: Callable[[bytes, bytes], bytes]) -> None:
        """Keeps the secrets of a schedule in another form; ``renewed`` makes it of them and of the task's digest."""
        async with self._changing:
            if self._known.get(schedule.name) is not schedule:
                return
            task, secrets = await self._holdings.schedule_task(schedule.name)
            if (after := renewed(secrets, schedule.digest)) != secrets:
                await self._keep(schedule, task, after)

    async def note(self, schedule: Schedule, run: ScheduledRun) -> None:
        """Notes what has become of a run; durable here when this returns, and told to all others. A schedule that was
        removed or made anew meanwhile is left alone.
        """
        async with self._changing:
            now = self._known.get(schedule.name)
            if now is None or now.removed or now.generation != schedule.generation:
                return
            await self._keep(with_run(now, run), None, b"")
        await self._spread(schedule.name)

    # -- what others tell ---------------------------------------------------------------------

    def compare(self, request: ScheduleMarks, sender: NodeId) -> SchedulesDiffering:
        ours = schedules_marks(self._known)
        return SchedulesDiffering(0, [name for name, mark in request.marks.items() if ours.get(name) != mark])

    async def mirror(self, request: MirrorSchedule, sender: NodeId) -> ScheduleMirrored:
        told = _read(request.schedule)
        if request.task is not None and task_digest(request.task) != told.digest:
            raise LinkError(f"schedule {told.name!r:.80} comes with something else to do than it says")
        async with self._changing:
            known = self._known.get(told.name)
            if known is None and len(self._known) >= SCHEDULES_MAX:
                log.warning("schedule %s is not kept here: there are too many", told.name)
                return ScheduleMirrored(0)
            after = told if known is None else merged_schedule(known, told)
            lacks = not after.removed and (known is None or known.digest != after.digest)
            if lacks and request.task is None:
                return ScheduleMirrored(0, lacks=True)
            if after != known:
                await self._keep(after, request.task if lacks else None, request.secrets)
        return ScheduleMirrored(0)

    # -- what we tell others ------------------------------------------------------------------

    async def _tell(self, node: NodeId) -> None:
        marks = schedules_marks(self._known)
        try:
            differing = await self._peers.ask(node, ScheduleMarks(0, dict(marks)))
            for name in differing.names:
                await self._mirror_to(node, name)
            self.late.note(node, marks)
        except P2PCrawlError as error:
            log.debug("%s was not told of all schedules: %s", node[:8], error)

    async def _spread(self, name: str) -> list[NodeId]:
        others = [member.id for member in self._peers.others()]
        told = await asyncio.gather(*(self._mirror_to(node, name, SPREAD_S) for node in others), return_exceptions=True)
        return [node for node, result in zip(others, told, strict=True) if isinstance(result, BaseException)]

    async def _mirror_to(self, node: NodeId, name: str, patience_s: float = SOON_S) -> None:
        schedule = self._known.get(name)
        if schedule is None:
            return
        reply = await self._peers.ask(node, MirrorSchedule(0, _wire(schedule)), patience_s)
        if reply.lacks:
            task, secrets = await self.task(schedule)
            await self._peers.ask(node, MirrorSchedule(0, _wire(schedule), task, secrets), patience_s)

    async def _keep(self, schedule: Schedule, task: bytes | None, secrets: bytes) -> None:
        await self._holdings.keep_schedules([ScheduleRow(schedule, task, secrets)])
        self._known[schedule.name] = schedule


def task_digest(task: bytes) -> bytes:
    """Returns the digest under which a schedule has its task."""
    return blake2b(task, digest_size=16).digest()


def _wire(schedule: Schedule) -> WireSchedule:
    runs = [WireRun(*run) for run in schedule.runs]
    return WireSchedule(
        schedule.name, schedule.generation, schedule.version, schedule.state, schedule.since, schedule.cron,
        schedule.zone, schedule.overlap, schedule.missed, schedule.summary, schedule.digest, runs, schedule.keep,
    )  # fmt: skip


def _read(wire: WireSchedule) -> Schedule:
    runs = tuple(ScheduledRun(run.tick, run.outcome, run.job, run.why, run.by_hand) for run in wire.runs)
    plain = {name: getattr(wire, name) for name in wire.__struct_fields__}
    return Schedule(**{**plain, "runs": runs})
