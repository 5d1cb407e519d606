"""Pins: while a world runs, the process's clocks, dice and number are the running node's.

What is pinned: ``time`` (all clocks, and ``sleep``, which returns at once), ``random``, ``os.urandom``,
``uuid``, and with them ``secrets``. Names that a module imported before (``from time import monotonic``)
are replaced too, and so are default arguments in the modules of p2pcrawl. A thread that a node starts
and forgets runs inline a moment later; ``socket.getaddrinfo`` and ``socket.socketpair`` ask the simulated network.
Databases and locks that a node opens are real, and close when its life ends; what it syncs, its disk hears of. Not
pinned: ``datetime.now()``, dice in C (OpenSSL's), and the order of a set of strings.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import random
import resource
import socket
import sqlite3
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import get_ident
from types import FunctionType, ModuleType
from typing import Any, NoReturn, Protocol

from ..kernel.life import Closing
from ..kernel.own_name import PACKAGE
from ..kernel.tasks import SimTask
from .databases import Database

EPOCH_S = 1_700_000_000.0
"""The wall clock's time when a world begins: 2023-11-14 22:13:20 UTC."""

# Their waiting is real: threads, test runners.
_UNPINNED = (
    "_pytest", "pytest", "pluggy", "execnet", "xdist", "hypothesis", "threading", "queue", "subprocess",
    "multiprocessing", "concurrent", "selectors", "faulthandler", __name__, SimTask.__module__,
)  # fmt: skip
_PRODUCT, _OURS = ("p2pcrawl",), (PACKAGE,)
"""Default arguments are replaced in the former, without the latter, which may be a part of it."""
_DICE = (
    "betavariate", "choice", "choices", "expovariate", "gammavariate", "gauss", "getrandbits", "lognormvariate",
    "normalvariate", "paretovariate", "randbytes", "randint", "random", "randrange", "sample", "seed", "shuffle",
    "triangular", "uniform", "vonmisesvariate", "weibullvariate",
)  # fmt: skip


class Source(Protocol):
    """The interface of whose clocks and dice are used."""

    def monotonic(self) -> float: ...

    def wall(self) -> float: ...

    def dice(self) -> random.Random: ...

    def start_thread(self, thread: threading.Thread) -> bool:
        """Runs a thread in the simulation, if it is a node's."""

    def getaddrinfo(self, *arguments: Any, **options: Any) -> list[Any] | None:
        """Resolves a name, if a node asks."""

    def socketpair_here(self) -> tuple[Any, Any] | None:
        """Connects two sockets, if a node asks."""

    def pid(self) -> int | None:
        """Returns the number of the running process, if it is a node's."""

    def synced(self, number: int) -> bool:
        """Hears that an open file is to be synced; tells whether it lies on a simulated disk."""

    def opened(self, thing: Closing) -> None:
        """Closes this thing when the process ends that opened it, if it is a node's."""


_source: Source | None = None
_thread = 0
_REAL_CLOCK = time.perf_counter


def real_clock() -> float:
    """Seconds as they really pass, for telling how fast a simulation is."""
    return _REAL_CLOCK()


def _pinned() -> Source | None:
    """Returns the source, for the thread of the simulation only."""
    return _source if _source is not None and get_ident() == _thread else None


def _clock(real: Callable[[], Any], read: Callable[[Source], Any]) -> Callable[[], Any]:
    def clock() -> Any:
        # As ``_pinned`` says: nothing else is asked so often.
        if (source := _source) is None or get_ident() != _thread:
            return real()
        return read(source)

    return clock


def _calendar(real: Callable[[float | None], time.struct_time]) -> Callable[..., time.struct_time]:
    def calendar(seconds: float | None = None) -> time.struct_time:
        source = _pinned()
        return real(source.wall() if seconds is None and source is not None else seconds)

    return calendar


def _dice(name: str) -> Callable[..., Any]:
    real = getattr(random, name)

    def draw(*arguments: Any, **options: Any) -> Any:
        source = _pinned()
        return (real if source is None else getattr(source.dice(), name))(*arguments, **options)

    return draw


