"""The hosts with most to do, without a look at each host each time somebody wants to see them.

To rank hosts costs a pass over all seats. So the ranking is kept and made anew the more rarely the longer a pass takes,
a piece at a time, so that the loop goes on in between; how the ranked hosts stand is looked up each time.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Iterator
from time import perf_counter
from typing import Final

from p2pcrawl.core.bench.seat import Seat
from p2pcrawl.core.bench.workbench import Workbench

RANKED: Final = 200
"""Hosts that a ranking holds: as many can be shown."""
PIECE: Final = 2_000
"""Seats that are looked at before others have their turn: about a millisecond."""
RANK_S: Final = 1.0
COST: Final = 0.005
"""The part of the time that ranking may take."""


class BusyHosts:
    """Ranks the hosts at a master's workbench by how much waits for them and is open."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._ranked: list[int] = []
        self._again_at = 0.0
        self._ranking = asyncio.Lock()

    async def first(self, count: int) -> list[Seat]:
        """Returns the seats of the busiest hosts, as they were ranked last."""
        async with self._ranking:
            if perf_counter() >= self._again_at:
                await self._rank()
        return list(self._busy(count))

    def _busy(self, count: int) -> Iterator[Seat]:
        for key in self._ranked[:count]:
            seat = self._bench.seats.get(key)
            if seat is not None and (seat.host.open or seat.waiting):
                yield seat

    async def _rank(self) -> None:
        seats = list(self._bench.seats.values())
        best: list[tuple[int, int, int]] = []
        took_s = 0.0
        for start in range(0, len(seats), PIECE):
            began = perf_counter()
            rows = [(s.waiting, s.host.open, s.host.key) for s in seats[start : start + PIECE]]
            best = heapq.nlargest(RANKED, [*best, *(row for row in rows if row[0] or row[1])])
            took_s += perf_counter() - began
            await asyncio.sleep(0)
        self._ranked = [key for _, _, key in best]
        self._again_at = perf_counter() + max(RANK_S, took_s / COST)
