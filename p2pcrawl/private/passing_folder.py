"""Private folders for what is unpacked: they go with their process, or, where that was killed, with the next one.

A process that is killed removes nothing. So each folder has a file that its process holds locked, and whoever makes a
folder of the same kind removes those that nobody holds. A lock ends with its process, however that ends, and is seen
across containers that share the folder for temporary files, where numbers of processes say nothing.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

HELD: Final = ".held"
"""In each folder: locked while its process lives."""


class PassingFolder:
    """A folder that is there until :meth:`remove`, or until another process finds that this one is gone."""

    def __init__(self, prefix: str) -> None:
        """Raises OSError when it cannot be made."""
        remove_abandoned(prefix)
        self._made = tempfile.TemporaryDirectory(prefix=prefix)
        self.path = Path(self._made.name)
        draft = self.path / f"{HELD}.draft"
        self._held: int | None = (held := os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        # Locked before it has its name: nobody ever sees it without its lock.
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        draft.rename(self.path / HELD)

    def remove(self) -> None:
        """Removes it, once: closed again, its number would be that of another file."""
        self._made.cleanup()
        if self._held is not None:
            held, self._held = self._held, None
            os.close(held)


def remove_abandoned(prefix: str) -> None:
    """Removes this user's folders of that kind whose processes are gone."""
    with suppress(OSError):
        for path in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
            with suppress(OSError):
                _remove_if_abandoned(path)


def _remove_if_abandoned(path: Path) -> None:
    """Raises OSError when somebody holds it, when it is no such folder, and when it is another user's."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(folder).st_uid != os.geteuid():
            return
        held = os.open(HELD, os.O_RDWR | os.O_NOFOLLOW, dir_fd=folder)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path)
        finally:
            os.close(held)
    finally:
        os.close(folder)
