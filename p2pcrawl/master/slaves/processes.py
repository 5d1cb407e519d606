"""The slaves of this machine: started, watched, replaced.

A slave is a process of its own session, so that Ctrl-C reaches the master alone; it holds one end of a
socket pair and leaves when the other end closes, whatever happens to its master; if a callback holds it up by then, its
own thread ends it ten seconds later.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack, suppress

from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.spiders.finding.modules import environment_of_slaves
from p2pcrawl.wire.messages.desk import LOOK_S, Desk, Overseer

log = logging.getLogger(__name__)

RESPAWN_FIRST_S = 0.05
RESPAWN_MAX_S = 5.0
STILLBORN_MAX = 5
"""Slaves in a row that die before they say Hello, before the crawl gives up."""

LINGER_S = 2.0
"""How long a link may stay open after its slave has ended."""

Connect = Callable[[socket.socket, int], Awaitable[Callable[[], None]]]
"""Is given the master's end of a new slave's link, and its process (0: this one); returns what cuts it."""
OnHung = Callable[[int, int], object]
"""Hears of a process that is about to be ended, as it is lost in its own work on the answer of this lease."""
RunHere = Callable[[socket.socket], Awaitable[None]]
"""Runs a slave on this loop, with its end of the link."""


class Group:
    """Keeps ``count`` slave processes alive; with 0, one slave inside this process.

    ``errors_to``: the file descriptor that processes get as standard error instead of this one's;
    ``output_to_stderr`` sends their standard output there too.
    """

    def __init__(
        self,
        count: int,
        connect: Connect,
        run_here: RunHere,
        *,
        output_to_stderr: bool = False,
        errors_to: int | None = None,
        slave_options: Sequence[str] = (),
        on_hung: OnHung = lambda pid, lease: False,
        ending: asyncio.Event | None = None,
    ) -> None:
        """``ending``: set when slaves that end are not replaced any more, by whomever. ``slave_options``: for the
        command lines of processes.
        """
        self._options = tuple(slave_options)
        self._count = count
        self._on_hung = on_hung
        self._connect = connect
        self._run_slave_here = run_here
        self._errors_to = errors_to
        # A spider's print() must not get between the items on standard output.
        self._output_to = (2 if errors_to is None else errors_to) if output_to_stderr else None
        self._processes: dict[int, asyncio.subprocess.Process] = {}
        self._keepers: list[asyncio.Task[None]] = []
        self._stillborn = 0
        self._greeted: set[int] = set()
        self._ending = ending or asyncio.Event()
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Gets an exception when slaves cannot be started at all."""

    def start(self) -> None:
        keepers = [self._keep(self._run_process) for _ in range(self._count)] or [self._keep(self._run_here)]
        self._keepers = [asyncio.create_task(k) for k in keepers]

    def greeted(self, pid: int) -> None:
        """Takes in that this slave said Hello: starting them works."""
        self._greeted.add(pid)
        self._stillborn = 0

    def kill(self, pid: int) -> None:
        """Ends a slave that is beyond talking to; it is replaced."""
        process = self._processes.get(pid)
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()

    def stop_replacing(self) -> None:
        self._ending.set()

    async def stop(self, patience_s: float) -> None:
        """Waits for the slaves to leave, then makes them."""
        self._ending.set()
        if self._keepers:
            await asyncio.wait(self._keepers, timeout=patience_s)
        for pid in list(self._processes):
            self.kill(pid)
        for keeper in self._keepers:
            if not keeper.done() and not self._count:
                keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)
        if not self.failed.done():
            self.failed.cancel()

    async def _keep(self, run: Callable[[], Awaitable[bool]]) -> None:
        pause_s = RESPAWN_FIRST_S
        while not self._ending.is_set():
            started = asyncio.get_running_loop().time()
            try:
                greeted = await run()
            except OSError as error:
                log.warning("a slave could not be started: %s", error)
                greeted = False
            if self._ending.is_set():
                return
            if not greeted:
                self._stillborn += 1
            if self._stillborn >= STILLBORN_MAX:
                if not self.failed.done():
                    self.failed.set_exception(
                        P2PCrawlError(f"{STILLBORN_MAX} slaves in a row died while starting; see the messages above")
                    )
                return
            lived_s = asyncio.get_running_loop().time() - started
            pause_s = RESPAWN_FIRST_S if lived_s > 10.0 else min(RESPAWN_MAX_S, 2 * pause_s)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), pause_s)

    async def _run_process(self) -> bool:
        """Runs one slave from birth to death; returns whether it said Hello."""
        ours, theirs = socket.socketpair()
        desk = Desk.make()
        with ExitStack() as on_failure, theirs:
            on_failure.callback(ours.close)
            on_failure.callback(desk.close)
            # pass_fds makes it inheritable for this one child. It must not be so for longer: a slave that is
            # started meanwhile would hold it too, and the death of this one would go unnoticed.
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                "-m",
                "p2pcrawl.slave",
                str(theirs.fileno()),
                "--desk",
                str(desk.fd),
                *self._options,
                pass_fds=[theirs.fileno(), desk.fd],
                stdin=asyncio.subprocess.DEVNULL,
                stdout=self._output_to,
                stderr=self._errors_to,
                start_new_session=True,
                env=os.environ | environment_of_slaves(),
            )
            on_failure.pop_all()
        self._processes[process.pid] = process
        watching = asyncio.create_task(self._oversee(process, desk))
        try:
            hang_up = await self._connect(ours, process.pid)
            code = await process.wait()
            # Usually the end of the stream says so too; not when a child of the slave still holds it.
            asyncio.get_running_loop().call_later(LINGER_S, hang_up)
            if code and not self._ending.is_set():
                log.warning("slave %d ended with %s", process.pid, _spoken(code))
        finally:
            watching.cancel()
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            desk.close()
            del self._processes[process.pid]
        greeted = process.pid in self._greeted
        self._greeted.discard(process.pid)
        return greeted

    async def _oversee(self, process: asyncio.subprocess.Process, desk: Desk) -> None:
        overseer = Overseer(process.pid, desk)
        while (lease := overseer.look()) is None:  # noqa: ASYNC110
            await asyncio.sleep(LOOK_S)
        log.warning("slave %d does not come back from its own work on an answer, and is replaced", process.pid)
        self._on_hung(process.pid, lease)
        self.kill(process.pid)

    async def _run_here(self) -> bool:
        self._greeted.clear()
        ours, theirs = socket.socketpair()
        await self._connect(ours, 0)
        try:
            await self._run_slave_here(theirs)
        except Exception:
            log.exception("the slave in this process failed")
        return bool(self._greeted)


def _spoken(code: int) -> str:
    return f"exit code {code}" if code > 0 else f"signal {-code}"