def _strftime(form: str, moment: Any = None, /) -> str:
    return _REAL_STRFTIME(form, time.localtime() if moment is None else moment)


_REAL_STRFTIME = time.strftime
_REAL_RANDOM = random.Random
_REAL_URANDOM = os.urandom
_REAL_SLEEP = time.sleep
_REAL_UUID1 = uuid.uuid1
_REAL_START = threading.Thread.start
_POLICY = getattr(asyncio.events, "BaseDefaultEventLoopPolicy", None)
"""Makes a loop for who asks for one and has none, in Pythons before 3.14."""
_REAL_GETADDRINFO = socket.getaddrinfo
_REAL_SOCKETPAIR = socket.socketpair
_REAL_GETPID = os.getpid
_REAL_GETRUSAGE = resource.getrusage
_REAL_CONNECT = sqlite3.connect
_REAL_FLOCK = fcntl.flock
_REAL_FSYNC = os.fsync


class _PinnedRandom(_REAL_RANDOM):
    """A generator that, made without a seed, takes one from the source."""

    def __init__(self, x: Any = None) -> None:
        source = _pinned()
        if x is None and source is not None:
            x = source.dice().getrandbits(128)
        super().__init__(x)


def _urandom(size: int, /) -> bytes:
    source = _pinned()
    return _REAL_URANDOM(size) if source is None else source.dice().randbytes(size)


def _sleep(seconds: float, /) -> None:
    if _pinned() is None:
        _REAL_SLEEP(seconds)


def _uuid1(node: int | None = None, clock_seq: int | None = None) -> uuid.UUID:
    source = _pinned()
    if source is None:
        return _REAL_UUID1(node, clock_seq)
    return uuid.UUID(bytes=source.dice().randbytes(16), version=1)


def _start(thread: threading.Thread) -> None:
    source = _pinned()
    if source is None or not source.start_thread(thread):
        _REAL_START(thread)


def _getaddrinfo(*arguments: Any, **options: Any) -> list[Any]:
    source = _pinned()
    found = None if source is None else source.getaddrinfo(*arguments, **options)
    return _REAL_GETADDRINFO(*arguments, **options) if found is None else found


def _socketpair(*arguments: Any, **options: Any) -> tuple[Any, Any]:
    source = _pinned()
    pair = None if source is None else source.socketpair_here()
    return _REAL_SOCKETPAIR(*arguments, **options) if pair is None else pair


def _getpid() -> int:
    source = _pinned()
    pid = None if source is None else source.pid()
    return _REAL_GETPID() if pid is None else pid


def _getrusage(who: int, /) -> resource.struct_rusage:
    source = _pinned()
    if source is None or source.pid() is None:
        return _REAL_GETRUSAGE(who)
    return resource.struct_rusage((0.0, 0.0, *[0] * 14))


def _connect(*arguments: Any, **options: Any) -> sqlite3.Connection:
    source = _pinned()
    if source is not None:
        options = {"factory": Database, **options}
    connection: sqlite3.Connection = _REAL_CONNECT(*arguments, **options)
    if source is not None:
        source.opened(connection)
    return connection


def _flock(file: Any, operation: int, /) -> None:
    _REAL_FLOCK(file, operation)
    source = _pinned()
    if source is not None and not isinstance(file, int) and operation & fcntl.LOCK_EX:
        source.opened(file)


def _fsync(file: Any, /) -> None:
    source = _pinned()
    if source is None or not source.synced(file if isinstance(file, int) else file.fileno()):
        _REAL_FSYNC(file)


def _nanoseconds(read: Callable[[Source], float]) -> Callable[[Source], int]:
    return lambda source: round(read(source) * 1_000_000_000)


