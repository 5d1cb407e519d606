"""The moments at which all that is here has as many copies as can be had: also what was here when this master began,
what came to it with buckets, and what it found out of buckets that had become others'.

What is copied turn by turn (``Copier``) says nothing of these. They are with the others when each copy that living
holders are to have is synced, all that is ours is served, and nothing is left over that is another's. Nor do these
moments say anything of what is on its way to holders turn by turn: a copy is synced all the while.
"""

from __future__ import annotations

from collections.abc import Callable

from p2pcrawl.core.buckets.copy_ledger import Copying
from p2pcrawl.core.buckets.ownership import Ownership


class Abreast:
    """Calls whoever waits for such a moment. It is looked for by :meth:`tend`, to be called now and then."""

    def __init__(self, ownership: Ownership, copying: Copying) -> None:
        self._ownership = ownership
        self._copying = copying
        self._waiting: list[Callable[[], None]] = []

    def when(self, then: Callable[[], None]) -> None:
        """Calls ``then`` at the next such moment, and never at once: what has just come may not be lacking yet."""
        self._waiting.append(then)

    def tend(self) -> None:
        """Calls all that wait, if it is such a moment."""
        if self._waiting and self._are_abreast():
            waiting, self._waiting = self._waiting, []
            for then in waiting:
                then()

    def _are_abreast(self) -> bool:
        ownership = self._ownership
        if ownership.syncing or not ownership.complete or ownership.left_over:
            return False
        return not self._copying.lacking()
