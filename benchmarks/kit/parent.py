"""Processes that end with the one that started them, however it ends."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def ends_with_us() -> Callable[[], None]:
    """Makes a ``preexec_fn`` by which the system kills the child when this process is gone, also if that is killed.
    Does nothing where the system knows no such thing. Call it in the thread that starts the child, and let that live
    on.
    """
    parent = os.getpid()

    def before_exec() -> None:
        if _libc is None:
            return
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            # It went before this was asked for.
            os._exit(1)

    return before_exec
