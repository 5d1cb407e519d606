"""The view of the members in which a master acts: it follows the membership's, though not at each newcomer.

Each view costs a word with every other master. So while one newcomer follows the other, those that came are taken into
the view together; nothing waits when one comes alone or when anybody has gone. Whoever claims in a view that is not
ours yet waits a while for us to come to it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from p2pcrawl.core.buckets.ownership import Change, Ownership
from p2pcrawl.core.journal import Journal
from p2pcrawl.core.membership.output import Event, EventKind
from p2pcrawl.master.buckets.caution import Caution
from p2pcrawl.model.cluster.node import Member, NodeId
from p2pcrawl.model.cluster.notable import Notable
from p2pcrawl.model.timings import TIMINGS
from p2pcrawl.overlay.peers import Peers

log = logging.getLogger(__name__)

VIEW_S = 0.05
"""Between two views that are taken."""
QUIET_S = 0.3
"""After so long without another newcomer those that came are taken into the view: longer than between two rounds of
gossip."""
COMING_S = 2.0
"""No newcomer waits longer for others that follow it."""
LOOK_ON_S = 0.2
"""Between two looks at whether all have been asked by one that found nobody yet."""
COME_S = 1.0
"""How long a claim in a view that is not ours yet waits for us to come to it."""


@dataclass(frozen=True, slots=True)
class ViewChange:
    """A view that was taken, and what has changed with it."""

    members: list[Member]
    restarted: list[NodeId]
    """Those that are new, or in another life than before."""
    wiped: bool
    """Somebody has come back with another disk."""
    gone: set[NodeId]
    change: Change | None
    """What it means for our buckets; None when the view is the one that we acted in."""


class Views:
    """Takes views when they have come to rest. ``taken`` is called with each, when the ownership knows of it."""

    def __init__(
        self,
        peers: Peers,
        ownership: Ownership,
        caution: Caution,
        journal: Journal,
        taken: Callable[[ViewChange], None],
    ) -> None:
        self._peers = peers
        self._ownership = ownership
        self._caution = caution
        self._journal = journal
        self._taken = taken
        self.boots: dict[NodeId, bytes] = {}
        """The members of the view that was taken last, and the life that each is in."""
        self._stores: dict[NodeId, bytes] = {}
        """The disk of everybody who was ever a member."""
        self._changed = asyncio.Event()
        self._view_taken = asyncio.Event()
        """Set for a moment when a view is taken."""
        self._expected: Counter[int] = Counter()
        """The views in which others claim, and wait for us to come to them."""
        self._came_at = -inf
        """When others last came or went."""

    def start(self, *, looking: bool) -> None:
        """Takes the first view. ``looking``: there may be others, who are being looked for."""
        if looking:
            self._caution.look()
            loop = asyncio.get_running_loop()
            loop.call_later(TIMINGS.looking_s, self._look_no_longer, loop.time() + TIMINGS.patience_s)
        self.take()

    def happened(self, event: Event) -> None:
        """Takes in an event of the membership."""
        if event.kind is not EventKind.SUSPECTED:
            self._changed.set()

    async def follow(self) -> None:
        """Takes one view after the other; for ever."""
        while True:
            await self._changed.wait()
            await self._debounce_joins()
            self._changed.clear()
            self.take()
            await asyncio.sleep(VIEW_S)

    async def wait_for_view(self, view: int) -> None:
        """Waits a while till a view, in which somebody claims, is ours, for most often the news is under way."""
        if view == self._ownership.view:
            return
        self._expected[view] += 1
        try:
            if view == self._peers.view_digest:
                self._changed.set()
            async with asyncio.timeout(COME_S):
                while view != self._ownership.view:
                    await self._view_taken.wait()
        except TimeoutError:
            log.debug("did not come to view %016x", view)
        finally:
            self._expected[view] -= 1
            if not self._expected[view]:
                del self._expected[view]

    # -- taking one ---------------------------------------------------------------------------

    def take(self) -> None:
        """Acts in the membership's view from now on, without waiting for anybody."""
        members, view = self._peers.members(), self._peers.view_digest
        if not members:
            # All have left, and we with them: nothing is anybody's.
            return
        restarted, wiped = self._meet(members)
        gone = set(self.boots) - {m.id for m in members}
        for node in gone:
            del self.boots[node]
        change = None
        if view != self._ownership.view or not self._ownership.table:
            change = self._ownership.change(members, view)
            self._view_taken.set()
            self._view_taken.clear()
            log.info(
                "view %016x of %d masters: %d buckets gained, %d lost",
                view,
                len(members),
                len(change.gained),
                len(change.lost),
                extra=self._noted(members, view),
            )
        self._taken(ViewChange(members, restarted, wiped, gone, change))

    def _noted(self, members: list[Member], view: int) -> Mapping[str, Any] | None:
        """Notes the view, where it falls to this master: all others take the same."""
        if min(member.id for member in members) != self._peers.me:
            return None
        return self._journal.note(Notable.VIEW_CHANGED, view=f"{view:016x}", members=len(members))

    def _meet(self, members: list[Member]) -> tuple[list[NodeId], bool]:
        """Returns who has restarted, or is new; and whether any has another disk than before."""
        restarted = [member.id for member in members if self.boots.get(member.id) != member.boot]
        wiped = any(self._stores.get(member.id, member.store) != member.store for member in members)
        self.boots.update((member.id, member.boot) for member in members)
        self._stores.update((member.id, member.store) for member in members)
        return restarted, wiped

    def _look_no_longer(self, until: float) -> None:
        """Begins with those that were found; alone not before each that is known was asked, or it takes too long."""
        if self._caution.looking:
            loop = asyncio.get_running_loop()
            if len(self._peers.members()) > 1:
                # Somebody was found while we waited for others that follow.
                self.take()
            elif loop.time() < until and not self._peers.all_asked():
                loop.call_later(LOOK_ON_S, self._look_no_longer, until)
                return
        self._caution.look_no_longer()

    # -- newcomers ----------------------------------------------------------------------------

    async def _debounce_joins(self) -> None:
        """Waits, while one newcomer follows the other, till nobody came for a moment: each view costs a word with all.

        Nothing is waited for when one comes alone, when anybody has gone, or when somebody claims in the view that we
        would take.
        """
        now = asyncio.get_running_loop().time
        alone = not self._caution.looking and now() >= self._came_at + QUIET_S
        until = quiet_at = now() + COMING_S
        seen = None
        while not alone and self._only_come() and (view := self._peers.view_digest) not in self._expected:
            if view != seen:
                seen, quiet_at = view, now() + QUIET_S
            self._changed.clear()
            try:
                async with asyncio.timeout_at(min(quiet_at, until)):
                    await self._changed.wait()
            except TimeoutError:
                break
        self._came_at = now()

    def _only_come(self) -> bool:
        """Tells whether all that our view has are there as they were, and others besides."""
        living = {member.id: member for member in self._peers.members()}
        had = self._ownership.weights
        return len(living) > len(had) and all(
            node in living and living[node].weight == weight and not living[node].leaving
            for node, weight in had.items()
        )
