"""The reasons why a master does not grant what its view calls its own: somebody else may be granting it, or may have
more of it.

Nothing is granted while others are being looked for, and, where that is wanted, without the consent of most masters.
One that was here before waits a while for those that it knew before it serves what they may have more of. Who stood
still for long, or had no consent for a while, may have been taken for dead, and who was cut off hears that it was: it
claims all that is its own anew.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

from p2pcrawl.master.buckets.takeover import Takeover
from p2pcrawl.master.company.neighbours import Neighbours
from p2pcrawl.model.cluster.node import Member
from p2pcrawl.model.cluster.notable import Notable
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.model.timings import TIMINGS

log = logging.getLogger(__name__)


class Caution:
    """Decides whether anything may be granted, beside the ownership. ``call_in`` has slaves give back what they have
    not begun; ``majority``: nothing is granted till most of the masters agree (:meth:`agreed`).
    """

    def __init__(
        self, neighbours: Neighbours, takeover: Takeover, call_in: Callable[[], None], *, majority: bool
    ) -> None:
        self._peers = neighbours.peers
        self._ownership = neighbours.ownership
        self._excess = neighbours.excess
        self._loading = neighbours.ground.loading
        self._takeover = takeover
        self._call_in = call_in
        self._journal = neighbours.ground.journal
        self.looking = False
        """Others are being looked for: till they are found, or it is clear that nobody is there, nothing is granted."""
        self._apart = majority
        """Most of the masters do not agree with us, where that is asked for."""

    def view_changed(self, members: list[Member]) -> None:
        """Judges anew, after a view change, whether anything is still waited for."""
        if len(members) > 1:
            self.looking = False
        self._pause()
        if not self._peers.missing():
            self._ownership.patient = False

    def _pause(self) -> None:
        """Sets whether nothing is granted, whatever is ours."""
        self._ownership.paused = self.looking or self._apart

    # -- others that are looked for -----------------------------------------------------------

    def look(self) -> None:
        """Begins to wait for others, who are being looked for."""
        self.looking = self._ownership.new_here = True

    def look_no_longer(self) -> None:
        """Ends the wait for others: nobody is there, or the claims of the common view say what may be served."""
        self._ownership.new_here = False
        if self.looking:
            self.looking = False
            self._pause()
            self._takeover.claim(self._ownership.claim_anew())

    # -- those that were here before ----------------------------------------------------------

    def wait_for_missing(self) -> None:
        """Serves only what is whole till all are back that may have the rest, or long enough were waited for."""
        self._ownership.patient = True
        asyncio.get_running_loop().call_later(TIMINGS.patience_s, self._wait_no_longer)

    def _wait_no_longer(self) -> None:
        if self._ownership.patient:
            self._ownership.patient = False
            if broken := self._ownership.broken():
                log.warning("%d buckets are served though nobody has come who has all of them", len(broken))
            self._loading.serve_buckets(())

    # -- when others may have taken over ------------------------------------------------------

    def agreed(self, agreed: bool, why: str) -> None:
        """Takes in that most of the masters agree with us from now on; or do not any more, for the reason ``why``."""
        self._apart = not agreed
        self._pause()
        if not agreed:
            log.warning("%s", why, extra=self._journal.note(Notable.MAJORITY_LOST, why=why))
        elif not self.looking:
            self._claim_anew("most of the masters agree", self._journal.note(Notable.MAJORITY_BACK))

    def condemned(self) -> None:
        """Takes in that others have held us dead, and may have taken over what our view calls ours; it does not change,
        and theirs will be the same again.
        """
        if not self.looking:
            self._claim_anew("others held this master dead")

    async def watch_clock(self) -> None:
        """Notices that this process stood still; for ever."""
        loop = asyncio.get_running_loop()
        while True:
            before, had_others = loop.time(), bool(self._peers.others())
            await asyncio.sleep(TIMINGS.clock_look_s)
            stood_s = loop.time() - before - TIMINGS.clock_look_s
            # Who wakes may hear first of all that the others are dead, from the one that has served all of it since.
            if stood_s > TIMINGS.stood_still_s and (had_others or self._peers.others()):
                self._claim_anew(f"stood still for {stood_s:.1f} s")
            try:
                await self._takeover.resume()
            except P2PCrawlError as error:
                # Standings could not be written down, which ends the master; whoever keeps its books is told.
                log.debug("nothing is served again: %s", error)

    def _claim_anew(self, why: str, noted: Mapping[str, Any] | None = None) -> None:
        """Claims all buckets again: others may have taken over what we take for our own."""
        log.warning("%s: all buckets are claimed anew", why, extra=noted)
        self._call_in()
        change = self._ownership.claim_anew()
        self._excess.moved(change.gained)
        self._loading.buckets_changed(change.gained, change.lost)
        self._takeover.claim(change)
