"""The fate of a master: whether it can go on, as all its parts may find out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Fate:
    """``wake`` is called when going on becomes impossible."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self.error: Exception | None = None
        """What made going on impossible, first."""
        self.ending = asyncio.Event()
        """Set when the crawl ends, be it as it should: that slaves do so, too, is nothing to warn of."""

    def fail(self, error: Exception) -> None:
        """Ends the crawl: :meth:`Master.run` raises this."""
        self.error = self.error or error
        self.ending.set()
        self._wake()
