"""Events as they happen, to whoever listens: server-sent events, which browsers read by themselves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.model.redaction import redacted
from p2pcrawl.peer.news.events import EventLine

EVENT_STREAM: Final = "text/event-stream"
LISTENERS_MAX: Final = 32
"""Each keeps a connection of the API."""
EVERY_S: Final = 1.0
QUIET_S: Final = 15.0
"""After so long without an event a comment shows that the stream goes on."""
AT_ONCE: Final = 500

Ask = Callable[[str, dict[str, Any]], Awaitable[Any]]


class Listeners:
    """The audience at one peer. ``ask`` asks the peer."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._count = 0

    async def stream(self, after: str) -> AsyncIterator[bytes]:
        """Yields the events after a place, or from now on, for ever. Raises P2PCrawlError, at first when too many
        listen or the place is none.
        """
        if self._count >= LISTENERS_MAX:
            raise P2PCrawlError(f"{LISTENERS_MAX} others listen to events at this peer: ask another one")
        self._count += 1
        try:
            async for piece in self._pieces(after):
                yield piece
        finally:
            self._count -= 1

    async def _pieces(self, after: str) -> AsyncIterator[bytes]:
        place = after or (await self._ask("events", {"limit": 1}))["cursor"]
        # Whoever comes again before anything has happened goes on from here.
        first, quiet_s = f"id: {place}\n\n", 0.0
        while True:
            told = await self._ask("events", {"after": place, "limit": AT_ONCE}) if place else await self._first()
            place = told["cursor"]
            lines = "".join(server_sent(line) for line in told["events"])
            quiet_s = 0.0 if lines else quiet_s + EVERY_S
            if quiet_s >= QUIET_S:
                lines, quiet_s = ": nothing has happened\n\n", 0.0
            if first or lines:
                yield (first + lines).encode()
                first = ""
            if len(told["events"]) < AT_ONCE:
                await asyncio.sleep(EVERY_S)

    async def _first(self) -> Any:
        """Asks for all that there is, while there is no place yet: nothing has happened anywhere."""
        return await self._ask("events", {"limit": AT_ONCE})


def server_sent(line: EventLine) -> str:
    """Writes an event as it is sent."""
    data = {name: value for name, value in line.items() if name != "id"}
    return f"id: {line['id']}\nevent: {line['kind']}\ndata: {redacted(json.dumps(data))}\n\n"
