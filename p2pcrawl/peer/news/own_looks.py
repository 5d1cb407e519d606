"""A look, now and then, at what of a master nobody tells: whether all that its buckets should hold is within reach."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from p2pcrawl.core.buckets.ownership import Ownership
from p2pcrawl.core.journal import Journal
from p2pcrawl.model.cluster.notable import Notable

log = logging.getLogger(__name__)

LOOK_S: Final = 2.0


class OwnLooks:
    """Notes when buckets of this master begin to lack something, and when none does any more."""

    def __init__(self, ownership: Ownership, journal: Journal) -> None:
        self._ownership = ownership
        self._journal = journal
        self._broken = 0

    async def run(self) -> None:
        """Looks for ever."""
        while True:
            await asyncio.sleep(LOOK_S)
            self.look()

    def look(self) -> None:
        """Looks once."""
        broken = len(self._ownership.broken())
        if broken > self._broken:
            noted = self._journal.note(Notable.BUCKET_NOT_WHOLE, buckets=broken)
            log.warning("%d buckets are not whole: who had the rest of it is not here", broken, extra=noted)
        elif self._broken and not broken:
            log.info("all buckets are whole again", extra=self._journal.note(Notable.BUCKET_WHOLE))
        self._broken = broken
