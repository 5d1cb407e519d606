"""The start of a job that reads stored pages: it yields the links whose pages another job has had, in place of what its
spider's ``start()`` would.

It is the record of a start like any other, so it is done when all its links are as safe as links are before a page
ends, and it begins anew where its slave, or its master, has died in between: links that are known are known.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Final

from p2pcrawl.model.crawl.job import CUT_SHORT
from p2pcrawl.model.crawl.page_link import Link
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.errors import P2PCrawlError
from p2pcrawl.model.outcome import NoPage
from p2pcrawl.slave.link.outbox import Outbox
from p2pcrawl.slave.pages.harvest import Harvest
from p2pcrawl.slave.pages.harvesting import Harvesting
from p2pcrawl.wire.messages.slave_messages import Outcome

AGAIN_S: Final = 3.0
"""After so long the links are asked for again, where they could not be told."""
UNTOLD: Final = "links-untold"
"""Why the start of such a job waits."""


class LinkSeeding:
    """``closing`` tells whether the job is about to end."""

    def __init__(self, harvesting: Harvesting, closing: Callable[[], bool]) -> None:
        self._harvesting = harvesting
        self._closing = closing

    async def run(self, parts: AsyncIterator[list[Link]], harvest: Harvest, outbox: Outbox) -> Outcome:
        """Takes all links; returns how the record of the start ends."""
        try:
            async for links in parts:
                if self._closing():
                    return Outcome(Phase.QUEUED, CUT_SHORT, retry_in_s=0.0)
                for link in links:
                    harvest.add_link(link)
                await self._harvesting.send_part(harvest, outbox)
        except P2PCrawlError as error:
            return Outcome(Phase.QUEUED, UNTOLD, str(error), retry_in_s=AGAIN_S)
        return Outcome(Phase.DONE, NoPage.START)