def _replacements() -> dict[tuple[ModuleType, str], tuple[Any, Any]]:
    """Returns what is replaced by what, by its home."""
    found: dict[tuple[ModuleType, str], tuple[Any, Any]] = {}

    def pin(module: ModuleType, name: str, pinned: Any) -> None:
        if hasattr(module, name):
            found[module, name] = (getattr(module, name), pinned)

    def monotonic(source: Source) -> float:
        return source.monotonic()

    def wall(source: Source) -> float:
        return source.wall()

    pin(time, "time", _clock(time.time, wall))
    pin(time, "time_ns", _clock(time.time_ns, _nanoseconds(wall)))
    for name in ("monotonic", "perf_counter", "process_time", "thread_time"):
        pin(time, name, _clock(getattr(time, name), monotonic))
        pin(time, f"{name}_ns", _clock(getattr(time, f"{name}_ns"), _nanoseconds(monotonic)))
    pin(time, "sleep", _sleep)
    pin(time, "gmtime", _calendar(time.gmtime))
    pin(time, "localtime", _calendar(time.localtime))
    pin(time, "strftime", _strftime)
    for name in _DICE:
        pin(random, name, _dice(name))
    pin(random, "Random", _PinnedRandom)
    pin(asyncio, "Task", SimTask)
    pin(socket, "getaddrinfo", _getaddrinfo)
    pin(os, "urandom", _urandom)
    pin(uuid, "uuid1", _uuid1)
    pin(socket, "socketpair", _socketpair)
    pin(os, "getpid", _getpid)
    pin(resource, "getrusage", _getrusage)
    pin(sqlite3, "connect", _connect)
    pin(fcntl, "flock", _flock)
    pin(os, "fsync", _fsync)
    return found


_PINS = _replacements()
_BY_IDENTITY = {id(real): pinned for real, pinned in _PINS.values()}


def _no_loop(self: object) -> NoReturn:
    raise RuntimeError("no loop runs in this world any more")


@contextmanager
def pinned_to(source: Source) -> Iterator[None]:
    """Pins the process to a source for the block. One at a time."""
    global _source, _thread
    if _source is not None:
        raise RuntimeError("another world is open in this process")
    undo: list[Callable[[], None]] = []
    try:
        for module in list(sys.modules.values()):
            name = getattr(module, "__name__", "")
            if isinstance(module, ModuleType) and not _is_under(name, _UNPINNED):
                _pin_names(module, undo)
                if _is_under(name, _PRODUCT) and not _is_under(name, _OURS):
                    _pin_defaults(module, undo)
        setattr(threading.Thread, "start", _start)  # noqa: B010
        undo.append(lambda: setattr(threading.Thread, "start", _REAL_START))
        # What asks for a loop while none runs, as the last words of ended tasks do, must not get a real one.
        if _POLICY is not None:
            undo.append(partial(setattr, _POLICY, "get_event_loop", _POLICY.get_event_loop))
            _POLICY.get_event_loop = _no_loop
        _source, _thread = source, threading.get_ident()
        yield
    finally:
        _source = None
        for step in reversed(undo):
            step()


def _pin_names(module: ModuleType, undo: list[Callable[[], None]]) -> None:
    names = vars(module)
    for name, value in list(names.items()):
        pinned = _BY_IDENTITY.get(id(value))
        if pinned is not None:
            names[name] = pinned
            undo.append(lambda names=names, name=name, value=value: names.__setitem__(name, value))  # type: ignore[misc]


def _pin_defaults(module: ModuleType, undo: list[Callable[[], None]]) -> None:
    for value in list(vars(module).values()):
        if getattr(value, "__module__", None) != module.__name__:
            continue
        for function in vars(value).values() if isinstance(value, type) else (value,):
            if not isinstance(function, FunctionType):
                continue
            old, old_named = function.__defaults__, function.__kwdefaults__
            if old and any(id(each) in _BY_IDENTITY for each in old):
                function.__defaults__ = tuple(_BY_IDENTITY.get(id(each), each) for each in old)
                undo.append(lambda function=function, old=old: setattr(function, "__defaults__", old))  # type: ignore[misc]
            if old_named and any(id(each) in _BY_IDENTITY for each in old_named.values()):
                function.__kwdefaults__ = {k: _BY_IDENTITY.get(id(v), v) for k, v in old_named.items()}
                undo.append(lambda function=function, old=old_named: setattr(function, "__kwdefaults__", old))  # type: ignore[misc]


def _is_under(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(package + ".") for package in packages)
