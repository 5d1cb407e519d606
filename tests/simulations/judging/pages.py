"""Pages that models judge in tests, and what everybody sees of them who saw that nothing was deleted or set back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from simulations.model.stores import Key, stamp_of

JOB: Final = 7
PAGE: Final[Key] = (0, 1, JOB)
LINK: Final[Key] = (0, 2, JOB)
DONE: Final = stamp_of(0, 3, 1, 0)
QUEUED: Final = stamp_of(0, 0, 0, 0)


@dataclass
class SeenPages:
    """What is seen of pages, whatever is seen of masters besides."""

    is_set_back: bool = False
    is_deleted: bool = False

    def set_back(self, master: str) -> bool:
        return self.is_set_back

    def deleted(self, job: int) -> bool:
        return self.is_deleted

    def closes_early(self, job: int) -> bool:
        return False

    def name(self, key: Key) -> str:
        return f"page {key[1]}"
