"""Errors of disks: one call that a disk refuses, some calls from now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

READ, WRITE, COMMIT, FULL, SYNC = KINDS = ("read", "write", "commit", "full", "sync")
"""A query fails, a statement that changes something, or a commit; the disk is full at one commit; a file that is none
of a database cannot be synced."""
_COUNTED: Final = {READ: "query", WRITE: "statement", COMMIT: "commit", FULL: "commit", SYNC: "fsync"}


class DiskError:
    """One call of a kind that fails, once: the ``nth`` from now."""

    def __init__(self, kind: str, nth: int, strike: Callable[[], None]) -> None:
        self.kind = kind
        self.struck = False
        self._left = nth
        self._strike = strike

    def strikes(self, call: str) -> bool:
        """Tells whether a call fails that is made now: a ``query``, ``statement``, ``commit`` or ``fsync``."""
        if self.struck or _COUNTED[self.kind] != call:
            return False
        self._left -= 1
        if self._left > 0:
            return False
        self.struck = True
        self._strike()
        return True
