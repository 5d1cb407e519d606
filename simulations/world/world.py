"""A world: loop, network, nodes, clocks and dice, all drawn from one seed.

    with World(seed=7) as world:
        alice, bob = world.nodes("alice", "bob")
        world.run(scenario(alice, bob))

The same seed gives the same ``world.trace``, in any process and under any PYTHONHASHSEED, as long as the
code under test does not lean on the order of a set of strings, ``id()``, real files' times, or real threads.
"""

from __future__ import annotations

import errno
import gc
import logging
import os
import socket
import sys
from collections.abc import Coroutine
from concurrent.futures.thread import _worker as pool_worker
from contextlib import ExitStack
from random import Random
from threading import Thread
from typing import Any, TextIO, TypeVar

from ..kernel.clockwork import Mishap
from ..kernel.connections import End
from ..kernel.events import EventLog, LogBridge
from ..kernel.life import LIFE, Closing, Life
from ..kernel.loop import SimLoop
from ..kernel.moments import Moments
from ..kernel.network import Network
from ..kernel.node import Node
from ..kernel.paths import Law
from ..kernel.sockets import SimSocket
from ..kernel.tasks import SimTask, pending
from .pins import EPOCH_S, pinned_to

T = TypeVar("T")

_PID_FIRST = 1000


