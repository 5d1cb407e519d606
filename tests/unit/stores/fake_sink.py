"""Sinks that keep what they are brought in memory, and are away, slow, refusing or full of crashes as a test says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from p2pcrawl.model.errors import ConfigurationError
from p2pcrawl.stores.address import SinkAddress
from p2pcrawl.stores.kinds import SinkPlace
from p2pcrawl.stores.sink import BatchLimits, Position, RefusedItem, SinkAway, SinkPage, Written


@dataclass
class Destination:
    """What is at the other end: it outlives the sinks that are opened on it."""

    items: dict[str, bytes] = field(default_factory=dict)
    """By key; of a destination without keys: by place."""
    keyed: bool = True
    away: bool = False
    forbidden: bool = False
    """It refuses to be opened."""
    refuses: Callable[[bytes], str] = lambda item: ""
    """Why an item can never be taken, or ""."""
    step: Callable[[str], None] = lambda name: None
    """Called before and after whatever changes the destination, and in the middle."""
    gate: asyncio.Event | None = None
    """What a write waits for."""
    limits: BatchLimits = field(default_factory=lambda: BatchLimits(linger_s=0.0))
    batches: list[list[SinkPage]] = field(default_factory=list)
    opened: int = 0
    finished: int = 0
    closed: int = 0

    def sink(self, address: SinkAddress, place: SinkPlace) -> FakeSink:
        return FakeSink(self)

    @property
    def values(self) -> list[bytes]:
        return list(self.items.values())


class FakeSink:
    """A sink on a :class:`Destination`: keyed, or cut back to its position."""

    def __init__(self, destination: Destination) -> None:
        self.to = destination
        self.limits = destination.limits

    async def open(self, position: Position | None) -> Position:
        to = self.to
        to.step("open")
        if to.forbidden:
            raise ConfigurationError("fake://place refuses everybody")
        self._be_there()
        to.opened += 1
        if not to.keyed:
            to.items = dict(list(to.items.items())[: (position or {}).get("length", 0)])
        to.step("opened")
        return self._position

    async def write(self, pages: Sequence[SinkPage]) -> Written:
        to = self.to
        to.step("write")
        if to.gate is not None:
            await to.gate.wait()
        self._be_there()
        to.batches.append(list(pages))
        refused = []
        for number, page in enumerate(pages):
            if number == len(pages) // 2:
                to.step("half-way")
            self._make_room(page)
            for place, item in enumerate(page.items):
                if reason := to.refuses(item):
                    refused.append(RefusedItem(page, place, reason))
                else:
                    to.items[page.key(place) if to.keyed else str(len(to.items))] = item
        to.step("written")
        return Written(self._position, refused)

    async def finish(self) -> None:
        self.to.step("finish")
        self._be_there()
        self.to.finished += 1
        self.to.step("finished")

    async def close(self) -> None:
        self.to.closed += 1

    @property
    def _position(self) -> Position:
        return {} if self.to.keyed else {"length": len(self.to.items)}

    def _make_room(self, page: SinkPage) -> None:
        """A later visit replaces what earlier ones gave."""
        if page.visit and self.to.keyed:
            for key in [key for key in self.to.items if key.startswith(f"{page.job}-{page.fingerprint}-")]:
                del self.to.items[key]

    def _be_there(self) -> None:
        if self.to.away:
            raise SinkAway("fake://place does not answer")
