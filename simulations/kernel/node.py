"""A node: a machine with an address, on which one life after the other runs."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable, Coroutine
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

from .life import Clock, Life, NodeDown, outside
from .network import Traffic, Where
from .paths import Hesitation
from .tasks import pending

if TYPE_CHECKING:
    from .connections import End
    from .datagrams import DatagramTransport
    from .events import EventLog
    from .loop import SimLoop
    from .moments import Moments
    from .servers import Server

T = TypeVar("T")
P = ParamSpec("P")

DISK_S = 0.001


class Cache(Protocol):
    """The writes to a machine's disk that are not safe yet."""

    def synced(self, number: int) -> None: ...

    def writes(self, database: Path) -> None: ...

    def wrote(self, database: Path) -> None: ...

    def cut_short(self, database: Path, before: bytes) -> None: ...


class DiskError(Protocol):
    """The failure of one call to a disk."""

    kind: str
    struck: bool

    def strikes(self, call: str) -> bool: ...


class World(Protocol):
    """The world as a node needs it."""

    seed: int
    log: EventLog
    loop: SimLoop
    moments: Moments

    def next_life(self) -> int: ...

    def bury(self, life: Life) -> None: ...


class Node:
    """A machine of a world, which has at most one life at a time. Made by
    :meth:`World.node`.
    """

    def __init__(self, world: World, name: str) -> None:
        self.name = name
        self.addresses: list[str] = []
        self.clock = Clock()
        self.traffic = Traffic()
        self.moments = world.moments
        self.executor_delay_s = DISK_S
        """How long a call in an executor (a disk, a thread) takes."""
        self.hesitation: Hesitation | None = None
        """Some calls in executors, and some of what it sends, take longer."""
        self.disk_full = False
        """Nothing can be committed there, until it is freed."""
        self.disk_error: DiskError | None = None
        """Of one call, which is to fail or has failed; None again when it is over."""
        self.cache: Cache | None = None
        """Hears of what is written and synced; without one, all that was written is safe."""
        self.life: Life | None = None
        self.off = False
        """Without power: nobody answers, not even to say no."""
        self.datagram_ports: dict[Where, DatagramTransport] = {}
        self.listeners: dict[Where, Server] = {}
        self.ends: dict[int, End] = {}
        self._world = world
        self._lives = 0
        self._next_port = 32_768

    def __repr__(self) -> str:
        return f"<Node {self.name} {self.address}>"

    @property
    def address(self) -> str:
        return self.addresses[0]

    @property
    def up(self) -> bool:
        return self.life is not None

    @property
    def paused(self) -> bool:
        return self.life is not None and self.life.halted

    # -- running code

    def start(self, main: Callable[P, Coroutine[Any, Any, T]], *args: P.args, **kwargs: P.kwargs) -> asyncio.Future[T]:
        """Runs ``await main(...)`` here, in a new life if the node is down.

        The future may be awaited by the scenario. It raises what main raises, and NodeDown if the node goes
        down first. Cancelling it cancels main.
        """
        if self.life is None:
            self._lives += 1
            self.off = False
            dice = Random(f"{self._world.seed}/{self.name}/{self._lives}")
            self.life = Life(self, self._world.next_life(), dice)
            self._note(f"starts (life {self._lives})")
        life = self.life
        loop = self._world.loop
        with outside():
            outcome: asyncio.Future[T] = loop.create_future()
        life.waiting[id(outcome)] = outcome
        coroutine = life.context.run(main, *args, **kwargs)
        task = loop.create_task(coroutine, name=f"{self.name}.main", context=life.context.copy())

        def pass_on(done: asyncio.Future[T]) -> None:
            life.waiting.pop(id(outcome), None)
            if outcome.done():
                return
            if done.cancelled():
                outcome.cancel()
            elif (error := done.exception()) is not None:
                self._note(f"failed: {error!r}")
                outcome.set_exception(error)
            else:
                outcome.set_result(done.result())

        def cancel(outcome: asyncio.Future[T]) -> None:
            if outcome.cancelled() and not life.dead:
                task.cancel()

        task.add_done_callback(pass_on)
        outcome.add_done_callback(cancel)
        return outcome

    async def call(self, main: Callable[P, Coroutine[Any, Any, T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs ``await main(...)`` here, in the life that there is. Raises NodeDown if there is none."""
        if self.life is None:
            raise NodeDown(f"{self.name} is down")
        return await self.start(main, *args, **kwargs)

    # -- faults

    def crash(self) -> None:
        """Kills the process: no ``finally`` runs, its ports close, its connections are reset."""
        self._end("crashes")

    def lose_power(self) -> None:
        """Kills the machine: as a crash, but nobody is told, and nothing answers until the next start."""
        self.off = True
        self._end("loses power")

    def restart(
        self, main: Callable[P, Coroutine[Any, Any, T]], *args: P.args, **kwargs: P.kwargs
    ) -> asyncio.Future[T]:
        """Crashes, if up, and starts a new life. Memory is lost; addresses and the clock stay."""
        self.crash()
        return self.start(main, *args, **kwargs)

    def pause(self) -> None:
        """Stops the process (SIGSTOP): its callbacks and timers wait; its machine still takes packets."""
        if self.life is not None and not self.life.halted:
            self.life.halted = True
            self._note("pauses")

    def resume(self) -> None:
        """Lets a paused process go on: all that came due meanwhile runs at once."""
        life = self.life
        if life is not None and life.halted:
            life.halted = False
            queue, life.queue = life.queue, []
            self._world.loop.requeue(queue)
            self._note(f"resumes with {len(queue)} callbacks")

    def drift(self, rate: float) -> None:
        """Lets both clocks run at ``rate`` seconds per second from now on."""
        self.clock.run_at(rate, self._world.loop.now)
        self._note(f"clock runs at {rate}")

    def slow_down(self, times: float) -> None:
        """Lets a second of the monotonic clock take so many of the world's, and with it all that is timed by it: beats,
        patience, pauses. The clock on the wall stays right.
        """
        self.clock.slow = True
        self.clock.run_at(1.0 / times, self._world.loop.now)
        self._note(f"a second takes {times:g}")

    def step_wall_clock(self, seconds: float) -> None:
        """Lets time.time() jump; the monotonic clock does not."""
        self.clock.wall_error_s += seconds
        self._note(f"wall clock jumps by {seconds} s")

    # -- ports

    def free_port(self) -> int:
        """Returns a port that nothing is bound to."""
        for _ in range(28_000):
            port = self._next_port
            self._next_port = port + 1 if port < 60_999 else 32_768
            if not any(port == used for _, used in (*self.datagram_ports, *self.listeners)):
                return port
        raise OSError(errno.EADDRNOTAVAIL, "no free port is left")

    def check_own(self, ip: str) -> None:
        """Raises OSError unless this address may be bound here."""
        if ip not in self.addresses and ip not in ("0.0.0.0", "::", "::1") and not ip.startswith("127."):
            raise OSError(errno.EADDRNOTAVAIL, f"{ip} is not an address of {self.name}")

    # -- the end of a life

    def _end(self, how: str) -> None:
        life, self.life = self.life, None
        if life is None:
            return
        self._note(how)
        life.dead = life.halted = True
        tasks = [task for task in pending(self._world.loop) if task.life is life]
        ends = life.ends = list(self.ends.values())
        life.held += [tasks, life.queue, self.listeners, self.datagram_ports]
        life.queue = []
        self.listeners, self.datagram_ports, self.ends = {}, {}, {}
        for end in ends:
            if self.off:
                end.vanish()
            else:
                end.close(polite=False)
        opened, life.opened = life.opened, []
        for thing in opened:
            thing.close()
        self._world.bury(life)
        waiting, life.waiting = life.waiting, {}
        with outside():
            for outcome in waiting.values():
                if not outcome.done():
                    outcome.set_exception(NodeDown(f"{self.name} {how}"))
                    outcome.exception()  # The scenario need not care.

    def _note(self, what: str) -> None:
        self._world.log.add(self._world.loop.now, self.name, what)
