"""A board of a job that has several, or whose boards change while it runs, as it travels between processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

NAME_MAX: Final = 100
"""Characters of a board's name."""
TEXT_MAX: Final = 1 << 20
"""Characters of its text."""
TEXTS_MAX: Final = 4 << 20
"""Bytes of the texts of all boards of a job."""
BOARDS_MAX: Final = 500
"""Boards of a job, with those that were taken away."""
ENTRIES_MAX: Final = 10_000
"""Entries that a board had and has no more, of which it is remembered that they are not to be asked again."""
FROM_START: Final = 1
"""The version of a board that was in its job from the start, whose entries the spider's start puts in."""
VERSION_MAX: Final = 1 << 62
REMOVED: Final = "removed"
CLOSED_MAX: Final = 40
_MARK: Final = "board_"


@dataclass(frozen=True, slots=True)
class JobBoard:
    """A board in one of its versions. What is known of a board is one of these as a whole, never parts of two."""

    version: int
    """Of two the greater one counts: the milliseconds since 1970 of its change, or more where that was taken."""
    text: str
    """Of its file."""
    gone: tuple[str, ...] = ()
    """Entries that it had, and has no more."""
    closed: str = ""
    """Why nothing more of it is asked: it was taken away (``REMOVED``), or has reached a limit of its own."""


Boards = Mapping[str, JobBoard]
"""The boards of a job by their names."""


def mark_of(name: str) -> str:
    """Returns what the pages of a board are marked with: the name of their callback."""
    return _MARK + blake2b(name.encode(), digest_size=6).hexdigest()


def is_mark(callback: str) -> bool:
    """Tells whether a callback stands for a board."""
    return callback.startswith(_MARK)
