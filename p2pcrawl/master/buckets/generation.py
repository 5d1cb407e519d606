"""The scope of what is done for buckets in one generation of their ownership.

A generation ends when the view changes, or all is claimed anew; whatever was begun in it must not go on as if nothing
had happened. So each wait goes through here, and this is the one place that looks whether it is still the same. What
others are asked, and what waits for them, is given up at once when a generation ends. What is being stored here is
never cut in half: it is finished first, and then nothing follows from it.

A cancellation leaves nothing that would have to be restored: what the states of buckets were on their way to, the event
that ended the generation has put right already (``core.buckets.bucket_states``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

from p2pcrawl.core.buckets.ownership import Ownership
from p2pcrawl.model.errors import LinkError

T = TypeVar("T")


class ClaimedAnew(LinkError):
    """The view has changed meanwhile, or all is claimed anew: what was done stays, and nothing follows from it."""


class Generation:
    """The generation that is the ownership's as this is made."""

    def __init__(self, ownership: Ownership) -> None:
        self._ownership = ownership
        self._number = ownership.generation
        self._waits: dict[asyncio.Future[Any], None] = {}
        """In the order in which they were begun."""

    @property
    def over(self) -> bool:
        """Tells whether another one has begun."""
        return self._ownership.generation != self._number

    def end(self) -> None:
        """Gives up what waits for others; those who wait hear of it in their next turn."""
        for wait in list(self._waits):
            wait.cancel()

    async def wait_for(self, others: Awaitable[T]) -> T:
        """Returns what comes of this, as long as the generation lasts. Raises ClaimedAnew as soon as it has ended."""
        wait = asyncio.ensure_future(others)
        self._waits[wait] = None
        try:
            await asyncio.wait([wait])
        finally:
            wait.cancel()
            self._waits.pop(wait, None)
        if self.over:
            # What it raised is nobody's any more.
            wait.cancelled() or wait.exception()
            raise ClaimedAnew("all is claimed anew")
        return wait.result()

    async def finish(self, work: Awaitable[T]) -> T:
        """Returns what comes of this, when it is done. Raises ClaimedAnew if the generation has ended by then."""
        result = await work
        if self.over:
            raise ClaimedAnew("all is claimed anew")
        return result
