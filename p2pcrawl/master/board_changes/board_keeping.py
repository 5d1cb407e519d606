"""The keeping of boards: what follows from a change of one, at each master and however it came to know of it.

A change is a new version of the board in the job's specification, which is durable here and goes to all masters as
other changes of jobs do. What follows is done from that alone, so it does not matter who made the change, and who dies:

* Entries of a board that is new or changed are put in by the master that takes the call, and once more by the one that
  decides for all (the member with the smallest id), which may have to do it in the other's place. What is known already
  changes nothing.
* Pages of a board with shorter periods than before, which wait for their next visit, are due sooner, at each master.
  That is not noted, and the copies need not know: it is done again by whoever takes over, until all have been visited.
* The queue of a board that was taken away is dropped by each master that has a part of it, and once more when links of
  it come behind that: from whoever was bringing its entries, or from pages that were being read. Slaves drop what
  comes with buckets that change hands.
* A board that has reached a limit of its own is closed by the one that decides.

Each master notes on disk with which version it has done its part. Wherever it was not noted, it is done again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from itertools import count
from typing import Final

from p2pcrawl.core.board_versions import with_board
from p2pcrawl.core.control import ENDS, RUNNING
from p2pcrawl.master.board_changes.entries import bring_entries
from p2pcrawl.master.boards.job_boards import KnownBoard, boards_of, limit_of, mark_in
from p2pcrawl.master.company.company import Company
from p2pcrawl.master.jobs.admission import Admission
from p2pcrawl.master.jobs.job import Job
from p2pcrawl.model.boards.job_board import FROM_START, JobBoard
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.overlay.tasks import end
from p2pcrawl.spiders.boards.board import Revisit
from p2pcrawl.spiders.page.typed_urls import checked_url

log = logging.getLogger(__name__)

LOOK_S: Final = 1.0
LIMITS_LOOKS: Final = 2
"""Looks from one count of what each board has brought to the next."""
ENTRIES_S: Final = 30.0
"""For how long the owners of entries are waited for, before it is tried again."""

TOLD_S: Final = 15.0
"""For how long another master is waited for that knows of a change."""

DropBoard = Callable[[Job, str], Awaitable[int]]
Hasten = Callable[[Job, str, Revisit], Awaitable[int]]
Brought = Callable[[Job], Awaitable[Mapping[str, Counter[str]]]]


class BoardKeeping:
    """Keeps the boards of all jobs of a master. ``start`` and ``close`` with it."""

    def __init__(
        self,
        company: Company,
        admission: Admission,
        drop_board: DropBoard,
        hasten: Hasten,
        *,
        leads: Callable[[], bool],
        view: Callable[[], int] = lambda: 1,
        brought: Brought,
        spread: Callable[[Job], Awaitable[object]],
        clock: Callable[[], float] = time.time,
    ) -> None:
        """``leads``: whether it is this master that decides; ``view``: the one in which all buckets have come to
        their owners, 0 while they move; ``brought``: pages and items of each board, over all
        masters; ``spread`` tells the other masters of a job; ``clock`` tells the time of day.
        """
        self._company = company
        self._admission = admission
        self._drop_board = drop_board
        self._hasten = hasten
        self._view = view
        self._hastened: dict[tuple[int, str], tuple[int, int]] = {}
        """Of boards in force: the version and the view in which their pages were hastened."""
        self._leads = leads
        self._brought = brought
        self._spread = spread
        self._clock = clock
        self._begun_s = clock()
        self._changing = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._keep())

    async def close(self) -> None:
        if self._task is not None:
            await end([self._task])

    async def put(self, job: Job, name: str, board: JobBoard) -> None:
        """Puts a board into a job as it is from now on, whatever it was, durably at this master, tells the others, and
        does what follows; of one that is so already, all but the first. Raises ConfigurationError for more than a job
        has, P2PCrawlError where nobody answers in time: then it may be asked for again.
        """
        async with self._changing:
            if job.spec.boards.get(name) != board:
                boards = with_board(job.spec.boards, name, board, int(self._clock() * 1_000))
                await self._admission.take_boards(job, boards)
        try:
            async with asyncio.timeout(TOLD_S):
                await self._spread(job)
        except TimeoutError:
            raise P2PCrawlError(
                f"board {name} is changed here, and no other master has answered in {TOLD_S:g} s; it may be typed again"
            ) from None
        await self.settle(job, name, anyway=True)

    async def settle(self, job: Job, name: str, *, anyway: bool = False) -> None:
        """Does what follows from a board as it is now, if it falls to us, or ``anyway``. Raises P2PCrawlError where
        owners of its entries do not answer in time; then it is done later.
        """
        board = job.spec.boards[name]
        # What comes from now on may come behind what is done here.
        job.late.discard(name)
        if board.closed:
            dropped = await self._drop_board(job, mark_in(job, name))
            log.info("board %s of job %d is none any more: %d queued pages are dropped", name, job.id, dropped)
        elif anyway or self._leads():
            known = boards_of(job).get(name)
            if known is None:
                return
            try:
                async with asyncio.timeout(ENTRIES_S):
                    await self._hasten_pages(job, known)
                    urls = [checked_url(url) for url in known.board.entries]
                    await bring_entries(self._company, self._admission, job, urls, lambda url: known.mark)
            except TimeoutError:
                raise P2PCrawlError(f"not all that follows from board {name} is done yet; it will be") from None
        else:
            return
        job.settled[name] = board.version
        self._company.ground.lifecycle.save_spec(job)

    async def _keep(self) -> None:
        for looks in count():
            for job in [job for job in self._company.ground.jobs.values() if job.spec.boards]:
                try:
                    await self.look_after(job)
                    if looks % LIMITS_LOOKS == 0 and job.state == RUNNING and self._leads():
                        await self._keep_limits(job)
                except P2PCrawlError as error:
                    log.debug("keeping the boards of job %d: %s", job.id, error)
                except Exception:
                    log.exception("keeping the boards of job %d failed", job.id)
            await asyncio.sleep(LOOK_S)

    async def look_after(self, job: Job) -> None:
        """Does what follows from the boards of a job, as far as it is not done here. Raises P2PCrawlError."""
        # In a job that has ended nothing is queued; whoever lets it run again has its boards looked after.
        if job.state in ENDS:
            return
        for name in job.unsettled:
            await self.settle(job, name)
        changed = {name for name, board in job.spec.boards.items() if board.version > FROM_START}
        for name, known in boards_of(job).items() if changed else ():
            if name in changed and not known.version.closed:
                await self._hasten_pages(job, known)

    async def _hasten_pages(self, job: Job, known: KnownBoard) -> None:
        """Makes due what is due later than a board wants it now: once, and again where buckets may have come here."""
        version, view = known.version.version, self._view()
        done = self._hastened.get((job.id, known.name), (0, 0))
        if done[0] == version and view in (0, done[1]):
            return
        if self._clock() - version / 1_000 > job.settings.revisit_max:
            # No page waits for longer than that: all have been visited by the periods of this version.
            return
        if sooner := await self._hasten(job, known.mark, known.board.revisit):
            log.info("board %s of job %d: %d pages are due sooner", known.name, job.id, sooner)
        self._hastened[job.id, known.name] = version, view

    async def _keep_limits(self, job: Job) -> None:
        limited = [known for known in boards_of(job).values() if known.is_limited and not known.version.closed]
        counts = await self._brought(job) if limited else {}
        for known in limited:
            # On one machine no time counts in which nothing ran.
            begun_s = max(job.spec.submitted / 1_000 or self._begun_s, known.version.version / 1_000)
            brought = counts.get(known.name, Counter())
            if reached := limit_of(known.board.limits, brought, self._clock() - begun_s):
                log.info("board %s of job %d has reached its %s", known.name, job.id, reached)
                await self.put(job, known.name, replace(known.version, closed=reached))
