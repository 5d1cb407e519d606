"""The desk of a slave process: a page of memory on which it shows what it is at, for whoever started it to see.

Code in C may hold Python's interpreter for as long as it likes; then nothing in the process itself can find out, let
alone say what it hangs on. Its parent can: it looks at the desk, and at what the system says that the process has
computed meanwhile. See ``spiders.limit`` for what is shown, and when.
"""

from __future__ import annotations

import mmap
import os
import struct
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Self

LOOK_S = 0.25
"""How often a parent is to look."""
_SIZE = 4096
_WORK = struct.Struct("=qq")
_LIMIT = struct.Struct("=d")
_SIGN = struct.Struct("=q")
_SIGN_AT = 24
_PATIENCE_AT = 32


class Desk:
    """One end. ``fd`` is to be inherited by the child."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._memory = mmap.mmap(fd, _SIZE)

    @classmethod
    def make(cls) -> Self:
        """Makes a desk, for a child that is about to be started."""
        if hasattr(os, "memfd_create"):
            fd = os.memfd_create("p2pcrawl-desk")
        else:
            with tempfile.TemporaryFile() as file:
                fd = os.dup(file.fileno())
        os.ftruncate(fd, _SIZE)
        return cls(fd)

    def close(self) -> None:
        self._memory.close()
        os.close(self.fd)

    def allow(self, cpu_s: float) -> None:
        """Allows a piece of work so much from now on; 0: any."""
        _LIMIT.pack_into(self._memory, _WORK.size, cpu_s)

    def begin(self, piece: int, lease: int) -> None:
        """Marks the begin of a piece of work, on the answer of this lease (0: on nobody's). Pieces count from 1."""
        _WORK.pack_into(self._memory, 0, piece, lease)

    def end(self) -> None:
        _WORK.pack_into(self._memory, 0, 0, 0)

    def sign(self) -> None:
        """Gives a sign: the process lives, and its interpreter lets threads have their turn."""
        (number,) = _SIGN.unpack_from(self._memory, _SIGN_AT)
        _SIGN.pack_into(self._memory, _SIGN_AT, number + 1)

    def expect(self, silence_s: float) -> None:
        """Sets for how long the process may be without a sign from now on."""
        _LIMIT.pack_into(self._memory, _PATIENCE_AT, silence_s)

    def signs(self) -> tuple[int, float]:
        """Reads how many signs there were, and how long the process may be without (0: for ever)."""
        return (*_SIGN.unpack_from(self._memory, _SIGN_AT), *_LIMIT.unpack_from(self._memory, _PATIENCE_AT))

    def seen(self) -> tuple[int, int, float]:
        """Reads which piece is worked on (0: none), its lease, and what it may take."""
        return (*_WORK.unpack_from(self._memory, 0), *_LIMIT.unpack_from(self._memory, _WORK.size))


class Overseer:
    """Looks at the desk of a child. Call :meth:`look` every LOOK_S."""

    def __init__(self, pid: int, desk: Desk) -> None:
        self._pid = pid
        self._desk = desk
        self._piece = 0
        self._cpu_s = 0.0
        self._signs = 0
        self._silent_s = 0.0

    def look(self) -> int | None:
        """Returns the lease whose answer takes too long; None while none does."""
        piece, lease, limit_s = self._desk.seen()
        if not piece or not limit_s:
            self._piece = 0
            return None
        cpu_s = computed_s(self._pid)
        if piece != self._piece:
            self._piece, self._cpu_s = piece, cpu_s
            return None
        if cpu_s - self._cpu_s <= limit_s or self._desk.seen()[0] != piece:
            return None
        return lease

    def silent(self) -> bool:
        """Tells whether the child has been without a sign for too long. Time in which nobody looked does not count:
        then this process may have stood still, and the child with it.
        """
        signs, patience_s = self._desk.signs()
        if signs != self._signs or not patience_s:
            self._signs, self._silent_s = signs, 0.0
            return False
        self._silent_s += LOOK_S
        return self._silent_s > patience_s


def computed_s(pid: int) -> float:
    """Returns how many seconds the process has computed so far; 0 where the system does not tell."""
    with suppress(OSError, ValueError, IndexError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0
