"""Telling late: what all masters are to know is told to those that may not know it, and at once to whoever comes.

Who changes something tells all others that live. Those that are away hear of it later: each master tells those in its
charge, as it does with jobs. A mark says in short what is known, so that who has it already is told nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Generic, TypeVar

from p2pcrawl.master.jobs.mirroring import charges
from p2pcrawl.model.cluster.node import NodeId
from p2pcrawl.overlay.peers import Peers

log = logging.getLogger(__name__)

TELL_S = 1.0

Mark = TypeVar("Mark")


class TellingLate(Generic[Mark]):
    """Tells one thing. ``mark`` returns that of what is known now, empty for nothing; ``tell`` takes all of it to a
    member, and says so by :meth:`note`; ``what`` names it in the log.
    """

    def __init__(
        self, peers: Peers, mark: Callable[[], Mark], tell: Callable[[NodeId], Awaitable[None]], what: str
    ) -> None:
        self._peers = peers
        self._mark = mark
        self._tell = tell
        self._what = what
        self._told: dict[NodeId, Mark] = {}
        """The mark of what each member has on its disk at least."""
        self._came = asyncio.Event()

    def note(self, node: NodeId, mark: Mark) -> None:
        """Takes note that a member has on its disk what this mark is of."""
        self._told[node] = mark

    def restarted(self, node: NodeId) -> None:
        """Forgets what a member was told: it may have lost that."""
        self._told.pop(node, None)
        self._came.set()

    async def run(self) -> None:
        """Tells those in our charge what they may not know, for ever."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(TELL_S):
                    await self._came.wait()
            self._came.clear()
            try:
                mark = self._mark()
                members = charges(self._peers.members(), self._peers.me)
                late = [m.id for m in members if mark and self._told.get(m.id) != mark]
                await asyncio.gather(*(self._tell(node) for node in late), return_exceptions=True)
            except Exception:
                log.exception("telling of %s failed; it goes on", self._what)
