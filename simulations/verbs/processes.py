"""Does the same work on many things, in several processes, which all end when one has had enough of it."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from types import FrameType
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def in_processes(work: Callable[[T], R], over: Sequence[T], jobs: int) -> Iterator[R]:
    """Yields what ``work`` makes of each, in their order; with one process it is this one.

    Whatever ends this early, such as Ctrl-C, ends the others as well, and what they had opened is put away.
    """
    if jobs < 2 or len(over) < 2:
        yield from map(work, over)
        return
    strangers = multiprocessing.active_children()
    with ProcessPoolExecutor(min(jobs, len(over)), initializer=_begin) as pool:
        try:
            yield from pool.map(partial(_done, work), over)
        except BaseException:
            for process in multiprocessing.active_children():
                if process not in strangers:
                    process.terminate()
            pool.shutdown(cancel_futures=True)
            raise


def _begin() -> None:
    # Ctrl-C reaches all processes of a terminal: the first says so, and ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end)


def _end(number: int, frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_IGN)
    raise SystemExit


def _done(work: Callable[[T], R], each: T) -> R:
    try:
        return work(each)
    except SystemExit:
        # The pool would take this for an answer, and go on with the next.
        os._exit(1)
