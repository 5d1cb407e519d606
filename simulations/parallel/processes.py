"""Does the same work on many things, in several processes, which all end when one has had enough of it."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import FrameType
from typing import Any, NoReturn, TypeVar

from p2pcrawl.model.errors import P2PCrawlError

T = TypeVar("T")
R = TypeVar("R")

_AGAIN_S = 0.01
END_S = 20.0
"""How long a process may take to put away what it had opened."""


def in_processes(work: Callable[[T], R], over: Sequence[T], jobs: int) -> Iterator[R]:
    """Yields what ``work`` makes of each, in their order; with one process it is this one.

    Whatever ends this early, such as Ctrl-C, ends the others as well, and what they had opened is put away. A pool of
    the standard library will not do: a process that ends while it says something leaves the pool's thread waiting for
    the rest.
    """
    if jobs < 2 or len(over) < 2:
        yield from map(work, over)
        return
    workers: dict[Connection, BaseProcess] = {}
    try:
        for _ in range(min(jobs, len(over))):
            here, there = multiprocessing.Pipe()
            process = multiprocessing.Process(target=_serve, args=(work, there, here), daemon=True)
            process.start()
            there.close()
            workers[here] = process
        yield from _done(list(workers), over)
    finally:
        end_all(list(workers.values()))
        for here in workers:
            here.close()


def _done(workers: list[Connection], over: Sequence[T]) -> Iterator[Any]:
    """Yields what the workers make of each, in the order of ``over``."""
    made: dict[int, Any] = {}
    asked, told = 0, 0
    for worker in workers:
        worker.send((asked, over[asked]))
        asked += 1
    while told < len(over):
        for ready in wait(workers):
            assert isinstance(ready, Connection)
            try:
                index, failed, made[index] = ready.recv()
            except EOFError:
                raise P2PCrawlError("one of the processes was ended by somebody else") from None
            if failed:
                raise made[index]
            if asked < len(over):
                ready.send((asked, over[asked]))
                asked += 1
        while told in made:
            yield made.pop(told)
            told += 1


def _serve(work: Callable[[T], R], there: Connection, here: Connection) -> None:
    """Works in a process of its own on what it is sent, until nobody sends any more."""
    here.close()
    # Ctrl-C reaches all processes of a terminal: the first says so, and ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_at_signals()
    while True:
        try:
            index, each = there.recv()
        except EOFError:
            return
        try:
            made = work(each)
        except Exception as error:
            there.send((index, True, error))
        else:
            there.send((index, False, made))


def end_at_signals() -> None:
    """Lets this process end in order when another ends it."""
    signal.signal(signal.SIGTERM, _end)


def stop_by(error: BaseException) -> NoReturn:
    """Raises this in a handler of a signal, wherever in the code that came; where nobody can hear it, soon again."""
    # Coroutines that were made and not begun yet are no mistake.
    warnings.filterwarnings("ignore", r"coroutine '.*' was never awaited", RuntimeWarning)
    others = sys.unraisablehook

    def heard(unheard: sys.UnraisableHookArgs) -> None:
        if unheard.exc_value is error:
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)
        else:
            others(unheard)

    def again(number: int, frame: FrameType | None) -> None:
        raise error

    sys.unraisablehook = heard
    signal.signal(signal.SIGALRM, again)
    raise error


def _end(number: int, frame: FrameType | None) -> None:
    """Ends this process, once, as an exception does: what it had opened is put away."""
    signal.signal(number, signal.SIG_IGN)
    stop_by(SystemExit())


def end_all(processes: Sequence[BaseProcess]) -> None:
    """Ends processes, and waits until they have put away what they had opened; not for ever."""
    for process in processes:
        process.terminate()
    for process in processes:
        process.join(END_S)
        if process.is_alive():
            process.kill()
            process.join()