class World:
    """A world of nodes that runs once, inside its ``with`` block; one at a time in a process."""

    def __init__(self, seed: int = 0, *, law: Law | None = None) -> None:
        self.seed = seed
        self.random = Random(f"{seed}/world")
        """The scenario's own dice."""
        self.log = EventLog()
        self.loop = SimLoop()
        self.moments = Moments(self.loop)
        self.network = Network(self.loop, seed, self.log, law)
        self.loop.network = self.network
        self._nodes: dict[str, Node] = {}
        self._lives = 0
        self._dead: list[Life] = []
        self._stack = ExitStack()

    def __enter__(self) -> World:
        self._stack.enter_context(pinned_to(self))
        if gc.isenabled():
            # Collecting at odd moments would run finalizers at odd moments; the loop does it at even ones.
            gc.disable()
            self._stack.callback(gc.enable)
        # What is left of the run before this one would be kept for ever, if nobody collected it now.
        gc.collect()
        if not gc.get_freeze_count():
            # What was there before is no business of a run's collections, which would go through all of it again.
            gc.freeze()
            self._stack.callback(gc.unfreeze)
        # A process that is killed takes its log handlers along. Here they would hear the next worlds, and hold this.
        ours = logging.getLogger("p2pcrawl")
        self._stack.callback(setattr, ours, "handlers", [*ours.handlers])
        return self

    def __exit__(self, *_: object) -> None:
        with self._stack:
            self._close()

    # -- what there is

    def node(self, name: str, address: str | None = None) -> Node:
        """Returns the node of this name; a new one gets the next address of 10.0.0.0/8, and its name resolves to it."""
        node = self._nodes.get(name)
        if node is None:
            number = len(self._nodes) + 1
            node = self._nodes[name] = Node(self, name)
            address = address or f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
            self.network.assign(node, address)
            self.network.name(name, address)
        return node

    def nodes(self, *names: str) -> list[Node]:
        """Returns several nodes; without names, all that there are."""
        return [self.node(name) for name in names] if names else list(self._nodes.values())

    @property
    def now(self) -> float:
        """Virtual seconds since the beginning."""
        return self.loop.now

    @property
    def trace(self) -> str:
        """A hash over all that happened."""
        return self.loop.trace

    @property
    def mishaps(self) -> list[Mishap]:
        """Exceptions that reached the loop because nobody caught them."""
        return self.loop.mishaps

    def run(self, scenario: Coroutine[Any, Any, T], limit_s: float | None = None) -> T:
        """Runs a scenario to its end, and the nodes as long.

        Raises Deadlock when nothing can happen any more, and OutOfTime after ``limit_s`` virtual seconds; both
        name the waiting tasks.
        """
        return self.loop.run_for(scenario, limit_s)

    def socketpair(self, left: Node, right: Node) -> tuple[SimSocket, SimSocket]:
        """Connects two sockets, for ``create_connection(sock=...)`` on each node. Both must be up."""
        if left.life is None or right.life is None:
            raise ValueError("both nodes must be up")
        one, other = self.network.pair(left.life, right.life)
        return _socket_of(one), _socket_of(other)

    # -- telling

    def note(self, what: str) -> None:
        """Writes a line into the event log, in the name of the running node."""
        life = LIFE.get()
        self.log.add(self.loop.now, "scenario" if life is None else life.node.name, what)

    def narrate(self, file: TextIO = sys.stderr, *, packets: bool = False, loggers: tuple[str, ...] = ()) -> None:
        """Writes the event log to a file, with what these loggers say."""
        self.log.write_to(file, packets=packets)
        for name in loggers:
            bridge = LogBridge(self.note)
            logging.getLogger(name).addHandler(bridge)
            self._stack.callback(logging.getLogger(name).removeHandler, bridge)

    # -- what pins and nodes ask for

    def monotonic(self) -> float:
        life, now = LIFE.get(), self.loop.now
        return now if life is None else life.node.clock.local(now)

    def wall(self) -> float:
        life = LIFE.get()
        return EPOCH_S + (self.now if life is None else life.node.clock.wall(self.now))

    def dice(self) -> Random:
        life = LIFE.get()
        return self.random if life is None else life.random

    def start_thread(self, thread: Thread) -> bool:
        if LIFE.get() is None:
            return False
        if getattr(thread, "_target", None) is pool_worker:
            raise RuntimeError("a thread pool cannot be simulated; loop.run_in_executor can")
        self.loop.run_in_executor(None, thread.run)
        return True

    def getaddrinfo(self, *arguments: Any, **options: Any) -> list[Any] | None:
        return None if LIFE.get() is None else list(self.network.getaddrinfo(*arguments, **options))

    def socketpair_here(self) -> tuple[SimSocket, SimSocket] | None:
        life = LIFE.get()
        return None if life is None else self.socketpair(life.node, life.node)

    def pid(self) -> int | None:
        life = LIFE.get()
        return None if life is None else _PID_FIRST + life.number

    def synced(self, number: int) -> bool:
        life = LIFE.get()
        cache = None if life is None else life.node.cache
        if cache is None:
            return False
        error = None if life is None else life.node.disk_error
        if error is not None and error.strikes("fsync"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        cache.synced(number)
        return True

    def opened(self, thing: Closing) -> None:
        life = LIFE.get()
        if life is not None:
            life.opened.append(thing)

    def next_life(self) -> int:
        self._lives += 1
        return self._lives

    def bury(self, life: Life) -> None:
        self._dead.append(life)

    # -- the end

    def _close(self) -> None:
        """Lets go of everything. ``finally`` blocks of unfinished code run here, and can do nothing any more."""
        loop = self.loop
        loop.ended = True
        self.log.on = False
        hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
        quiet = logging.root.manager.disable
        logging.disable()
        try:
            for node in self._nodes.values():
                node.cache = None  # Nobody will read its disk any more.
                node.crash()
            for life in self._dead:
                life.silence()
            for task in pending(loop):
                _close_coroutine(task)
            for life in self._dead:
                life.held.clear()
            loop.forget()
            self._dead.clear()
            self._nodes.clear()
            gc.collect()
        finally:
            sys.unraisablehook = hook
            logging.disable(quiet)
            loop.close()


def _close_coroutine(task: SimTask[Any]) -> None:
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    coroutine: Any = task.get_coro()
    # A finally block that awaits makes close() fail, and the next one may await too.
    for _ in range(20):
        try:
            coroutine.close()
        except BaseException:
            continue
        break


def _socket_of(end: End) -> SimSocket:
    sock = SimSocket(socket.SOCK_STREAM, socket.AF_INET, end.local, end.remote)
    sock.end = end
    return sock
