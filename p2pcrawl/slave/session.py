"""One session of a slave: what its master grants is worked on, what comes of it is reported, until the session ends.

A fixed pool of workers takes tasks in the order of their grants. When the session ends, other than by leaving in
order, its open requests are cancelled and nothing new begins. Callbacks that run by then run on, and with what was not
acknowledged their pages go to the orphanage. Where nobody else could take over the hosts (a single machine:
``fence_s`` is 0) there is none: the slave ends with its link, and what it held is fetched again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from enum import Enum, auto
from typing import Any

from p2pcrawl.model.errors import LinkError
from p2pcrawl.overlay.tasks import end
from p2pcrawl.slave.link.fence import Fence, SessionExpired
from p2pcrawl.slave.link.orphans import Orphanage
from p2pcrawl.slave.link.outbox import Outbox
from p2pcrawl.slave.link.post import Post, Pulse
from p2pcrawl.slave.pages.known_rules import MissingRules
from p2pcrawl.slave.work.job_run import JobRun
from p2pcrawl.slave.work.jobs import Jobs
from p2pcrawl.wire.messages.codec import AnyMessage
from p2pcrawl.wire.messages.slave_messages import (
    Adopted,
    Closed,
    Forget,
    GiveBack,
    Grant,
    Halt,
    JobClosing,
    JobOver,
    Leaving,
    LinksTold,
    OpenJob,
    PageTold,
    ReportsDurable,
    Returned,
    RobotsTask,
    Stop,
    Task,
    Welcome,
)

LEAVE_S = 10.0
"""How long open pages may take to end when a slave leaves on its own account."""


class End(Enum):
    """The way in which a session ended."""

    LOST = auto()
    """Its link is gone."""
    FENCED = auto()
    """It was not renewed in time."""
    HALTED = auto()
    """Its master gave it up."""
    LEFT = auto()
    """In order."""
    FAILED = auto()
    """A job could not be opened."""


class SlaveSession:
    """``asked_at``: when the Hello was sent that ``welcome`` answers."""

    def __init__(
        self,
        post: Post,
        welcome: Welcome,
        asked_at: float,
        jobs: Jobs,
        orphanage: Orphanage,
        numbers: Iterator[int],
    ) -> None:
        self._post = post
        self._slots = welcome.slots
        self._jobs = jobs
        self._orphanage = orphanage
        self._tasks: asyncio.Queue[Task | RobotsTask | None] = asyncio.Queue()
        self._unbegun: dict[int, Task | RobotsTask] = {}
        """Those that have a worker, and wait till it may begin, by their leases."""
        self._fence = Fence(welcome.fence_s, asked_at, lambda: self.end(End.FENCED))
        self._pulse = Pulse(welcome.session, self._fence, welcome.silence_s)
        self._outbox = Outbox(post, self._tasks.empty, numbers, orphanage if welcome.fence_s else None)
        self._outlives = welcome.fence_s > 0
        self._leaving: asyncio.Task[None] | None = None
        self._ended: asyncio.Future[End] = asyncio.get_running_loop().create_future()

    async def run(self) -> tuple[End, list[asyncio.Task[None]]]:
        """Runs the session until it is over. Returns how it ended, and the callbacks that still run. Raises what a
        worker raised.
        """
        workers = [asyncio.create_task(self._worker()) for _ in range(self._slots)]
        for worker in workers:
            worker.add_done_callback(self._worker_ended)
        self._post.begin(self._pulse)
        self._orphanage.attach(self._post)
        try:
            how = await self._ended
        except BaseException:
            for worker in workers:
                worker.cancel()
            raise
        finally:
            self._over()
            if self._leaving is not None:
                await end([self._leaving])
        if not self._outlives:
            for worker in workers:
                worker.cancel()
        return how, [w for w in workers if not w.done()]

    def end(self, how: End) -> None:
        """Ends the session, from this moment on."""
        if not self._ended.done():
            self._ended.set_result(how)
            self._over()

    def depart(self) -> None:
        """Leaves on the slave's own account: gives back what was not begun, finishes what was, within LEAVE_S."""
        if self._leaving is None:
            self._post.send(Leaving())
            self._leaving = asyncio.create_task(self._leave(LEAVE_S))

    def received(self, message: AnyMessage) -> None:
        """Raises LinkError for what a master does not say."""
        if self._ended.done():
            # Whatever it grants, it grants under a session that it does not know to be over.
            return
        match message:
            case Grant():
                self._granted(message)
            case ReportsDurable():
                self._outbox.acknowledged(message.sequence)
            case OpenJob():
                self._jobs.open(message.job)
            case JobClosing():
                self._jobs.closing(message.job)
            case JobOver():
                self._jobs.over(message.job, message.reason)
            case Closed():
                self._jobs.doors.close_ports(message.endpoints)
            case Adopted():
                self._orphanage.adopted(message.sequence)
            case LinksTold() | PageTold():
                self._jobs.seeking.told(message)
            case Stop():
                if self._leaving is None:
                    self._leaving = asyncio.create_task(self._leave(None))
            case Forget():
                self._jobs.forget()
            case Halt():
                self.end(End.HALTED)
            case GiveBack():
                self._give_back()
            case _:
                raise LinkError(f"a master does not say {type(message).__name__}")

    # -- work ---------------------------------------------------------------------------------

    def _granted(self, grant: Grant) -> None:
        for robots in grant.robots:
            self._jobs.learn_rules(robots)
        if self._leaving is not None:
            self._post.send(Returned([task.record for task in grant.tasks]))
            return
        for robots_task in grant.robots_tasks:
            self._tasks.put_nowait(robots_task)
        for task in grant.tasks:
            self._tasks.put_nowait(task)

    async def _worker(self) -> None:
        while (task := await self._tasks.get()) is not None:
            try:
                run = await self._run_for(task)
                if run is None or self._fence.passed:
                    continue
                if isinstance(task, Task):
                    await run.work(task, self._outbox, self._fence)
                else:
                    self._outbox.put_robots(await run.robots(task, _pause(task.delay_s), self._fence))
            except SessionExpired:
                pass
            except MissingRules as missing:
                assert isinstance(task, Task)
                self._post.send(Returned([task.record], [str(missing)]))
            finally:
                self._tasks.task_done()

    async def _run_for(self, task: Task | RobotsTask) -> JobRun | None:
        """Waits till a task may be begun, and returns what does it; None when it has been given back meanwhile."""
        self._unbegun[task.lease] = task
        try:
            await self._outbox.room()
            run = await self._jobs.run_of(task.job)
        finally:
            still_here = self._unbegun.pop(task.lease, None) is not None
        return run if still_here else None

    def _give_back(self) -> None:
        """Gives back what nobody has begun, however long it has been here: its master may have lost the hosts to others
        since, and got them back.
        """
        self._return([*self._take_back(), *self._unbegun.values()])
        self._unbegun.clear()

    def _return(self, tasks: Sequence[Task | RobotsTask]) -> None:
        if tasks:
            records = [task.record for task in tasks if isinstance(task, Task)]
            self._post.send(Returned(records, [], [task.lease for task in tasks if isinstance(task, RobotsTask)]))

    def _worker_ended(self, worker: asyncio.Task[None]) -> None:
        if self._ended.done():
            return
        if worker.cancelled():
            # Nobody cancels one of a session that goes on, and what it had begun would never end.
            self._ended.set_exception(LinkError("a callback cancelled the task that ran it"))
        elif (error := worker.exception()) is not None:
            self._ended.set_exception(error)

    # -- the end ------------------------------------------------------------------------------

    def _over(self) -> None:
        self._post.end()
        self._orphanage.detach()
        self._fence.close()
        # Behind the fence: what it guards ends with the session, and not with what this says.
        self._jobs.seeking.over()
        self._outbox.close()
        self._take_back()
        for _ in range(self._slots):
            self._tasks.put_nowait(None)

    def _take_back(self) -> list[Task | RobotsTask]:
        """Takes back the tasks that no worker has."""
        tasks = []
        while not self._tasks.empty():
            task = self._tasks.get_nowait()
            self._tasks.task_done()
            if task is not None:
                tasks.append(task)
        return tasks

    async def _leave(self, patience_s: float | None) -> None:
        self._return(self._take_back())
        try:
            async with asyncio.timeout(patience_s):
                await self._tasks.join()
                await self._outbox.drained()
                await self._orphanage.empty()
        except TimeoutError:
            pass
        self.end(End.LEFT)


def _pause(delay_s: float) -> Callable[[str], Any]:
    async def pause(host: str) -> None:
        await asyncio.sleep(delay_s)

    return pause
